//! The order of columns for a reader: hosts by program, each with its versions in their own order, in which 2.1.80 is before
//! 2.1.148.

use super::select::number;

/// Columns in their order: versions of the protocol, then each host by version.
pub(super) fn in_order<'a>(columns: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut columns: Vec<&str> = columns.into_iter().collect();
    columns.sort_by_cached_key(|column| (split(column).0.to_owned(), number(column), (*column).to_owned()));
    columns.dedup();
    columns
}

/// The programs of columns, each with its versions; a version of the protocol stands alone.
pub(super) fn by_host<'a>(columns: impl IntoIterator<Item = &'a str>) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut hosts: Vec<(&str, Vec<&str>)> = Vec::new();
    for column in in_order(columns) {
        let (host, version) = split(column);
        match hosts.last_mut().filter(|(last, _)| *last == host) {
            Some((_, versions)) => versions.extend(version),
            None => hosts.push((host, Vec::from_iter(version))),
        }
    }
    hosts
}

/// Columns in one line: `2025-11-25, codex@0.169.0`, and where a host has several versions
/// `claude-code 2.1.80, 2.1.148; codex 0.169.0`.
pub(super) fn line<'a>(columns: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let hosts = by_host(columns.clone());
    if hosts.iter().all(|(_, versions)| versions.len() < 2) {
        return in_order(columns).join(", ");
    }
    let told = hosts.iter().map(|(host, versions)| format!("{host} {}", versions.join(", ")));
    told.map(|host| host.trim_end().to_owned()).collect::<Vec<_>>().join("; ")
}

fn split(column: &str) -> (&str, Option<&str>) {
    column.split_once('@').map_or((column, None), |(host, version)| (host, Some(version)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_told_once_with_their_versions_in_order() {
        let columns = ["claude-code@2.1.148", "claude-code@2.1.80", "2025-11-25", "codex@0.169.0"];
        assert_eq!(line(columns), "2025-11-25; claude-code 2.1.80, 2.1.148; codex 0.169.0");
        assert_eq!(line(["codex@0.169.0", "2025-11-25"]), "2025-11-25, codex@0.169.0");
    }
}

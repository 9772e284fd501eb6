//! Shows the changes to a file as a unified diff for people.
//!
//! It must never show a secret that is only near a change.

use similar::{ChangeTag, TextDiff};

/// Lines of context around a change.
const CONTEXT_LINES: usize = 3;
/// Parts of names whose values are not shown if they are only near a change.
const SECRET_NAMES: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
    "api_key",
    "api-key",
    "credential",
    "auth",
    "bearer",
];

/// A unified diff of one file; empty if nothing changes. `None` is a missing file.
pub fn unified(path: &str, before: Option<&str>, after: Option<&str>) -> String {
    if before == after {
        return String::new();
    }
    let name = |text: Option<&str>| text.map_or("/dev/null", |_| path).to_owned();
    let mut out = format!("--- {}\n+++ {}\n", name(before), name(after));
    let diff = TextDiff::from_lines(before.unwrap_or(""), after.unwrap_or(""));
    for hunk in diff.unified_diff().context_radius(CONTEXT_LINES).iter_hunks() {
        out.push_str(&hunk.header().to_string());
        out.push('\n');
        for change in hunk.iter_changes() {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            let line = change.value().trim_end_matches(['\n', '\r']);
            let line = if sign == ' ' { discreet(line) } else { line.to_owned() };
            out.push(sign);
            // The content of a file must not control the terminal.
            out.extend(
                line.chars()
                    .map(|c| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c }),
            );
            out.push('\n');
            if change.missing_newline() {
                out.push_str("\\ No newline at end of file\n");
            }
        }
    }
    out
}

/// The line, with its value hidden if its name sounds like a secret.
fn discreet(line: &str) -> String {
    let Some((name, _)) = line.split_once([':', '=']) else { return line.to_owned() };
    let lower = name.to_lowercase();
    if SECRET_NAMES.iter().any(|secret| lower.contains(secret)) {
        return format!("{}{} (not shown)", name, &line[name.len()..=name.len()]);
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_its_neighbours_but_not_with_their_secrets() {
        let before = "{\n  \"primaryApiKey\": \"sk-1\",\n  \"theme\": \"dark\"\n}";
        let after = "{\n  \"primaryApiKey\": \"sk-1\",\n  \"theme\": \"dark\",\n  \"x\": 1\n}";
        let shown = unified("/home/alice/a.json", Some(before), Some(after));
        assert!(shown.contains("+  \"x\": 1\n") && shown.contains("-  \"theme\": \"dark\"\n"), "{shown}");
        assert!(shown.contains("\"primaryApiKey\": (not shown)") && !shown.contains("sk-1"), "{shown}");
        assert!(shown.contains("\\ No newline at end of file"), "{shown}");
    }

    #[test]
    fn files_that_come_and_go_are_named_so() {
        assert!(unified("/a", None, Some("x\n")).starts_with("--- /dev/null\n+++ /a\n"));
        assert!(unified("/a", Some("x\n"), None).starts_with("--- /a\n+++ /dev/null\n"));
        assert_eq!(unified("/a", Some("x"), Some("x")), "");
    }
}

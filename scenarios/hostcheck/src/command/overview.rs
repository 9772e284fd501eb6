//! The first page about a judged server, its badge and its table of hosts, in the folder above the two full reports. It adds
//! no verdict to the findings.

use std::collections::BTreeSet;
use std::path::Path;

use reports::{HostVerdict, Mend, ServerPage, Works};

use super::output::write_file;
use super::{columns, screen};
use crate::conformance::{Cause, Findings, Judged, Outcome, Placed, Weight, causes};

/// Writes `index.html`, `overview.md`, and where hosts were asked `hosts.md`, `badge.svg` and `badge.json`.
pub(super) fn write(
    folder: &Path,
    findings: &Findings,
    rows: &[Placed],
    command: &str,
) -> anyhow::Result<()> {
    let page = page(findings, rows, command);
    write_file(&folder.join("index.html"), &page.html()?)?;
    write_file(&folder.join("overview.md"), &page.markdown())?;
    if let (Some(picture), Some(endpoint)) = (page.badge_svg(), page.badge_json()?) {
        write_file(&folder.join("badge.svg"), &picture)?;
        write_file(&folder.join("badge.json"), &endpoint)?;
        write_file(&folder.join("hosts.md"), &page.hosts_table())?;
    }
    Ok(())
}

fn page(findings: &Findings, rows: &[Placed], command: &str) -> ServerPage {
    let about = &findings.about;
    let parts = [
        ("version", about.older.map(screen::why_older)),
        ("stopped", findings.is_stopped.then(|| screen::STOPPED_EARLY.to_owned())),
        ("protocol", screen::of_protocol(findings, rows)),
        ("hosts", screen::of_hosts(findings, rows)),
    ];
    ServerPage {
        server: screen::title(about),
        speaks: screen::judged_in(findings).into_iter().map(str::to_owned).collect(),
        counts: parts.into_iter().filter_map(|(what, counts)| Some((what, counts?))).collect(),
        hosts: hosts(findings, rows),
        mend: causes(findings, rows).iter().map(mend).collect(),
        command: command.to_owned(),
    }
}

fn hosts(findings: &Findings, rows: &[Placed]) -> Vec<HostVerdict> {
    let hosts = columns::in_order(findings.hosts.iter().map(|judged| judged.column.as_str()));
    let of_one = |host: &str| -> Vec<&Judged> {
        findings.hosts.iter().filter(|judged| judged.column == host).collect()
    };
    hosts.into_iter().map(|host| of_host(host, &of_one(host), rows)).collect()
}

fn of_host(host: &str, judged: &[&Judged], rows: &[Placed]) -> HostVerdict {
    let works = screen::works(judged.iter().copied(), rows);
    let (mut wrong, mut unknown) = (Vec::new(), Vec::new());
    for one in judged {
        match &one.outcome {
            // It stands among the faults, and the server works nevertheless.
            Outcome::Failed(_) | Outcome::Flaky(_) if !screen::breaks_the_host(one, rows) => {}
            Outcome::Failed(evidence) => {
                wrong.push(evidence.first().map_or_else(|| one.row.clone(), |first| first.message.clone()));
            }
            Outcome::Flaky(differing) => wrong.push(differing.reason.clone()),
            Outcome::Unknown(reason) => unknown.push(reason.clone()),
            Outcome::CouldNotRun(reason) if works == Works::NotKnown => unknown.push(reason.clone()),
            _ => {}
        }
    }
    let mut told = BTreeSet::new();
    unknown.retain(|reason| told.insert(reason.clone()));
    HostVerdict { host: host.to_owned(), works, wrong, unknown }
}

fn mend(cause: &Cause) -> Mend {
    Mend {
        weight: match cause.weight {
            Weight::Must => "must",
            Weight::Flaky => "flaky",
            Weight::Should => "should",
        },
        message: cause.message.clone(),
        right: cause.expected.clone().filter(|right| !right.is_empty()),
        seen: cause.seen.clone(),
        shows_in: columns::in_order(cause.columns.iter().map(String::as_str))
            .into_iter()
            .map(str::to_owned)
            .collect(),
        rows: cause.rows.iter().cloned().collect(),
        source: cause.source.clone(),
        sdks: cause.sdks.iter().map(|sdk| (*sdk).to_owned()).collect(),
        or_yours: cause.or_yours.filter(|_| !cause.sdks.is_empty()).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::About;

    #[test]
    fn an_empty_version_leaves_no_gap_in_the_head() {
        let about = About { name: Some("mine".to_owned()), version: Some(String::new()), ..About::default() };
        let found = Findings { about, ..Findings::default() };
        assert_eq!(page(&found, &[], "").server, "mine");
    }
}

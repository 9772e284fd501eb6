//! The first page about a judged server, its badge and its table of hosts, in the folder above the two full reports. It adds
//! no verdict to the findings.

use std::collections::BTreeMap;
use std::path::Path;

use reports::{HostVerdict, Mend, ServerPage};

use super::output::write_file;
use super::screen;
use crate::conformance::{Cause, Findings, Outcome, Placed, Weight, causes};

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
    let name = about.name.clone().unwrap_or_else(|| "a server without a name".to_owned());
    let version = about.version.as_deref().map(|version| format!(" {version}")).unwrap_or_default();
    let parts = [("protocol", screen::of_protocol(findings)), ("hosts", screen::of_hosts(findings))];
    ServerPage {
        server: format!("{name}{version}"),
        speaks: screen::spoken(about).into_iter().map(str::to_owned).collect(),
        counts: parts.into_iter().filter_map(|(what, counts)| Some((what, counts?))).collect(),
        hosts: hosts(findings, rows),
        mend: causes(findings, rows).iter().map(mend).collect(),
        command: command.to_owned(),
    }
}

fn hosts(findings: &Findings, rows: &[Placed]) -> Vec<HostVerdict> {
    let mut hosts: BTreeMap<&str, HostVerdict> = BTreeMap::new();
    for judged in &findings.hosts {
        let host = hosts.entry(&judged.column).or_insert_with(|| HostVerdict {
            host: judged.column.clone(),
            wrong: Vec::new(),
            unknown: Vec::new(),
        });
        match &judged.outcome {
            // It stands among the faults, and the server works nevertheless.
            Outcome::Failed(_) | Outcome::Flaky(_) if !screen::breaks_the_host(judged, rows) => {}
            Outcome::Failed(evidence) => {
                let message = evidence.first().map_or(&judged.row, |first| &first.message);
                host.wrong.push(message.clone());
            }
            Outcome::Flaky(reason) => host.wrong.push(reason.clone()),
            Outcome::Unknown(reason) if !host.unknown.contains(reason) => host.unknown.push(reason.clone()),
            _ => {}
        }
    }
    hosts.into_values().collect()
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
        seen: screen::telling(cause).map(str::to_owned),
        shows_in: cause.columns.iter().cloned().collect(),
        rows: cause.rows.iter().cloned().collect(),
        source: cause.source.clone(),
        sdks: cause.sdks.iter().map(|sdk| (*sdk).to_owned()).collect(),
    }
}

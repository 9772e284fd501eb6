//! `hostcheck hosts --protocol`: the requirements of the protocol on hosts, and which hosts keep them.
//! Neighbours with the same answer share a line. It prints what profiles state: an unknown fact is called
//! unknown.

use std::sync::Arc;

use serde_json::json;

use crate::command::select;
use crate::conformance::{self, Duty, Row};
use crate::host::Host;
use crate::print::out;

pub(super) fn print(names: &[String], json: bool) -> anyhow::Result<()> {
    let hosts = select::hosts(names)?;
    let rows = conformance::rows()?;
    for placed in rows.iter().filter(|placed| !placed.row.facts.is_empty()) {
        let told: Vec<(&Arc<Host>, Duty)> = hosts
            .iter()
            .filter_map(|host| Some((host, conformance::duty(&placed.row, host.profile.as_deref()?)?)))
            .collect();
        if json {
            lines(&placed.row, &told);
        } else {
            block(&placed.row, &told);
        }
    }
    Ok(())
}

fn lines(row: &Row, told: &[(&Arc<Host>, Duty)]) {
    for (host, duty) in told {
        let line = json!({
            "row": row.id, "level": row.level.as_str(), "says": row.says, "source": row.source(), "facts": row.facts,
            "host": host.id, "outcome": duty.kept.word(), "notes": duty.notes,
        });
        out(&line.to_string());
    }
}

fn block(row: &Row, told: &[(&Arc<Host>, Duty)]) {
    out(&format!("{} ({}): {}\n  {}", row.id, row.level.as_str(), row.says, row.source()));
    let alike = told.chunk_by(|(one, said), (two, also)| {
        one.family == two.family && said == also && one.family != "generic"
    });
    for group in alike {
        let (Some((first, duty)), Some((last, _))) = (group.first(), group.last()) else { continue };
        let versions = match group.len() {
            1 => first.version().to_owned(),
            many => format!("{} … {} ({many})", first.version(), last.version()),
        };
        let notes =
            if duty.notes.is_empty() { String::new() } else { format!("  {}", duty.notes.join("; ")) };
        let family = &first.family;
        let line = format!("    {family:<12} {versions:<24} {:<14}{notes}", duty.kept.word());
        out(line.trim_end());
    }
    out("");
}

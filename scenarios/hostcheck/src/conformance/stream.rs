//! Turns findings into the event stream from which every report is made. It adds no verdict, and on request
//! leaves out everything that differs from run to run.

use std::collections::BTreeSet;
use std::sync::Arc;

use reports::event::{
    CellFinished, ColumnKind, EVENTS_VERSION, Event, Failure, HostColumn, HostFact, RunFinished, RunStarted,
    ScenarioRow, ServerUnderTest,
};
use schemas::Version;

use super::findings::About;
use super::outcome::{Judged, Outcome};
use super::row::Placed;
use crate::host::Host;

/// What the head of a stream says about the run.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The command that repeats the run, without secrets.
    pub command: String,
    /// The same command without the requested rows; a replay adds its own.
    pub again: String,
    /// The command that started the server, without secrets.
    pub started_as: String,
    /// `process` or `http`.
    pub mode: String,
    /// Leaves out times, so that equal findings give equal bytes.
    pub timeless: bool,
    /// Whether the run fails only by what must hold.
    pub must_only: bool,
    /// The seed of arguments.
    pub seed: u64,
    /// The file of the server's repository to which findings point; empty for none.
    pub findings_in: String,
}

/// Why a row has no verdict in a version that does not state it.
const NO_SUCH_REQUIREMENT: &str = "this version has no such requirement";
/// Why it has none in one that does.
const ASKED_ELSEWHERE: &str = "not asked in this version; --full asks it in every one";

/// The event stream of one suite, whose columns are versions or hosts.
pub fn events(
    asked: &Asked,
    about: &About,
    rows: &[Placed],
    columns: &[HostColumn],
    judged: Vec<Judged>,
) -> Vec<Event> {
    let used: BTreeSet<&str> = judged.iter().map(|one| one.row.as_str()).collect();
    let started = RunStarted {
        v: EVENTS_VERSION,
        tool: format!("hostcheck {}", env!("CARGO_PKG_VERSION")),
        server: ServerUnderTest {
            name: about.name.clone().unwrap_or_else(|| "a server without a name".to_owned()),
            version: about.version.clone(),
            started_as: asked.started_as.clone(),
        },
        command: asked.command.clone(),
        seed: asked.seed,
        seeds: 1,
        scenarios: rows.iter().filter(|placed| used.contains(placed.row.id.as_str())).map(scenario).collect(),
        hosts: columns.to_vec(),
        server_facts: Vec::new(),
        host_support: None,
        findings_in: Some(asked.findings_in.clone()),
        shard: None,
        must_only: asked.must_only,
    };
    let mut cells: Vec<CellFinished> = judged.into_iter().map(|one| cell(asked, rows, one)).collect();
    let have: BTreeSet<(String, String)> =
        cells.iter().map(|cell| (cell.scenario.clone(), cell.host.clone())).collect();
    for row in &started.scenarios {
        for column in columns {
            if !have.contains(&(row.id.clone(), column.id.clone())) {
                let has =
                    |placed: &Placed| placed.row.id == row.id && placed.row.r#in.contains_key(&column.id);
                let why = if rows.iter().any(has) { ASKED_ELSEWHERE } else { NO_SUCH_REQUIREMENT };
                let outcome = Outcome::NotApplicable(why.to_owned());
                cells.push(cell(asked, rows, Judged::bare(&row.id, &column.id, outcome)));
            }
        }
    }
    let finished = RunFinished::of(&started, &cells);
    let mut events = vec![Event::RunStarted(started)];
    events.extend(cells.into_iter().map(Event::CellFinished));
    events.push(Event::RunFinished(finished));
    events
}

/// The columns of the protocol suite: the requested versions.
pub fn versions(about: &About, wanted: &[Version]) -> Vec<HostColumn> {
    let columns = about.versions.iter().filter(|(version, _)| wanted.contains(version));
    let columns = columns.map(|(version, speaks)| HostColumn {
        id: version.as_str().to_owned(),
        family: "mcp".to_owned(),
        kind: ColumnKind::Protocol,
        version: version.as_str().to_owned(),
        evidence: match speaks {
            Ok(_) => "The server speaks this version.".to_owned(),
            Err(reason) => reason.clone(),
        },
        facts: speaks
            .iter()
            .map(|declared| HostFact {
                name: "server".to_owned(),
                value: declared.clone(),
                source: "told by the server".to_owned(),
            })
            .collect(),
    });
    columns.collect()
}

/// The columns of the host suite.
pub fn hosts(hosts: &[Arc<Host>]) -> Vec<HostColumn> {
    hosts.iter().map(|host| HostColumn { facts: Vec::new(), ..host.column() }).collect()
}

fn scenario(placed: &Placed) -> ScenarioRow {
    ScenarioRow {
        id: placed.row.id.clone(),
        title: placed.row.says.clone(),
        area: placed.area.clone(),
        level: placed.row.level.as_str().to_owned(),
        says: placed.row.says.clone(),
        source: placed.row.source(),
        file: placed.place(),
    }
}

fn cell(asked: &Asked, rows: &[Placed], judged: Judged) -> CellFinished {
    let placed = rows.iter().find(|placed| placed.row.id == judged.row);
    let reason = judged.outcome.reason().map(str::to_owned);
    let time = |at_ms: u64| if asked.timeless { 0 } else { at_ms };
    let failures = match &judged.outcome {
        Outcome::Failed(evidence) => evidence
            .iter()
            .map(|one| Failure {
                expected: one.expected.clone(),
                observed: one.observed.clone(),
                place: placed.and_then(|placed| placed.row.address(&judged.column)),
                ..Failure::new(&judged.row, time(one.at_ms), &one.message)
            })
            .collect(),
        _ => Vec::new(),
    };
    let mut transcript = judged.transcript;
    for line in &mut transcript {
        line.at_ms = time(line.at_ms);
    }
    CellFinished {
        replay: format!("{} {}", asked.again, judged.row),
        reason,
        failures,
        session: judged.session,
        transcript,
        ..CellFinished::new(&judged.row, &judged.column, &asked.mode, judged.outcome.status())
    }
}

#[cfg(test)]
mod tests {
    use reports::{Report, Stream};

    use super::super::outcome::Evidence;
    use super::*;

    #[test]
    fn a_failure_is_told_with_the_page_of_its_own_version() {
        let rows = super::super::rows().unwrap();
        let failed = |version: Version| {
            let evidence = Evidence {
                message: "no refusal".to_owned(),
                expected: None,
                observed: None,
                tells: false,
                at_ms: 0,
            };
            Judged::bare("messages.invalid-cursor", version.as_str(), Outcome::Failed(vec![evidence]))
        };
        let versions = [Version::V2025_11_25, Version::V2026_07_28];
        let about = About {
            versions: versions.map(|version| (version, Ok(String::new()))).to_vec(),
            ..About::default()
        };
        let asked = Asked {
            command: String::new(),
            again: String::new(),
            started_as: String::new(),
            mode: "process".to_owned(),
            timeless: true,
            must_only: false,
            seed: 1,
            findings_in: String::new(),
        };
        let columns = super::versions(&about, &versions);
        let stream = events(&asked, &about, &rows, &columns, versions.map(failed).to_vec());
        let report = Report::new(&Stream::from_events(stream).unwrap());
        let places: Vec<_> =
            report.failures.iter().map(|one| (one.host.as_str(), one.place.as_str())).collect();
        let page = |version: Version| {
            let specification = "https://modelcontextprotocol.io/specification";
            format!(
                "{specification}/{version}/server/utilities/pagination#error-handling",
                version = version.as_str()
            )
        };
        let wanted = versions.map(|version| (version.as_str(), page(version)));
        let wanted: Vec<_> = wanted.iter().map(|(version, page)| (*version, page.as_str())).collect();
        assert_eq!(places, wanted);
    }
}

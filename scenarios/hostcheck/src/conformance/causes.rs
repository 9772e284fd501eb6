//! Failures grouped by their cause: one fault of a server shows in many rows and columns, and a reader wants to mend it
//! once. It never drops a failure, and judges nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::Findings;
use super::outcome::{Judged, Outcome};
use super::protocol::{AFTER, WHILE};
use super::row::{Level, Placed};
use super::session;

/// How sure a cause is, and how much it binds; the order in which causes are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// A requirement that a server must keep failed each time.
    Must,
    /// It held some times and failed others.
    Flaky,
    /// There may be a good reason not to keep it.
    Should,
}

/// One fault, with all places where it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// How much it binds.
    pub weight: Weight,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What would be right, where the check says it.
    pub expected: Option<String>,
    /// What came where the fault was first seen, if its author learns from it.
    pub seen: Option<String>,
    /// The rows that it fails.
    pub rows: BTreeSet<String>,
    /// The versions and hosts in which it shows.
    pub columns: BTreeSet<String>,
    /// Where the requirement stands: an address of the specification, or the practice of hosts.
    pub source: String,
    /// The SDKs, with versions, on which the least server fails the same; empty where it is the server's own.
    pub sdks: BTreeSet<&'static str>,
    /// What in the server's own code may be the cause beside an SDK.
    pub or_yours: Option<&'static str>,
    /// Whether the server ended where the fault was first seen.
    pub ends: bool,
}

/// The causes of all failures: the most binding first, among those the ones of the protocol, then those that end the
/// server, and then those that show in most places.
pub fn causes(findings: &Findings, rows: &[Placed]) -> Vec<Cause> {
    let mut causes: BTreeMap<String, Cause> = BTreeMap::new();
    let mut in_hosts: BTreeMap<String, Vec<(&str, String)>> = BTreeMap::new();
    for judged in findings.protocol.iter().chain(&findings.hosts) {
        let Some(placed) = rows.iter().find(|placed| placed.row.id == judged.row) else { continue };
        let Some(Fault { message, expected, seen, ends }) = fault(judged, &placed.row.says) else { continue };
        let weight = match (&judged.outcome, placed.row.level) {
            (Outcome::Flaky(_), _) => Weight::Flaky,
            (_, Level::Must) => Weight::Must,
            (_, Level::Should) => Weight::Should,
        };
        let source = placed.row.source_in(&judged.column);
        if let Some(seen) = seen.as_ref().filter(|_| is_host(&judged.column)) {
            in_hosts.entry(message.clone()).or_default().push((&judged.column, seen.clone()));
        }
        let origin = findings.sdks.origin(judged);
        let cause = causes.entry(message.clone()).or_insert_with(|| Cause {
            weight,
            message,
            expected,
            seen,
            rows: BTreeSet::new(),
            columns: BTreeSet::new(),
            source: source.clone(),
            sdks: origin.sdks.clone(),
            or_yours: None,
            ends,
        });
        // Of an SDK's own fault every place is the SDK's.
        cause.sdks.retain(|sdk| origin.sdks.contains(sdk));
        cause.or_yours = cause.or_yours.or(origin.or_yours);
        // Of the places in several versions of the specification the newest is shown.
        if (weight, &cause.source) < (cause.weight, &source) {
            (cause.weight, cause.source) = (weight, source);
        }
        cause.rows.insert(judged.row.clone());
        cause.columns.insert(judged.column.clone());
    }
    for cause in causes.values_mut().filter(|cause| cause.is_of_hosts_only()) {
        cause.seen = in_hosts.get(&cause.message).map(|places| of_each_host(places, &cause.columns));
    }
    let mut causes: Vec<Cause> = causes.into_values().collect();
    causes.sort_by_key(|cause| {
        let place = rows.iter().position(|placed| cause.rows.contains(&placed.row.id));
        let spread = usize::MAX - cause.columns.len() - cause.rows.len();
        (cause.weight, cause.is_of_hosts_only(), !cause.ends, spread, place)
    });
    causes
}

impl Cause {
    /// Whether it shows in hosts and in no version of the protocol: mostly it follows from a fault that shows in one.
    fn is_of_hosts_only(&self) -> bool {
        self.columns.iter().all(|column| is_host(column))
    }
}

fn is_host(column: &str) -> bool {
    column.parse::<schemas::Version>().is_err()
}

/// What was seen in hosts: each does something else, so what is not the same in all names its hosts.
fn of_each_host(places: &[(&str, String)], columns: &BTreeSet<String>) -> String {
    let mut told: Vec<(&str, Vec<&str>)> = Vec::new();
    for (column, seen) in places {
        match told.iter_mut().find(|(other, _)| other == seen) {
            Some((_, hosts)) => hosts.push(column),
            None => told.push((seen, vec![column])),
        }
    }
    let is_same = |hosts: &[&str]| columns.iter().all(|column| hosts.contains(&column.as_str()));
    let told = told.iter().map(|(seen, hosts)| {
        if is_same(hosts) { (*seen).to_owned() } else { format!("in {}: {seen}", hosts.join(", ")) }
    });
    told.collect::<Vec<_>>().join("; ")
}

/// The message, or what the row says where there is no evidence, without the conversation in which the fault was seen, so that equal faults have equal messages.
fn fault(judged: &Judged, says: &str) -> Option<Fault> {
    let (message, seen) = match &judged.outcome {
        Outcome::Failed(evidence) => {
            (evidence.first().map_or(says, |first| first.message.as_str()), evidence.first())
        }
        Outcome::Flaky(differing) => (differing.reason.as_str(), None),
        _ => return None,
    };
    // Only a rule of the wire is broken while something else is asked.
    let (message, during) = match message.split_once(WHILE) {
        Some((message, during)) => (message.to_owned(), during.strip_suffix(')')),
        None => (message.to_owned(), None),
    };
    let expected = seen.and_then(|seen| seen.expected.clone());
    let ends = seen.and_then(|seen| seen.observed.as_deref()).is_some_and(session::is_end);
    let seen = seen.filter(|seen| seen.tells).and_then(|seen| seen.observed.clone());
    let line = |seen: String| {
        if seen.trim().is_empty() { "an empty line".to_owned() } else { format!("the line {seen}") }
    };
    let seen = seen.map(|seen| match during.map(|during| during.split_once(AFTER)) {
        // The line may be long and be cut, so the request comes first.
        Some(Some((_, request))) => format!("after {request} {}", line(seen)),
        Some(None) => line(seen),
        None => seen,
    });
    Some(Fault { message, expected, seen, ends })
}

/// A fault as it was seen in one place.
struct Fault {
    message: String,
    expected: Option<String>,
    seen: Option<String>,
    ends: bool,
}

#[cfg(test)]
mod tests {
    use super::super::outcome::{Differing, Evidence};
    use super::*;

    fn failed(row: &str, column: &str, message: &str) -> Judged {
        let expected = Some("an answer".to_owned());
        let evidence =
            Evidence { message: message.to_owned(), expected, observed: None, tells: false, at_ms: 0 };
        Judged::bare(row, column, Outcome::Failed(vec![evidence]))
    }

    #[test]
    fn one_fault_in_many_places_is_one_cause_with_the_heaviest_weight() {
        let seen = "the server does not answer (while asking about pings)";
        let late = Differing { reason: "1 of 3 times: late".to_owned(), held_alone: false };
        let protocol = vec![
            failed("lifecycle.latest-version", "2025-11-25", "the server does not answer"),
            failed("lifecycle.ping", "2025-11-25", seen),
            failed("lifecycle.ping", "2025-06-18", "the server does not answer"),
            failed("lifecycle.latest-version", "2025-11-25", "another fault"),
            Judged::bare("lifecycle.ping", "2026-07-28", Outcome::Flaky(late)),
            Judged::bare("lifecycle.operation", "2025-11-25", Outcome::Failed(Vec::new())),
        ];
        let about = super::super::About::default();
        let columns = ["codex@0.169.0", "gemini-cli@0.61.0", "opencode@1.18.33", "qwen-code@0.24.4"];
        let hosts = columns.map(|column| failed("hosts.lines", column, "lines cost something")).to_vec();
        let findings = Findings { about, protocol, hosts, ..Findings::default() };
        let rows = super::super::rows().unwrap();
        let causes = causes(&findings, &rows);
        let told: Vec<_> =
            causes.iter().map(|one| (one.weight, one.message.as_str(), one.rows.len())).collect();
        assert_eq!(
            told,
            [
                (Weight::Must, "the server does not answer", 2),
                (Weight::Must, "After `initialized` the session works.", 1),
                (Weight::Must, "lines cost something", 1),
                (Weight::Flaky, "1 of 3 times: late", 1),
                (Weight::Should, "another fault", 1)
            ]
        );
        assert_eq!(causes[0].columns.len(), 2);
        let address = "https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/ping";
        assert!(causes[0].source.starts_with(address), "{}", causes[0].source);
    }

    /// The pages of these versions name no code, and JSON-RPC, which they bind to, does.
    #[test]
    fn the_codes_of_json_rpc_stand_in_json_rpc() {
        let rows = super::super::rows().unwrap();
        let source = |id: &str, column: &str| {
            let placed = rows.iter().find(|placed| placed.row.id == id).unwrap();
            placed.row.source_in(column)
        };
        for version in ["2025-06-18", "2025-11-25"] {
            for (row, code) in [("messages.unknown-method", "-32601"), ("messages.invalid-params", "-32602")]
            {
                let source = source(row, version);
                let wanted = format!("https://www.jsonrpc.org/specification#error_object: {code}");
                assert!(source.starts_with(&wanted), "{row} in {version}: {source}");
            }
        }
        let page = "https://modelcontextprotocol.io/specification/2026-07-28/basic/index#error-codes";
        assert_eq!(source("messages.invalid-params", "2026-07-28"), page);
    }

    #[test]
    fn what_was_seen_is_told_where_the_evidence_says_so_whatever_its_words() {
        let seen_in = |message: &str, observed: &str, tells: bool| {
            let observed = Some(observed.to_owned());
            let evidence =
                Evidence { message: message.to_owned(), expected: None, observed, tells, at_ms: 0 };
            let protocol =
                vec![Judged::bare("lifecycle.ping", "2025-11-25", Outcome::Failed(vec![evidence]))];
            let about = super::super::About::default();
            let findings = Findings { about, protocol, ..Findings::default() };
            causes(&findings, &super::super::rows().unwrap()).remove(0).seen
        };
        let seen = |observed: &str, tells: bool| seen_in("wrong", observed, tells);
        let line = "no JSON (while asking about tools: calls, after tools/call add)";
        assert_eq!(seen_in(line, "hello", true).as_deref(), Some("after tools/call add the line hello"));
        let line = "no JSON (while asking about declared capabilities)";
        assert_eq!(seen_in(line, "hello", true).as_deref(), Some("the line hello"));
        assert_eq!(seen_in(line, " ", true).as_deref(), Some("an empty line"));
        assert_eq!(seen("it asks for a key", true).as_deref(), Some("it asks for a key"));
        assert_eq!(seen("error in another place", false), None);
    }
    #[test]
    fn what_differs_between_hosts_is_told_with_its_host() {
        let seen_of = |seen: [&str; 3]| {
            let hosts = ["claude-code@1", "gemini-cli@1", "opencode@1"].into_iter().zip(seen);
            let hosts = hosts.map(|(column, seen)| {
                let observed = (!seen.is_empty()).then(|| seen.to_owned());
                let evidence = Evidence {
                    message: "runs on".to_owned(),
                    expected: None,
                    observed,
                    tells: true,
                    at_ms: 0,
                };
                Judged::bare("hosts.end", column, Outcome::Failed(vec![evidence]))
            });
            let about = super::super::About::default();
            let hosts = hosts.collect();
            let findings = Findings { about, hosts, ..Findings::default() };
            causes(&findings, &super::super::rows().unwrap()).remove(0).seen
        };
        assert_eq!(seen_of(["a", "a", "a"]).as_deref(), Some("a"));
        let told = seen_of(["a", "b", "a"]);
        assert_eq!(told.as_deref(), Some("in claude-code@1, opencode@1: a; in gemini-cli@1: b"));
        assert_eq!(seen_of(["", "b", ""]).as_deref(), Some("in gemini-cli@1: b"));
        assert_eq!(seen_of(["", "", ""]), None);
    }
}

//! Whole connections, line by line, with the rules that each line breaks.

use std::collections::BTreeSet;

use schemas::{Direction, Verdict, WireValidator, own, rules};
use serde_json::Value;

use crate::PUSH;

/// Feeds a line of a session file; `None` when the line opens a new session.
fn feed(validator: &mut WireValidator, entry: &Value) -> Option<Verdict> {
    for (sign, direction) in [(">", Direction::HostToServer), ("<", Direction::ServerToHost)] {
        if let Some(message) = entry.get(sign) {
            return Some(validator.feed(direction, &message.to_string()));
        }
        if let Some(raw) = entry.get(format!("{sign}raw")) {
            return Some(validator.feed(direction, raw.as_str().unwrap()));
        }
    }
    assert!(entry.get("session").is_some(), "{entry}");
    *validator = if entry.get("at").is_some() { WireValidator::at_host() } else { WireValidator::new() };
    None
}

/// The rules that a push without this project's members breaks, from a server with this name.
fn pushed(server: &str) -> Vec<String> {
    let mut wire = WireValidator::new();
    let lines = [
        (Direction::HostToServer, r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#.to_owned()),
        (Direction::ServerToHost, format!(r#"{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"2025-11-25","capabilities":{{"experimental":{{"claude/channel":{{}}}}}},"serverInfo":{{"name":"{server}","version":"1"}}}}}}"#)),
        (Direction::HostToServer, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned()),
        (Direction::ServerToHost, r#"{"jsonrpc":"2.0","method":"notifications/claude/channel","params":{"content":"hello","meta":{"k":"v"}}}"#.to_owned()),
    ];
    let verdicts = lines.map(|(direction, line)| wire.feed(direction, &line));
    verdicts.iter().flat_map(|verdict| &verdict.errors).map(|error| error.rule.to_owned()).collect()
}

#[test]
fn every_line_of_every_session_has_the_expected_verdict() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/sessions.jsonl");
    let mut validator = WireValidator::new();
    let mut session = String::new();
    let mut broken = BTreeSet::new();
    let mut faults = Vec::new();
    for (index, line) in std::fs::read_to_string(path).unwrap().lines().enumerate() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let Some(verdict) = feed(&mut validator, &entry) else {
            session = entry["session"].to_string();
            continue;
        };
        let mut wanted: Vec<&str> = entry["breaks"]
            .as_array()
            .map(|breaks| breaks.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        wanted.sort_unstable();
        let mut found: Vec<&str> = verdict.errors.iter().map(|error| error.rule).collect();
        found.sort_unstable();
        if found != wanted {
            faults.push(format!(
                "line {} in {session}: wanted {wanted:?}, found {:?}",
                index + 1,
                verdict.errors
            ));
        }
        broken.extend(found.into_iter().map(str::to_owned));
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
    // `not-utf8` can't be written in a file of JSON lines.
    let verdict = WireValidator::new().feed_bytes(Direction::HostToServer, b"{\"a\":\"\xff\"}");
    broken.extend(verdict.errors.iter().map(|error| error.rule.to_owned()));
    // This project's push schema is checked as soon as its owner has written it.
    if own::text(PUSH).is_none() {
        broken.insert(PUSH.to_owned());
    } else {
        broken.extend(pushed("entraclaw"));
        assert!(pushed("another").is_empty(), "a stranger's server owes no member of ours");
    }
    let untried: Vec<&str> = rules().iter().map(|rule| rule.id).filter(|id| !broken.contains(*id)).collect();
    assert!(untried.is_empty(), "no session breaks {untried:?}");
}

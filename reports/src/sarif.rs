//! SARIF 2.1.0, for programs that show findings beside the code: one result for each failed check, at its
//! line of the scenario, or for a foreign server at the file that the user named. A known failure must never
//! be shown as new, and no result holds a time.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::baseline::Expected;
use crate::event::ColumnKind;
use crate::junit::failure_text;
use crate::model::{Failure, Report};
use crate::text::{cut, short_line, visible};

/// Most bytes of a result's text.
const TEXT_BYTES_MAX: usize = 4_000;
/// Most bytes of a rule's name.
const NAME_BYTES_MAX: usize = 400;

/// A rule, with the place of the requirement where a reader can go there.
fn described(rule: &str, report: &Report) -> Value {
    let mut described = json!({"id": short_line(rule, NAME_BYTES_MAX)});
    let row = report.rows().find(|row| row.id == rule);
    if let Some(row) = row {
        described["shortDescription"] = json!({"text": short_line(&row.says, TEXT_BYTES_MAX)});
        if row.file.starts_with("https://") {
            described["helpUri"] = json!(short_line(&row.file, TEXT_BYTES_MAX));
        }
    }
    described
}

/// `report.sarif`.
pub fn sarif(report: &Report) -> Result<String, serde_json::Error> {
    let files: BTreeMap<&str, (&str, &str)> = report
        .rows()
        .map(|row| {
            let file = report.findings_in.as_ref().unwrap_or(&row.file);
            (row.id.as_str(), (file.as_str(), row.level.as_str()))
        })
        .collect();
    let gate = report.gate.as_ref();
    let mut rules: Vec<&str> = report.failures.iter().map(|failure| failure.rule.as_str()).collect();
    rules.extend(gate.iter().flat_map(|gate| &gate.stale).map(|entry| entry.rule.as_str()));
    rules.sort_unstable();
    rules.dedup();
    let mut results: Vec<Value> =
        report.failures.iter().map(|failure| result(failure, &rules, &files, report)).collect();
    results.extend(gate.iter().flat_map(|gate| &gate.stale).map(|entry| stale(entry, &rules, &files)));
    let version = report.tool.rsplit(' ').next().unwrap_or_default();
    let driver = json!({
        "name": "hostcheck",
        "version": short_line(version, NAME_BYTES_MAX),
        "rules": rules.iter().map(|rule| described(rule, report)).collect::<Vec<_>>(),
    });
    let mut whole = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": driver},
            "invocations": [{
                "commandLine": short_line(&report.command, TEXT_BYTES_MAX),
                "executionSuccessful": true,
                "exitCode": report.exit_code,
            }],
            "columnKind": "unicodeCodePoints",
            "results": results,
            "properties": {"failuresLeftOut": report.failures_left_out, "cells": report.totals.cells},
        }],
    });
    if report.findings_in.is_some() {
        whole["runs"][0]["automationDetails"] = json!({"id": category(report)});
    }
    let mut text = serde_json::to_string_pretty(&whole)?;
    text.push('\n');
    Ok(text)
}

/// Distinguishes the two reports of one server. Without it a reader of both would take the second for an
/// update of the first.
fn category(report: &Report) -> &'static str {
    let by_version = report.hosts.first().is_some_and(|host| host.kind == ColumnKind::Protocol);
    if by_version { "hostcheck/protocol/" } else { "hostcheck/hosts/" }
}

fn result(failure: &Failure, rules: &[&str], files: &BTreeMap<&str, (&str, &str)>, report: &Report) -> Value {
    let (file, level) = files.get(failure.scenario.as_str()).copied().unwrap_or_default();
    let line = failure.place.strip_prefix(file).and_then(|rest| rest.strip_prefix(':')?.parse().ok());
    // A file that was named for all findings has no line for any of them.
    let line = if report.findings_in.is_some() { Some(1) } else { line };
    let place = (failure.scenario.as_str(), failure.host.as_str(), failure.mode.as_str());
    let text = format!("{} on {} ({})\n{}", place.0, place.1, place.2, failure_text(failure));
    let mut found = finding(&failure.rule, rules, place, &text, (file, line));
    found["level"] = match level {
        "must" => "error",
        "should" => "warning",
        _ => "note",
    }
    .into();
    found["properties"] = json!({"runs": failure.runs, "seed": failure.seed, "state": failure.state});
    if let Some(gate) = &report.gate {
        let known = gate.known.iter().find(|known| {
            (known.scenario.as_str(), known.host.as_str(), known.mode.as_str(), known.rule.as_str())
                == (place.0, place.1, place.2, failure.rule.as_str())
        });
        found["baselineState"] = if known.is_some() { "unchanged" } else { "new" }.into();
        if let Some(known) = known {
            let why = known.why.as_deref().unwrap_or("in the baseline");
            found["suppressions"] =
                json!([{"kind": "external", "justification": short_line(why, TEXT_BYTES_MAX)}]);
        }
    }
    found
}

/// A stale entry is a finding about the list.
fn stale(entry: &Expected, rules: &[&str], files: &BTreeMap<&str, (&str, &str)>) -> Value {
    let (file, _) = files.get(entry.scenario.as_str()).copied().unwrap_or_default();
    let text = format!(
        "{} passes, and the baseline expects it to fail; remove it with `hostcheck baseline update`",
        entry.check().name()
    );
    let place = (entry.scenario.as_str(), entry.host.as_str(), entry.mode.as_str());
    let mut found = finding(&entry.rule, rules, place, &text, (file, None));
    found["level"] = "error".into();
    found["kind"] = "fail".into();
    found
}

fn finding(
    rule: &str,
    rules: &[&str],
    place: (&str, &str, &str),
    text: &str,
    at: (&str, Option<u32>),
) -> Value {
    let kept = cut(text, TEXT_BYTES_MAX);
    let (file, line) = at;
    let location = if file.is_empty() {
        // No file is better than one that the reader's repository does not have.
        let name = short_line(place.0, NAME_BYTES_MAX);
        let whole = short_line(&format!("{} on {}", place.0, place.1), NAME_BYTES_MAX);
        json!({"logicalLocations": [{"name": name, "fullyQualifiedName": whole}]})
    } else {
        let mut at = json!({"artifactLocation": {"uri": uri(file), "uriBaseId": "%SRCROOT%"}});
        if let Some(line) = line.filter(|&line| line > 0) {
            at["region"] = json!({"startLine": line});
        }
        json!({"physicalLocation": at})
    };
    // The same check has the same fingerprint in every run, whatever its message is.
    let digest = Sha256::digest(serde_json::json!([place.0, place.1, place.2, rule]).to_string());
    let print = digest.iter().take(16).fold(String::new(), |mut hex, byte| {
        // Writing to a `String` can't fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    json!({
        "ruleId": short_line(rule, NAME_BYTES_MAX),
        "ruleIndex": rules.binary_search(&rule).unwrap_or(0),
        "message": {"text": visible(kept.head)},
        "locations": [location],
        "partialFingerprints": {"hostcheckCheck/v1": print},
    })
}

/// A path as a relative reference: special characters are escaped byte by byte.
fn uri(path: &str) -> String {
    let mut text = String::new();
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            other => {
                let _ = write!(text, "%{other:02X}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn a_path_is_a_reference() {
        assert_eq!(uri("scenarios/suites/a b/c.yaml"), "scenarios/suites/a%20b/c.yaml");
        assert_eq!(uri("javascript:x<é"), "javascript%3Ax%3C%C3%A9");
    }
}

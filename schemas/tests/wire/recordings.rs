//! Recordings of real hosts, if they are there: every invalid line in them must be explained here. They are
//! expected in `$ENTRACLAW_SHARED/traces`, or in `../shared/traces` beside the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use schemas::{Direction, FileValidator, Scope, Version, WireError, WireValidator, rules};
use serde_json::Value;

/// The faults of the server in the recordings, mostly on purpose, to see how a host reacts; and the few
/// faults of hosts. `(who, rule, part of the finding, why)`.
const EXPLAINED: [(Direction, &str, &str, &str); 28] = [
    (S, "schema", "CallToolResult /result/content/0/type", "a block of an unknown type, on purpose"),
    (S, "schema", "CallToolResult /result member \"content\"", "structured content alone, on purpose"),
    (S, "schema", "member \"resultType\" is missing", "old results to new requests, on purpose"),
    (S, "schema", "member \"ttlMs\" is missing", "old results to new requests, on purpose"),
    (S, "schema", "member \"cacheScope\" is missing", "old results to new requests, on purpose"),
    (
        S,
        "schema",
        "ElicitRequest /params member \"requestedSchema\"",
        "a question of a later version, on purpose",
    ),
    (S, "negotiated-version", "InitializeResult", "claims the version without a handshake, on purpose"),
    (S, "second-response", "JSONRPCErrorResponse", "a fault of the recording server itself"),
    (S, "unknown-method", "notifications/unknown_thing", "unknown, on purpose"),
    (S, "unknown-method", "notifications/copilot", "unknown, on purpose"),
    (S, "unknown-method", "notifications/foo", "unknown, on purpose"),
    (S, "unknown-method", "bogus/method", "unknown, on purpose"),
    (S, "unknown-method", "foo/bar", "unknown, on purpose"),
    (S, "unknown-method", "2026-07-28 has no `ping`", "asks a host of the other era, on purpose"),
    (S, "server-request", "", "asks a host of the other era, on purpose"),
    (S, "unsolicited", "notifications/claude/channel", "a push without a session, on purpose"),
    (S, "unsolicited", "notifications/tasks/status", "a status of the other era, on purpose"),
    (S, "log-not-asked-for", "", "logs without a session, on purpose"),
    (S, "stream-tag", "ToolListChangedNotification", "a change without a stream, on purpose"),
    (S, "progress-token", "", "progress for a token of its own, on purpose"),
    (S, "not-subscribed", "", "an update without a subscription, on purpose"),
    (S, "undeclared-capability", "`notifications/tools/list_changed`", "an undeclared change, on purpose"),
    (S, "undeclared-capability", "`sampling/createMessage`", "asks every host for everything, on purpose"),
    (S, "undeclared-capability", "`elicitation/create`", "asks every host for everything, on purpose"),
    (S, "undeclared-capability", "`roots/list`", "asks every host for everything, on purpose"),
    (H, "undeclared-capability", "`prompts/list`", "Qwen Code lists whatever was declared"),
    (H, "undeclared-capability", "`resources/list`", "Qwen Code lists whatever was declared"),
    (H, "undeclared-capability", "`tools/list`", "Copilot CLI lists tools whatever was declared"),
];
const H: Direction = Direction::HostToServer;
const S: Direction = Direction::ServerToHost;

/// Collects findings and looks them up.
#[derive(Default)]
struct Findings {
    lines: usize,
    /// Number of lines of which a recording has only the beginning.
    shortened: usize,
    unexplained: Vec<String>,
    /// How often, and in the recordings of which programs.
    explained: BTreeMap<usize, (usize, BTreeSet<String>)>,
}

impl Findings {
    fn add(&mut self, path: &Path, line: usize, direction: Direction, definition: &str, error: &WireError) {
        let what = format!("{definition} {} {}", error.path, error.message);
        let known = EXPLAINED
            .iter()
            .position(|(who, rule, part, _)| *who == direction && *rule == error.rule && what.contains(part));
        match known {
            Some(index) => {
                let (count, programs) = self.explained.entry(index).or_default();
                *count += 1;
                let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
                programs.insert(folder.to_string_lossy().into_owned());
            }
            None => self.unexplained.push(format!(
                "{} line {line}: {direction} {} {what}",
                path.display(),
                error.rule
            )),
        }
    }

    fn report(&self, session: bool) {
        println!("{} lines", self.lines);
        for (index, (count, _)) in &self.explained {
            let (who, rule, part, why) = EXPLAINED[*index];
            println!("{count} × {who} {rule} {part}: {why}");
        }
        assert!(self.unexplained.is_empty(), "{}", self.unexplained.join("\n"));
        if self.lines == 0 {
            return;
        }
        let used: BTreeSet<usize> = self.explained.keys().copied().collect();
        for (index, (_, rule, part, _)) in EXPLAINED.iter().enumerate() {
            let here = is_session(rule) == session;
            assert!(!here || used.contains(&index), "explained, but it does not occur: {rule} {part}");
        }
    }
}

fn is_session(rule: &str) -> bool {
    rules().iter().any(|r| r.id == rule && r.scope == Scope::Session)
}

fn recordings() -> Vec<PathBuf> {
    let folder = crate::shared().join("traces");
    let Ok(hosts) = std::fs::read_dir(&folder) else {
        println!("absent: {}; nothing to read", folder.display());
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = hosts
        .filter_map(|host| std::fs::read_dir(host.ok()?.path()).ok())
        .flatten()
        .filter_map(|file| Some(file.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
        .collect();
    found.sort();
    found
}

/// The version that a recording settles on.
fn version(text: &str) -> Version {
    let mut modern = false;
    for line in text.lines() {
        let Ok(entry) = serde_json::from_str::<Value>(line) else { continue };
        if let Some(named) = entry.pointer("/msg/result/protocolVersion").and_then(Value::as_str)
            && let Ok(version) = named.parse()
        {
            return version;
        }
        modern |= entry.pointer("/msg/result/supportedVersions").is_some();
    }
    if modern { Version::V2026_07_28 } else { Version::NEWEST_LEGACY }
}

fn direction(entry: &Value) -> Option<Direction> {
    entry["dir"].as_str().and_then(Direction::parse)
}

#[test]
fn each_line_of_the_recordings_is_valid_or_explained() {
    lines().report(false);
}

#[test]
fn each_session_of_the_recordings_is_valid_or_explained() {
    sessions().report(true);
}

/// Judges each line by itself, in the version on which its recording settles.
fn lines() -> Findings {
    let mut findings = Findings::default();
    for path in recordings() {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut file = FileValidator::new(version(&text));
        for (index, line) in text.lines().enumerate() {
            let Some(judged) = file.line(line.as_bytes()) else { continue };
            findings.lines += 1;
            let entry: Value = serde_json::from_str(line).unwrap();
            for error in &judged.verdict.errors {
                let direction = direction(&entry).unwrap();
                findings.add(&path, index + 1, direction, judged.verdict.definition, error);
            }
        }
    }
    findings
}

/// Judges each connection, in order.
fn sessions() -> Findings {
    let mut findings = Findings::default();
    for path in recordings() {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut connections: BTreeMap<i64, WireValidator> = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let entry: Value = serde_json::from_str(line).unwrap();
            let Some(direction) = direction(&entry) else { continue };
            let connection =
                connections.entry(entry["proc"].as_i64().unwrap_or(0)).or_insert_with(WireValidator::at_host);
            let message = &entry["msg"];
            let kept = message.get("cut").or_else(|| message.get("head")).and_then(Value::as_str);
            if let Some(kept) = kept {
                findings.shortened += 1;
                connection.missed(direction, kept.as_bytes());
                continue;
            }
            findings.lines += 1;
            let verdict = connection.feed_value(direction, message);
            for error in verdict.errors.iter().filter(|error| is_session(error.rule)) {
                findings.add(&path, index + 1, direction, verdict.definition, error);
            }
        }
    }
    findings
}

/// The page lists the invalid lines of the recordings, with the program at fault.
#[test]
fn the_page_of_the_recordings_is_up_to_date() {
    let (lines, sessions) = (lines(), sessions());
    if lines.lines == 0 {
        return;
    }
    let mut page = format!(
        "# What is invalid in the recordings of real hosts, and why\n\n\
         Each message of the recordings is held to the specification's schema and rules, in the version that its connection \
         settled on, as `hostcheck validate` does. The recordings are not part of this repository. {} messages were judged; \
         of {} lines a recording has only the beginning: such a line ends its request and is not judged, and where it was the \
         answer to `initialize`, rules about the order of messages say nothing afterwards. Written by \
         `UPDATE_RECORDINGS=1 cargo test -p schemas --test wire`.\n",
        sessions.lines, sessions.shortened,
    );
    let parts = [
        (H, "What the hosts do against the rules"),
        (S, "What the server of the recordings does, to see what a host does then"),
    ];
    for (who, title) in parts {
        let _ = write!(
            page,
            "\n## {title}\n\n| rule | message | times | in | why |\n| --- | --- | --- | --- | --- |\n"
        );
        let found = lines.explained.iter().filter(|(index, _)| !is_session(EXPLAINED[**index].1));
        let found = found.chain(sessions.explained.iter());
        for (index, (count, programs)) in found.filter(|(index, _)| EXPLAINED[**index].0 == who) {
            let (_, rule, part, why) = EXPLAINED[*index];
            let programs: Vec<&str> = programs.iter().map(String::as_str).collect();
            let part = if part.is_empty() { "any" } else { part };
            let _ = writeln!(page, "| `{rule}` | {part} | {count} | {} | {why} |", programs.join(", "));
        }
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("RECORDINGS.md");
    if std::env::var_os("UPDATE_RECORDINGS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == page, "the page is not what was found; UPDATE_RECORDINGS=1 writes it\n{page}");
}

//! The log `events.jsonl` of the GitHub Copilot CLI, with `workspace.yaml` beside it.
//!
//! Recorded from 1.0.102. It must never take the instructions of the program for words of the session.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::gather::{Gather, time, word};
use super::parts::words;
use super::session::Role;
use crate::files::{Files, read_whole};

/// Longest `workspace.yaml`.
const WORKSPACE_BYTES_MAX: u64 = 64 * 1024;

pub(super) fn line(event: &Value, gather: &mut Gather) {
    let Some(kind) = word(event, "type") else {
        gather.tally.malformed += 1;
        return;
    };
    let data = event.get("data").unwrap_or(&Value::Null);
    let at = time(event, "timestamp");
    gather.saw(at);
    match kind {
        "session.start" => {
            gather.id(word(data, "sessionId"));
            gather.version(word(data, "copilotVersion"));
            gather.folder(data.get("context").and_then(|context| word(context, "cwd")));
        }
        "session.resume" => gather.folder(data.get("context").and_then(|context| word(context, "cwd"))),
        "user.message" => gather.add(Role::User, word(data, "content").unwrap_or_default(), at),
        "assistant.message" => gather.add(Role::Assistant, word(data, "content").unwrap_or_default(), at),
        "tool.execution_start" => {
            let arguments = data.get("arguments").map(words).unwrap_or_default();
            gather.add_tool(word(data, "toolName"), &arguments, at);
        }
        "tool.execution_complete" => {
            let result = data.get("result").and_then(|result| word(result, "content"));
            let error = data.get("error").and_then(|error| word(error, "message"));
            gather.add_tool(None, result.or(error).unwrap_or_default(), at);
        }
        "session.error" => gather.add(Role::Assistant, word(data, "message").unwrap_or_default(), at),
        "session.shutdown"
        | "session.usage_record"
        | "session.info"
        | "system.message"
        | "system.notification"
        | "assistant.turn_start"
        | "assistant.turn_end"
        | "abort"
        | "subagent.started"
        | "subagent.completed" => {}
        other => gather.tally.count_unknown(other),
    }
}

#[derive(Deserialize)]
struct Workspace {
    cwd: Option<String>,
    name: Option<String>,
    summary: Option<String>,
}

/// What stands beside the log: it has the name that a person gave.
pub(super) fn surroundings(files: &dyn Files, path: &Path, gather: &mut Gather) {
    let Ok(Some((bytes, _))) = read_whole(files, &path.with_file_name("workspace.yaml"), WORKSPACE_BYTES_MAX)
    else {
        return;
    };
    let workspace = str::from_utf8(&bytes).ok().and_then(|text| yaml::read::<Workspace>(text).ok());
    match workspace {
        Some(workspace) => {
            gather.title(workspace.summary.as_deref());
            gather.title(workspace.name.as_deref());
            if gather.session.folder.is_none() {
                gather.folder(workspace.cwd.as_deref());
            }
        }
        None => gather.tally.malformed += 1,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;
    use rstest::rstest;
    use serde_json::json;

    use super::super::session::{Agent, Session};
    use super::*;
    use crate::files::SimulatedFiles;

    #[rstest]
    #[case::both("summary: Short\nname: Given\ncwd: /w\n", Some("Given"), Some("/w"), 0)]
    #[case::a_summary("summary: Short\n", Some("Short"), None, 0)]
    #[case::nothing("other: 1\n", None, None, 0)]
    #[case::no_list("- a\n- b\n", None, None, 1)]
    fn what_stands_beside_the_log_names_the_session(
        #[case] yaml: &str,
        #[case] title: Option<&str>,
        #[case] folder: Option<&str>,
        #[case] malformed: u64,
    ) {
        let storage = MemoryStorage::new();
        storage.set_bytes("s/one/workspace.yaml", yaml.as_bytes());
        let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
        let path = Path::new("/s/one/events.jsonl");
        let mut gather = Gather::new(Session::new(Agent::Copilot, "one", path.into()));
        surroundings(&files, path, &mut gather);
        let found =
            (gather.session.title.as_deref(), gather.session.folder.as_deref(), gather.tally.malformed);
        assert_eq!(found, (title, folder, malformed));
        gather.folder(Some("/own"));
        surroundings(&files, path, &mut gather);
        assert_eq!(gather.session.folder.as_deref(), Some("/own"), "the log knows better");
        let mut other = Gather::new(Session::new(Agent::Copilot, "one", path.into()));
        surroundings(&files, Path::new("/s/two/events.jsonl"), &mut other);
        assert!(other.session.title.is_none() && other.tally.is_empty());
    }

    #[rstest]
    #[case(json!({"type": "user.message", "data": {"content": "a"}}), &[(Role::User, None, "a")])]
    #[case(json!({"type": "assistant.message", "data": {"content": "a"}}), &[(Role::Assistant, None, "a")])]
    #[case(json!({"type": "session.error", "data": {"message": "a"}}), &[(Role::Assistant, None, "a")])]
    #[case(
        json!({"type": "tool.execution_start", "data": {"toolName": "bash", "arguments": {"command": "ls"}}}),
        &[(Role::Tool, Some("bash"), "ls")]
    )]
    #[case(
        json!({"type": "tool.execution_complete", "data": {"result": {"content": "a"}, "error": {"message": "b"}}}),
        &[(Role::Tool, None, "a")]
    )]
    #[case(
        json!({"type": "tool.execution_complete", "data": {"error": {"message": "b"}}}),
        &[(Role::Tool, None, "b")]
    )]
    #[case(json!({"type": "system.message", "data": {"content": "a"}}), &[])]
    #[case(json!({"type": "assistant.turn_end", "data": {"content": "a"}}), &[])]
    fn an_event_is_taken_or_passed_over(#[case] event: Value, #[case] taken: &[(Role, Option<&str>, &str)]) {
        let mut gather = Gather::new(Session::new(Agent::Copilot, "one", "/one".into()));
        line(&event, &mut gather);
        let found: Vec<_> =
            gather.messages.iter().map(|one| (one.role, one.tool.as_deref(), one.text.as_str())).collect();
        assert_eq!((found.as_slice(), gather.tally.is_empty()), (taken, true));
    }

    #[test]
    fn a_session_has_the_folder_in_which_it_was_resumed_last() {
        let mut gather = Gather::new(Session::new(Agent::Copilot, "one", "/one".into()));
        let of = |kind: &str, data: Value| json!({"type": kind, "data": data, "timestamp": "2026-11-26T00:00:00Z"});
        let start = json!({"sessionId": "two", "copilotVersion": "1", "context": {"cwd": "/a"}});
        line(&of("session.start", start), &mut gather);
        assert_eq!(gather.session.folder.as_deref(), Some("/a"));
        line(&of("session.resume", json!({"context": {"cwd": "/b"}})), &mut gather);
        line(&of("of.tomorrow", json!({})), &mut gather);
        line(&json!({"data": {}}), &mut gather);
        let session = &gather.session;
        assert_eq!(
            (session.id.as_str(), session.folder.as_deref(), session.version.as_deref()),
            ("two", Some("/b"), Some("1"))
        );
        assert!(session.started.is_some());
        assert_eq!((gather.tally.unknown.len(), gather.tally.malformed), (1, 1));
    }
}

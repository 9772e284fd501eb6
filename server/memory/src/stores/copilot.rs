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
    match serde_saphyr::from_slice::<Workspace>(&bytes) {
        Ok(workspace) => {
            gather.title(workspace.summary.as_deref());
            gather.title(workspace.name.as_deref());
            if gather.session.folder.is_none() {
                gather.folder(workspace.cwd.as_deref());
            }
        }
        Err(_) => gather.tally.malformed += 1,
    }
}

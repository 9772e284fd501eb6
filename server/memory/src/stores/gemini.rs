//! The sessions of the Gemini CLI: a log since 0.61.0 at the latest, one document before.
//!
//! Recorded from 0.61.0, where a later record with the same id replaces an earlier one; `$rewindTo` is read in the same
//! program. It must never take a context that the program sets up for the person's words.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::gather::{Gather, time, word};
use super::qwen::add_part;
use super::session::Role;
use crate::files::{Files, read_whole};

/// Longest path of a project's folder.
const FOLDER_BYTES_MAX: u64 = 8 * 1024;

/// A log, replayed.
#[derive(Default)]
pub(super) struct Log {
    header: Value,
    messages: Vec<Value>,
    /// Where a message stands, by its id.
    places: BTreeMap<String, usize>,
    unknown: Vec<String>,
}

impl Log {
    /// Applies a line; `false` if it is none of a session.
    pub(super) fn apply(&mut self, line: Value) -> bool {
        if let Some(set) = line.get("$set") {
            // The history as the model is given it, when a session is resumed or made shorter. What is known already is
            // known better.
            let messages = set.get("messages").and_then(Value::as_array);
            for message in messages.into_iter().flatten() {
                if word(message, "id").is_some_and(|id| !self.places.contains_key(id)) {
                    self.put(message.clone());
                }
            }
        } else if let Some(id) = word(&line, "$rewindTo") {
            if let Some(at) = self.places.get(id).copied() {
                self.messages.truncate(at);
                self.places.retain(|_, place| *place < at);
            }
        } else if line.get("sessionId").is_some() {
            self.header = line;
        } else if word(&line, "id").is_some() {
            self.put(line);
        } else if let Some((name, _)) = line.as_object().and_then(|members| members.iter().next()) {
            self.unknown.push(name.clone());
        } else {
            return false;
        }
        true
    }

    /// A message that is written again has news, such as the result of its tool.
    fn put(&mut self, message: Value) {
        let Some(id) = word(&message, "id") else { return };
        if let Some(at) = self.places.get(id) {
            self.messages[*at] = message;
        } else {
            self.places.insert(id.to_owned(), self.messages.len());
            self.messages.push(message);
        }
    }

    pub(super) fn finish(self, gather: &mut Gather) {
        self.unknown.iter().for_each(|name| gather.tally.count_unknown(name));
        header(&self.header, gather);
        self.messages.iter().for_each(|one| message(one, gather));
    }
}

/// A session in one document.
pub(super) fn document(document: &Value, gather: &mut Gather) {
    header(document, gather);
    let messages = document.get("messages").and_then(Value::as_array);
    messages.into_iter().flatten().for_each(|one| message(one, gather));
}

fn header(header: &Value, gather: &mut Gather) {
    gather.id(word(header, "sessionId"));
    gather.title(word(header, "summary"));
    gather.saw(time(header, "startTime"));
    gather.saw(time(header, "lastUpdated"));
}

fn message(message: &Value, gather: &mut Gather) {
    let at = time(message, "timestamp");
    let role = match word(message, "type") {
        Some("user") => Role::User,
        Some("gemini") => Role::Assistant,
        Some("info" | "error" | "warning") => return,
        other => {
            gather.tally.count_unknown(other.unwrap_or("a message without a type"));
            return;
        }
    };
    match message.get("content") {
        Some(Value::Array(parts)) => {
            // The results of tools are with their calls too.
            let parts = parts.iter().filter(|part| part.get("functionResponse").is_none());
            parts.for_each(|part| add_part(part, role, at, gather));
        }
        Some(Value::String(text)) => gather.add(role, text, at),
        _ => {}
    }
    for call in message.get("toolCalls").and_then(Value::as_array).into_iter().flatten() {
        let args = call.get("args").map(super::parts::words).unwrap_or_default();
        gather.add_tool(word(call, "name"), &args, at);
        for part in call.get("result").and_then(Value::as_array).into_iter().flatten() {
            add_part(part, Role::Tool, at, gather);
        }
    }
}

/// The folder of the project stands in a file above the sessions.
pub(super) fn surroundings(files: &dyn Files, path: &Path, gather: &mut Gather) {
    let Some(project) = path.parent().and_then(Path::parent) else { return };
    if let Ok(Some((bytes, _))) = read_whole(files, &project.join(".project_root"), FOLDER_BYTES_MAX) {
        gather.folder(Some(String::from_utf8_lossy(&bytes).trim()));
    }
}

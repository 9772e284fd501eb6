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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::session::{Agent, Session};
    use super::*;

    fn user(id: &str, text: &str) -> Value {
        json!({"id": id, "type": "user", "content": text})
    }

    fn replay(lines: &[Value]) -> (Gather, usize) {
        let mut gather = Gather::new(Session::new(Agent::Gemini, "guess", "/one.jsonl".into()));
        let mut log = Log::default();
        let refused = lines.iter().filter(|line| !log.apply((*line).clone())).count();
        log.finish(&mut gather);
        (gather, refused)
    }

    #[rstest]
    #[case::one_after_the_other(&[user("1", "a"), user("2", "b")], &["a", "b"])]
    #[case::news_take_the_old_place(&[user("1", "a"), user("2", "b"), user("1", "c")], &["c", "b"])]
    #[case::back_to_the_first(&[user("1", "a"), user("2", "b"), json!({"$rewindTo": "1"})], &[])]
    #[case::back_to_a_later_one(
        &[user("1", "a"), user("2", "b"), user("3", "c"), json!({"$rewindTo": "2"})],
        &["a"]
    )]
    #[case::back_to_nothing(&[user("1", "a"), json!({"$rewindTo": "7"})], &["a"])]
    #[case::what_was_taken_back_comes_again(
        &[user("1", "a"), user("2", "b"), json!({"$rewindTo": "2"}), user("2", "c"), user("1", "d")],
        &["d", "c"]
    )]
    #[case::a_history_adds_what_is_not_known(
        &[user("1", "a"), json!({"$set": {"messages": [user("1", "x"), user("2", "b"), {"type": "user"}]}})],
        &["a", "b"]
    )]
    #[case::a_setting_without_messages(&[user("1", "a"), json!({"$set": {"model": "m"}})], &["a"])]
    fn a_log_is_replayed(#[case] lines: &[Value], #[case] expected: &[&str]) {
        let (gather, refused) = replay(lines);
        let texts: Vec<&str> = gather.messages.iter().map(|message| message.text.as_str()).collect();
        assert_eq!((texts.as_slice(), refused, gather.tally.is_empty()), (expected, 0, true));
    }

    #[test]
    fn a_line_of_no_session_is_refused_and_one_of_an_unknown_kind_is_named() {
        let (gather, refused) = replay(&[
            json!({"sessionId": "one", "summary": "The plan", "startTime": "2026-11-26T00:00:00Z"}),
            json!([]),
            json!({}),
            json!({"ofTomorrow": 1}),
        ]);
        assert_eq!((refused, &gather.tally.unknown), (2, &BTreeMap::from([("ofTomorrow".to_owned(), 1)])));
        assert_eq!((gather.session.id.as_str(), gather.session.title.as_deref()), ("one", Some("The plan")));
        assert!(gather.session.started.is_some());
    }

    #[test]
    fn a_message_is_read_with_its_calls_and_their_results() {
        let mut gather = Gather::new(Session::new(Agent::Gemini, "guess", "/one.json".into()));
        document(
            &json!({"sessionId": "one", "lastUpdated": "2026-11-26T00:00:09Z", "messages": [
                {"type": "user", "content": [{"text": "why"}, {"functionResponse": {"response": {"output": "twice"}}}]},
                {"type": "gemini", "content": "so", "toolCalls": [{
                    "name": "run", "args": {"command": "ls"},
                    "result": [{"functionResponse": {"response": {"output": "notes.txt"}}}],
                }]},
                {"type": "info", "content": "no"},
                {"type": "error", "content": "no"},
                {"type": "warning", "content": "no"},
                {"type": "ofTomorrow", "content": "no"},
                {"content": "no"},
                {"type": "gemini"},
            ]}),
            &mut gather,
        );
        let found: Vec<(Role, Option<&str>, &str)> =
            gather.messages.iter().map(|one| (one.role, one.tool.as_deref(), one.text.as_str())).collect();
        assert_eq!(
            found,
            [
                (Role::User, None, "why"),
                (Role::Assistant, None, "so"),
                (Role::Tool, Some("run"), "ls"),
                (Role::Tool, None, "notes.txt"),
            ]
        );
        let unknown: Vec<&str> = gather.tally.unknown.keys().map(String::as_str).collect();
        assert_eq!(unknown, ["a message without a type", "ofTomorrow"]);
        assert!(gather.session.last.is_some());
    }
}

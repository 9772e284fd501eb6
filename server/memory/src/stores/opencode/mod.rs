//! The sessions of opencode: one database since some version between 1.1.11 and 1.18.33, files of JSON before.
//!
//! Recorded from both; the names of other parts are read in the newer program. Each session counts as a file of its own:
//! one within the database has the database's path, and below it its id. What is below another session's id was begun by
//! that session. It must never read a table that holds a token.

mod database;
mod files;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;

use super::gather::{Gather, time, word};
use super::parts::words;
use super::session::{Message, Place, Role};
use crate::files::{Files, Standing};

/// Most sessions, and most parts of one session.
const ROWS_MAX: usize = 100_000;
/// Longest record.
const RECORD_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// What is said of a session.
#[derive(Debug, Default)]
struct Head {
    parent: Option<String>,
    folder: Option<String>,
    title: Option<String>,
    version: Option<String>,
    /// The message from which on the session was taken back.
    reverted_from: Option<String>,
}

/// A message and its parts.
struct Said {
    id: String,
    message: Value,
    parts: Vec<Value>,
}

/// The sessions in a data folder, and what can't be read.
pub(super) fn find(files: &dyn Files, home: &Path, found: &mut Vec<PathBuf>) -> Vec<(PathBuf, String)> {
    let mut troubles = Vec::new();
    let mut known = BTreeSet::new();
    let mut add = |path: PathBuf, id: &str| {
        // A session that was taken over into the database stays as files too.
        if known.insert(id.to_owned()) {
            found.push(path);
        }
    };
    let names = files.list(home).unwrap_or_else(|error| {
        troubles.push((home.to_owned(), error.to_string()));
        Arc::default()
    });
    for name in names.iter().filter(|name| is_database(name)) {
        let path = home.join(name);
        match database::sessions(files, &path) {
            Ok(sessions) => sessions.into_iter().for_each(|(below, id)| add(path.join(below), &id)),
            Err(error) => troubles.push((path, error.to_string())),
        }
    }
    for (path, id) in files::sessions(files, &home.join("storage"), &mut troubles) {
        add(path, &id);
    }
    troubles
}

fn is_database(name: &str) -> bool {
    name.starts_with("opencode") && Path::new(name).extension().is_some_and(|extension| extension == "db")
}

/// The database that holds a session, and the session's id; `None` if files hold it.
fn within(path: &Path) -> Option<(&Path, &str)> {
    let is_holder = |path: &&Path| path.file_name().and_then(|name| name.to_str()).is_some_and(is_database);
    let holder = path.ancestors().skip(1).take(2).find(is_holder)?;
    Some((holder, path.file_name()?.to_str()?))
}

/// Whether another session began it.
pub(super) fn is_of_sub_agent(path: &Path) -> bool {
    within(path).is_some_and(|(holder, _)| path.parent() != Some(holder))
}

/// How a session stands now; `None` if it is gone.
pub(super) fn standing(files: &dyn Files, path: &Path) -> io::Result<Option<Standing>> {
    match within(path) {
        Some((holder, id)) => database::standing(files, holder, id),
        None => files::standing(files, path),
    }
}

/// Reads a session.
pub(super) fn read(files: &dyn Files, path: &Path, gather: &mut Gather) -> io::Result<()> {
    let (head, said) = match within(path) {
        Some((holder, id)) => database::read(files, holder, id, &mut gather.tally)?,
        None => files::read(files, path, &mut gather.tally)?,
    };
    gather.folder(head.folder.as_deref());
    gather.version(head.version.as_deref());
    gather.id(head.parent.as_deref());
    let is_side = head.parent.is_some();
    for one in &said {
        if head.reverted_from.as_deref().is_some_and(|from| one.id.as_str() >= from) {
            break;
        }
        one.gather(is_side, gather);
    }
    if !is_side {
        gather.title(head.title.as_deref());
    }
    Ok(())
}

/// Reads what is said of a session.
pub(super) fn peek(files: &dyn Files, path: &Path, gather: &mut Gather) -> io::Result<()> {
    let head = match within(path) {
        Some((holder, id)) => database::head(files, holder, id)?,
        None => files::head(files, path)?,
    };
    gather.folder(head.folder.as_deref());
    gather.version(head.version.as_deref());
    gather.id(head.parent.as_deref());
    gather.title(head.title.as_deref());
    Ok(())
}

impl Said {
    fn gather(&self, is_side: bool, gather: &mut Gather) {
        let is_set = |value: &Value, name: &str| value.get(name).and_then(Value::as_bool).unwrap_or(false);
        let role = match word(&self.message, "role") {
            Some("user") => Role::User,
            Some("assistant") if is_set(&self.message, "summary") => Role::Summary,
            Some("assistant") => Role::Assistant,
            other => {
                gather.tally.count_unknown(other.unwrap_or("a message without a role"));
                return;
            }
        };
        let at = self.message.get("time").and_then(|times| time(times, "created"));
        let mut push = |role, text: &str, tool: Option<&str>| {
            let (text, tool) = (text.to_owned(), tool.map(str::to_owned));
            gather.push(Message { role, text, at, tool, is_side, place: Place::default() });
        };
        let mut unknown = Vec::new();
        for part in &self.parts {
            match word(part, "type") {
                // What the program tells the model is no word of the person.
                Some("text") if is_set(part, "synthetic") || is_set(part, "ignored") => {}
                Some("text") => push(role, word(part, "text").unwrap_or_default(), None),
                Some("tool") => {
                    let state = part.get("state").unwrap_or(&Value::Null);
                    let call = state.get("input").map(words).unwrap_or_default();
                    push(Role::Tool, &call, word(part, "tool"));
                    let result = word(state, "output").or_else(|| word(state, "error"));
                    push(Role::Tool, result.unwrap_or_default(), None);
                }
                Some(
                    "reasoning" | "step-start" | "step-finish" | "file" | "snapshot" | "patch" | "agent"
                    | "subtask" | "retry" | "compaction",
                ) => {}
                other => unknown.push(other.unwrap_or("a part without a type").to_owned()),
            }
        }
        let error = self.message.get("error").and_then(|error| error.get("data"));
        push(Role::Assistant, error.and_then(|data| word(data, "message")).unwrap_or_default(), None);
        for kind in unknown {
            gather.tally.count_unknown(&kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;
    use rstest::rstest;
    use serde_json::json;

    use super::super::session::{Agent, Session};
    use super::*;
    use crate::files::SimulatedFiles;

    #[rstest]
    #[case("opencode.db", true)]
    #[case("opencode-dev.db", true)]
    #[case("opencode.db-wal", false)]
    #[case("opencode.txt", false)]
    #[case("other.db", false)]
    fn a_database_is_told_by_its_name(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(is_database(name), expected);
    }

    #[rstest]
    #[case("/o/opencode.db/ses_a", Some(("/o/opencode.db", "ses_a")))]
    #[case("/o/opencode.db/ses_a/ses_b", Some(("/o/opencode.db", "ses_b")))]
    #[case("/o/opencode.db/a/b/c", None)]
    #[case("/o/opencode.db", None)]
    #[case("/o/storage/session/p/ses_a.json", None)]
    fn a_session_of_a_database_is_below_its_path(#[case] path: &str, #[case] expected: Option<(&str, &str)>) {
        let expected = expected.map(|(holder, id)| (Path::new(holder), id));
        assert_eq!(within(Path::new(path)), expected);
    }

    fn gathered(message: Value, parts: &[Value]) -> Gather {
        let mut gather = Gather::new(Session::new(Agent::Opencode, "one", "/one".into()));
        Said { id: "msg_1".to_owned(), message, parts: parts.to_vec() }.gather(false, &mut gather);
        gather
    }

    #[rstest]
    #[case(json!({"type": "text", "text": "a"}), &[(Role::Assistant, None, "a")], 0)]
    #[case(json!({"type": "text", "text": "a", "synthetic": true}), &[], 0)]
    #[case(json!({"type": "text", "text": "a", "ignored": true}), &[], 0)]
    #[case(json!({"type": "text", "text": "a", "synthetic": false}), &[(Role::Assistant, None, "a")], 0)]
    #[case(
        json!({"type": "tool", "tool": "bash", "state": {"input": {"command": "ls"}, "output": "a", "error": "b"}}),
        &[(Role::Tool, Some("bash"), "ls"), (Role::Tool, None, "a")],
        0
    )]
    #[case(
        json!({"type": "tool", "tool": "bash", "state": {"input": {"command": "ls"}, "error": "b"}}),
        &[(Role::Tool, Some("bash"), "ls"), (Role::Tool, None, "b")],
        0
    )]
    #[case(json!({"type": "reasoning", "text": "a"}), &[], 0)]
    #[case(json!({"type": "compaction"}), &[], 0)]
    #[case(json!({"type": "ofTomorrow"}), &[], 1)]
    #[case(json!({"text": "a"}), &[], 1)]
    fn a_part_is_taken_passed_over_or_told(
        #[case] part: Value,
        #[case] taken: &[(Role, Option<&str>, &str)],
        #[case] unknown: u64,
    ) {
        let gather = gathered(json!({"role": "assistant", "time": {"created": 2_000}}), &[part]);
        let found: Vec<_> =
            gather.messages.iter().map(|one| (one.role, one.tool.as_deref(), one.text.as_str())).collect();
        assert_eq!((found.as_slice(), gather.tally.unknown.values().sum::<u64>()), (taken, unknown));
        assert!(gather.messages.iter().all(|one| one.at.is_some_and(|at| at.as_second() == 2)));
    }

    #[test]
    fn a_message_has_its_role_and_an_error_its_words() {
        let text = [json!({"type": "text", "text": "a"})];
        for (message, role) in [
            (json!({"role": "user"}), Some(Role::User)),
            (json!({"role": "user", "summary": true}), Some(Role::User)),
            (json!({"role": "assistant"}), Some(Role::Assistant)),
            (json!({"role": "assistant", "summary": true}), Some(Role::Summary)),
            (json!({"role": "ofTomorrow"}), None),
            (json!({}), None),
        ] {
            let gather = gathered(message, &text);
            assert_eq!(gather.messages.first().map(|one| one.role), role);
            assert_eq!(gather.tally.is_empty(), role.is_some());
        }
        let failed = gathered(json!({"role": "assistant", "error": {"data": {"message": "No more."}}}), &[]);
        assert_eq!(
            (failed.messages[0].role, failed.messages[0].text.as_str()),
            (Role::Assistant, "No more.")
        );
    }

    /// A session in files, of which the last message was taken back.
    fn machine(head: &Value) -> (SimulatedFiles, &'static Path) {
        let storage = MemoryStorage::new();
        let put = |path: &str, value: &Value| {
            storage.set_bytes(&format!("o/storage/{path}"), value.to_string().as_bytes());
        };
        put("session/p/ses_a.json", head);
        for n in 1..4 {
            put(&format!("message/ses_a/msg_{n}.json"), &json!({"role": "user"}));
            put(&format!("part/msg_{n}/prt_{n}.json"), &json!({"type": "text", "text": format!("said {n}")}));
        }
        let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
        (files, Path::new("/o/storage/session/p/ses_a.json"))
    }

    #[test]
    fn what_was_taken_back_is_not_read_and_what_is_said_of_a_session_is() {
        let head = json!({"directory": "/p", "title": "A", "version": "1", "revert": {"messageID": "msg_3"}});
        let (files, path) = machine(&head);
        let begin = || Gather::new(Session::new(Agent::Opencode, "ses_a", path.into()));
        let (mut whole, mut head) = (begin(), begin());
        read(&files, path, &mut whole).unwrap();
        peek(&files, path, &mut head).unwrap();
        let texts: Vec<&str> = whole.messages.iter().map(|one| one.text.as_str()).collect();
        assert_eq!((texts, head.messages.len()), (vec!["said 1", "said 2"], 0));
        for gather in [whole, head] {
            let session = gather.session;
            let members = [session.folder, session.title, session.version, Some(session.id)];
            assert_eq!(members.map(Option::unwrap), ["/p", "A", "1", "ses_a"]);
        }
    }

    #[test]
    fn a_session_that_another_one_began_is_beside_that_one() {
        let (files, path) = machine(&json!({"parentID": "ses_0", "title": "A task"}));
        let mut gather = Gather::new(Session::new(Agent::Opencode, "ses_a", path.into()));
        read(&files, path, &mut gather).unwrap();
        assert_eq!((gather.session.id.as_str(), gather.session.title), ("ses_0", None));
        assert!(gather.messages.len() == 3 && gather.messages.iter().all(|one| one.is_side));
    }
}

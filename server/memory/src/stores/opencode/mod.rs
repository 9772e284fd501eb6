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

//! Reads the positions of the other server: a JSON file for each chat, a line for mail, a line for each watched chat.
//! It must never treat a position that it can't read as the beginning of time.

use std::collections::BTreeMap;

use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The time up to which each conversation was read.
pub(super) type Positions = BTreeMap<String, Timestamp>;

/// Most chats that are taken over.
const CHATS_MAX: usize = 1_000;
/// The ending of the ids of chats of two people.
const OF_TWO: &str = "@unq.gbl.spaces";
/// Longest chat id.
const CHAT_ID_BYTES_MAX: usize = 512;

/// The positions in the files of `chat_cursors`.
#[derive(Debug, Default)]
pub(super) struct Chats {
    pub(super) chats: Positions,
    pub(super) unreadable: Vec<(String, String)>,
}

/// Reads the files of `chat_cursors`. A file's name is the chat's id, percent-encoded.
pub(super) fn chats(files: &[(String, String)]) -> Chats {
    let mut read = Chats::default();
    for (name, text) in files {
        let stem = name.strip_suffix(".json").unwrap_or(name);
        let id = percent_decode_str(stem).decode_utf8_lossy().into_owned();
        let position = serde_json::from_str::<Value>(text).ok();
        let position = position.as_ref().and_then(|value| value.get("last_ts")).and_then(Value::as_str);
        match position.and_then(instant) {
            _ if !is_chat(&id) => read.unreadable.push((name.clone(), "its name is no chat id".to_owned())),
            _ if read.chats.len() == CHATS_MAX => {
                read.unreadable.push((name.clone(), format!("more than {CHATS_MAX} chats")));
            }
            Some(at) => {
                read.chats.insert(id, at);
            }
            None => read.unreadable.push((name.clone(), "it holds no `last_ts` that is a time".to_owned())),
        }
    }
    read
}

/// The chats in `watched_chats` and `watched_chats.json`.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// Chats that may have more than two people, with the time since when they are watched, if it is given.
    pub(super) groups: BTreeMap<String, Option<Timestamp>>,
    /// The number of chats of two people.
    pub(super) of_two: usize,
    /// Why the second file can't be read.
    pub(super) unreadable: Option<String>,
}

/// Reads both files: a chat id on each line, and an object of chat ids with `title` and `added_at`.
pub(super) fn watched(plain: Option<&str>, json: Option<&str>) -> Watched {
    let mut watched = Watched::default();
    let mut chats = BTreeMap::new();
    for line in plain.unwrap_or_default().lines().map(str::trim) {
        chats.insert(line.to_owned(), None);
    }
    match json.map(serde_json::from_str::<Value>) {
        None => {}
        Some(Ok(Value::Object(object))) => {
            for (id, chat) in object {
                let added_at = chat.get("added_at").and_then(Value::as_str).and_then(instant);
                chats.insert(id, added_at);
            }
        }
        Some(_) => watched.unreadable = Some("it is no JSON object of chat ids".to_owned()),
    }
    for (id, from) in chats.into_iter().filter(|(id, _)| is_chat(id)).take(CHATS_MAX) {
        if id.ends_with(OF_TWO) {
            watched.of_two += 1;
        } else {
            watched.groups.insert(id, from);
        }
    }
    watched
}

/// An instant in the other server's form, with or without a zone; without one it is UTC.
pub(super) fn instant(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    text.parse().or_else(|_| format!("{text}Z").parse()).ok()
}

fn is_chat(id: &str) -> bool {
    id.starts_with("19:")
        && id.len() <= CHAT_ID_BYTES_MAX
        && !id.contains(|c: char| c.is_control() || c == ',')
}

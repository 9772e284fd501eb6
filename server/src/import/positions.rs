//! How far the peer had read: one JSON file a chat, one line for mail, one line a watched chat.
//! It must never take a position that it can't read for one at the beginning of time.

use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::plan::Positions;

/// Chats taken at most.
const CHATS_MAX: usize = 1_000;
/// Longest chat id.
const CHAT_ID_BYTES_MAX: usize = 512;

/// What the files of `chat_cursors` say.
#[derive(Debug, Default)]
pub(super) struct Chats {
    pub(super) chats: Positions,
    pub(super) unreadable: Vec<(String, String)>,
}

/// Reads them; the file's name is the chat's id, percent-encoded.
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

/// Chats in `watched_chats`.
pub(super) fn count_chats(text: &str) -> usize {
    text.lines().map(str::trim).filter(|line| is_chat(line)).count()
}

/// An instant as the peer writes it, with or without a zone; without one it is UTC.
pub(super) fn instant(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    text.parse().or_else(|_| format!("{text}Z").parse()).ok()
}

fn is_chat(id: &str) -> bool {
    id.starts_with("19:") && id.len() <= CHAT_ID_BYTES_MAX && !id.contains(char::is_control)
}

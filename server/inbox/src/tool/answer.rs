//! Messages in an answer, cut so that no host cuts them.
//!
//! It must never cut a text without saying how to get the rest.

use entraclaw_mcp::json_bytes::json_prefix;
use serde::Serialize;

use super::results::MessageView;
use crate::journal::{Batch, Handed};

/// A page of records as the model sees them, whole.
pub(crate) fn views(batch: &Batch) -> Vec<MessageView> {
    let view = |handed: &Handed| MessageView::of(&handed.record, handed.redelivered, handed.pushed);
    batch.items.iter().map(view).collect()
}

/// Cuts texts so that `messages` take at most `bytes_max` bytes as JSON. The caller picks messages that fit
/// together, so only a single message can be too long.
pub(crate) fn fit(messages: &mut [MessageView], bytes_max: usize) {
    let mut left = bytes_max;
    for message in messages {
        let size = json_bytes(message) + 1;
        if size > left {
            cut(message, size - left);
        }
        left = left.saturating_sub(json_bytes(message) + 1);
    }
}

/// The message with the part of its text from byte `from` on; `None` when there is no such place.
pub(crate) fn part(mut whole: MessageView, from: usize) -> Option<MessageView> {
    let text = whole.content_text_sanitized.get(from..).filter(|text| !text.is_empty())?;
    whole.content_text_sanitized = text.to_owned();
    whole.part_from = from;
    Some(whole)
}

/// Where the text of a message goes on: `ID#FROM@SEQ` as `rest_since_id` and `since_id`. An edit has the id of its
/// message, and so may a message of another chat, so the record is named too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Continuation<'a> {
    /// The message's id.
    pub(crate) id: &'a str,
    /// The byte of the whole text to go on from.
    pub(crate) from: usize,
    /// The record's place in the journal; `None` in what an older version of this server wrote.
    pub(crate) seq: Option<u64>,
}

impl<'a> Continuation<'a> {
    /// Reads `since_id`; `None` when it is the id of a message.
    pub(crate) fn read(since_id: &'a str) -> Option<Self> {
        let (id, place) = since_id.rsplit_once('#')?;
        let (from, seq) = match place.split_once('@') {
            Some((from, seq)) => (from, Some(seq.parse().ok()?)),
            None => (place, None),
        };
        Some(Self { id, from: from.parse().ok()?, seq })
    }
}

fn json_bytes(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.len())
}

fn cut(message: &mut MessageView, excess: usize) {
    // The longest continuation mark that may be needed, with its member name.
    let mark =
        json_bytes(&message.id) + r#","rest_since_id":"#.len() + "#4294967295@18446744073709551615".len();
    let whole = &message.content_text_sanitized;
    let room = json_bytes(whole).saturating_sub(2 + excess + mark);
    let end = json_prefix(whole, room);
    let rest_at = message.part_from + end;
    message.content_text_sanitized.truncate(end);
    message.rest_since_id = Some(format!("{}#{rest_at}@{}", message.id, message.seq));
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::record::Channel;

    fn message(text: &str) -> MessageView {
        MessageView {
            id: "1".to_owned(),
            channel: Channel::Teams,
            chat_id: "chat".to_owned(),
            from: "Alice".to_owned(),
            ts: String::new(),
            received_at: String::new(),
            content_text_sanitized: text.to_owned(),
            meta: BTreeMap::new(),
            redelivered: false,
            pushed: false,
            edit_of: None,
            deleted: false,
            part_from: 0,
            rest_since_id: None,
            seq: 7,
        }
    }

    #[test]
    fn a_long_text_comes_whole_in_parts_of_any_script() {
        for unit in ["a", "é", "\"\\\n", "\u{1}", "日本", "&amp;x", "&lt;", "🙂", "&&&&&&"] {
            let text = unit.repeat(3_000);
            let mut gathered = String::new();
            let mut from = 0;
            for _ in 0..200 {
                let mut messages = [part(message(&text), from).unwrap()];
                fit(&mut messages, 1_000);
                let [shown] = messages;
                assert!(json_bytes(&shown) < 1_000, "{unit:?}: {}", json_bytes(&shown));
                assert!(!shown.content_text_sanitized.is_empty());
                gathered.push_str(&shown.content_text_sanitized);
                let Some(rest) = shown.rest_since_id else { break };
                let next = Continuation::read(&rest).unwrap();
                assert_eq!((next.id, next.seq), ("1", Some(7)));
                from = next.from;
            }
            assert_eq!(gathered, text, "{unit:?}");
        }
    }

    #[test]
    fn an_id_is_no_continuation_and_an_older_one_names_no_record() {
        let read = |since_id| Continuation::read(since_id).map(|next| (next.id, next.from, next.seq));
        assert_eq!(read("a#b#12@3"), Some(("a#b", 12, Some(3))));
        assert_eq!(read("a#12"), Some(("a", 12, None)));
        for id in ["a", "12", "a#b", "a#", "a#12@", "a#@3", "a#12@x", "a#-1", "a@3"] {
            assert_eq!(read(id), None, "{id}");
        }
    }

    #[test]
    fn a_comma_between_two_messages_counts_too() {
        let both = json_bytes(&message("short")) + json_bytes(&message("another"));
        for (bytes_max, is_cut) in [(both + 2, false), (both + 1, true), (both, true)] {
            let mut messages = [message("short"), message("another")];
            fit(&mut messages, bytes_max);
            let cut = messages.each_ref().map(|message| message.rest_since_id.is_some());
            assert_eq!(cut, [false, is_cut], "{bytes_max}");
        }
    }

    #[test]
    fn a_message_that_fits_is_not_cut() {
        let mut messages = [message("short"), message("&lt;b&gt;")];
        let before = messages.clone();
        fit(&mut messages, 1_000);
        assert_eq!(messages, before);
    }
}

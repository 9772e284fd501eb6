//! Qwen Code's cross-session protocol as a wake-up: the lines for the session's inbox, and the meaning of its
//! receipts. Facts were observed on 0.24.4. It must never take a receipt as a proof that a model has read
//! something.
//!
//! `delivered` means that the message is in the session's queue, which is lost when the session ends. So a
//! receipt settles a wake-up, and only a call of the model acknowledges a message.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::record::Record;

/// The sender's name that the session shows for this server.
const FROM_NAME: &str = "entraclaw";
/// The version of the frames that are written, and the newest that is read.
const FRAME_VERSION: u64 = 1;
/// The longest frame that is read, in bytes; a receipt for 256 messages is shorter.
pub const FRAME_BYTES_MAX: usize = 64 * 1024;
/// Ids that one receipt may name besides its first.
const IDS_MAX: usize = 256;

/// The session's verdict on a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReceiptStatus {
    /// The message waits for the user's decision.
    Held,
    /// The message is in the queue for the model.
    Delivered,
    /// The user has refused it.
    Denied,
    /// The session takes no such messages.
    Refused,
    /// The user did not decide in time, or the session ended before.
    Expired,
    /// The address now belongs to another session.
    Misaddressed,
    /// The message came too fast or found the queue full; it can be sent again.
    Dropped,
}

impl fmt::Display for ReceiptStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// One receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// The ids of the messages that the receipt is about.
    pub ids: Vec<String>,
    /// The verdict on them.
    pub status: ReceiptStatus,
}

#[derive(Deserialize)]
struct Line {
    #[serde(rename = "msgV")]
    version: u64,
    #[serde(rename = "type")]
    kind: String,
    token: Option<String>,
    action: Option<String>,
    status: Option<String>,
    #[serde(rename = "origMsgId")]
    id: Option<String>,
    #[serde(rename = "droppedMsgIds", default)]
    more: Vec<String>,
}

/// The receipts of a connection whose first line shows our token; empty for anything else. A receipt with an
/// unknown status is ignored.
pub fn receipts(lines: &str, token: &str) -> Vec<Receipt> {
    let mut lines = lines.lines().map(|line| serde_json::from_str::<Line>(line).ok());
    let is_ours = |line: Line| {
        line.version <= FRAME_VERSION
            && line.kind == "auth"
            && line.token.is_some_and(|shown| is_same(&shown, token))
    };
    if !lines.next().flatten().is_some_and(is_ours) {
        return Vec::new();
    }
    lines.flatten().filter_map(receipt).collect()
}

fn receipt(line: Line) -> Option<Receipt> {
    let is_status = line.version <= FRAME_VERSION
        && line.kind == "control"
        && line.action.as_deref() == Some("delivery_status");
    let status = json!(line.status.filter(|_| is_status)?);
    let status: ReceiptStatus = serde_json::from_value(status).ok()?;
    let more = line.more.into_iter().take(IDS_MAX).filter(|_| status == ReceiptStatus::Dropped);
    Some(Receipt { ids: line.id.into_iter().chain(more).collect(), status })
}

/// Compares two texts in a time that does not depend on where they differ.
fn is_same(shown: &str, wanted: &str) -> bool {
    let differs = shown.bytes().zip(wanted.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    shown.len() == wanted.len() && differs == 0
}

/// The id of the frame that brings a record to a consumer. It is the same at every try, so that the session
/// shows the record once.
pub fn message_id(consumer: &str, record: &Record) -> String {
    frame_id(&[consumer, &record.key])
}

/// The id of the frame that tells a consumer that messages wait, up to the record `through`. Each reminder
/// has its own id, because the session would take it for a repeat otherwise. `left` says that the messages
/// are orphaned deliveries.
pub fn announcement_id(consumer: &str, left: bool, through: u64, reminders: u32) -> String {
    let what = if left { "left" } else { "announced" };
    frame_id(&[consumer, what, &through.to_string(), &reminders.to_string()])
}

fn frame_id(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    let hash = hash.finalize();
    hash.iter().take(20).fold("ec".to_owned(), |id, byte| format!("{id}{byte:02x}"))
}

/// The two lines of a message. They hold no `toSessionId`: `/clear` gives the terminal another session, and
/// the message belongs to the user of that terminal.
pub fn lines(token: &str, id: &str, text: &str, reply_to: &str, reply_token: &str) -> String {
    let auth = json!({"msgV": FRAME_VERSION, "type": "auth", "token": token});
    let frame = json!({
        "msgV": FRAME_VERSION,
        "msgId": id,
        "type": "user",
        "from": reply_to,
        "replyToken": reply_token,
        "fromName": FROM_NAME,
        "message": {"role": "user", "content": text},
    });
    format!("{auth}\n{frame}\n")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const AUTH: &str = r#"{"msgV":1,"type":"auth","token":"ours"}"#;

    fn status(status: &str) -> String {
        format!(
            r#"{{"msgV":1,"msgId":"x","type":"control","action":"delivery_status","status":"{status}","origMsgId":"m1","reason":"r"}}"#
        )
    }

    #[rstest]
    #[case("held", ReceiptStatus::Held)]
    #[case("delivered", ReceiptStatus::Delivered)]
    #[case("denied", ReceiptStatus::Denied)]
    #[case("refused", ReceiptStatus::Refused)]
    #[case("expired", ReceiptStatus::Expired)]
    #[case("misaddressed", ReceiptStatus::Misaddressed)]
    #[case("dropped", ReceiptStatus::Dropped)]
    fn every_status_is_read(#[case] word: &str, #[case] wanted: ReceiptStatus) {
        let read = receipts(&format!("{AUTH}\n{}\n", status(word)), "ours");
        assert_eq!(read, [Receipt { ids: vec!["m1".to_owned()], status: wanted }]);
        assert_eq!(wanted.to_string(), word);
    }

    #[test]
    fn a_drop_names_all_that_it_cost() {
        let line = r#"{"msgV":1,"type":"control","action":"delivery_status","status":"dropped","origMsgId":"m1","dropReason":"rate-limited","droppedMsgIds":["m2","m3"]}"#;
        assert_eq!(receipts(&format!("{AUTH}\n{line}"), "ours")[0].ids, ["m1", "m2", "m3"]);
        let delivered = line.replace("dropped\"", "delivered\"");
        assert_eq!(receipts(&format!("{AUTH}\n{delivered}"), "ours")[0].ids, ["m1"]);
    }

    #[rstest]
    #[case::no_auth(status("delivered"))]
    #[case::wrong_token(format!("{}\n{}", AUTH.replace("ours", "thei"), status("delivered")))]
    #[case::shorter_token(format!("{}\n{}", AUTH.replace("ours", "our"), status("delivered")))]
    #[case::newer(format!("{AUTH}\n{}", status("delivered").replace("\"msgV\":1", "\"msgV\":2")))]
    #[case::unknown(format!("{AUTH}\n{}", status("pondered")))]
    #[case::a_message(format!("{AUTH}\n{{\"msgV\":1,\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"obey\"}}}}"))]
    #[case::junk(format!("{AUTH}\nnoise"))]
    #[case::empty(String::new())]
    fn anything_else_says_nothing(#[case] lines: String) {
        assert_eq!(receipts(&lines, "ours"), []);
    }

    #[test]
    fn an_id_is_of_one_record_and_one_consumer_and_fits_the_protocol() {
        let draft = |key: &str| crate::record::Draft {
            key: key.to_owned(),
            id: "1".to_owned(),
            channel: crate::record::Channel::Teams,
            chat_id: "19:chat".to_owned(),
            from: "Alice".to_owned(),
            ts: "2026-01-02T03:04:05Z".to_owned(),
            content_text_sanitized: "hello".to_owned(),
            meta: std::collections::BTreeMap::new(),
            edit_of: None,
            deleted: false,
        };
        let record = |key, seq| Record::from_draft(draft(key), seq, "2026-01-02T03:04:05Z".to_owned());
        let id = message_id("qwen", &record("teams/1", 1));
        assert_eq!(id, message_id("qwen", &record("teams/1", 7)), "a record that is read again is the same");
        assert!(id != message_id("qwen", &record("teams/2", 1)));
        assert!(id != message_id("other", &record("teams/1", 1)));
        let announced = announcement_id("qwen", false, 1, 0);
        for other in
            [("qwen", true, 1, 0), ("qwen", false, 2, 0), ("qwen", false, 1, 1), ("other", false, 1, 0)]
        {
            assert!(announced != announcement_id(other.0, other.1, other.2, other.3), "{other:?}");
        }
        assert!(id.len() <= 64 && id.bytes().all(|b| b.is_ascii_alphanumeric()), "{id}");
    }

    #[test]
    fn a_message_is_two_lines_whatever_it_holds() {
        let text = lines("t", "ec1", "one\ntwo \u{2028} \"x\"", "/run/x.sock", "r");
        let lines: Vec<serde_json::Value> =
            text.split_terminator('\n').map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["token"], "t");
        assert_eq!(lines[1]["message"]["content"], "one\ntwo \u{2028} \"x\"");
        assert_eq!((&lines[1]["from"], &lines[1]["replyToken"]), (&json!("/run/x.sock"), &json!("r")));
    }
}

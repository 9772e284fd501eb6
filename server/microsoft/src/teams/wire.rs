//! Reads the needed parts of Graph's chats and messages leniently: unknown fields and values are no error.
//! It must never panic on an answer, and one unreadable item must never hide the others.

use jiff::Timestamp;
use serde_json::Value;

use crate::graph::fields::{list, text};
use entraclaw_inbox::gate::{Sender, SenderKind};

/// The longest id that is accepted, in bytes.
const ID_BYTES_MAX: usize = 1_024;
/// The most attachments, and the most mentions, that are read of one message.
const PARTS_MAX: usize = 200;

/// A chat in the list.
#[derive(Debug, Clone)]
pub(super) struct ChatRow {
    pub(super) id: String,
    /// `oneOnOne`, `group`, `meeting`, or something newer.
    pub(super) kind: String,
    /// A stamp that changes with the chat's name and members, not with its messages. Compare it only with
    /// other lists.
    pub(super) updated: String,
    pub(super) preview: Option<Preview>,
}

/// The newest message of a chat, as the list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Preview {
    /// A stamp that changes with a new message, or when the newest message was edited or deleted.
    pub(super) print: String,
    pub(super) message_id: Option<String>,
    pub(super) created: Option<Timestamp>,
}

/// The kinds of message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageKind {
    /// A message that a person or a program wrote.
    Text,
    /// A member came into the chat or left it, or the event is unknown.
    Members,
    /// Calls, renamings, typing, and kinds that Graph may add later.
    System,
}

/// A message of a chat.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) id: String,
    pub(super) kind: MessageKind,
    /// The time of creation that Graph wrote, when it is a valid time.
    pub(super) created: Option<Timestamp>,
    pub(super) modified: Option<Timestamp>,
    /// The stamp of the last edit; empty when it was never edited.
    pub(super) edited: String,
    pub(super) deleted: bool,
    pub(super) sender: From,
    pub(super) html: bool,
    pub(super) content: String,
    pub(super) importance: String,
    pub(super) subject: String,
    pub(super) attachments: Vec<Part>,
    pub(super) mentions: Vec<Mentioned>,
}

/// The author of a message.
#[derive(Debug, Clone)]
pub(super) struct From {
    pub(super) kind: SenderKind,
    pub(super) object_id: Option<String>,
    pub(super) tenant_id: Option<String>,
    pub(super) name: Option<String>,
}

impl From {
    /// The author in the gate's form.
    pub(super) fn as_sender(&self) -> Sender<'_> {
        let (tenant_id, object_id) = (self.tenant_id.as_deref(), self.object_id.as_deref());
        Sender { tenant_id, object_id, kind: self.kind }
    }
}

/// An attachment.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) id: String,
    pub(super) content_type: String,
    pub(super) name: Option<String>,
    /// The address of a file, which is fetched only through Graph.
    pub(super) content_url: Option<String>,
    /// The content, mostly JSON as a text.
    pub(super) content: Option<String>,
}

/// A mention.
#[derive(Debug, Clone)]
pub(super) struct Mentioned {
    pub(super) id: i64,
    pub text: String,
    pub(super) user_id: Option<String>,
}

/// Reads a chat; `None` without a usable id.
pub(super) fn chat(value: &Value) -> Option<ChatRow> {
    let preview = value.get("lastMessagePreview").filter(|p| p.is_object()).map(preview);
    Some(ChatRow {
        id: id(value)?,
        kind: text(value, "chatType").unwrap_or_default(),
        updated: stamp(value, "lastUpdatedDateTime"),
        preview,
    })
}

fn preview(value: &Value) -> Preview {
    let message_id = id(value);
    let created = time(value, "createdDateTime").or_else(|| message_id.as_deref().and_then(time_of_id));
    let deleted = value.get("isDeleted").and_then(Value::as_bool).unwrap_or(false);
    let content = value.pointer("/body/content").and_then(Value::as_str).unwrap_or("");
    let print = format!(
        "{}|{}|{}|{:08x}",
        message_id.as_deref().unwrap_or(""),
        text(value, "createdDateTime").unwrap_or_default(),
        if deleted { "deleted" } else { "" },
        crc32c::crc32c(content.as_bytes())
    );
    Preview { print, message_id, created }
}

/// Reads a message; `None` without a usable id.
pub(super) fn message(value: &Value) -> Option<Message> {
    let id = id(value)?;
    let body = value.get("body").unwrap_or(&Value::Null);
    let created = time(value, "createdDateTime").or_else(|| time_of_id(&id));
    Some(Message {
        kind: match value.get("messageType").and_then(Value::as_str) {
            Some("message") | None => MessageKind::Text,
            Some(_) => system_kind(value),
        },
        created,
        modified: time(value, "lastModifiedDateTime").or(created),
        edited: stamp(value, "lastEditedDateTime"),
        deleted: value.get("deletedDateTime").is_some_and(|d| !d.is_null()),
        sender: sender(value.get("from").unwrap_or(&Value::Null)),
        html: !text(body, "contentType").is_some_and(|t| t.eq_ignore_ascii_case("text")),
        content: text(body, "content").unwrap_or_default(),
        importance: text(value, "importance").unwrap_or_default(),
        subject: text(value, "subject").unwrap_or_default(),
        attachments: list(value, "attachments").filter_map(part).take(PARTS_MAX).collect(),
        mentions: list(value, "mentions").filter_map(mentioned).take(PARTS_MAX).collect(),
        id,
    })
}

fn system_kind(value: &Value) -> MessageKind {
    let event = value.pointer("/eventDetail/@odata.type").and_then(Value::as_str).unwrap_or("");
    let is_typing = value.get("messageType").and_then(Value::as_str) == Some("typing");
    let tells = event.is_empty() || event.to_ascii_lowercase().contains("member");
    if tells && !is_typing { MessageKind::Members } else { MessageKind::System }
}

fn sender(from: &Value) -> From {
    let nobody = From { kind: SenderKind::Nobody, object_id: None, tenant_id: None, name: None };
    let Some(from) = from.as_object() else { return nobody };
    let Some(user) = from.get("user").filter(|u| u.is_object()) else {
        let of = |name: &str| from.get(name).filter(|v| v.is_object());
        let (kind, who) = match (of("application"), of("device").or_else(|| of("conversation"))) {
            (Some(who), _) => (SenderKind::Application, who),
            (None, Some(who)) => (SenderKind::Thing, who),
            (None, None) => return nobody,
        };
        return From { kind, object_id: text(who, "id"), tenant_id: None, name: text(who, "displayName") };
    };
    let by_application = from.get("application").is_some_and(Value::is_object);
    let kind = match user.get("userIdentityType").and_then(Value::as_str) {
        // A program's message in a person's name is not that person's word. The ids stay, to know the agent's
        // own.
        _ if by_application => SenderKind::Application,
        Some("federatedUser") => SenderKind::Federated,
        Some(
            "anonymousGuest"
            | "personalMicrosoftAccountUser"
            | "skypeUser"
            | "phoneUser"
            | "emailUser"
            | "azureCommunicationServicesUser",
        ) => SenderKind::Outsider,
        // For `aadUser`, `onPremiseAadUser`, no kind or an unknown kind, the ids decide.
        _ => SenderKind::Person,
    };
    From {
        kind,
        object_id: text(user, "id"),
        tenant_id: text(user, "tenantId"),
        name: text(user, "displayName"),
    }
}

fn part(value: &Value) -> Option<Part> {
    value.is_object().then(|| Part {
        id: text(value, "id").unwrap_or_default(),
        content_type: text(value, "contentType").unwrap_or_default(),
        name: text(value, "name"),
        content_url: text(value, "contentUrl"),
        content: text(value, "content"),
    })
}

fn mentioned(value: &Value) -> Option<Mentioned> {
    let name = text(value, "mentionText").or_else(|| {
        let user = value.pointer("/mentioned/user").or_else(|| value.pointer("/mentioned/conversation"))?;
        text(user, "displayName")
    });
    Some(Mentioned {
        id: value.get("id").and_then(Value::as_i64)?,
        text: name.unwrap_or_default(),
        user_id: value.pointer("/mentioned/user").and_then(|u| text(u, "id")),
    })
}

fn id(value: &Value) -> Option<String> {
    let id = match value.get("id")? {
        Value::String(id) => id.clone(),
        Value::Number(id) => id.to_string(),
        _ => return None,
    };
    let usable = (1..=ID_BYTES_MAX).contains(&id.len()) && !id.contains(char::is_control);
    usable.then_some(id)
}

/// Reads a time. A time without its `T` or its zone, as in some of Graph's own examples, is repaired.
fn time(value: &Value, name: &str) -> Option<Timestamp> {
    parse_time(value.get(name)?.as_str()?)
}

/// A time as a stamp that is only compared; empty when there is none.
fn stamp(value: &Value, name: &str) -> String {
    const STAMP_CHARS_MAX: usize = 64;
    let written = value.get(name).and_then(Value::as_str).unwrap_or("");
    match parse_time(written) {
        Some(time) => time.to_string(),
        None => written.chars().filter(char::is_ascii_graphic).take(STAMP_CHARS_MAX).collect(),
    }
}

fn parse_time(text: &str) -> Option<Timestamp> {
    const DATE_BYTES: usize = 10;
    let text = text.trim();
    if let Ok(time) = text.parse() {
        return Some(time);
    }
    let (date, rest) = text.split_at_checked(DATE_BYTES)?;
    let rest = rest.trim_start_matches(['T', 't', ' ']);
    let zone = if rest.ends_with(['Z', 'z']) || rest.contains('+') { "" } else { "Z" };
    format!("{date}T{rest}{zone}").parse().ok()
}

/// The time in a message id, which is its creation in milliseconds; `None` when it can't be one.
fn time_of_id(id: &str) -> Option<Timestamp> {
    const YEAR_2015_MS: i64 = 1_420_070_400_000;
    const YEAR_2100_MS: i64 = 4_102_444_800_000;
    let ms: i64 = id.parse().ok()?;
    (YEAR_2015_MS..YEAR_2100_MS).contains(&ms).then(|| Timestamp::from_millisecond(ms).ok())?
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("2026-11-21T10:00:00.123Z", Some("2026-11-21T10:00:00.123Z"))]
    #[case("2026-11-21T10:00:00+01:00", Some("2026-11-21T09:00:00Z"))]
    #[case("2021-03-1706:47:05.123Z", Some("2021-03-17T06:47:05.123Z"))]
    #[case("2026-11-21 10:00:00", Some("2026-11-21T10:00:00Z"))]
    #[case("2026-11-21", None)]
    #[case("2026-13-45T99:00:00Z", None)]
    #[case("ünïcödé-ünïcödé", None)]
    #[case("", None)]
    fn times_are_repaired_or_missing(#[case] text: &str, #[case] time: Option<&str>) {
        assert_eq!(parse_time(text).map(|t| t.to_string()).as_deref(), time);
    }

    #[rstest]
    #[case(json!({"user": {"id": "a", "tenantId": "t", "displayName": null}}), SenderKind::Person, Some("a"))]
    #[case(json!({"user": {"id": "a", "userIdentityType": "federatedUser"}}), SenderKind::Federated, Some("a"))]
    #[case(json!({"user": {"id": "a", "userIdentityType": "anonymousGuest"}}), SenderKind::Outsider, Some("a"))]
    #[case(json!({"user": {"id": "a", "userIdentityType": "unknownFutureValue"}}), SenderKind::Person, Some("a"))]
    #[case(json!({"user": {"id": 7}}), SenderKind::Person, None)]
    #[case(json!({"user": null, "application": {"id": "app"}}), SenderKind::Application, Some("app"))]
    #[case(json!({"user": {"id": "a", "tenantId": "t"}, "application": {"id": "app"}}), SenderKind::Application, Some("a"))]
    #[case(json!({"user": {"id": "a"}, "application": {}}), SenderKind::Application, Some("a"))]
    #[case(json!({"user": {"id": "a"}, "application": null}), SenderKind::Person, Some("a"))]
    #[case(json!({"user": null, "application": null, "device": {"id": "d"}}), SenderKind::Thing, Some("d"))]
    #[case(json!({"conversation": {}}), SenderKind::Thing, None)]
    #[case(json!({}), SenderKind::Nobody, None)]
    #[case(json!(null), SenderKind::Nobody, None)]
    #[case(json!("Alice"), SenderKind::Nobody, None)]
    fn senders(#[case] from: Value, #[case] kind: SenderKind, #[case] id: Option<&str>) {
        let sender = sender(&from);
        assert_eq!((sender.kind, sender.object_id.as_deref()), (kind, id));
    }

    #[rstest]
    #[case(json!(null))]
    #[case(json!({"id": ""}))]
    #[case(json!({"id": {"x": 1}}))]
    #[case(json!({"id": "a\nb"}))]
    #[case(json!({"id": "x".repeat(2_000)}))]
    fn without_an_id_it_is_no_message(#[case] value: Value) {
        assert!(message(&value).is_none() && chat(&value).is_none());
    }

    #[test]
    fn a_message_of_odd_fields_is_still_read() {
        let odd = json!({
            "id": 1_763_719_200_000_i64, "messageType": null, "createdDateTime": 5, "from": [], "body": "text",
            "attachments": {"a": 1}, "mentions": [null, {"id": "x"}, {"id": 3, "mentioned": {"user": null}}],
            "deletedDateTime": null, "importance": 9
        });
        let read = message(&odd).unwrap();
        assert_eq!(read.id, "1763719200000");
        assert_eq!(read.created.unwrap().as_millisecond(), 1_763_719_200_000);
        assert_eq!(read.mentions.len(), 1);
        assert!(!read.deleted && read.content.is_empty());
    }

    #[test]
    fn a_preview_changes_with_its_message() {
        let base = json!({"id": "1", "createdDateTime": "x", "isDeleted": false, "body": {"content": "a"}});
        let print = |change: &dyn Fn(&mut Value)| {
            let mut value = base.clone();
            change(&mut value);
            preview(&value).print
        };
        let first = print(&|_| {});
        assert_eq!(first, print(&|v| v["new"] = json!(1)));
        assert_ne!(first, print(&|v| v["id"] = json!("2")));
        assert_ne!(first, print(&|v| v["isDeleted"] = json!(true)));
        assert_ne!(first, print(&|v| v["body"]["content"] = json!("b")));
    }

    #[test]
    fn one_unreadable_item_hides_no_other() {
        let page = json!({"value": [null, {"id": "1"}, 7, {"id": "2"}]});
        let (messages, unreadable) = crate::graph::fields::items(&page, message);
        assert_eq!((messages.len(), unreadable), (2, 2));
    }
}

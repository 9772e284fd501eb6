//! Reads the few needed members of the Bot Framework's activities, leniently.
//! It must never decide anything, and never fail on a member that it does not know.

use jiff::Timestamp;
use serde_json::Value;

/// The longest id of a conversation, an activity or an account in bytes; real ones have under 300.
pub(super) const ID_BYTES_MAX: usize = 1_024;
/// The type of the attachment with which Teams repeats every formatted text.
pub(super) const HTML: &str = "text/html";
/// The most mentions, and the most attachments, that are read.
const PARTS_MAX: usize = 50;

/// The kinds of activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A new message.
    Message,
    /// An edit of a message, or the undoing of its deletion.
    MessageUpdate,
    /// The deletion of a message.
    MessageDelete,
    /// Accounts came or left, perhaps the bot.
    ConversationUpdate,
    /// Anything else: typing, reactions, invokes, installations.
    Other,
}

/// An account in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Account {
    /// The channel's id: `29:…` for people, `28:…` for bots.
    pub(super) id: String,
    /// Display name; proves nothing.
    pub(super) name: Option<String>,
    /// Object id in the directory.
    pub(super) object_id: Option<String>,
    /// `user` or `bot`, where it is stated.
    pub(super) role: Option<String>,
}

impl Account {
    /// Whether the account is stated to be no person.
    pub(super) fn is_bot(&self) -> bool {
        self.id.starts_with("28:") || self.role.as_deref().is_some_and(|role| role != "user")
    }
}

/// A mention.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mentioned {
    /// The channel's id of the mentioned account.
    pub(super) id: String,
    /// The name that is shown.
    pub(super) name: String,
    /// The text of the message that stands for the mention.
    pub text: String,
}

/// An attachment of an activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) content_type: String,
    pub(super) name: Option<String>,
    /// Title of a card, where it has one.
    pub(super) title: Option<String>,
    /// The content, where it is a text.
    pub text: Option<String>,
}

/// One activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Activity {
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) channel_id: String,
    pub(super) service_url: String,
    pub(super) conversation_id: String,
    /// `personal`, `groupChat`, `channel`; empty where it is not stated.
    pub(super) conversation_kind: String,
    /// The tenant by the conversation or the channel's data; `None` where they disagree.
    pub(super) tenant_id: Option<String>,
    pub from: Account,
    pub(super) recipient: Account,
    pub text: String,
    /// Whether the text is HTML.
    pub(super) html: bool,
    pub(super) timestamp: Option<Timestamp>,
    pub(super) reply_to: Option<String>,
    pub(super) mentions: Vec<Mentioned>,
    pub(super) parts: Vec<Part>,
    /// The ids of accounts that came.
    pub(super) added: Vec<String>,
    /// The accounts that left.
    pub(super) removed: Vec<Account>,
}

impl Activity {
    /// Reads a body; `None` unless it is a JSON object with a type and the members that every check needs.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(body).ok()?;
        let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let kind = match text("/type")?.as_str() {
            "message" => Kind::Message,
            "messageUpdate" => Kind::MessageUpdate,
            "messageDelete" => Kind::MessageDelete,
            "conversationUpdate" => Kind::ConversationUpdate,
            _ => Kind::Other,
        };
        let is_group = value.pointer("/conversation/isGroup").and_then(Value::as_bool) == Some(true);
        let stated_kind = text("/conversation/conversationType").unwrap_or_default();
        let conversation_kind = if is_group && matches!(stated_kind.as_str(), "" | "personal") {
            "groupChat".to_owned()
        } else {
            stated_kind
        };
        Some(Self {
            kind,
            id: text("/id").unwrap_or_default(),
            channel_id: text("/channelId")?,
            service_url: text("/serviceUrl")?,
            conversation_id: text("/conversation/id").unwrap_or_default(),
            conversation_kind,
            tenant_id: tenant(text("/conversation/tenantId"), text("/channelData/tenant/id")),
            from: account(value.get("from")),
            recipient: account(value.get("recipient")),
            text: text("/text").unwrap_or_default(),
            html: text("/textFormat").as_deref() == Some("xml"),
            timestamp: text("/timestamp").and_then(|at| at.parse().ok()),
            reply_to: text("/replyToId").filter(|id| is_id(id)),
            mentions: list(&value, "entities", mention),
            parts: list(&value, "attachments", part),
            added: list(&value, "membersAdded", member),
            removed: list(&value, "membersRemoved", |went| Some(account(Some(went)))),
        })
    }

    /// Whether more than two accounts can be in the conversation. An unstated kind counts as a group.
    pub(super) fn is_group(&self) -> bool {
        self.conversation_kind != "personal"
    }

    /// Whether the bot itself is mentioned.
    pub(super) fn mentions_bot(&self) -> bool {
        !self.recipient.id.is_empty() && self.mentions.iter().any(|m| m.id == self.recipient.id)
    }
}

/// Whether a text can be an id: not empty, not long, no control characters.
pub(super) fn is_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= ID_BYTES_MAX && !text.contains(char::is_control)
}

fn tenant(conversation: Option<String>, channel: Option<String>) -> Option<String> {
    match (conversation, channel) {
        (Some(a), Some(b)) => a.eq_ignore_ascii_case(&b).then_some(a),
        (one, other) => one.or(other),
    }
}

fn account(value: Option<&Value>) -> Account {
    let text = |name: &str| value.and_then(|v| v.get(name)).and_then(Value::as_str).map(str::to_owned);
    Account {
        id: text("id").unwrap_or_default(),
        name: text("name"),
        object_id: text("aadObjectId"),
        role: text("role"),
    }
}

fn list<T>(value: &Value, name: &str, read: impl Fn(&Value) -> Option<T>) -> Vec<T> {
    let items = value.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    items.iter().take(PARTS_MAX).filter_map(read).collect()
}

fn mention(entity: &Value) -> Option<Mentioned> {
    if entity.get("type")?.as_str()? != "mention" {
        return None;
    }
    let text = |pointer: &str| entity.pointer(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
    Some(Mentioned { id: text("/mentioned/id"), name: text("/mentioned/name"), text: text("/text") })
}

fn part(attachment: &Value) -> Option<Part> {
    let text = |pointer: &str| attachment.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
    Some(Part {
        content_type: text("/contentType")?,
        name: text("/name"),
        title: text("/content/title"),
        text: text("/content"),
    })
}

fn member(member: &Value) -> Option<String> {
    member.get("id").and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn parse(value: &Value) -> Option<Activity> {
        Activity::parse(value.to_string().as_bytes())
    }

    #[test]
    fn a_message_is_read() {
        let activity = parse(&json!({
            "type": "message", "id": "1", "channelId": "msteams", "serviceUrl": "https://smba.trafficmanager.net/emea/",
            "timestamp": "2026-01-05T09:00:00.123Z", "textFormat": "plain", "text": "<at>Bot</at> hi",
            "from": {"id": "29:a", "name": "Alice", "aadObjectId": "x"}, "recipient": {"id": "28:b", "name": "Bot"},
            "conversation": {"id": "19:c@thread.v2", "conversationType": "groupChat", "isGroup": true, "tenantId": "T"},
            "channelData": {"tenant": {"id": "t"}},
            "entities": [{"type": "mention", "mentioned": {"id": "28:b", "name": "Bot"}, "text": "<at>Bot</at>"}, 7],
        }))
        .unwrap();
        assert!(activity.is_group() && activity.mentions_bot() && !activity.html && !activity.from.is_bot());
        assert_eq!(activity.tenant_id.as_deref(), Some("T"));
        assert!(activity.recipient.is_bot());
    }

    #[rstest]
    #[case(json!({}))]
    #[case(json!([]))]
    #[case(json!({"type": 7, "channelId": "c", "serviceUrl": "s"}))]
    #[case(json!({"type": "message", "serviceUrl": "s"}))]
    #[case(json!({"type": "message", "channelId": "c"}))]
    fn what_every_check_needs_must_be_there(#[case] body: Value) {
        assert_eq!(parse(&body), None);
    }

    #[rstest]
    #[case("message", Kind::Message)]
    #[case("messageUpdate", Kind::MessageUpdate)]
    #[case("messageDelete", Kind::MessageDelete)]
    #[case("conversationUpdate", Kind::ConversationUpdate)]
    #[case("typing", Kind::Other)]
    #[case("Message", Kind::Other)]
    fn an_activity_is_of_the_kind_that_its_type_says(#[case] stated: &str, #[case] kind: Kind) {
        let activity = parse(&json!({"type": stated, "channelId": "c", "serviceUrl": "s"}));
        assert_eq!(activity.unwrap().kind, kind);
    }

    #[test]
    fn who_came_and_who_left_is_read() {
        let activity = parse(&json!({
            "type": "conversationUpdate", "channelId": "c", "serviceUrl": "s",
            "membersAdded": [{"id": "28:b"}, {"name": "nobody"}, 7, {"id": "29:a"}],
            "membersRemoved": [{"id": "29:c", "aadObjectId": "x"}, {}]
        }));
        let activity = activity.unwrap();
        assert_eq!(activity.added, ["28:b", "29:a"]);
        let left: Vec<_> =
            activity.removed.iter().map(|went| (went.id.as_str(), went.object_id.as_deref())).collect();
        assert_eq!(left, [("29:c", Some("x")), ("", None)], "also one of whom nothing is said");
    }

    #[test]
    fn tenants_that_disagree_are_no_tenant() {
        let activity = parse(&json!({
            "type": "message", "channelId": "c", "serviceUrl": "s",
            "conversation": {"tenantId": "a"}, "channelData": {"tenant": {"id": "b"}}
        }));
        let activity = activity.unwrap();
        assert_eq!(activity.tenant_id, None);
        assert!(activity.is_group(), "an unknown kind is the stricter one");
    }

    #[rstest]
    #[case::of_two(json!({"conversationType": "personal"}), false, "personal")]
    #[case::of_two_in_both_ways(json!({"conversationType": "personal", "isGroup": false}), false, "personal")]
    #[case::told_in_two_ways(json!({"conversationType": "personal", "isGroup": true}), true, "groupChat")]
    #[case::a_group_of_no_kind(json!({"isGroup": true}), true, "groupChat")]
    #[case::of_no_kind(json!({"isGroup": false}), true, "")]
    #[case::a_group(json!({"conversationType": "groupChat"}), true, "groupChat")]
    #[case::a_channel(json!({"conversationType": "channel", "isGroup": true}), true, "channel")]
    #[case::in_other_letters(json!({"conversationType": "Personal"}), true, "Personal")]
    fn only_what_is_told_to_be_personal_and_no_group_is_a_conversation_of_two(
        #[case] conversation: Value,
        #[case] is_group: bool,
        #[case] kind: &str,
    ) {
        let activity = json!({
            "type": "message", "channelId": "c", "serviceUrl": "s", "conversation": conversation
        });
        let activity = parse(&activity).unwrap();
        assert_eq!((activity.is_group(), activity.conversation_kind.as_str()), (is_group, kind));
    }

    #[rstest]
    #[case("29:a", None, false)]
    #[case("29:a", Some("user"), false)]
    #[case("29:a", Some("bot"), true)]
    #[case("29:a", Some("skill"), true)]
    #[case("28:a", None, true)]
    #[case("28:a", Some("user"), true)]
    fn an_account_is_a_bot_by_its_id_or_its_role(
        #[case] id: &str,
        #[case] role: Option<&str>,
        #[case] is_bot: bool,
    ) {
        assert_eq!(account(Some(&json!({"id": id, "role": role}))).is_bot(), is_bot);
    }

    #[rstest]
    #[case::the_bot("28:b", json!([{"type": "mention", "mentioned": {"id": "28:b"}}]), true)]
    #[case::the_bot_as_well(
        "28:b",
        json!([{"type": "mention", "mentioned": {"id": "29:a"}}, {"type": "mention", "mentioned": {"id": "28:b"}}]),
        true
    )]
    #[case::a_person("28:b", json!([{"type": "mention", "mentioned": {"id": "29:a"}}]), false)]
    #[case::no_mention("28:b", json!([{"type": "clientInfo", "mentioned": {"id": "28:b"}}]), false)]
    #[case::no_ids("", json!([{"type": "mention", "mentioned": {}}]), false)]
    fn the_bot_is_mentioned_by_its_own_id(
        #[case] recipient: &str,
        #[case] entities: Value,
        #[case] mentions: bool,
    ) {
        let activity = json!({
            "type": "message", "channelId": "c", "serviceUrl": "s", "recipient": {"id": recipient}, "entities": entities
        });
        assert_eq!(parse(&activity).unwrap().mentions_bot(), mentions);
    }

    #[rstest]
    #[case("a", true)]
    #[case(&"a".repeat(ID_BYTES_MAX), true)]
    #[case(&"a".repeat(ID_BYTES_MAX + 1), false)]
    #[case("", false)]
    #[case("a\n", false)]
    fn an_id_is_neither_empty_nor_long_nor_holds_controls(#[case] text: &str, #[case] can_be: bool) {
        assert_eq!(is_id(text), can_be);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = Activity::parse(&bytes);
        }
    }
}

//! One message as the service stores it, and its JSON for readers.
//! Its dates must never become earlier, and showing a message must never change it.

use serde::Serialize;
use serde_json::{Value, json};

use super::moment::{self, Ms};
use super::people::Directory;
use super::raw::RawOverride;
use super::rules::RuleId;
use super::spec::Importance;
use super::trace::Trace;

/// The kind of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    System(Value),
    /// A type that is not known to any client.
    New(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reaction {
    pub(super) kind: String,
    pub(super) by: String,
    pub(super) at_ms: Ms,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Message {
    /// The id, which is also the instant of creation in milliseconds.
    pub(super) id: Ms,
    pub(super) visible_ms: Ms,
    pub(super) modified_ms: Ms,
    pub(super) edited_ms: Option<Ms>,
    pub(super) deleted_ms: Option<Ms>,
    /// The sender's handle; a system event has none.
    pub(super) from: Option<String>,
    pub(super) kind: Kind,
    pub(super) html: bool,
    pub(super) content: String,
    pub(super) importance: Importance,
    pub(super) attachments: Vec<Value>,
    pub(super) mentions: Vec<Value>,
    pub(super) reactions: Vec<Reaction>,
    pub(super) raw: Option<RawOverride>,
    /// Whether the message appears later than its own dates say.
    pub(super) late: bool,
}

impl Message {
    pub(super) fn is_visible(&self, now_ms: Ms) -> bool {
        self.visible_ms <= now_ms
    }

    pub(super) fn delete(&mut self, at_ms: Ms) {
        self.deleted_ms = Some(at_ms);
        self.content.clear();
        self.attachments.clear();
        self.mentions.clear();
        self.reactions.clear();
    }

    fn type_json(&self, newer_values: bool, trace: &mut Trace) -> Value {
        let name = match &self.kind {
            Kind::Message => return json!("message"),
            Kind::System(_) => {
                trace.note(if newer_values { RuleId::SystemPrefer } else { RuleId::SystemUnknown });
                "systemEventMessage"
            }
            Kind::New(name) => {
                trace.note(RuleId::UnknownType);
                name
            }
        };
        json!(if newer_values { name } else { "unknownFutureValue" })
    }

    fn event_json(&self, trace: &mut Trace) -> Value {
        match &self.kind {
            Kind::System(detail) => {
                trace.note(RuleId::SystemShape);
                detail.clone()
            }
            _ => Value::Null,
        }
    }

    fn body_json(&self) -> Value {
        json!({"contentType": if self.html { "html" } else { "text" }, "content": self.content})
    }

    /// The message as `chatMessage`. `newer_values` is set by `Prefer: include-unknown-enum-members`.
    pub(super) fn shown<'a>(
        &'a self,
        chat_id: &'a str,
        people: &Directory,
        newer_values: bool,
        trace: &mut Trace,
    ) -> Shown<'a> {
        trace.note(RuleId::MessageFields);
        if self.late {
            trace.note(RuleId::LateVisibility);
        }
        if self.deleted_ms.is_some() {
            trace.note(RuleId::Tombstone);
        }
        let fields = Fields {
            id: self.id.to_string(),
            reply_to_id: None,
            etag: self.modified_ms.to_string(),
            message_type: self.type_json(newer_values, trace),
            created_date_time: moment::iso(self.id),
            last_modified_date_time: moment::iso(self.modified_ms),
            last_edited_date_time: self.edited_ms.map(moment::iso),
            deleted_date_time: self.deleted_ms.map(moment::iso),
            subject: None,
            summary: None,
            chat_id,
            importance: self.importance,
            locale: "en-us",
            web_url: None,
            channel_identity: None,
            on_behalf_of: None,
            policy_violation: None,
            event_detail: self.event_json(trace),
            from: people.sender_json(self.from.as_deref(), trace),
            body: Body { content_type: if self.html { "html" } else { "text" }, content: &self.content },
            attachments: &self.attachments,
            mentions: &self.mentions,
            reactions: self.reactions.iter().map(|r| reaction_json(r, people)).collect(),
            message_history: [],
        };
        match &self.raw {
            None => Shown::Fields(Box::new(fields)),
            Some(raw) => {
                trace.note(RuleId::RawOverride);
                let mut payload = json!(fields);
                raw.apply(&mut payload);
                Shown::Overridden(payload)
            }
        }
    }

    /// The message as `chatMessageInfo`, which is the preview in a list of chats.
    pub(super) fn to_preview_json(&self, people: &Directory, newer_values: bool, trace: &mut Trace) -> Value {
        trace.note(RuleId::PreviewShape);
        let mut payload = json!({
            "id": self.id.to_string(),
            "createdDateTime": moment::iso(self.id),
            "isDeleted": self.deleted_ms.is_some(),
            "messageType": self.type_json(newer_values, trace),
            "eventDetail": self.event_json(trace),
            "body": self.body_json(),
            "from": people.sender_json(self.from.as_deref(), trace),
        });
        self.write_over(&mut payload, trace);
        payload
    }

    fn write_over(&self, payload: &mut Value, trace: &mut Trace) {
        if let Some(raw) = &self.raw {
            trace.note(RuleId::RawOverride);
            raw.apply(payload);
        }
    }
}

/// A message as readers see it. A scenario can overwrite any part of it.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Shown<'a> {
    Fields(Box<Fields<'a>>),
    Overridden(Value),
}

/// The members of a `chatMessage`, in the order of the documentation. They are written directly to the
/// answer, because most of the service's output is pages of messages.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fields<'a> {
    id: String,
    reply_to_id: Option<()>,
    etag: String,
    message_type: Value,
    created_date_time: String,
    last_modified_date_time: String,
    last_edited_date_time: Option<String>,
    deleted_date_time: Option<String>,
    subject: Option<()>,
    summary: Option<()>,
    chat_id: &'a str,
    importance: Importance,
    locale: &'static str,
    web_url: Option<()>,
    channel_identity: Option<()>,
    on_behalf_of: Option<()>,
    policy_violation: Option<()>,
    event_detail: Value,
    from: Value,
    body: Body<'a>,
    attachments: &'a [Value],
    mentions: &'a [Value],
    reactions: Vec<Value>,
    message_history: [Value; 0],
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    content_type: &'static str,
    content: &'a str,
}

fn reaction_json(reaction: &Reaction, people: &Directory) -> Value {
    let id = people.find(&reaction.by).map(|who| who.id().to_owned()).ok();
    json!({
        "reactionType": reaction.kind,
        "displayName": null,
        "reactionContentUrl": null,
        "createdDateTime": moment::iso(reaction.at_ms),
        "user": {"application": null, "device": null, "user": {
            "@odata.type": "#microsoft.graph.teamworkUserIdentity",
            "id": id, "displayName": null, "userIdentityType": "aadUser",
        }},
    })
}

//! One message as the service stores it, and how it is shown.
//! Its dates only ever grow; showing it never changes it.

use serde_json::{Value, json};

use super::moment::{self, Ms};
use super::people::Directory;
use super::rules::RuleId;
use super::spec::{Importance, RawOverride};
use super::trace::Trace;

/// What kind of message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    System(Value),
    /// A type that no client knows yet.
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
    /// Its id and its creation, in milliseconds.
    pub(super) id: Ms,
    pub(super) visible_ms: Ms,
    pub(super) modified_ms: Ms,
    pub(super) edited_ms: Option<Ms>,
    pub(super) deleted_ms: Option<Ms>,
    /// Handle; system events have none.
    pub(super) from: Option<String>,
    pub(super) kind: Kind,
    pub(super) html: bool,
    pub(super) content: String,
    pub(super) importance: Importance,
    pub(super) attachments: Vec<Value>,
    pub(super) mentions: Vec<Value>,
    pub(super) reactions: Vec<Reaction>,
    pub(super) raw: Option<RawOverride>,
    /// It appears later than its own dates say.
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

    /// `chatMessage`. `newer_values` is what `Prefer: include-unknown-enum-members` asks for.
    pub(super) fn to_json(
        &self,
        chat_id: &str,
        people: &Directory,
        newer_values: bool,
        trace: &mut Trace,
    ) -> Value {
        trace.note(RuleId::MessageFields);
        if self.late {
            trace.note(RuleId::LateVisibility);
        }
        if self.deleted_ms.is_some() {
            trace.note(RuleId::Tombstone);
        }
        let reactions: Vec<Value> = self.reactions.iter().map(|r| reaction_json(r, people)).collect();
        let mut payload = json!({
            "id": self.id.to_string(),
            "replyToId": null,
            "etag": self.modified_ms.to_string(),
            "messageType": self.type_json(newer_values, trace),
            "createdDateTime": moment::iso(self.id),
            "lastModifiedDateTime": moment::iso(self.modified_ms),
            "lastEditedDateTime": self.edited_ms.map(moment::iso),
            "deletedDateTime": self.deleted_ms.map(moment::iso),
            "subject": null,
            "summary": null,
            "chatId": chat_id,
            "importance": self.importance,
            "locale": "en-us",
            "webUrl": null,
            "channelIdentity": null,
            "onBehalfOf": null,
            "policyViolation": null,
            "eventDetail": self.event_json(trace),
            "from": people.sender_json(self.from.as_deref(), trace),
            "body": self.body_json(),
            "attachments": self.attachments,
            "mentions": self.mentions,
            "reactions": reactions,
            "messageHistory": [],
        });
        self.write_over(&mut payload, trace);
        payload
    }

    /// `chatMessageInfo`, the preview in a list of chats.
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

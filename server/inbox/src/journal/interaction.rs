//! The audit log: messages that came in, went out, were refused or lost, and faults, one line each in
//! `interactions/<day>.jsonl`.
//!
//! It must never hold what a person wrote, and a failure to write it must never stop a delivery.

use serde::{Deserialize, Serialize};

use crate::record::{Channel, Record};

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InteractionKind {
    /// A message entered the journal.
    Inbound,
    /// The agent is about to send a message, or has sent it.
    Outbound,
    /// The gate refused a sender.
    Refused,
    /// A message was lost.
    Dropped,
    /// A person was allowed or blocked, or asked to be allowed; or the policy could not be used.
    Access,
    /// A host asked for a permission, or the operator answered.
    Permission,
    /// Something broke.
    Fault,
    /// A session began or ended, a leader took over.
    Session,
    /// Old files were deleted.
    Retention,
}

/// One line of the audit log. Ids and reasons only, no bodies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Interaction {
    /// Version of this shape; 1.
    pub v: u32,
    /// When it was written, RFC 3339, UTC; the journal fills it in.
    pub ts: String,
    /// What happened.
    pub kind: InteractionKind,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channel>,
    /// In which conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
    /// Which message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Who, as an id, never a display name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// Why, one short line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

impl Interaction {
    /// An interaction of this kind; the other fields are empty.
    pub fn new(kind: InteractionKind) -> Self {
        Self {
            v: 1,
            ts: String::new(),
            kind,
            channel: None,
            chat_id: None,
            id: None,
            who: None,
            detail: None,
        }
    }

    /// The interaction of a record that entered the journal.
    pub fn inbound(record: &Record) -> Self {
        Self {
            channel: Some(record.channel),
            chat_id: Some(record.chat_id.clone()),
            id: Some(record.id.clone()),
            who: record.meta.get("sender_id").cloned(),
            ..Self::new(InteractionKind::Inbound)
        }
    }

    /// The interaction of a fault, with a short detail.
    pub fn fault(detail: impl Into<String>) -> Self {
        Self::new(InteractionKind::Fault).detail(detail)
    }

    /// Adds the place: the channel and the conversation.
    #[must_use]
    pub fn in_chat(self, channel: Channel, chat_id: impl Into<String>) -> Self {
        Self { channel: Some(channel), chat_id: Some(chat_id.into()), ..self }
    }

    /// Adds the detail.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

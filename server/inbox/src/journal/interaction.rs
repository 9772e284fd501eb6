//! The audit log: what came in, went out, was refused or broke, one line each in `interactions/<day>.jsonl`.
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
    /// The gate let somebody not in.
    Refused,
    /// A message was lost.
    Dropped,
    /// Somebody was let in or shut out, or asked to be; or the policy could not be used.
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
    /// Something happened, with nothing else known yet.
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

    /// A record entered the journal.
    pub fn inbound(record: &Record) -> Self {
        Self {
            channel: Some(record.channel),
            chat_id: Some(record.chat_id.clone()),
            id: Some(record.id.clone()),
            who: record.meta.get("sender_id").cloned(),
            ..Self::new(InteractionKind::Inbound)
        }
    }

    /// Something broke.
    pub fn fault(detail: impl Into<String>) -> Self {
        Self::new(InteractionKind::Fault).detail(detail)
    }

    /// Adds why.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }
}

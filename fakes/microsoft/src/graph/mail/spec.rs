//! What a scenario writes about the agent's mailbox: who mails what, and how the service shows it.
//! Handles everywhere; unknown keys are refused.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::graph::raw::RawOverride;

/// The agent's mailbox at its start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MailboxSpec {
    /// Mails that are in the inbox from the start, oldest first.
    pub messages: Vec<MailHistorySpec>,
    /// The most items of a page, whatever the caller asks for; absent means what it asks for.
    pub page_items_max: Option<usize>,
    /// Empty pages with a next link before the items of a round.
    pub empty_pages: usize,
    /// Shows every item of a round a second time at its end.
    pub duplicates: bool,
    /// Shows the last item of a round again in the next one.
    pub replays: bool,
    /// How long a sent mail is nowhere before it is in the sent items, in milliseconds.
    pub sent_delay_ms: u64,
    /// Further addresses of the agent.
    pub aliases: Vec<String>,
}

/// A mail that is there from the start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MailHistorySpec {
    /// Handle of the sender.
    pub from: String,
    /// What was written.
    pub message: MailSpec,
}

/// One mail as its author, or a hostile one, wrote it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MailSpec {
    /// A name for later steps.
    pub handle: Option<String>,
    /// The subject.
    pub subject: String,
    /// The body as HTML.
    pub html: Option<String>,
    /// The body as text.
    pub text: Option<String>,
    /// What of the body is new, as Exchange finds it; absent means the whole body.
    pub unique: Option<String>,
    /// The address in `From`, where it is not that of the sender's handle.
    pub address: Option<String>,
    /// The name in `From`, where it is not that of the sender's handle.
    pub name: Option<String>,
    /// The address in `Sender`; absent means that of `From`.
    pub sender: Option<String>,
    /// Addresses in `Reply-To`.
    pub reply_to: Vec<String>,
    /// Addresses in `To`; absent means the agent's.
    pub to: Vec<String>,
    /// Addresses in `Cc`.
    pub cc: Vec<String>,
    /// What the agent's mail system found out about `From`.
    pub auth: MailAuth,
    /// Further headers; those that `auth` makes come before them.
    pub headers: BTreeMap<String, String>,
    /// It is an invitation to a meeting.
    pub invitation: bool,
    /// How it is encrypted.
    pub encrypted: Option<MailEncryption>,
    /// Names of attached files.
    pub attachments: Vec<String>,
    /// The `Message-ID`, where a scenario chooses it.
    pub internet_id: Option<String>,
    /// The mail that it answers, by handle; they have one conversation.
    pub answers: Option<String>,
    /// How much older than the moment of delivery its date of receipt is, in milliseconds.
    pub received_ago_ms: u64,
    /// How long after the moment of delivery readers begin to see it, in milliseconds.
    pub visible_after_ms: u64,
    /// What is written over the payload.
    pub raw: Option<RawOverride>,
}

/// What the agent's mail system found out about a sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MailAuth {
    /// `internal` for people of the agent's tenant, else `pass`.
    #[default]
    Auto,
    /// DMARC passed.
    Pass,
    /// DMARC has no verdict, composite authentication passed.
    Composite,
    /// DMARC failed.
    Fail,
    /// Nothing was found out.
    None,
    /// It never left the organisation.
    Internal,
    /// DMARC failed, and the sender wrote a passing result into the mail.
    Forged,
}

/// How a mail is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MailEncryption {
    /// Rights management: `message.rpmsg`.
    Rights,
    /// S/MIME: `smime.p7m`.
    Smime,
}

/// How a lost delta state shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeltaLoss {
    /// 410 with a `Location`.
    Gone,
    /// 400 with `syncStateNotFound`.
    NotFound,
}

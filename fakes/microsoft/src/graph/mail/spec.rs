//! The part of a scenario that describes the agent's mailbox: its mails, and how the service shows them.
//! It uses handles, and must never ignore an unknown key.

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
    /// The largest number of items in a page; absent means as many as the caller asks for.
    pub page_items_max: Option<usize>,
    /// How many empty pages with a next link come before the items of a round.
    pub empty_pages: usize,
    /// Whether every item of a round is shown a second time at the end of the round.
    pub duplicates: bool,
    /// Whether the last item of a round is shown again in the next round.
    pub replays: bool,
    /// How long it takes until a sent mail appears in the sent items, in milliseconds.
    pub sent_delay_ms: u64,
    /// Further addresses of the agent.
    pub aliases: Vec<String>,
}

/// A mail that exists from the start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MailHistorySpec {
    /// Handle of the sender.
    pub from: String,
    /// The mail that the sender wrote.
    pub message: MailSpec,
}

/// One mail as its author wrote it; the author may be hostile.
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
    /// The part of the body that Exchange finds to be new; absent means the whole body.
    pub unique: Option<String>,
    /// The address in `From`; absent means the address of the sender's handle.
    pub address: Option<String>,
    /// The name in `From`; absent means the name of the sender's handle.
    pub name: Option<String>,
    /// The address in `Sender`; absent means the address in `From`.
    pub sender: Option<String>,
    /// Addresses in `Reply-To`.
    pub reply_to: Vec<String>,
    /// Addresses in `To`; absent means the agent's address.
    pub to: Vec<String>,
    /// Addresses in `Cc`.
    pub cc: Vec<String>,
    /// The verdict of the agent's mail system on `From`.
    pub auth: MailAuth,
    /// Further headers; the headers that `auth` makes come before them.
    pub headers: BTreeMap<String, String>,
    /// Whether the mail is an invitation to a meeting.
    pub invitation: bool,
    /// How the mail is encrypted; absent means that it is not.
    pub encrypted: Option<MailEncryption>,
    /// Names of attached files.
    pub attachments: Vec<String>,
    /// The `Message-ID`; absent means one that the fake makes.
    pub internet_id: Option<String>,
    /// The handle of the mail that it answers; both are in one conversation.
    pub answers: Option<String>,
    /// How much older than the moment of delivery its date of receipt is, in milliseconds.
    pub received_ago_ms: u64,
    /// How long after the moment of delivery readers begin to see it, in milliseconds.
    pub visible_after_ms: u64,
    /// Changes to the finished payload.
    pub raw: Option<RawOverride>,
}

/// The verdict of the agent's mail system on a sender.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MailAuth {
    /// `internal` for people of the agent's tenant, else `pass`.
    #[default]
    Auto,
    /// DMARC passed.
    Pass,
    /// DMARC has no verdict, but composite authentication passed.
    Composite,
    /// DMARC failed.
    Fail,
    /// Neither DMARC nor composite authentication has a verdict.
    None,
    /// The mail never left the organisation.
    Internal,
    /// DMARC failed, and the sender wrote a passing result into the mail.
    Forged,
    /// The topmost result names a relay, and below it stands a passing one without a name, which the sender wrote.
    ForgedBelowRelay,
    /// No verdict, and the sender wrote that the mail never left the organisation.
    ForgedInternal,
    /// DMARC passed for another domain than the sender's.
    OtherDomain,
    /// A line has no verdict, and a passing one after it.
    TwoVerdicts,
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

/// How the service reports a lost delta state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeltaLoss {
    /// It answers 410 with a `Location`.
    Gone,
    /// It answers 400 with `syncStateNotFound`.
    NotFound,
}

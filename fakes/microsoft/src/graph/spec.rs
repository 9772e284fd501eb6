//! What a scenario writes about the world: people, chats, messages. Handles everywhere, never a GUID.
//! Unknown keys are refused; nothing here knows how Graph shows any of it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::auth::TokenSpec;
use super::error_style::ErrorStyle;
use super::fault::FaultSpec;
use super::mail::MailboxSpec;
use super::raw::RawOverride;
use super::throttle::ThrottleSpec;

/// The handle under which the agent itself appears among people, senders and members.
pub const AGENT: &str = "agent";
/// The tenant of the agent unless the world says otherwise.
pub const HOME_TENANT: &str = "contoso";

/// A whole world at its start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorldSpec {
    /// The agent; every accepted token speaks for it.
    pub agent: PersonSpec,
    /// People by handle.
    pub people: BTreeMap<String, PersonSpec>,
    /// Bots and webhooks by handle.
    pub applications: BTreeMap<String, ApplicationSpec>,
    /// Sponsors of the agent identity, by handle.
    pub sponsors: Vec<String>,
    /// Chats by handle.
    pub chats: BTreeMap<String, ChatSpec>,
    /// The agent's mailbox; absent means that it has none.
    pub mail: Option<MailboxSpec>,
    /// Accepted tokens; none means that nobody gets in.
    pub tokens: Vec<TokenSpec>,
    /// Scopes that every token has; absent means all that the fake knows.
    pub scopes: Option<Vec<String>>,
    /// Request limits.
    pub throttle: ThrottleSpec,
    /// Faults, tried in this order.
    pub faults: Vec<FaultSpec>,
    /// How long every answer takes, in milliseconds.
    pub latency_ms: u64,
    /// How far the service's clock is ahead of the caller's, in milliseconds; shows in `Date` only.
    pub date_skew_ms: i64,
    /// Which form errors have.
    pub error_style: ErrorStyle,
}

/// One person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PersonSpec {
    /// The name shown; absent means the handle with a capital letter.
    pub display_name: Option<String>,
    /// Shows null for the name, as is usual for federated people.
    pub nameless: bool,
    /// Which kind of account.
    pub identity: IdentityType,
    /// The home tenant by handle; absent means the agent's.
    pub tenant: Option<String>,
    /// Whether messages name the sender's tenant; absent means yes.
    pub tenant_in_messages: Option<bool>,
    /// E-mail address in member lists; absent means null for other tenants, else one made from the handle.
    pub mail: Option<String>,
}

/// `userIdentityType` of v1.0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum IdentityType {
    /// An account of a tenant.
    #[default]
    AadUser,
    /// An account kept on premises.
    OnPremiseAadUser,
    /// A meeting guest without an account.
    AnonymousGuest,
    /// An account of another tenant.
    FederatedUser,
    /// A personal Microsoft account.
    PersonalMicrosoftAccountUser,
    /// A Skype account.
    SkypeUser,
    /// A telephone.
    PhoneUser,
    /// An e-mail address.
    EmailUser,
    /// What an older client is shown for anything newer.
    UnknownFutureValue,
}

/// A bot or webhook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApplicationSpec {
    /// The name shown; absent means the handle with a capital letter.
    pub display_name: Option<String>,
}

/// `chatType`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChatKind {
    /// The agent and one other.
    #[default]
    OneOnOne,
    /// Any number of people.
    Group,
    /// The chat of a meeting.
    Meeting,
}

/// One chat.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ChatSpec {
    /// Which kind.
    pub kind: ChatKind,
    /// Handles of the members besides the agent.
    pub members: Vec<String>,
    /// The topic; a 1:1 has none.
    pub topic: Option<String>,
    /// Leaves the agent out, to be added later.
    pub without_agent: bool,
    /// How long before the start it was created, in milliseconds.
    pub created_ago_ms: u64,
    /// Messages that are there from the start, oldest first.
    pub history: Vec<HistorySpec>,
    /// What is written over the payload.
    pub raw: Option<RawOverride>,
}

/// A message of a chat's history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistorySpec {
    /// Handle of the sender.
    pub from: String,
    /// What was written.
    pub message: MessageSpec,
}

/// One message as its author, or a hostile one, wrote it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MessageSpec {
    /// A name for later steps: quoting, editing, deleting.
    pub handle: Option<String>,
    /// The body as HTML. One of `html` and `text`, or neither when something else is there.
    pub html: Option<String>,
    /// The body as text; made HTML when anything else needs a marker in the body.
    pub text: Option<String>,
    /// Messages of the same chat that it quotes, by handle or id.
    pub quotes: Vec<String>,
    /// A message that it forwards.
    pub forwarded: Option<ForwardSpec>,
    /// Everything attached or embedded.
    pub attachments: Vec<AttachmentSpec>,
    /// Who is mentioned; `<at>` markers that the HTML lacks are put before it.
    pub mentions: Vec<MentionSpec>,
    /// Importance.
    pub importance: Importance,
    /// How much older than the moment of posting its dates are, in milliseconds.
    pub created_ago_ms: u64,
    /// How long after the moment of posting readers begin to see it, in milliseconds.
    pub visible_after_ms: u64,
    /// Makes it a system event; the body is then fixed.
    pub event: Option<SystemEventSpec>,
    /// A `messageType` that no client knows.
    pub message_type: Option<String>,
    /// What is written over the payload.
    pub raw: Option<RawOverride>,
}

impl MessageSpec {
    /// A message with an HTML body.
    pub fn html(body: &str) -> Self {
        Self { html: Some(body.to_owned()), ..Self::default() }
    }

    /// A message with a text body.
    pub fn text(body: &str) -> Self {
        Self { text: Some(body.to_owned()), ..Self::default() }
    }

    /// A system event.
    pub fn event(event: SystemEventSpec) -> Self {
        Self { event: Some(event), ..Self::default() }
    }

    /// The same with a handle.
    #[must_use]
    pub fn named(mut self, handle: &str) -> Self {
        self.handle = Some(handle.to_owned());
        self
    }

    /// The same, quoting one more message.
    #[must_use]
    pub fn quoting(mut self, message: &str) -> Self {
        self.quotes.push(message.to_owned());
        self
    }

    /// The same with one more attachment.
    #[must_use]
    pub fn with(mut self, attachment: AttachmentSpec) -> Self {
        self.attachments.push(attachment);
        self
    }

    /// The same, mentioning one more person.
    #[must_use]
    pub fn mentioning(mut self, person: &str) -> Self {
        self.mentions.push(MentionSpec::Person(person.to_owned()));
        self
    }
}

/// `importance`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Importance {
    /// Nothing special.
    #[default]
    Normal,
    /// Marked important.
    High,
    /// Rings for twenty minutes.
    Urgent,
}

/// A message that is forwarded from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForwardSpec {
    /// Handle of the person who is said to have written it.
    pub from: String,
    /// The forwarded HTML.
    pub html: String,
    /// Leaves newlines raw inside the JSON string, as the documentation's sample does, which makes it invalid.
    #[serde(default)]
    pub raw_newlines: bool,
}

/// Who is mentioned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MentionSpec {
    /// A person or application, by handle.
    Person(String),
    /// Everyone in the chat.
    Everyone,
}

/// What a message carries besides its body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AttachmentSpec {
    /// A file in `SharePoint` or `OneDrive`.
    File {
        /// File name, hostile ones too.
        name: String,
        /// Where it is; absent means a place on contoso.com.
        #[serde(default)]
        url: Option<String>,
    },
    /// A Bot Framework card.
    Card {
        /// Which kind.
        #[serde(default)]
        kind: CardKind,
        /// Its title.
        title: String,
    },
    /// A code snippet whose text lies behind a URL.
    CodeSnippet {
        /// Its language.
        language: String,
    },
    /// An announcement header.
    Announcement {
        /// Its title.
        title: String,
    },
    /// A Loop component.
    Loop {
        /// Where it is.
        url: String,
    },
    /// An inline image.
    Image {
        /// Its alternative text.
        alt: String,
    },
    /// An emoji of the tenant.
    CustomEmoji {
        /// Its alternative text.
        alt: String,
    },
    /// A quote that claims what nobody wrote.
    ForgedQuote {
        /// Handle of the person who is said to have written it.
        claimed_sender: String,
        /// What that person is said to have written.
        preview: String,
        /// An id; absent means one that does not exist.
        #[serde(default)]
        message_id: Option<String>,
    },
    /// Anything, word for word.
    Raw {
        /// `contentType`.
        content_type: String,
        /// `content`, usually JSON in a string.
        #[serde(default)]
        content: Option<String>,
        /// `contentUrl`.
        #[serde(default)]
        content_url: Option<String>,
        /// `name`.
        #[serde(default)]
        name: Option<String>,
    },
}

/// Kinds of cards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardKind {
    /// An Adaptive Card.
    #[default]
    Adaptive,
    /// A hero card.
    Hero,
    /// A thumbnail card.
    Thumbnail,
}

/// What a system message reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SystemEventSpec {
    /// People were added, by handle.
    MembersAdded(Vec<String>),
    /// People were removed, by handle.
    MembersDeleted(Vec<String>),
    /// People joined, by handle.
    MembersJoined(Vec<String>),
    /// People left, by handle.
    MembersLeft(Vec<String>),
    /// The chat has a new topic.
    ChatRenamed(String),
    /// A call began.
    CallStarted,
    /// A call ended.
    CallEnded,
    /// A message was pinned.
    MessagePinned,
    /// A detail type by its full name, known or not.
    Other(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_world_is_read_from_yaml_and_unknown_keys_are_refused() {
        let world: WorldSpec = serde_saphyr::from_str(
            "people: {alice: {}, bob: {tenant: fabrikam, identity: federatedUser, nameless: true}}\n\
             chats:\n  dm:\n    members: [alice]\n    history:\n      - from: alice\n        message:\n\
             \x20         html: <p>hi</p>\n          attachments: [{file: {name: a.txt}}]\n          mentions: [everyone, {person: bob}]\n\
             tokens: [{token: secret}]\n",
        )
        .expect("the world is well formed");
        assert_eq!(world.chats["dm"].history[0].message.mentions.len(), 2);
        assert!(world.people["bob"].nameless);
        assert!(serde_saphyr::from_str::<WorldSpec>("peple: {}").is_err());
        assert!(serde_saphyr::from_str::<MessageSpec>("html: x\nattachments: [{file: {nam: a}}]").is_err());
    }

    #[test]
    fn the_schema_of_a_world_refuses_unknown_keys_too() {
        let schema = serde_json::to_value(schemars::schema_for!(WorldSpec)).unwrap();
        assert_eq!(schema["additionalProperties"], json!(false));
        let fault = &schema["$defs"]["FaultSpec"];
        assert_eq!((&fault["required"], &fault["additionalProperties"]), (&json!(["do"]), &json!(false)));
    }
}

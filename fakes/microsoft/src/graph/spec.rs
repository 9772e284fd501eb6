//! The part of a scenario that describes the world: people, chats, messages. It uses handles, never a GUID.
//! Unknown keys are refused, and this code must never depend on how Graph shows the world.

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
/// The handle of the agent's tenant, unless the world names another.
pub const HOME_TENANT: &str = "contoso";

/// A complete world at its start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorldSpec {
    /// The agent; every accepted token represents it.
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
    /// Accepted tokens; with none, every request is refused.
    pub tokens: Vec<TokenSpec>,
    /// Scopes of every token; absent means all scopes that the fake knows.
    pub scopes: Option<Vec<String>>,
    /// Request limits.
    pub throttle: ThrottleSpec,
    /// Faults, tried in this order.
    pub faults: Vec<FaultSpec>,
    /// How long every answer takes, in milliseconds.
    pub latency_ms: u64,
    /// How far the service's clock is ahead of the caller's, in milliseconds; only headers show it.
    pub date_skew_ms: i64,
    /// The form of errors.
    pub error_style: ErrorStyle,
}

/// One person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PersonSpec {
    /// The displayed name; absent means the handle with a capital letter.
    pub display_name: Option<String>,
    /// Whether the displayed name is null, as is usual for federated people.
    pub nameless: bool,
    /// The kind of account.
    pub identity: IdentityType,
    /// The home tenant by handle; absent means the agent's.
    pub tenant: Option<String>,
    /// Whether messages name the sender's tenant; absent means yes.
    pub tenant_in_messages: Option<bool>,
    /// E-mail address in member lists; absent means null in other tenants, else one made from the handle.
    pub mail: Option<String>,
}

/// The kind of an account, which Graph calls `userIdentityType` in v1.0.
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
    /// The value that an older client gets for any newer one.
    UnknownFutureValue,
}

/// A bot or webhook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ApplicationSpec {
    /// The displayed name; absent means the handle with a capital letter.
    pub display_name: Option<String>,
}

/// The kind of a chat, which Graph calls `chatType`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ChatKind {
    /// The agent and one other member.
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
    /// The kind of chat.
    pub kind: ChatKind,
    /// Handles of the members besides the agent.
    pub members: Vec<String>,
    /// The topic; a 1:1 chat has none.
    pub topic: Option<String>,
    /// Whether the agent is not a member at first; it can be added later.
    pub without_agent: bool,
    /// How long before the start the chat was created, in milliseconds.
    pub created_ago_ms: u64,
    /// Messages that exist from the start, oldest first.
    pub history: Vec<HistorySpec>,
    /// Changes to the finished payload.
    pub raw: Option<RawOverride>,
}

/// A message of a chat's history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistorySpec {
    /// Handle of the sender.
    pub from: String,
    /// The message that the sender wrote.
    pub message: MessageSpec,
}

/// One message as its author wrote it; the author may be hostile.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MessageSpec {
    /// A name for later steps that quote, edit or delete the message.
    pub handle: Option<String>,
    /// The body as HTML. A message has at most one of `html` and `text`.
    pub html: Option<String>,
    /// The body as text; it becomes HTML when something else needs a marker in the body.
    pub text: Option<String>,
    /// Messages of the same chat that it quotes, by handle or id.
    pub quotes: Vec<String>,
    /// A message that it forwards.
    pub forwarded: Option<ForwardSpec>,
    /// All attached or embedded things.
    pub attachments: Vec<AttachmentSpec>,
    /// The mentions; `<at>` markers that the HTML lacks are put before it.
    pub mentions: Vec<MentionSpec>,
    /// The importance of the message.
    pub importance: Importance,
    /// How much older than the moment of posting its dates are, in milliseconds.
    pub created_ago_ms: u64,
    /// How long after the moment of posting readers begin to see it, in milliseconds.
    pub visible_after_ms: u64,
    /// Makes the message a system event, which has a fixed body.
    pub event: Option<SystemEventSpec>,
    /// A `messageType` that no client knows.
    pub message_type: Option<String>,
    /// Changes to the finished payload.
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

    /// The same message with a handle.
    #[must_use]
    pub fn named(mut self, handle: &str) -> Self {
        self.handle = Some(handle.to_owned());
        self
    }

    /// The same message, with one more quoted message.
    #[must_use]
    pub fn quoting(mut self, message: &str) -> Self {
        self.quotes.push(message.to_owned());
        self
    }

    /// The same message with one more attachment.
    #[must_use]
    pub fn with(mut self, attachment: AttachmentSpec) -> Self {
        self.attachments.push(attachment);
        self
    }

    /// The same message, with one more mentioned person.
    #[must_use]
    pub fn mentioning(mut self, person: &str) -> Self {
        self.mentions.push(MentionSpec::Person(person.to_owned()));
        self
    }
}

/// The `importance` of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Importance {
    /// Normal importance.
    #[default]
    Normal,
    /// Marked important.
    High,
    /// Teams notifies the recipient for twenty minutes.
    Urgent,
}

/// A message that is forwarded from another chat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForwardSpec {
    /// Handle of the person who is said to have written it.
    pub from: String,
    /// The forwarded HTML.
    pub html: String,
    /// Whether the JSON string holds raw newlines, as in the documentation's sample, which makes it invalid.
    #[serde(default)]
    pub raw_newlines: bool,
}

/// The target of a mention.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum MentionSpec {
    /// A person or application, by handle.
    Person(String),
    /// Everyone in the chat.
    Everyone,
}

/// A thing that a message has besides its body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AttachmentSpec {
    /// A file in `SharePoint` or `OneDrive`.
    File {
        /// The file name, which may be hostile.
        name: String,
        /// The address of the file; absent means an address on contoso.com.
        url: Option<String>,
    },
    /// A Bot Framework card.
    Card {
        /// The kind of card.
        #[serde(default)]
        kind: CardKind,
        /// Its title.
        title: String,
    },
    /// A code snippet whose text is at a URL.
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
        /// The address of the component.
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
    /// A quote of a text that its claimed author never wrote.
    ForgedQuote {
        /// Handle of the person who is said to have written it.
        claimed_sender: String,
        /// The text that this person is said to have written.
        preview: String,
        /// The id of the quoted message; absent means an id that does not exist.
        message_id: Option<String>,
    },
    /// Any attachment, exactly as given.
    Raw {
        /// `contentType`.
        content_type: String,
        /// `content`, usually JSON in a string.
        content: Option<String>,
        /// `contentUrl`.
        content_url: Option<String>,
        /// `name`.
        name: Option<String>,
    },
}

/// The kinds of cards.
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

/// The event that a system message reports.
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
        let world: WorldSpec = yaml::read(
            "people: {alice: {}, bob: {tenant: fabrikam, identity: federatedUser, nameless: true}}\n\
             chats:\n  dm:\n    members: [alice]\n    history:\n      - from: alice\n        message:\n\
             \x20         html: <p>hi</p>\n          attachments: [{file: {name: a.txt}}]\n          mentions: [everyone, {person: bob}]\n\
             tokens: [{token: secret}]\n",
        )
        .expect("the world is well formed");
        assert_eq!(world.chats["dm"].history[0].message.mentions.len(), 2);
        assert!(world.people["bob"].nameless);
        assert!(yaml::read::<WorldSpec>("peple: {}").is_err());
        assert!(yaml::read::<MessageSpec>("html: x\nattachments: [{file: {nam: a}}]").is_err());
    }

    #[test]
    fn the_schema_of_a_world_refuses_unknown_keys_too() {
        let schema = serde_json::to_value(schemars::schema_for!(WorldSpec)).unwrap();
        assert_eq!(schema["additionalProperties"], json!(false));
        let fault = &schema["$defs"]["FaultSpec"];
        assert_eq!((&fault["required"], &fault["additionalProperties"]), (&json!(["do"]), &json!(false)));
    }
}

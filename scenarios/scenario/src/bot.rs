//! Steps and demands about the bot's channel.

use fake_microsoft::bot::{BotEvent, BotFault, Forgery};
use serde::Deserialize;

use super::Span;

/// Begins the name of a conversation with the bot where a chat could stand too.
pub const BOT_CONVERSATION: &str = "$conversation:";

/// An event at the bot's channel.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BotStep {
    /// An activity is sent to the bot.
    Say(BotSay),
    /// The very same request as that of the labelled message comes once more.
    Again(BotAgain),
    /// The channel signs with another key from now on.
    ChangeKeys,
    /// The next request that this fits goes wrong.
    Fault(BotFault),
}

/// An activity.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BotSay {
    /// The kind of event; a message when left out.
    pub event: BotEvent,
    /// Person handle, with `{n}` as in the text; the first of the world when left out.
    pub from: Option<String>,
    /// Handle of the conversation, with `{n}` as in the text; `bot` when left out. One that begins with `group` has more
    /// than two people.
    pub conversation: Option<String>,
    /// It begins with a mention of the bot.
    pub mention: bool,
    /// Plain text. `{n}` is the number of the message when `count` is more than 1.
    pub text: String,
    /// Words of another sender that it quotes.
    pub quote: Option<String>,
    /// Name to refer to it by; with `count`, the first is `NAME-1`.
    #[serde(rename = "as")]
    pub label: Option<String>,
    /// The message that is changed or taken back.
    pub message: Option<String>,
    /// The fault in it; such a message must never reach the model.
    pub forged: Option<Forgery>,
    /// The bot must not tell the model about it, though nothing is wrong with it.
    pub unheard: bool,
    /// The bot must tell the model about it, though it is a group's and does not mention the bot.
    pub heard: bool,
    /// How many. Default 1.
    pub count: Option<u32>,
    /// All of them at the same time, not one after another.
    pub at_once: bool,
    /// The HTTP status that every one must be answered with; 200 when left out.
    pub status: Option<u16>,
    /// Being told to come again later (503) is as good.
    pub or_later: bool,
    /// Any answer will do, and none; a message that was not answered with 200 may be lost.
    pub any_status: bool,
    /// True: the message must reach no listener, as the server does not listen.
    pub nobody_listens: bool,
}

/// A request that is repeated.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BotAgain {
    /// The message's label.
    pub message: String,
    /// The HTTP status that it must be answered with; 200 when left out.
    pub status: Option<u16>,
}

/// A demand about what the bot's channel has received.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BotExpect {
    /// Answers in this conversation only.
    pub conversation: Option<String>,
    /// Answers with these words only.
    pub contains: Option<String>,
    /// Answers to the labelled message only.
    pub reply_to: Option<String>,
    /// Exactly so many answers.
    pub answers: Option<u32>,
    /// The keys were fetched at most so often.
    pub keys_fetched_at_most: Option<u32>,
    /// Time from now until it must hold; now when left out.
    pub within: Option<Span>,
}

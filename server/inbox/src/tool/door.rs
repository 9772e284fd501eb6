//! A door: tools whose work is done outside the connection, such as in Teams or in a mailbox.
//!
//! Whoever stands behind one decides what is acceptable and writes the interaction log before it acts; the connection
//! only carries arguments in and answers out.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rmcp::model::Tool;
use serde_json::{Map, Value};

use super::answer::Answer;
use super::arguments::Refusal;
use super::outbox::Outbox;
use super::send::{self, outgoing};

/// A group of tools that the operator can leave out: every tool costs every host a part of its context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolSet {
    /// Waiting, pulling, counting.
    Inbound,
    /// Answering in a chat: sending, editing, reacting.
    Reply,
    /// Looking at chats, and which of them are watched.
    Chats,
    /// Beginning a chat with an allowed person.
    People,
    /// Fetching what was attached.
    Files,
    /// Mail.
    Mail,
    /// The bot.
    Bot,
}

impl ToolSet {
    /// All of them, in the order of their names' importance.
    pub const ALL: [Self; 7] =
        [Self::Inbound, Self::Reply, Self::Chats, Self::People, Self::Files, Self::Mail, Self::Bot];

    /// The word for it in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inbound => "inbound",
            Self::Reply => "reply",
            Self::Chats => "chats",
            Self::People => "people",
            Self::Files => "files",
            Self::Mail => "mail",
            Self::Bot => "bot",
        }
    }

    /// The set of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.as_str() == name)
    }
}

impl fmt::Display for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A tool of a door, as `tools/list` shows it.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The group it belongs to.
    pub set: ToolSet,
    /// Name, description, schema.
    pub tool: Tool,
}

/// A call that has begun.
pub struct Started {
    /// Ids of messages that the call answers, which shows that they have reached the model.
    pub answers: Vec<String>,
    /// Does the work. It is driven beside the connection and dropped when the host goes away.
    pub work: BoxFuture<'static, Answer>,
}

/// Tools whose work is done elsewhere.
pub trait Door: Send + Sync {
    /// What it offers.
    fn offers(&self) -> Vec<Offer>;

    /// Reads the arguments of one of its tools and begins.
    ///
    /// # Errors
    /// A sentence that names the argument that is wrong; then nothing has begun.
    fn call(&self, tool: &str, arguments: Map<String, Value>) -> Result<Started, Refusal>;
}

/// The door to sending, over an outbox.
pub(crate) struct SendDoor(pub(crate) Arc<dyn Outbox>);

impl Door for SendDoor {
    fn offers(&self) -> Vec<Offer> {
        vec![Offer { set: ToolSet::Reply, tool: super::catalog::send() }]
    }

    fn call(&self, _tool: &str, arguments: Map<String, Value>) -> Result<Started, Refusal> {
        let message = outgoing(arguments)?;
        let (answers, chat_id) = (message.reply_to.clone(), message.chat_id.clone());
        let sending = self.0.send_teams_message(message);
        Ok(Started { answers, work: Box::pin(async move { send::answer(chat_id, sending.await) }) })
    }
}

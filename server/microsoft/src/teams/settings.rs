//! The operator's settings for Teams.

use std::collections::BTreeSet;
use std::time::Duration;

/// The settings of the Teams source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whether Teams is polled at all.
    pub enabled: bool,
    /// Time between two looks at the list of chats.
    pub poll_interval: Duration,
    /// How far before its cursor a chat is read again, for messages that become visible late.
    pub overlap: Duration,
    /// Items per page, 1 to 50.
    pub page_size: u32,
    /// How far back a first start looks; older messages are history.
    pub look_back: Duration,
    /// Time between two looks into an active chat for changes that the list does not show.
    pub sweep_interval: Duration,
    /// How long a chat counts as active after its last message.
    pub hot_for: Duration,
    /// Which messages of chats with more than two people reach the agent.
    pub group_messages: GroupMessages,
    /// Chats that the agent may watch and unwatch by itself, by id.
    pub watchable: Watchable,
    /// Time between two lists when nothing has happened for `hot_for`; the same as `poll_interval` unless it
    /// is set.
    pub idle_poll_interval: Duration,
    /// Whether the model has the tool that puts an emoji under a message.
    pub reactions: bool,
}

/// The chats where the agent may choose to hear every message of allowed people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watchable {
    /// Any chat that an allowed person is in.
    All,
    /// The chats with these ids.
    Only(BTreeSet<String>),
}

impl Watchable {
    /// Whether the agent may watch this chat.
    pub fn contains(&self, chat_id: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(chats) => chats.contains(chat_id),
        }
    }
}

/// Which messages of an allowed person in a group or meeting chat reach the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupMessages {
    /// Every message.
    All,
    /// Only messages that mention the agent.
    Mentioned,
}

//! The sets in which tools can be offered or left out.

use std::fmt;

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

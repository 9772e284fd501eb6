//! The sets of tools that can be offered or left out.

use std::collections::BTreeSet;
use std::fmt;

/// A group of tools that the operator can leave out, because every tool takes a part of the host's context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ToolSet {
    /// Waiting for, pulling and counting messages.
    Inbound,
    /// Answering in a chat: sending, editing and reacting.
    Reply,
    /// Listing chats, and choosing which of them are watched.
    Chats,
    /// Starting a chat with an allowed person.
    People,
    /// Fetching attached files.
    Files,
    /// Reading and sending mail.
    Mail,
    /// Sending as the bot.
    Bot,
    /// Asking other coding agents.
    Ask,
    /// Shared context, and the search over all sessions.
    Context,
    /// Handing work to the local model of the project.
    Delegate,
}

impl ToolSet {
    /// All sets, in order of importance.
    pub const ALL: [Self; 10] = [
        Self::Inbound,
        Self::Reply,
        Self::Chats,
        Self::People,
        Self::Files,
        Self::Mail,
        Self::Bot,
        Self::Ask,
        Self::Context,
        Self::Delegate,
    ];
    /// The sets that are offered if the operator names none: those of messages from people.
    pub const DEFAULT: [Self; 7] =
        [Self::Inbound, Self::Reply, Self::Chats, Self::People, Self::Files, Self::Mail, Self::Bot];

    /// The set's name in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Inbound => "inbound",
            Self::Reply => "reply",
            Self::Chats => "chats",
            Self::People => "people",
            Self::Files => "files",
            Self::Mail => "mail",
            Self::Bot => "bot",
            Self::Ask => "ask",
            Self::Context => "context",
            Self::Delegate => "delegate",
        }
    }

    /// The names of the sets that are not chosen.
    pub fn left_out_of(chosen: &BTreeSet<Self>) -> BTreeSet<&'static str> {
        Self::ALL.into_iter().filter(|set| !chosen.contains(set)).map(Self::as_str).collect()
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

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(ToolSet::Inbound, "inbound")]
    #[case(ToolSet::Reply, "reply")]
    #[case(ToolSet::Chats, "chats")]
    #[case(ToolSet::People, "people")]
    #[case(ToolSet::Files, "files")]
    #[case(ToolSet::Mail, "mail")]
    #[case(ToolSet::Bot, "bot")]
    #[case(ToolSet::Ask, "ask")]
    #[case(ToolSet::Context, "context")]
    #[case(ToolSet::Delegate, "delegate")]
    fn a_set_has_the_name_of_the_configuration(#[case] set: ToolSet, #[case] name: &str) {
        assert_eq!((set.as_str(), set.to_string().as_str()), (name, name));
        assert_eq!(ToolSet::parse(name), Some(set));
        assert!(ToolSet::ALL.contains(&set));
        let others = ToolSet::ALL.into_iter().filter(|other| *other != set).collect();
        assert_eq!(ToolSet::left_out_of(&others), BTreeSet::from([name]));
    }

    #[rstest]
    #[case("")]
    #[case("Inbound")]
    #[case("inbound ")]
    fn another_name_is_no_set(#[case] name: &str) {
        assert_eq!(ToolSet::parse(name), None);
    }
}

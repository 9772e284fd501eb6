//! What an agent may do for a question, from the narrowest to the widest.
//! It must never have a state that is wider than all that its user may do.

use std::fmt;

/// What an agent may do for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permissions {
    /// Read, and nothing else.
    ReadOnly,
    /// Also change files in its folders.
    Workspace,
    /// All that its user may do, commands included.
    All,
}

impl Permissions {
    /// All, from the narrowest.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::Workspace, Self::All];

    /// The word in the configuration and in calls.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Workspace => "workspace",
            Self::All => "all",
        }
    }

    /// The permissions of this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}

impl fmt::Display for Permissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

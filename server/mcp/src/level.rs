//! The levels of `notifications/message`.

/// The protocol's levels, lowest first.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Lowest level that a client wants to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(usize);

impl Level {
    /// The level of the ping, and what is shown before a client says otherwise.
    pub const INFO: Self = Self(1);

    /// Reads a level's name.
    pub fn parse(name: &str) -> Option<Self> {
        LEVELS.iter().position(|known| *known == name).map(Self)
    }

    /// The names, for an error text.
    pub fn names() -> String {
        LEVELS.join(", ")
    }
}

//! The levels of `notifications/message`.

/// The protocol's levels, lowest first.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A level of log messages; higher levels are more severe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(usize);

impl Level {
    /// The level of the log ping, and the lowest level that a client gets by default.
    pub const INFO: Self = Self(1);

    /// The level with this name.
    pub fn parse(name: &str) -> Option<Self> {
        LEVELS.iter().position(|known| *known == name).map(Self)
    }

    /// All names, for an error text.
    pub fn names() -> String {
        LEVELS.join(", ")
    }
}

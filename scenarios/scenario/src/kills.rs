//! Kills at moments drawn from the seed, under traffic.
//! It must never say when: that is what the seed is for.

use serde::Deserialize;

use super::Span;

/// The number of kills, and their delay after the last message of each burst.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kills {
    /// How many times the server's process is killed and started again by its host.
    pub count: u32,
    /// The longest time from the last message of a burst to the kill.
    pub within: Span,
    /// Most messages of a burst. Default 6.
    #[serde(default = "default_burst")]
    pub burst: u32,
}

fn default_burst() -> u32 {
    6
}

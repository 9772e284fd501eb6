//! A stretch of time that is drawn from the seed: its messages, their times, and its troubles.
//! The same seed must always draw the same.

use serde::Deserialize;

use super::duration::Span;
use super::trouble::Trouble;
use crate::faults::Faults;

/// The properties of a drawn stretch.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Random {
    /// How long it is, about; it ends with everything working.
    pub lasting: Span,
    /// The number of bursts. Each is of one to `burst` messages to one chat. Where the world has a
    /// mailbox, every third burst is mail; where the server has a bot, every third of the others is for the bot.
    pub bursts: u32,
    /// Most messages of a burst. Default 6.
    #[serde(default = "default_burst")]
    pub burst: u32,
    /// What may go wrong; as a rule each burst meets one of them with a chance of one in three.
    #[serde(default)]
    pub troubles: Vec<Trouble>,
    /// The fault profile, which says how often each of `troubles` happens; `usual` when left out.
    /// `simulation run --fault-profile` goes before it.
    pub faults: Option<Faults>,
}

fn default_burst() -> u32 {
    6
}

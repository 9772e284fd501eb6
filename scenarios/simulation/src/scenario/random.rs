//! A stretch of time that nobody has written down: who writes when, and what goes wrong, is drawn from the seed.
//! The same seed must always draw the same.

use fake_microsoft::entra::AuthKind;
use serde::Deserialize;

use super::{Scenario, Span};
use crate::faults::Faults;

/// What the stretch is like.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Random {
    /// How long it is, about; it ends with everything working.
    pub lasting: Span,
    /// How often somebody writes; each time a burst of one to `burst` messages to one chat. Where the world has a
    /// mailbox, every third burst is mail; where the server has a bot, every third of the others is for the bot.
    pub bursts: u32,
    /// Most messages of a burst. Default 6.
    #[serde(default = "default_burst")]
    pub burst: u32,
    /// What may go wrong; as a rule each burst meets one of them with a chance of one in three.
    #[serde(default)]
    pub troubles: Vec<Trouble>,
    /// How often what of `troubles` happens; `usual` when left out. `simulation run --fault-profile` goes before it.
    #[serde(default)]
    pub faults: Option<Faults>,
}

fn default_burst() -> u32 {
    6
}

/// Something that goes wrong for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// Graph answers 429 on one chat, with a minute to wait.
    Throttle,
    /// No connection to Graph.
    Outage,
    /// Graph answers a gateway's HTML with 503.
    ServerError,
    /// Some of Graph's answers are cut in the middle.
    CutJson,
    /// Graph does what it is asked to do, and every other time does not say so.
    LostAnswer,
    /// Graph refuses the token for a while.
    TokenRefused,
    /// Graph takes its time.
    Slow,
    /// A message becomes visible half a minute late.
    Late,
    /// A message is edited, another is taken back.
    Change,
    /// An answer to the host is lost.
    LostReply,
    /// `kill -9`, and the host is started again.
    Crash,
    /// The power fails, and the host is started again.
    PowerCut,
    /// The disk is full.
    DiskFull,
    /// Syncs fail.
    FailedSync,
    /// The machine's wall clock jumps by up to five minutes, forward or back, and stays there.
    ClockStep,
    /// Every access token ends before its time; the agent has to sign in anew.
    TokenExpiry,
    /// Graph forgets how far anybody has read the inbox.
    DeltaReset,
    /// Another session ends, properly or not, or begins again. The scenario starts all of them before.
    Terminal,
    /// The operator denies a person, who goes on writing, and lets them in again later. Not beside troubles of the disk,
    /// which takes no policy then.
    Denied,
}

impl Random {
    /// What the scenario lacks for these troubles, with what helps.
    pub fn lacks(&self, scenario: &Scenario) -> Option<(&'static str, &'static str)> {
        let has = |trouble| self.troubles.contains(&trouble);
        if has(Trouble::DeltaReset) && scenario.world.mail.is_none() {
            return Some(("`delta_reset` needs a mailbox", "add `mail: {}` to the world"));
        }
        if has(Trouble::Terminal) && scenario.sessions.is_empty() {
            return Some(("`terminal` needs other sessions", "add `sessions: {second: {}}` and start them"));
        }
        if has(Trouble::Denied) && (has(Trouble::DiskFull) || has(Trouble::FailedSync)) {
            let problem = "`denied` can't be beside `disk_full` and `failed_sync`, for a disk that fails takes no policy";
            return Some((problem, "leave one of the two out"));
        }
        if has(Trouble::TokenExpiry) && scenario.entra.auth == AuthKind::Static {
            let problem = "`token_expiry` needs a sign-in that can be renewed";
            return Some((problem, "add `entra: {auth: agent_user}`"));
        }
        None
    }
}

impl Trouble {
    /// Whether it needs a disk and a power supply that obey.
    pub fn is_only_simulated(self) -> bool {
        matches!(self, Self::PowerCut | Self::DiskFull | Self::FailedSync | Self::ClockStep)
    }
}

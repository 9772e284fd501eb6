//! The troubles of a drawn stretch.

use serde::Deserialize;

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
    /// Graph forgets the delta links of the inbox.
    DeltaReset,
    /// Another session ends, properly or not, or begins again. The scenario starts all of them before.
    Terminal,
    /// The operator denies a person, who goes on writing, and lets them in again later. Not beside troubles of the disk,
    /// which takes no policy then.
    Denied,
}

impl Trouble {
    /// Whether it needs a disk and a power supply that obey.
    pub fn is_only_simulated(self) -> bool {
        matches!(self, Self::PowerCut | Self::DiskFull | Self::FailedSync | Self::ClockStep)
    }
}

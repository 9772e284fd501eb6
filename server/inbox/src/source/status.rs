//! How a source is doing, for `status` and for error texts.
//! It must never hold what a person wrote.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::watched::Watched;

/// Silence that is worth a word. A hiccup is over sooner.
const SILENCE_MAX: SignedDuration = SignedDuration::from_secs(15);

/// What a source says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceState {
    /// When it last asked.
    pub asked_at: Option<Timestamp>,
    /// When it was last told everything that it asked for.
    pub answered_at: Option<Timestamp>,
    /// What went wrong since then, with what helps.
    pub error: Option<String>,
    /// Failures in a row.
    pub failures: u32,
    /// From when on the error is more than a hiccup.
    pub serious_from: Option<Timestamp>,
    /// What this machine's disk does not keep for the source, with why.
    pub unsaved: Option<String>,
    /// Conversations that it knows of.
    pub conversations: usize,
    /// Conversations that have something new which was not read yet.
    pub behind: usize,
}

/// A question that got no good answer.
#[derive(Debug, Clone)]
pub struct Failed {
    /// What went wrong, with what helps.
    pub error: String,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// How long it is not asked again.
    pub pause: Duration,
    /// Waiting does not help.
    pub lasts: bool,
}

impl SourceState {
    /// Notes a failure. It is serious at once where waiting does not help, where it is not the first, or where there is
    /// no answer for long; otherwise when the silence has become long.
    pub fn fail(&mut self, failed: Failed, now: Timestamp) {
        let Failed { error, asked_at, pause, lasts } = failed;
        self.failures = self.failures.saturating_add(1);
        self.error = Some(error);
        let pause = SignedDuration::try_from(pause).unwrap_or(SignedDuration::MAX);
        let long = asked_at.saturating_add(SILENCE_MAX).unwrap_or(asked_at);
        let is_serious =
            lasts || self.failures > 1 || now.saturating_add(pause).is_ok_and(|next| next > long);
        let from = if is_serious { now } else { long };
        self.serious_from = Some(self.serious_from.map_or(from, |known| known.min(from)));
    }

    /// Notes that everything that was asked for has come.
    pub fn recover(&mut self) {
        self.error = None;
        self.failures = 0;
        self.serious_from = None;
    }

    /// The error, once it is more than a hiccup.
    pub fn serious(&self, now: Timestamp) -> Option<&str> {
        self.error
            .as_deref()
            .filter(|_| self.failures > 1 || self.serious_from.is_some_and(|from| from <= now))
    }

    /// For how long an answer is waited for, once that is long.
    pub fn silence(&self, now: Timestamp) -> Option<SignedDuration> {
        silence(self.asked_at?, self.answered_at, now)
    }
}

/// For how long an answer is waited for, once that is long.
pub fn silence(
    asked_at: Timestamp,
    answered_at: Option<Timestamp>,
    now: Timestamp,
) -> Option<SignedDuration> {
    let waits = answered_at.is_none_or(|answered_at| answered_at < asked_at);
    let time = now.duration_since(asked_at);
    (waits && time > SILENCE_MAX).then_some(time)
}

/// A handle to the state.
pub type SourceStatus = Watched<SourceState>;

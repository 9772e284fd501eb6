//! The state of a source, for `status` and for error texts. It must never hold a person's text.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::watched::Watched;

/// How long a source may be silent before it is reported. A brief failure is over sooner.
const SILENCE_MAX: SignedDuration = SignedDuration::from_secs(15);

/// The state of a source.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SourceState {
    /// When the source was last asked, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub asked_at: Option<Timestamp>,
    /// When it last answered every request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub answered_at: Option<Timestamp>,
    /// The error since then, with what helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Failures in a row.
    pub failures: u32,
    /// When the error becomes serious, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub serious_from: Option<Timestamp>,
    /// Data of the source that this machine's disk does not keep, with why and what helps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsaved: Option<String>,
    /// Conversations that are known.
    pub conversations: u64,
    /// Conversations with messages that were not read yet.
    pub behind: u64,
}

/// A request that failed.
#[derive(Debug, Clone)]
pub struct Failed {
    /// The error, with what helps.
    pub error: String,
    /// When the request was made.
    pub asked_at: Timestamp,
    /// How long the source waits before the next request.
    pub pause: Duration,
    /// Whether waiting does not help.
    pub lasts: bool,
}

impl SourceState {
    /// Notes a failure. It is serious at once if waiting does not help, if it is not the first, or if the
    /// next request comes too late; otherwise once the silence is longer than allowed.
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

    /// Notes that every request was answered.
    pub fn recover(&mut self) {
        self.error = None;
        self.failures = 0;
        self.serious_from = None;
    }

    /// The error, once it is serious.
    pub fn serious(&self, now: Timestamp) -> Option<&str> {
        self.error
            .as_deref()
            .filter(|_| self.failures > 1 || self.serious_from.is_some_and(|from| from <= now))
    }

    /// How long the source has waited for an answer, once that is longer than allowed.
    pub fn silence(&self, now: Timestamp) -> Option<SignedDuration> {
        let asked_at = self.asked_at?;
        let waits = self.answered_at.is_none_or(|answered_at| answered_at < asked_at);
        let time = now.duration_since(asked_at);
        (waits && time > SILENCE_MAX).then_some(time)
    }
}

/// A handle to the state of a source.
pub type SourceStatus = Watched<SourceState>;

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
        let time = now.duration_since(self.asked_at?);
        (self.waits() && time > SILENCE_MAX).then_some(time)
    }

    /// Whether nothing but answered polls lies between the two states.
    pub fn was_only_polled_since(&self, earlier: &Self) -> bool {
        let but_for_times =
            Self { asked_at: earlier.asked_at, answered_at: earlier.answered_at, ..self.clone() };
        earlier.answered_at.is_some() && !earlier.waits() && !self.waits() && but_for_times == *earlier
    }

    /// Whether the source was asked and has not answered yet.
    pub fn waits(&self) -> bool {
        self.asked_at
            .is_some_and(|asked_at| self.answered_at.is_none_or(|answered_at| answered_at < asked_at))
    }
}

/// A handle to the state of a source.
pub type SourceStatus = Watched<SourceState>;

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn at(second: i64) -> Option<Timestamp> {
        Timestamp::from_second(second).ok()
    }

    fn polled(asked: i64, answered: Option<i64>) -> SourceState {
        SourceState { asked_at: at(asked), answered_at: answered.and_then(at), ..SourceState::default() }
    }

    #[rstest]
    #[case::answered(polled(10, Some(10)), polled(15, Some(16)), true)]
    #[case::unanswered(polled(10, Some(10)), polled(15, Some(10)), false)]
    #[case::the_first_answer(polled(10, None), polled(10, Some(11)), false)]
    #[case::an_answer_after_a_wait(polled(10, Some(6)), polled(15, Some(16)), false)]
    #[case::failed(polled(10, Some(10)), SourceState { failures: 1, ..polled(15, Some(16)) }, false)]
    #[case::more_to_read(polled(10, Some(10)), SourceState { behind: 1, ..polled(15, Some(16)) }, false)]
    fn only_answered_polls_change_nothing_but_times(
        #[case] earlier: SourceState,
        #[case] later: SourceState,
        #[case] only_polled: bool,
    ) {
        assert_eq!(later.was_only_polled_since(&earlier), only_polled);
    }
}

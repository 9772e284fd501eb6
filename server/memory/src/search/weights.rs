//! What counts how much in the order of answers.
//!
//! It must never be set by what the measured test queries show: they were chosen on others.

use jiff::Timestamp;

use super::page::role_number;
use crate::stores::Role;

/// By role, in the order of the index: the person, the agent, tools, summaries. What tools say is mostly a copy of files.
pub(super) const ROLES: [f32; 4] = [1.0, 1.0, 0.7, 0.9];
/// How much more a message of this moment counts than an old one.
const RECENCY: f32 = 0.15;
/// After how many days half of that is left.
const RECENCY_DAYS: f32 = 30.0;
/// What a word in the title of a session counts beside one in a message.
pub(super) const TITLE: f32 = 0.15;
/// What all words count that a session has, in whichever messages.
pub(super) const SESSION: f32 = 0.1;
/// What a word counts that differs from the wanted one by a typing error.
pub(super) const NEAR: f32 = 0.3;
/// What a word counts that has only the stem of the wanted one.
pub(super) const STEM: f32 = 0.8;
/// What a word counts that is of the same family as the wanted one, with another stem.
pub(super) const KIN: f32 = 0.6;

/// What a word counts that only holds a sentence together.
pub(super) const GRAMMAR: f32 = 0.15;
/// What a verb counts in a question that says little of what the question is about.
pub(super) const LIGHT: f32 = 0.4;
/// What the word counts that says what is asked for.
pub(super) const FOCUS: f32 = 2.0;

/// What the best sentence of a message counts beside the words of the whole message.
pub(super) const SENTENCE: f32 = 12.0;
/// What the words of the sentence before count beside those of a sentence.
pub(super) const BESIDE: f32 = 0.1;
/// What two words count in addition that follow each other in a sentence as in the query.
pub(super) const JOINED: f32 = 3.0;
/// What a sentence counts that asks: it seldom answers.
pub(super) const ASKING: f32 = 0.8;
/// How much more a sentence counts that has what the question expects.
pub(super) const EXPECTED: f32 = 0.1;

/// What words count that the neighbours in a sentence only mean.
pub(super) const MEANT: f32 = 2.0;
/// A sentence with a smaller part of the words is no sure answer, so that what words mean is looked at.
pub(super) const SURE: f32 = 0.7;

/// The number of a role is its place in [`ROLES`].
const _: () = assert!(role_number(Role::Summary) == 3);

/// What the score of a message is multiplied by, by the number of its role and its [`recency`].
pub(super) fn multiplier(role: u64, recency: f32) -> f32 {
    let role = usize::try_from(role).ok().and_then(|role| ROLES.get(role)).copied().unwrap_or(1.0);
    role * (1.0 + RECENCY * recency)
}

/// From 1 for this moment down to 0 for long ago.
#[expect(clippy::cast_precision_loss, reason = "a weight needs no more digits")]
pub(super) fn recency(at: Option<Timestamp>, now: Timestamp) -> f32 {
    const DAY_SECONDS: f32 = 86_400.0;
    let Some(at) = at else { return 0.0 };
    let days = (now.as_second() - at.as_second()).max(0) as f32 / DAY_SECONDS;
    (-days / RECENCY_DAYS).exp2()
}

#[cfg(test)]
mod tests {
    use jiff::ToSpan as _;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::of_this_moment(0, 1.0)]
    #[case::of_the_future(-48, 1.0)]
    #[case::of_a_month_ago(30 * 24, 0.5)]
    #[case::of_two_months_ago(60 * 24, 0.25)]
    #[case::of_half_a_month_ago(15 * 24, std::f32::consts::FRAC_1_SQRT_2)]
    fn half_of_what_is_recent_is_left_after_a_month(#[case] hours: i64, #[case] expected: f32) {
        let now: Timestamp = "2026-11-26T12:00:00Z".parse().unwrap();
        let found = recency(Some(now - hours.hours()), now);
        assert!((found - expected).abs() < 1e-6, "{found}");
        assert!(recency(None, now).abs() < f32::EPSILON);
    }

    #[test]
    fn a_score_is_multiplied_by_the_weight_of_the_role_and_a_little_by_the_age() {
        for (role, weight) in (0..).zip(ROLES) {
            assert!((multiplier(role, 0.0) - weight).abs() < f32::EPSILON);
            let (recent, half) = (multiplier(role, 1.0) / weight, multiplier(role, 0.5) / weight);
            assert!(recent > 1.1 && recent < 1.3, "{recent}");
            assert!((recent - 1.0 - 2.0 * (half - 1.0)).abs() < 1e-6, "{half} {recent}");
        }
        assert!((multiplier(99, 0.0) - 1.0).abs() < f32::EPSILON, "a role of another version");
    }
}

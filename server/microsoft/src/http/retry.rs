//! Decides how long to wait before a failed request is repeated; pure rules.
//! They must never make a request sooner than the server allowed, nor wait without a bound.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

use entraclaw_seams::random::Random;

/// The longest `Retry-After` that is accepted.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(3_600);
const BACKOFF_FIRST_MS: u64 = 3_000;
const BACKOFF_MS_MAX: u64 = 60_000;
const JITTER_MS_MAX: u64 = 1_000;

/// The delay before retry number `retry` (from 1) when the server named none: 3 s, doubled each time, with
/// jitter.
pub(crate) fn backoff(retry: u32, random: &dyn Random) -> Duration {
    let doubled = BACKOFF_FIRST_MS.saturating_mul(1 << retry.saturating_sub(1).min(16));
    Duration::from_millis(doubled.min(BACKOFF_MS_MAX) + random.next_u64() % JITTER_MS_MAX)
}

/// Reads `Retry-After`: seconds, or an HTTP date relative to `now`, which is the server's own `Date` if it
/// sent one. `None` when the value makes no sense.
pub(crate) fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    let wanted = if value.is_empty() {
        return None;
    } else if value.bytes().all(|b| b.is_ascii_digit()) {
        // Digits that overflow the number still mean "very long".
        value.parse().map_or(RETRY_AFTER_MAX, Duration::from_secs)
    } else {
        let then = http_date(value)?;
        Duration::try_from(then.duration_since(now)).unwrap_or(Duration::ZERO)
    };
    Some(wanted.clamp(Duration::from_secs(1), RETRY_AFTER_MAX))
}

/// Reads an HTTP date (`Sat, 21 Nov 2026 10:00:00 GMT`).
pub(crate) fn http_date(value: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(value.trim()).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;

    use super::*;
    use entraclaw_seams::random::SplitMix;

    #[rstest]
    #[case("7", Some(7))]
    #[case(" 7 ", Some(7))]
    #[case("0", Some(1))]
    #[case("Sat, 21 Nov 2026 10:00:30 GMT", Some(30))]
    #[case("Sat, 21 Nov 2026 09:00:00 GMT", Some(1))]
    #[case("99999", Some(3_600))]
    #[case("99999999999999999999999", Some(3_600))]
    #[case("Fri, 21 Nov 2099 10:00:30 GMT", None)]
    #[case("soon", None)]
    #[case("-5", None)]
    #[case("", None)]
    fn retry_after_in_every_form(#[case] value: &str, #[case] seconds: Option<u64>) {
        let now: Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
        assert_eq!(retry_after(value, now), seconds.map(Duration::from_secs));
    }

    #[test]
    fn backoff_doubles_with_jitter_up_to_a_bound() {
        let random = SplitMix::seeded(1);
        for (retry, least) in [(1, 3_000), (2, 6_000), (3, 12_000), (9, 60_000), (4_000_000, 60_000)] {
            let delay = backoff(retry, &random).as_millis();
            assert!((least..least + 1_000).contains(&delay), "retry {retry}: {delay}");
        }
    }
}

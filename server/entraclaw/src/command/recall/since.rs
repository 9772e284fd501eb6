//! A moment as a person writes it: a day, a moment, or how long ago.
//!
//! It must never guess a unit.

use jiff::civil::Date;
use jiff::{Span, Timestamp, Zoned};

/// The moment that is meant, as seen from `now`, whose zone is the person's.
pub(super) fn read(text: &str, now: &Zoned) -> Result<Timestamp, String> {
    let text = text.trim();
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(moment);
    }
    // A text of digits and dashes may also begin a moment, which was looked for first.
    if let Ok(day) = text.parse::<Date>()
        && let Ok(begin) = day.to_zoned(now.time_zone().clone())
    {
        return Ok(begin.timestamp());
    }
    let is_span = text.starts_with(|c: char| c.is_ascii_digit());
    let ago = text.parse::<Span>().ok().filter(|span| is_span && span.is_positive());
    ago.and_then(|ago| now.checked_sub(ago).ok()).map(|then| then.timestamp()).ok_or_else(|| {
        format!("--since: {text:?} is no day, no moment and no time span; write 2026-11-01, 2026-11-01T09:00:00Z, or 30d")
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("2026-11-01", Some("2026-10-31T23:00:00Z"))]
    #[case("2026-11-01T09:00:00Z", Some("2026-11-01T09:00:00Z"))]
    #[case("2026-11-01T09:00:00+02:00", Some("2026-11-01T07:00:00Z"))]
    #[case("12h", Some("2026-11-26T00:00:00Z"))]
    #[case("30d", Some("2026-10-27T12:00:00Z"))]
    #[case("6mo", Some("2026-05-26T11:00:00Z"))]
    #[case("1w 2d", Some("2026-11-17T12:00:00Z"))]
    #[case("30", None)]
    #[case("-3d", None)]
    #[case("0d", None)]
    #[case("yesterday", None)]
    #[case("", None)]
    #[case("99999999999999y", None)]
    fn a_moment_is_read_in_the_persons_zone(#[case] text: &str, #[case] moment: Option<&str>) {
        let now: Zoned = "2026-11-26T13:00:00[Europe/Berlin]".parse().unwrap();
        let found = read(text, &now).ok().map(|at| at.to_string());
        assert_eq!(found.as_deref(), moment, "{text}");
    }
}

//! Instants as milliseconds since 1970 and the forms in which Graph writes them.
//! It must never panic on an instant that the calendar cannot hold; such an instant is clamped.

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;

/// Milliseconds since 1970.
pub(super) type Ms = i64;

pub(super) fn of(instant: Timestamp) -> Ms {
    instant.as_millisecond()
}

pub(super) fn timestamp(ms: Ms) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap_or(if ms < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

/// A duration of a scenario as a signed number, which can be added to an instant.
pub(super) fn span(ms: u64) -> Ms {
    Ms::try_from(ms).unwrap_or(Ms::MAX)
}

/// `2026-01-31T09:30:00.123Z`, the form of every date in a message.
pub(crate) fn iso(ms: Ms) -> String {
    format!("{:.3}", timestamp(ms))
}

/// `2026-01-31T09:30:00`, the form of the date inside an error.
pub(super) fn iso_error(ms: Ms) -> String {
    timestamp(ms).strftime("%Y-%m-%dT%H:%M:%S").to_string()
}

/// `Sat, 31 Jan 2026 09:30:00 GMT`, the form of `Date` and of a dated `Retry-After`.
pub(crate) fn http_date(ms: Ms) -> String {
    DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&timestamp(ms))
        .unwrap_or_else(|_| "Thu, 01 Jan 1970 00:00:00 GMT".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_forms() {
        let ms = 1_767_225_600_123;
        assert_eq!(iso(ms), "2026-01-01T00:00:00.123Z");
        assert_eq!(iso_error(ms), "2026-01-01T00:00:00");
        assert_eq!(http_date(ms), "Thu, 01 Jan 2026 00:00:00 GMT");
    }

    #[test]
    fn impossible_instants_are_clamped() {
        assert_eq!(timestamp(Ms::MAX), Timestamp::MAX);
        assert!(!iso(Ms::MIN).is_empty() && !http_date(Ms::MAX).is_empty() && !http_date(Ms::MIN).is_empty());
    }
}

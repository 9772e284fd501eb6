//! Durations as people write them: `5s`, `500ms`, `15m`, `1h`.
//! It must never accept a bare number, whose unit would be a guess.

use std::time::Duration;

/// Longest duration that a setting takes, in days.
const DURATION_DAYS_MAX: u64 = 30;

/// Reads a whole number with one of the units `ms`, `s`, `m`, `h`.
pub fn parse(text: &str) -> Option<Duration> {
    let text = text.trim();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let unit_ms: u64 = match unit.trim() {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    let total_ms = number.checked_mul(unit_ms)?;
    (total_ms <= DURATION_DAYS_MAX * 24 * 3_600_000).then(|| Duration::from_millis(total_ms))
}

/// Writes a duration in the largest unit that holds it exactly.
pub fn show(duration: Duration) -> String {
    let ms = duration.as_millis();
    match ms {
        0 => "0s".to_owned(),
        _ if ms.is_multiple_of(3_600_000) => format!("{}h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{}m", ms / 60_000),
        _ if ms.is_multiple_of(1_000) => format!("{}s", ms / 1_000),
        _ => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rstest::rstest;

    use super::{parse, show};

    #[rstest]
    #[case("5s", Some(5_000))]
    #[case("500ms", Some(500))]
    #[case(" 15 m ", Some(900_000))]
    #[case("1h", Some(3_600_000))]
    #[case("720h", Some(2_592_000_000))]
    #[case("721h", None)]
    #[case("5", None)]
    #[case("s", None)]
    #[case("-5s", None)]
    #[case("1.5s", None)]
    #[case("99999999999999999999s", None)]
    #[case("9999999999999999h", None)]
    fn durations_need_a_unit(#[case] text: &str, #[case] ms: Option<u64>) {
        assert_eq!(parse(text), ms.map(Duration::from_millis));
    }

    #[rstest]
    #[case("5s")]
    #[case("500ms")]
    #[case("2m")]
    #[case("1h")]
    fn a_duration_is_shown_as_it_was_written(#[case] text: &str) {
        assert_eq!(show(parse(text).unwrap()), text);
    }
}

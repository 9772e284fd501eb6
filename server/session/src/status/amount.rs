//! Times and numbers in a form for people.

use std::time::Duration;

use jiff::Timestamp;

/// The time since an instant in a file; `None` if it is no instant or lies ahead.
pub fn since(at: &str, now: Timestamp) -> Option<Duration> {
    between(at.parse().ok()?, now)
}

/// The time from one instant to a later one.
pub fn between(then: Timestamp, now: Timestamp) -> Option<Duration> {
    Duration::try_from(now.duration_since(then)).ok()
}

/// A number with its noun: `1 message`, `2 messages`.
pub fn counted(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// A number with its noun and the verb for one or more: `1 message was`, `2 messages were`.
pub fn counted_with(count: u64, one: &str, [is, are]: [&str; 2]) -> String {
    format!("{} {}", counted(count, one), if count == 1 { is } else { are })
}

/// The time since an instant, in the largest unit that is precise enough.
pub fn ago(at: &str, now: Timestamp) -> String {
    let Ok(then) = at.parse::<Timestamp>() else { return "?".to_owned() };
    let secs = now.duration_since(then).as_secs();
    match secs {
        ..0 => "0 s".to_owned(),
        0..120 => format!("{secs} s"),
        120..7_200 => format!("{} min", secs / 60),
        7_200..172_800 => format!("{} h", secs / 3_600),
        _ => format!("{} d", secs / 86_400),
    }
}

/// A number of bytes in a unit for people.
pub fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}

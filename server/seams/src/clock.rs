//! The clock seam. Wall time comes from here and nowhere else, so that a simulated day is exact.
//!
//! Durations and sleeping use [`tokio::time`], which a paused runtime moves; only the calendar needs a seam.

use jiff::{SignedDuration, Timestamp};

/// Tells the time. Production reads the system clock; a simulation derives it from tokio's paused clock.
pub trait Clock: Send + Sync {
    /// The current instant on the calendar.
    fn now(&self) -> Timestamp;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "the one adapter that reads the wall clock"
    )]
    fn now(&self) -> Timestamp {
        clamped(std::time::SystemTime::now())
    }
}

/// A system clock beyond the year 9999 counts as the last moment of that year, and one before 1970 as 1970. It must not
/// panic: `doctor` reports how far the clock is from Graph's.
#[expect(clippy::disallowed_types, reason = "the one adapter that reads the wall clock")]
fn clamped(time: std::time::SystemTime) -> Timestamp {
    let edge = if time > std::time::SystemTime::UNIX_EPOCH { Timestamp::MAX } else { Timestamp::UNIX_EPOCH };
    Timestamp::try_from(time).unwrap_or(edge)
}

/// An epoch plus the time since its start on tokio's clock; on a paused runtime it moves only with virtual time.
#[derive(Debug, Clone, Copy)]
pub struct TokioClock {
    epoch: Timestamp,
    started: tokio::time::Instant,
}

impl TokioClock {
    /// Starts at `epoch` now. Must be called inside the runtime whose time it follows.
    pub fn starting_at(epoch: Timestamp) -> Self {
        Self { epoch, started: tokio::time::Instant::now() }
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.started.elapsed()).unwrap_or(SignedDuration::MAX);
        self.epoch.checked_add(elapsed).unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    #[expect(clippy::disallowed_types, reason = "the adapter's own test")]
    fn a_clock_out_of_range_counts_as_the_nearest_time() {
        let epoch = std::time::SystemTime::UNIX_EPOCH;
        assert_eq!(clamped(epoch + Duration::from_secs(60)).as_second(), 60);
        assert_eq!(clamped(epoch + Duration::from_secs(300_000_000_000)), Timestamp::MAX);
        let before = epoch.checked_sub(Duration::from_secs(900_000_000_000));
        assert!(before.is_none_or(|before| clamped(before) == Timestamp::UNIX_EPOCH));
    }
}

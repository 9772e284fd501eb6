//! The clock seam: wall time comes from here and nowhere else, so that a simulated day is exact.
//!
//! Durations and sleeping use [`tokio::time`], which a paused runtime moves; only the calendar needs a seam.

use jiff::{SignedDuration, Timestamp};

/// Tells what time it is. Production reads the system clock; a simulation derives it from tokio's paused clock.
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
        held(std::time::SystemTime::now())
    }
}

/// A machine whose clock is set beyond the year 9999 is held at its end, and one before all years at 1970: `doctor`
/// tells how far it is from Graph's, and nobody must panic meanwhile.
#[expect(clippy::disallowed_types, reason = "the one adapter that reads the wall clock")]
fn held(time: std::time::SystemTime) -> Timestamp {
    let edge = if time > std::time::SystemTime::UNIX_EPOCH { Timestamp::MAX } else { Timestamp::UNIX_EPOCH };
    Timestamp::try_from(time).unwrap_or(edge)
}

/// An epoch plus what has passed on tokio's clock since; on a paused runtime it moves only with virtual time.
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
    fn a_clock_beyond_all_years_is_held_at_the_edge() {
        let epoch = std::time::SystemTime::UNIX_EPOCH;
        assert_eq!(held(epoch + Duration::from_secs(60)).as_second(), 60);
        assert_eq!(held(epoch + Duration::from_secs(300_000_000_000)), Timestamp::MAX);
        let before = epoch.checked_sub(Duration::from_secs(900_000_000_000));
        assert!(before.is_none_or(|before| held(before) == Timestamp::UNIX_EPOCH));
    }
}

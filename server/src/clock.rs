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
    #[expect(clippy::disallowed_methods, reason = "the one adapter that reads the wall clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
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

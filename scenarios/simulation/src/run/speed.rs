//! How much faster than the clock says real processes are played.

use std::time::Duration;

use scenario::Mode;

/// In process mode waits of the scenario and the poll interval are this many times shorter.
pub(crate) const PROCESS_SPEED: u32 = 20;

/// The length of a step's wait on this stage.
pub(crate) fn scaled(mode: Mode, wait: Duration) -> Duration {
    match mode {
        Mode::Sim => wait,
        Mode::Process => wait / PROCESS_SPEED,
    }
}

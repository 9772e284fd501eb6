//! Decides how often a failed request to Graph is repeated; pure rules.
//! They must never wait without a bound.

use std::time::Duration;

use super::error::Failure;
use entraclaw_seams::random::Random;

/// The number of tries after the first one, the default of the Graph SDKs.
pub const RETRIES_MAX: u32 = 3;
/// The same for throttled requests: several sessions of a machine may answer in one chat at the same moment.
const THROTTLED_RETRIES_MAX: u32 = 10;
/// The most that all delays of one call may add up to, as in the Graph SDKs.
pub const RETRY_TOTAL_MAX: Duration = Duration::from_secs(180);

const SPREAD_MS_MAX: u64 = 2_000;

/// How often a request with this failure is repeated at most.
pub(crate) fn retries_max(failure: Failure) -> u32 {
    if failure == Failure::Throttled { THROTTLED_RETRIES_MAX } else { RETRIES_MAX }
}

/// A random addition to the delay before a retry. Without it, sessions that were throttled together would
/// retry together, and refused requests count against the limit too.
pub(crate) fn spread(failure: Failure, random: &dyn Random) -> Duration {
    if failure != Failure::Throttled {
        return Duration::ZERO;
    }
    Duration::from_millis(random.next_u64() % SPREAD_MS_MAX)
}

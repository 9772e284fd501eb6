//! The delivery times of messages. Percentiles are nearest-rank over all messages: every number was measured,
//! none is interpolated.

use schemars::JsonSchema;
use serde::Serialize;

/// The starts of the strip's buckets, in milliseconds; the last bucket has no end.
pub const BUCKET_STARTS_MS: [u64; 17] =
    [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000];

/// The delivery times of one host in one mode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Deliveries {
    /// `sim` or `process`.
    pub mode: String,
    /// Number of messages.
    pub messages: u64,
    /// Median, in milliseconds.
    pub p50_ms: u64,
    /// 95th percentile, in milliseconds.
    pub p95_ms: u64,
    /// 99th percentile, in milliseconds.
    pub p99_ms: u64,
    /// Longest time, in milliseconds.
    pub max_ms: u64,
    /// Number of messages in each bucket of [`BUCKET_STARTS_MS`].
    pub buckets: Vec<u64>,
}

impl Deliveries {
    /// Sums the times up; `None` without messages.
    pub fn new(mode: &str, mut times_ms: Vec<u64>) -> Option<Self> {
        times_ms.sort_unstable();
        let max_ms = *times_ms.last()?;
        let mut buckets = vec![0; BUCKET_STARTS_MS.len()];
        for time_ms in &times_ms {
            buckets[bucket(*time_ms)] += 1;
        }
        Some(Self {
            mode: mode.to_owned(),
            messages: times_ms.len() as u64,
            p50_ms: percentile(&times_ms, 50)?,
            p95_ms: percentile(&times_ms, 95)?,
            p99_ms: percentile(&times_ms, 99)?,
            max_ms,
            buckets,
        })
    }
}

/// The smallest value that `percent` of 100 do not exceed; `sorted` must be sorted.
pub(super) fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied()
}

fn bucket(time_ms: u64) -> usize {
    BUCKET_STARTS_MS.iter().rposition(|&start| start <= time_ms).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_values() {
        let found = Deliveries::new("sim", (1..=100).rev().collect()).unwrap();
        assert_eq!((found.p50_ms, found.p95_ms, found.p99_ms, found.max_ms), (50, 95, 99, 100));
        let one = Deliveries::new("sim", vec![7]).unwrap();
        assert_eq!((one.p50_ms, one.p95_ms, one.p99_ms, one.max_ms), (7, 7, 7, 7));
        assert_eq!(Deliveries::new("sim", Vec::new()), None);
    }

    #[test]
    fn every_message_is_in_one_bucket() {
        let found = Deliveries::new("sim", vec![0, 1, 4, 9_999, 10_000, u64::MAX]).unwrap();
        assert_eq!(found.buckets.iter().sum::<u64>(), 6);
        assert_eq!(found.buckets[0], 1);
        assert_eq!(found.buckets[2], 1);
        assert_eq!(found.buckets[12], 1);
        assert_eq!(found.buckets[16], 1);
    }
}

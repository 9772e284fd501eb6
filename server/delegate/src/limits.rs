//! How often a client may hand over a task: a token bucket for each.
//!
//! It must never grow with the number of clients that have come and gone.

use std::collections::BTreeMap;

use tokio::time::{Duration, Instant};

/// Tasks a minute of each client, unless the operator says otherwise.
pub const RATE_LIMIT: u32 = 10;
/// The highest rate that an operator may choose.
pub const RATE_LIMIT_MAX: u32 = 100;
/// Most clients that are remembered; the one that was still for the longest time is forgotten first.
const CLIENTS_MAX: usize = 256;

const MINUTE: Duration = Duration::from_secs(60);

/// The tasks that a client may hand over at once.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    filled_at: Instant,
}

/// The buckets of all clients.
#[derive(Debug)]
pub struct RateLimit {
    per_minute: u32,
    buckets: BTreeMap<String, Bucket>,
}

impl RateLimit {
    /// Buckets of this rate, which is taken as between 1 and [`RATE_LIMIT_MAX`].
    pub fn new(per_minute: u32) -> Self {
        Self { per_minute: per_minute.clamp(1, RATE_LIMIT_MAX), buckets: BTreeMap::new() }
    }

    /// The rate.
    pub fn per_minute(&self) -> u32 {
        self.per_minute
    }

    /// Takes one of the client's tokens.
    ///
    /// # Errors
    /// How long the client has to wait for the next one.
    pub fn take(&mut self, client: &str, now: Instant) -> Result<(), Duration> {
        let most = f64::from(self.per_minute);
        let known = self.buckets.get(client).copied();
        let mut bucket = known.unwrap_or(Bucket { tokens: most, filled_at: now });
        let elapsed = now.saturating_duration_since(bucket.filled_at);
        bucket.tokens = (bucket.tokens + elapsed.as_secs_f64() * most / MINUTE.as_secs_f64()).min(most);
        bucket.filled_at = now;
        // A bucket that filled in steps must not miss its token by a rounding error.
        let taken = bucket.tokens > 1.0 - 1e-6;
        if taken {
            bucket.tokens = (bucket.tokens - 1.0).max(0.0);
        }
        self.buckets.insert(client.to_owned(), bucket);
        self.forget_beyond_bound();
        if taken { Ok(()) } else { Err(MINUTE.mul_f64((1.0 - bucket.tokens) / most)) }
    }

    fn forget_beyond_bound(&mut self) {
        while self.buckets.len() > CLIENTS_MAX {
            let stillest = self.buckets.iter().min_by_key(|(_, bucket)| bucket.filled_at);
            let Some(name) = stillest.map(|(name, _)| name.clone()) else { return };
            self.buckets.remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_client_has_its_own_bucket_and_it_fills_again() {
        let mut limit = RateLimit::new(RATE_LIMIT);
        let start = Instant::now();
        for _ in 0..10 {
            assert_eq!(limit.take("a", start), Ok(()));
        }
        assert_eq!(limit.take("a", start), Err(Duration::from_secs(6)));
        assert_eq!(limit.take("b", start), Ok(()));
        assert!(limit.take("a", start + Duration::from_secs(5)).is_err());
        assert_eq!(limit.take("a", start + Duration::from_secs(6)), Ok(()));
        let later = start + Duration::from_secs(3_600);
        assert_eq!((0..20).filter(|_| limit.take("a", later).is_ok()).count(), 10, "no more than a minute's");
    }

    #[tokio::test(start_paused = true)]
    async fn a_rate_out_of_range_is_the_nearest_one_and_clients_are_bounded() {
        assert_eq!(RateLimit::new(0).per_minute(), 1);
        assert_eq!(RateLimit::new(1_000).per_minute(), RATE_LIMIT_MAX);
        let mut limit = RateLimit::new(1);
        for client in 0..1_000 {
            assert_eq!(limit.take(&client.to_string(), Instant::now()), Ok(()));
        }
        assert!(limit.buckets.len() <= CLIENTS_MAX);
    }
}

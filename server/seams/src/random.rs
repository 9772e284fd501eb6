//! The randomness seam, for ids and jitter. It must never make a secret; secrets come from the system where they are used.

use std::sync::atomic::{AtomicU64, Ordering};

/// A source of random numbers.
pub trait Random: Send + Sync {
    /// The next 64 bits.
    fn next_u64(&self) -> u64;

    /// A lower-case UUID of version 4, built from 128 of those bits.
    fn uuid(&self) -> String {
        let (high, low) = (self.next_u64(), self.next_u64());
        let high = (high & 0xffff_ffff_ffff_0fff) | 0x4000;
        let low = (low & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }
}

/// A SplitMix64 generator: small, fast, and reproducible from its seed.
#[derive(Debug)]
pub struct SplitMix {
    state: AtomicU64,
}

impl SplitMix {
    /// A generator whose whole sequence is determined by `seed`.
    pub fn seeded(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }

    /// A generator seeded from the operating system, for production.
    pub fn from_os() -> Self {
        use std::hash::{BuildHasher, RandomState};
        Self::seeded(RandomState::new().hash_one(std::process::id()))
    }
}

impl Random for SplitMix {
    fn next_u64(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self.state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

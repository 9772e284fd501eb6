//! Numbers and ids that follow from names, so that a world is the same in every run and on every machine.
//! It must never keep state, so that a new number in one place does not change the numbers in another.

/// Sixty-four bits that follow from a seed and a name (FNV-1a, then a SplitMix finaliser).
pub(super) fn bits(seed: u64, name: &str) -> u64 {
    bits_of_parts(seed, &[name])
}

/// The bits of a name that is given in parts.
fn bits_of_parts(seed: u64, name: &[&str]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in name.iter().flat_map(|part| part.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    let mut z = hash.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Whether an event of the given probability happens, by the seed and the name.
pub(super) fn happens(seed: u64, name: &str, probability: f64) -> bool {
    // A float holds 53 bits exactly.
    #[expect(clippy::cast_precision_loss, reason = "both numbers are at most 2^53")]
    let share = (bits(seed, name) >> 11) as f64 / (1_u64 << 53) as f64;
    share < probability
}

/// A lower-case UUID of version 4 that follows from a seed and a name.
pub(crate) fn guid(seed: u64, name: &str) -> String {
    let high = (bits_of_parts(seed, &[name, "/high"]) & 0xffff_ffff_ffff_0fff) | 0x4000;
    let low = (bits_of_parts(seed, &[name, "/low"]) & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_is_stable_and_well_formed() {
        let id = guid(0, "person/alice");
        assert_eq!(id, guid(0, "person/alice"));
        assert_ne!(id, guid(0, "person/bob"));
        assert_eq!(id.len(), 36);
        assert_eq!(id.as_bytes().get(14), Some(&b'4'));
    }

    #[test]
    fn probability_is_kept_at_both_ends_and_in_between() {
        assert!(!happens(1, "x", 0.0));
        assert!(happens(1, "x", 1.0));
        let count = (0..1000).filter(|n| happens(7, &format!("d{n}"), 0.25)).count();
        assert!((200..300).contains(&count), "{count}");
    }
}

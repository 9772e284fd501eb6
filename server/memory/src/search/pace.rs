//! How much is read and indexed at once, and which parts of the index become one.
//!
//! It must never let an index of thousands of parts come about, nor write the same words again and again.

use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::indexer::{LogMergePolicy, MergePolicy as _};

/// Bytes of unread sessions above which they are much.
const MUCH_BYTES: u64 = 256 * 1024 * 1024;
/// Parts of a size that become one.
const PARTS: usize = 8;
/// Pages of the smallest size.
const SMALL_PAGES: u32 = 500;
/// A part with more pages stays as it is: 15,000 are about 150 MB of text, and making them anew takes seconds.
const LARGE_PAGES: u32 = 15_000;
/// A part is made anew when more of its pages were deleted.
const WORN: f32 = 0.34;

/// How much is done at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    /// Threads that index.
    pub(super) threads: usize,
    /// Memory of each of them.
    pub(super) arena_bytes: usize,
    /// Bytes of texts after which they are committed, so that what waits is bounded and a crash loses little.
    pub(super) stage_bytes: usize,
    /// Whether other programs go first.
    pub(super) is_low: bool,
}

impl Pace {
    /// For what a person waits for.
    pub(super) const USUAL: Self =
        Self { threads: 1, arena_bytes: 15_000_000, stage_bytes: 16 * 1024 * 1024, is_low: false };
    /// For years of sessions that are read for the first time.
    const LONG: Self =
        Self { threads: 2, arena_bytes: 40_000_000, stage_bytes: 48 * 1024 * 1024, is_low: true };

    /// The pace for so many unread bytes.
    pub(super) fn of(unread_bytes: u64) -> Self {
        if unread_bytes > MUCH_BYTES { Self::LONG } else { Self::USUAL }
    }
}

/// Which parts become one.
pub(super) fn policy() -> LogMergePolicy {
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments(PARTS);
    policy.set_min_layer_size(SMALL_PAGES);
    policy.set_max_docs_before_merge(LARGE_PAGES as usize);
    policy.set_del_docs_ratio_before_merge(WORN);
    policy
}

/// The parts that are to become one now. All of them, if that is little work and saves the words that each has again.
pub(super) fn joined(parts: &[SegmentMeta], has_gained_much: bool) -> Vec<Vec<SegmentId>> {
    let pages: u32 = parts.iter().map(SegmentMeta::num_docs).sum();
    if has_gained_much && pages <= LARGE_PAGES {
        return vec![parts.iter().map(SegmentMeta::id).collect()];
    }
    policy().compute_merge_candidates(parts).into_iter().map(|candidate| candidate.0).collect()
}

/// The parts of which something was deleted, each by itself.
pub(super) fn worn(parts: &[SegmentMeta]) -> Vec<Vec<SegmentId>> {
    parts.iter().filter(|part| part.has_deletes()).map(|part| vec![part.id()]).collect()
}

#[cfg(test)]
mod tests {
    use tantivy::Index;

    use super::super::machine::Machine;
    use super::super::schema::schema;
    use super::*;

    #[test]
    fn only_very_much_is_read_at_a_low_pace() {
        assert_eq!([0, MUCH_BYTES].map(Pace::of), [Pace::USUAL; 2]);
        let long = Pace::of(MUCH_BYTES + 1);
        assert!(long.is_low && long.threads > 1 && long.stage_bytes > Pace::USUAL.stage_bytes);
    }

    fn parts(pages: &[u32]) -> Vec<SegmentMeta> {
        let index = Index::create_in_ram(schema().0);
        pages.iter().map(|pages| index.new_segment_meta(SegmentId::generate_random(), *pages)).collect()
    }

    #[test]
    fn much_that_was_gained_makes_all_parts_one_unless_that_is_much_work() {
        for (pages, has_gained_much, sizes) in [
            (&[10, 20, 30][..], true, &[3][..]),
            (&[LARGE_PAGES - 1, 1], true, &[2]),
            (&[LARGE_PAGES, 1], true, &[]),
            (&[10, 20, 30], false, &[]),
            (&[10; PARTS - 1], false, &[]),
            (&[10; PARTS], false, &[PARTS]),
        ] {
            let parts = parts(pages);
            let found: Vec<usize> = joined(&parts, has_gained_much).iter().map(Vec::len).collect();
            assert_eq!(found, sizes, "{pages:?} {has_gained_much}");
        }
    }

    #[test]
    fn a_part_of_which_nothing_was_deleted_is_not_worn() {
        assert!(worn(&parts(&[10, 20])).is_empty());
        let machine = Machine::new();
        for session in ["one", "two", "three", "gone"] {
            machine.say(session, "user", "alpha", None);
        }
        let mut memory = machine.open();
        let metas = |memory: &super::super::memory::Memory| {
            memory.reader.searcher().index().searchable_segment_metas().unwrap()
        };
        memory.refresh().unwrap();
        memory.flush().unwrap();
        assert!(worn(&metas(&memory)).is_empty());
        entraclaw_seams::storage::Storage::remove(&machine.storage, &Machine::path("gone")).unwrap();
        memory.refresh().unwrap();
        memory.flush().unwrap();
        machine.say("five", "user", "alpha", None);
        memory.refresh().unwrap();
        memory.flush().unwrap();
        let parts = metas(&memory);
        let expected: Vec<_> =
            parts.iter().filter(|part| part.has_deletes()).map(|part| vec![part.id()]).collect();
        assert_eq!((worn(&parts), expected.len(), parts.len()), (expected, 1, 2));
    }
}

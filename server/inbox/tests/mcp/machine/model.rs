//! The reference: what was written, what the disk promised to keep, and what each consumer's model was shown.

use std::collections::{BTreeMap, BTreeSet};

/// How often a host may give the same message back before the server stops believing it.
pub(super) const LATE_CANCELS_MAX: u32 = 2;

/// A message as a model saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sight {
    /// Which text it was.
    pub(super) number: u32,
    /// Whether it was marked as one that may have been seen before.
    pub(super) marked: bool,
}

#[derive(Debug, Default)]
struct Consumer {
    /// How often each was shown, and how often without a mark.
    shown: BTreeMap<u32, (u32, u32)>,
    /// Those whose marks may be gone: the power failed, or the disk did not take the note.
    forgiven: BTreeSet<u32>,
    given_back: BTreeMap<u32, u32>,
    /// The places that it had not read when it was looked last, of all up to this one.
    unread: (BTreeSet<u64>, u64),
}

/// Everything that is known without looking at the server.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// Texts that the journal said it has.
    pub(super) kept: BTreeSet<u32>,
    /// Texts that a leader may show although no disk has them, because it says so. What does not fit its window then comes
    /// again when the disk is well, so their order is not promised.
    pub(super) declared: BTreeSet<u32>,
    consumers: BTreeMap<String, Consumer>,
    /// For each session the newest that it was shown first, without a mark.
    newest: BTreeMap<usize, u32>,
}

impl Model {
    /// A session's model is shown this, in one piece.
    pub(super) fn shown(&mut self, session: usize, consumer: &str, page: &[Sight], disk_fails: bool) {
        let of = self.consumers.entry(consumer.to_owned()).or_default();
        let mut before = 0;
        for Sight { number, marked } in page.iter().copied() {
            assert!(
                self.kept.contains(&number) || self.declared.contains(&number),
                "text {number} was shown to {consumer} and no disk was ever said to have it"
            );
            let is_ordered = !self.declared.contains(&number);
            if is_ordered {
                assert!(
                    number > before,
                    "{consumer} was shown text {number} after text {before} in one answer"
                );
                before = number;
            }
            let forgiven = of.forgiven.contains(&number);
            let (times, unmarked) = of.shown.entry(number).or_default();
            *times += 1;
            *unmarked += u32::from(!marked);
            assert!(*unmarked <= 1 || forgiven, "{consumer} was shown text {number} twice without a mark");
            if !marked && !forgiven && is_ordered {
                let newest = self.newest.entry(session).or_default();
                assert!(number > *newest, "{consumer} was shown text {number} as news after text {newest}");
                *newest = number;
            }
            if disk_fails {
                of.forgiven.insert(number);
            }
        }
    }

    /// Whether a host may say that it never got these.
    pub(super) fn may_give_back(&self, consumer: &str, page: &[Sight]) -> bool {
        let Some(of) = self.consumers.get(consumer) else { return true };
        page.iter()
            .all(|activity| of.given_back.get(&activity.number).is_none_or(|times| *times < LATE_CANCELS_MAX))
    }

    /// A host says that it never got these: they were not shown, and must come again.
    pub(super) fn gave_back(&mut self, consumer: &str, page: &[Sight]) {
        let of = self.consumers.entry(consumer.to_owned()).or_default();
        for activity in page {
            *of.given_back.entry(activity.number).or_default() += 1;
        }
    }

    /// A session ended; the next in its place starts anew.
    pub(super) fn session_ended(&mut self, session: usize) {
        self.newest.remove(&session);
    }

    /// Marks of what was shown so far may be gone: to one consumer, or to all.
    pub(super) fn marks_may_be_gone(&mut self, consumer: Option<&str>) {
        for (name, of) in &mut self.consumers {
            if consumer.is_none_or(|only| only == name) {
                of.forgiven.extend(of.shown.keys());
            }
        }
    }

    /// Places that a consumer has not read, of all up to `last`. What was read once stays so, but for a power cut.
    pub(super) fn unread(&mut self, consumer: &str, unread: BTreeSet<u64>, last: u64, may_go_back: bool) {
        let of = self.consumers.entry(consumer.to_owned()).or_default();
        let (before, known) = &of.unread;
        let again = unread.iter().find(|place| *place <= known && !before.contains(place));
        assert!(again.is_none() || may_go_back, "{consumer} had read place {again:?}, and now has not");
        of.unread = (unread, last);
    }

    /// In the end everybody has everything.
    pub(super) fn finish(&self, consumers: &[&str]) {
        for name in consumers {
            let shown = self.consumers.get(*name).map(|of| &of.shown);
            let missing: Vec<u32> = self
                .kept
                .iter()
                .copied()
                .filter(|n| shown.is_none_or(|shown| !shown.contains_key(n)))
                .collect();
            assert!(missing.is_empty(), "{name} was never shown {missing:?}");
        }
    }
}

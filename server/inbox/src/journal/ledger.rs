//! What one consumer was shown, was pushed, and has acknowledged, by channel.
//!
//! It is a pure function of the notes in the consumer's file. Every note can be applied twice without harm.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::index::Tally;
use super::intervals::Intervals;
use crate::record::Channel;

/// A stretch `from..=to` of one channel.
///
/// The span of one record begins right after the record before it in the channel. So the spans of neighbours
/// join, and a consumer of one channel needs a single range, as a consumer of all channels does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Span(pub(super) Channel, pub(super) u64, pub(super) u64);

impl Span {
    /// The place of the record that ends the span.
    pub(super) fn seq(self) -> u64 {
        self.2
    }

    /// Whether the span covers the record that ends `other`.
    fn covers(self, other: Self) -> bool {
        self.0 == other.0 && (self.1..=self.2).contains(&other.seq())
    }
}

/// The slot of orphaned deliveries whose own slot another session has taken; no session has this slot.
pub(super) const ORPHANS_SLOT: u16 = u16::MAX;

/// One line of a consumer's file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "snake_case")]
pub(super) enum Note {
    /// The first line. `generation` grows each time the file is rewritten, which tells a reader that its
    /// offsets are void.
    Header { v: u32, generation: u64 },
    /// A session begins in a slot. The session that had the slot before has ended, and its unacknowledged
    /// deliveries go to [`ORPHANS_SLOT`].
    Open { slot: u16, session: String },
    /// A session was handed these records at the time `at`. It holds them until its next note about them; no
    /// other session does.
    HandOut {
        slot: u16,
        spans: Vec<Span>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Timestamp>,
    },
    /// Records were shown without being handed out. `orphaned_by` are the slots of ended sessions that held
    /// some of them; these records are not orphaned from then on.
    Show {
        spans: Vec<Span>,
        #[serde(rename = "graves", default, skip_serializing_if = "Vec::is_empty")]
        orphaned_by: Vec<u16>,
    },
    /// Records were pushed. `orphaned_by` are the slots of ended sessions that held some of them; these
    /// records are not pushed a third time.
    Push {
        spans: Vec<Span>,
        #[serde(rename = "graves", default, skip_serializing_if = "Vec::is_empty")]
        orphaned_by: Vec<u16>,
    },
    /// The push of these records surely showed nothing, so they count as not pushed, and another session may
    /// push the orphaned ones among them. If they were also shown in another way, that stays noted.
    Withdraw { spans: Vec<Span> },
    /// The agent of the session in `slot` was told that messages wait, up to the record `through`, without
    /// their text. `reminders` is how many times in a row it was told of nothing new.
    Announce(Announced),
    /// A session gives up these records, and they are unread again.
    GiveBack { slot: u16, spans: Vec<Span> },
    /// The consumer was active at this time. Written about once an hour, for retention.
    Seen { at: Timestamp },
    /// The consumer has acknowledged these records. `newest` is the id of the last of them, when it is known.
    Ack { spans: Vec<Span>, newest: Option<Newest> },
}

/// A record by place and id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Newest {
    pub(super) seq: u64,
    pub(super) id: String,
}

/// Joins spans that touch.
pub(super) fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    spans.dedup_by(|next, before| {
        let touches = next.0 == before.0 && next.1 <= before.2.saturating_add(1);
        if touches {
            before.2 = before.2.max(next.2);
        }
        touches
    });
    spans
}

/// A set of places for each channel.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Marks {
    channels: [Intervals; Channel::ALL.len()],
}

impl Marks {
    fn insert(&mut self, spans: &[Span]) {
        for Span(channel, from, to) in spans {
            self.channels[channel.index()].insert(*from, *to);
        }
    }

    fn remove(&mut self, spans: &[Span]) {
        for Span(channel, from, to) in spans {
            self.channels[channel.index()].remove(*from, *to);
        }
    }

    /// The marks of one channel.
    pub(super) fn of(&self, channel: Channel) -> &Intervals {
        &self.channels[channel.index()]
    }

    pub(super) fn has(&self, channel: Channel, seq: u64) -> bool {
        self.of(channel).contains(seq)
    }

    fn last(&self) -> u64 {
        self.channels.iter().map(Intervals::last).max().unwrap_or(0)
    }

    fn spans(&self) -> Vec<Span> {
        let of = |channel: Channel| self.of(channel).iter().map(move |(from, to)| Span(channel, from, to));
        Channel::ALL.into_iter().flat_map(of).collect()
    }
}

/// The unacknowledged deliveries of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Slot {
    session: String,
    pub(super) held: BTreeMap<u64, Held>,
}

/// A record that was handed to a session and is not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) span: Span,
    /// When the record was handed out; unknown in files of older versions.
    pub at: Option<Timestamp>,
    /// The session ended, and another session pushed the record since. It is not known whether the model saw
    /// it.
    pub(super) is_pushed_again: bool,
}

/// The last announcement of waiting messages to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Announced {
    /// The session of the agent; [`ORPHANS_SLOT`] when that session has ended.
    pub(super) slot: u16,
    /// The newest announced record.
    pub(super) through: u64,
    pub at: Timestamp,
    /// How many times in a row the announcement had nothing new.
    pub(super) reminders: u32,
}

/// The state of a consumer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    /// What the consumer has acknowledged.
    pub(super) acked: Marks,
    /// What the consumer was shown in another way than by a push, and what it has acknowledged.
    pub(super) shown: Marks,
    /// What the consumer was pushed.
    pub(super) pushed: Marks,
    /// What was in an answer that was given back, and was not shown since.
    pub(super) given_back: Marks,
    pub(super) announced: Option<Announced>,
    pub(super) slots: BTreeMap<u16, Slot>,
    /// The newest record that was acknowledged.
    pub(super) newest_acked: Option<Newest>,
    pub(super) generation: u64,
    /// When the consumer was last noted as active.
    pub(super) seen_at: Option<Timestamp>,
}

impl Ledger {
    /// Applies one note.
    pub(super) fn apply(&mut self, note: &Note) {
        match note {
            // A session that could not write the file anew may append all that it knew, with an older header. The next
            // rewriting must not give the file a header that it has had: by that a reader tells that it was replaced.
            Note::Header { generation, .. } => self.generation = self.generation.max(*generation),
            Note::Open { slot, session } => {
                let new = Slot { session: session.clone(), held: BTreeMap::new() };
                let left = self.slots.insert(*slot, new).unwrap_or_default().held;
                if let Some(announced) = self.announced.as_mut().filter(|announced| announced.slot == *slot) {
                    announced.slot = ORPHANS_SLOT;
                }
                if !left.is_empty() {
                    self.slots.entry(ORPHANS_SLOT).or_default().held.extend(left);
                }
            }
            Note::HandOut { slot, spans, at } => {
                self.shown.insert(spans);
                self.given_back.remove(spans);
                for other in self.slots.values_mut() {
                    other.held.retain(|seq, _| !spans.iter().any(|span| span.seq() == *seq));
                }
                let held = &mut self.slots.entry(*slot).or_default().held;
                let given = |span: &Span| Held { span: *span, at: *at, is_pushed_again: false };
                held.extend(spans.iter().map(|span| (span.seq(), given(span))));
            }
            Note::Show { spans, orphaned_by } => {
                self.shown.insert(spans);
                self.given_back.remove(spans);
                for slot in orphaned_by {
                    if let Some(slot) = self.slots.get_mut(slot) {
                        slot.held.retain(|_, held| !spans.iter().any(|span| span.covers(held.span)));
                    }
                }
            }
            Note::Push { spans, orphaned_by } => {
                self.pushed.insert(spans);
                for slot in orphaned_by {
                    let held = self.slots.get_mut(slot).into_iter().flat_map(|slot| slot.held.values_mut());
                    for held in held.filter(|held| spans.iter().any(|span| span.covers(held.span))) {
                        held.is_pushed_again = true;
                    }
                }
            }
            Note::Withdraw { spans } => {
                self.pushed.remove(spans);
                let held = self.slots.values_mut().flat_map(|slot| slot.held.values_mut());
                for held in held.filter(|held| spans.iter().any(|span| span.covers(held.span))) {
                    held.is_pushed_again = false;
                }
            }
            Note::Announce(announced) => self.announced = Some(*announced),
            Note::GiveBack { slot, spans } => {
                let is_open = |span: &&Span| !self.acked.has(span.0, span.seq());
                let open: Vec<Span> = spans.iter().filter(is_open).copied().collect();
                self.given_back.insert(&open);
                if let Some(slot) = self.slots.get_mut(slot) {
                    slot.held.retain(|seq, _| !spans.iter().any(|span| span.seq() == *seq));
                }
            }
            Note::Seen { at } => self.seen_at = Some(*at),
            Note::Ack { spans, newest } => self.acknowledge(spans, newest.as_ref()),
        }
    }

    fn acknowledge(&mut self, spans: &[Span], newest: Option<&Newest>) {
        self.acked.insert(spans);
        self.shown.insert(spans);
        self.given_back.remove(spans);
        for slot in self.slots.values_mut() {
            slot.held.retain(|seq, held| !self.acked.channels[held.span.0.index()].contains(*seq));
        }
        if let Some(newest) = newest
            && self.newest_acked.as_ref().is_none_or(|known| known.seq <= newest.seq)
        {
            self.newest_acked = Some(newest.clone());
        }
    }

    /// Whether a stretch of the journal may hold an unacknowledged record of these channels. The stretch is
    /// given by what the journal holds before it and up to its end.
    pub(super) fn may_miss(
        &self,
        mut channels: impl Iterator<Item = Channel>,
        before: &Tally,
        end: &Tally,
    ) -> bool {
        channels.any(|channel| {
            let c = channel.index();
            end.count[c] > before.count[c] && !self.acked.of(channel).covers(before.last[c] + 1, end.last[c])
        })
    }

    /// The latest acknowledged place; 0 when there is none.
    pub(super) fn last_acked(&self) -> u64 {
        self.acked.last()
    }

    /// The latest place in any note. The journal never uses a place again that a consumer was shown.
    pub(super) fn last_seen(&self) -> u64 {
        let announced = self.announced.map_or(0, |announced| announced.through);
        self.acked.last().max(self.shown.last()).max(self.pushed.last()).max(announced)
    }

    /// The fewest notes that lead to this state, for a new generation of the file.
    pub(super) fn to_notes(&self) -> Vec<Note> {
        let mut notes = vec![
            Note::Header { v: 1, generation: self.generation + 1 },
            Note::Show { spans: self.shown.spans(), orphaned_by: Vec::new() },
            Note::Push { spans: self.pushed.spans(), orphaned_by: Vec::new() },
            Note::Ack { spans: self.acked.spans(), newest: self.newest_acked.clone() },
        ];
        notes.extend(self.seen_at.map(|at| Note::Seen { at }));
        for (&slot, Slot { session, held }) in &self.slots {
            notes.push(Note::Open { slot, session: session.clone() });
            let mut by_time: BTreeMap<Option<Timestamp>, Vec<Span>> = BTreeMap::new();
            for held in held.values() {
                by_time.entry(held.at).or_default().push(held.span);
            }
            notes.extend(by_time.into_iter().map(|(at, spans)| Note::HandOut { slot, spans, at }));
            let again = held.values().filter(|held| held.is_pushed_again).map(|held| held.span);
            let spans: Vec<Span> = again.collect();
            if !spans.is_empty() {
                notes.push(Note::Push { spans, orphaned_by: vec![slot] });
            }
        }
        let given_back = self.given_back.spans();
        if !given_back.is_empty() {
            // No slot holds them any more.
            notes.push(Note::GiveBack { slot: ORPHANS_SLOT, spans: given_back });
        }
        // After the notes of the sessions, because a session that begins removes the announcements of its
        // slot.
        notes.extend(self.announced.map(Note::Announce));
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Channel = Channel::Teams;
    const E: Channel = Channel::Email;

    fn ledger(notes: &[Note]) -> Ledger {
        let mut ledger = Ledger::default();
        for note in notes {
            ledger.apply(note);
        }
        ledger
    }

    fn story() -> Vec<Note> {
        vec![
            Note::Header { v: 1, generation: 3 },
            Note::Open { slot: 0, session: "a".into() },
            Note::HandOut { slot: 0, spans: vec![Span(T, 1, 1), Span(E, 1, 2)], at: None },
            Note::HandOut { slot: 0, spans: vec![Span(T, 2, 3)], at: Some(Timestamp::UNIX_EPOCH) },
            Note::Push { spans: vec![Span(T, 4, 4)], orphaned_by: Vec::new() },
            Note::Announce(Announced { slot: 0, through: 4, at: Timestamp::UNIX_EPOCH, reminders: 1 }),
            Note::Ack { spans: vec![Span(T, 1, 3)], newest: Some(Newest { seq: 3, id: "m3".into() }) },
        ]
    }

    #[test]
    fn channels_have_cursors_of_their_own() {
        let ledger = ledger(&story());
        assert_eq!((ledger.acked.of(T).through(), ledger.acked.of(E).through()), (3, 0));
        assert!(ledger.shown.has(E, 2) && !ledger.acked.has(E, 2));
        assert!(ledger.pushed.has(T, 4) && !ledger.shown.has(T, 4));
        assert_eq!(ledger.slots[&0].held.keys().collect::<Vec<_>>(), [&2]);
    }

    #[test]
    fn a_stretch_is_read_when_it_may_hold_an_unacknowledged_record_and_only_then() {
        let ledger = ledger(&story());
        let tally = |teams: u64, email: u64| {
            let mut tally = Tally::default();
            for (channel, count) in [(T, teams), (E, email)] {
                (1..=count).for_each(|seq| {
                    tally.add(channel, seq);
                });
            }
            tally
        };
        let may_miss = |channels: &[Channel], before: Tally, end: Tally| {
            ledger.may_miss(channels.iter().copied(), &before, &end)
        };
        assert!(!may_miss(&[T, E], tally(0, 0), tally(3, 0)), "all acknowledged");
        assert!(!may_miss(&[T, E], tally(3, 0), tally(3, 0)), "nothing in it");
        assert!(may_miss(&[T], tally(3, 0), tally(4, 0)), "one more");
        assert!(may_miss(&[T, E], tally(3, 0), tally(3, 2)) && !may_miss(&[T], tally(3, 0), tally(3, 2)));
    }

    #[test]
    fn an_older_header_in_the_middle_takes_the_file_to_no_generation_that_it_had() {
        let late = [Note::Header { v: 1, generation: 3 }, Note::Header { v: 1, generation: 2 }];
        let ledger = ledger(&late);
        assert_eq!(ledger.generation, 3);
        assert_eq!(ledger.to_notes()[0], Note::Header { v: 1, generation: 4 });
    }

    #[test]
    fn rewriting_changes_nothing_but_the_generation() {
        let before = ledger(&story());
        let after = ledger(&before.to_notes());
        assert_eq!(after, Ledger { generation: 4, ..before });
    }

    #[test]
    fn what_was_given_back_is_known_until_it_is_shown_and_after_a_rewriting() {
        let mut notes = story();
        notes.push(Note::HandOut { slot: 0, spans: vec![Span(T, 5, 5), Span(T, 6, 6)], at: None });
        notes.push(Note::GiveBack { slot: 0, spans: vec![Span(T, 3, 3), Span(T, 5, 5), Span(T, 6, 6)] });
        let given_back = ledger(&notes);
        assert_eq!(given_back.given_back.spans(), [Span(T, 5, 6)], "and not what was acknowledged");
        assert_eq!(ledger(&given_back.to_notes()), Ledger { generation: 4, ..given_back });
        let shown = [
            Note::HandOut { slot: 1, spans: vec![Span(T, 5, 5)], at: None },
            Note::Show { spans: vec![Span(T, 5, 5)], orphaned_by: Vec::new() },
            Note::Ack { spans: vec![Span(T, 5, 5)], newest: None },
        ];
        for note in shown {
            let mut ledger = ledger(&notes);
            ledger.apply(&note);
            assert_eq!(ledger.given_back.spans(), [Span(T, 6, 6)], "{note:?}");
        }
    }

    #[test]
    fn every_note_can_come_twice() {
        let twice: Vec<Note> = story().into_iter().flat_map(|note| [note.clone(), note]).collect();
        assert_eq!(ledger(&twice), ledger(&story()));
    }

    #[test]
    fn deliveries_of_the_old_session_of_a_slot_are_orphaned_until_a_session_has_them() {
        let mut notes = story();
        notes.push(Note::Open { slot: 0, session: "b".into() });
        let orphaned = ledger(&notes);
        assert!(orphaned.slots[&0].held.is_empty());
        assert_eq!(orphaned.slots[&ORPHANS_SLOT].held.keys().collect::<Vec<_>>(), [&2]);
        assert_eq!(ledger(&orphaned.to_notes()), Ledger { generation: 4, ..orphaned });
        notes.push(Note::Push { spans: vec![Span(E, 1, 2)], orphaned_by: vec![ORPHANS_SLOT] });
        let pushed_again = ledger(&notes);
        assert!(pushed_again.slots[&ORPHANS_SLOT].held[&2].is_pushed_again);
        assert_eq!(ledger(&pushed_again.to_notes()), Ledger { generation: 4, ..pushed_again });
        let has_it = [
            Note::Show { spans: vec![Span(T, 1, 9), Span(E, 1, 7)], orphaned_by: vec![ORPHANS_SLOT] },
            Note::HandOut { slot: 1, spans: vec![Span(E, 1, 2)], at: None },
            Note::GiveBack { slot: ORPHANS_SLOT, spans: vec![Span(E, 1, 2)] },
            Note::Ack { spans: vec![Span(E, 1, 2)], newest: None },
        ];
        for note in has_it {
            let mut ledger = ledger(&notes);
            ledger.apply(&note);
            assert!(ledger.slots[&ORPHANS_SLOT].held.is_empty(), "{note:?}");
        }
    }

    #[test]
    fn a_push_that_showed_nothing_is_taken_back_and_nothing_else_is() {
        let mut notes = story();
        notes.push(Note::Open { slot: 0, session: "b".into() });
        notes.push(Note::Push { spans: vec![Span(E, 1, 2), Span(T, 5, 7)], orphaned_by: vec![ORPHANS_SLOT] });
        notes.push(Note::Withdraw { spans: vec![Span(E, 1, 2), Span(T, 6, 7)] });
        let ledger_now = ledger(&notes);
        assert_eq!(ledger_now.pushed.spans(), [Span(T, 4, 5)]);
        assert!(ledger_now.shown.has(E, 2), "an answer has held it");
        assert!(
            !ledger_now.slots[&ORPHANS_SLOT].held[&2].is_pushed_again,
            "others may push what is orphaned"
        );
        assert_eq!(ledger(&ledger_now.to_notes()), Ledger { generation: 4, ..ledger_now.clone() });
        notes.push(Note::Withdraw { spans: vec![Span(E, 1, 2), Span(T, 6, 7)] });
        assert_eq!(ledger(&notes), ledger_now, "a note can be applied twice");
    }

    #[test]
    fn an_announcement_outlives_its_session() {
        let mut notes = story();
        notes.push(Note::Open { slot: 0, session: "b".into() });
        let announced = ledger(&notes).announced.map(|announced| (announced.slot, announced.through));
        assert_eq!(announced, Some((ORPHANS_SLOT, 4)));
    }

    #[test]
    fn touching_spans_join() {
        let spans = vec![Span(E, 1, 2), Span(T, 4, 6), Span(T, 1, 3), Span(E, 5, 5)];
        assert_eq!(joined(spans), [Span(T, 1, 6), Span(E, 1, 2), Span(E, 5, 5)]);
    }
}

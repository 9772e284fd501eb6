//! The view that one host session has of a consumer: which records it is shown, in which order, and when they count as read.
//!
//! **No record is lost, and none comes twice unmarked.** Only an acknowledgement retires a record. A mailbox notes in the
//! consumer's file what it shows before it returns it, so that the next session knows, also after `kill -9`. (The notes are
//! written but not synced: after a power cut the last of them may be gone.)
//!
//! **Several sessions of one consumer** share the file. A session skips the records that another running session holds.
//! A session runs as long as it has the lock of its slot, which the system releases when the process exits; then the other
//! sessions get the records that it held, marked `redelivered`.
//!
//! **A new consumer** begins at the oldest record, because a record that is skipped silently is lost; see
//! [`NewConsumerStarts`](super::NewConsumerStarts) for the other choice.

mod announce;
mod claim;
mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::Journal;
use super::consumer::ConsumerName;
use super::core::{Core, made_again};
use super::delivery::{Batch, DeliveryId, Handed, Purpose, Query};
use super::delivery_state::{DeliveryState, Move};
use super::error::{JournalError, Result};
use super::index::Tally;
use super::ledger::{Newest, Note, Span, joined};
use super::ledger_file::{self, LedgerFile};
use super::log::Entry;
use super::options::NewConsumerStarts;
use super::story;
use crate::record::{Channel, Record};
use claim::Known;
use entraclaw_seams::storage::{Lock, Storage};
use standing::Standing;

/// The pause between two notes that the consumer is active.
const SEEN_EVERY: SignedDuration = SignedDuration::from_hours(1);
/// Blocks searched for an id that is not in the window.
const ID_SEARCH_PAGES_MAX: usize = 32;

/// One host session's view of a consumer. It ends when it is dropped.
pub struct Mailbox {
    journal: Journal,
    storage: Arc<dyn Storage>,
    consumer: ConsumerName,
    file: LedgerFile,
    slot: u16,
    _slot_lock: Box<dyn Lock>,
    reader: u64,
    open: BTreeMap<DeliveryId, Vec<Item>>,
    /// The records of finished deliveries, until the consumer's next call.
    returned: Vec<(DeliveryId, Item)>,
    /// The notes of the current operation, not written yet.
    noted: Vec<Note>,
    known: Known,
    /// The place up to which results of work for other consumers are marked as read.
    passed_by: u64,
}

/// A record that was handed out.
#[derive(Debug, Clone)]
struct Item {
    span: Span,
    id: String,
}

impl Mailbox {
    pub(super) fn open(journal: &Journal, consumer: &ConsumerName, session_id: &str) -> Result<Self> {
        let mut core = journal.core();
        let storage = Arc::clone(&core.storage);
        let _lock = lock(&storage, &core, consumer)?;
        let (slot, slot_lock) = take_slot(&*storage, consumer, core.options.sessions_max)?;
        let mut notes = Vec::new();
        let mut file = LedgerFile::new(Arc::clone(&storage), consumer);
        let is_missing = file.is_missing().map_err(JournalError::storage("read the consumer's file"))?;
        file.refresh().map_err(JournalError::storage("read the consumer's file"))?;
        let is_lost = is_missing || file.is_damaged();
        if is_lost && let Some(known) = core.known_of(consumer, file.ledger())? {
            notes.extend(known.to_notes());
            if file.make_again(known).is_ok() {
                notes.clear();
            }
            core.audit(vec![made_again(consumer)]);
        } else if is_missing {
            core.admit_consumer()?;
            notes.push(Note::Header { v: 1, generation: 1 });
            if core.options.new_consumer_starts == NewConsumerStarts::Now {
                let last = core.last_seq();
                let spans = Channel::ALL.into_iter().map(|channel| Span(channel, 1, last)).collect();
                notes.push(Note::Ack { spans, newest: None });
            }
        } else {
            notes.extend(core.forgotten_by(consumer, file.ledger()));
        }
        notes.push(Note::Open { slot, session: session_id.chars().take(64).collect() });
        let reader = core.register_reader();
        drop(core);
        let mut mailbox = Self {
            journal: journal.clone(),
            storage,
            consumer: consumer.clone(),
            file,
            slot,
            _slot_lock: slot_lock,
            reader,
            open: BTreeMap::new(),
            returned: Vec::new(),
            noted: Vec::new(),
            known: Known::default(),
            passed_by: 0,
        };
        for note in notes {
            mailbox.note(note);
        }
        mailbox.pass_by_older_orphans();
        mailbox.end();
        Ok(mailbox)
    }

    /// The consumer that this mailbox reads as.
    pub fn consumer(&self) -> &ConsumerName {
        &self.consumer
    }

    /// Hands out the oldest unread records that match, and notes that before it returns. It skips records that an open
    /// delivery of this session or another running session of the consumer holds. A delivery may be used more than once;
    /// records that are only shown belong to no delivery.
    pub fn hand_out(&mut self, delivery: DeliveryId, query: &Query) -> Result<Batch> {
        let _lock = self.begin()?;
        let journal = self.journal.clone();
        let mut core = journal.core();
        let standing = Standing::of(self);
        let orphaned = standing.orphaned();
        let since = match query.since_id.as_deref() {
            None | Some("") => 0,
            Some(id) => find_id(&mut core, id)?.ok_or_else(|| core.unknown_id(id))?,
        };
        let mut items = Vec::new();
        let mut held_elsewhere = false;
        let mut bytes_left = query.bytes_max;
        self.walk(&mut core, since, query.channel, &mut |entry| {
            if items.len() >= query.limit {
                return false;
            }
            let state = standing.state(entry.record.channel, entry.record.seq);
            if !query.purpose.brings(state) {
                held_elsewhere |=
                    state == DeliveryState::PendingElsewhere && query.purpose != Purpose::TellNew;
                return true;
            }
            let bytes = json_len(&entry.record);
            if bytes > bytes_left && !items.is_empty() {
                return false;
            }
            bytes_left = bytes_left.saturating_sub(bytes);
            items.push(Arc::clone(entry));
            true
        })?;
        let handed = items.iter().map(|entry| Handed::of(self.file.ledger(), entry)).collect();
        let taken: Vec<Item> = items.iter().map(|entry| Item::new(entry)).collect();
        let here = taken.iter().map(|item| (item.span.seq(), item.span));
        let gone = standing.spoken_for().into_iter().chain(here).collect();
        let unread_remaining = self.unread_but(&mut core, query.channel, &gone);
        let at = Some(core.clock.now());
        drop(core);
        if !taken.is_empty() {
            let spans: Vec<Span> = taken.iter().map(|item| item.span).collect();
            match query.purpose.moves() {
                Move::HandOut => {
                    self.note(Note::HandOut { slot: self.slot, spans, at });
                    self.open.entry(delivery).or_default().extend(taken);
                }
                Move::Tell => {
                    let slots =
                        spans.iter().filter_map(|span| orphaned.get(&span.seq()).map(|(slot, _)| *slot));
                    let slots: BTreeSet<u16> = slots.collect();
                    self.note(Note::Show { spans: joined(spans), orphaned_by: slots.into_iter().collect() });
                }
                _ => self.note(Note::Show { spans: joined(spans), orphaned_by: Vec::new() }),
            }
        }
        self.end();
        Ok(Batch { items: handed, unread_remaining, held_elsewhere, oldest_first: true })
    }

    /// Notes that the answer with this delivery was sent. The consumer's next call acknowledges its records.
    pub fn finish(&mut self, delivery: DeliveryId) {
        let items = self.open.remove(&delivery).unwrap_or_default();
        self.returned.extend(items.into_iter().map(|item| (delivery, item)));
    }

    /// Acknowledges the records of this delivery. Returns how many records that retired.
    pub fn acknowledge(&mut self, delivery: DeliveryId) -> Result<usize> {
        let _lock = self.begin()?;
        let items = self.take_back(delivery);
        Ok(self.retire(items))
    }

    /// Acknowledges the records of every finished delivery of this session, because the consumer has made its next call.
    /// Returns how many records that retired.
    pub fn acknowledge_returned(&mut self) -> Result<usize> {
        if self.returned.is_empty() {
            return Ok(0);
        }
        let _lock = self.begin()?;
        let items = std::mem::take(&mut self.returned).into_iter().map(|(_, item)| item).collect();
        Ok(self.retire(items))
    }

    /// Makes the records of a cancelled or lost answer unread again; they will come marked `redelivered`. If the disk does
    /// not take the note, only this session knows until [`Mailbox::settle`] writes it.
    pub fn give_back(&mut self, delivery: DeliveryId) {
        let spans: Vec<Span> = self.take_back(delivery).iter().map(|item| item.span).collect();
        if spans.is_empty() {
            return;
        }
        let lock = self.begin();
        self.note(Note::GiveBack { slot: self.slot, spans });
        if lock.is_ok() {
            self.end();
        } else {
            self.journal.unwritten.add(&self.consumer, std::mem::take(&mut self.noted));
        }
    }

    /// Acknowledges the messages with these ids. Only messages that the consumer was shown or pushed count, because ids are
    /// unique within a conversation at best. Where it is not known whether the model saw them, the oldest with an id counts, and
    /// no edit of it: the others come again. Returns how many records that retired.
    pub fn acknowledge_ids(&mut self, ids: &[&str]) -> Result<usize> {
        let _lock = self.begin()?;
        let journal = self.journal.clone();
        let mut core = journal.core();
        let ids: BTreeSet<&str> = ids.iter().copied().collect();
        let mut named = Vec::new();
        let mut pages = 0;
        let mut page_of = 0;
        self.walk(&mut core, 0, None, &mut |entry| {
            // Unread records that were shown lie near the oldest unread one, or in the window.
            if entry.record.seq / 256 != page_of {
                page_of = entry.record.seq / 256;
                pages += 1;
            }
            if ids.contains(entry.record.id.as_str()) {
                named.push(Arc::clone(entry));
            }
            pages <= ID_SEARCH_PAGES_MAX
        })?;
        if let Some(newest) = core.page_before(u64::MAX)? {
            named.extend(newest.into_iter().filter(|entry| ids.contains(entry.record.id.as_str())));
        }
        drop(core);
        let standing = Standing::of(self);
        let mut by_id: BTreeMap<&str, Named<'_>> = BTreeMap::new();
        for entry in &named {
            let state = standing.state(entry.record.channel, entry.record.seq);
            if state.may(Move::Acknowledge) {
                by_id.entry(&entry.record.id).or_default().insert(entry.record.seq, (entry, state));
            }
        }
        let items = by_id.values().flat_map(answered).collect();
        Ok(self.retire(items))
    }

    /// The number of records that the consumer has not acknowledged, of one channel or of all.
    pub fn unread(&mut self, channel: Option<Channel>) -> u64 {
        // If the newest notes can't be read, the count is slightly old.
        let _ = self.refresh();
        if self.has_others() {
            self.settle();
        }
        let journal = self.journal.clone();
        let mut core = journal.core();
        self.unread_but(&mut core, channel, &BTreeMap::new())
    }

    /// When the oldest unread record was written, RFC 3339.
    pub fn oldest_unread_ts(&mut self) -> Option<String> {
        let _ = self.refresh();
        if self.has_others() {
            self.settle();
        }
        let journal = self.journal.clone();
        let mut oldest = None;
        let _ = self.walk(&mut journal.core(), 0, None, &mut |entry| {
            oldest = Some(entry.record.ts.clone());
            false
        });
        oldest
    }

    /// Shows `visit` every unread record after `since`, oldest first, until it returns false.
    fn walk(
        &self,
        core: &mut Core,
        since: u64,
        channel: Option<Channel>,
        visit: &mut dyn FnMut(&Arc<Entry>) -> bool,
    ) -> Result<()> {
        let ledger = self.file.ledger();
        let channels = Channel::ALL.iter().copied().filter(|c| channel.is_none_or(|only| only == *c));
        let wants = |before: &Tally, end: &Tally| ledger.may_miss(channels.clone(), before, end);
        let read_through =
            channels.clone().map(|channel| ledger.acked.of(channel).through()).min().unwrap_or(0);
        let mut at = since.max(read_through);
        while let Some(page) = core.page_after(at, &wants)? {
            at = page.through;
            for entry in &page.entries {
                let Record { channel: of, seq, .. } = entry.record;
                let is_unread = channels.clone().any(|c| c == of) && !ledger.acked.has(of, seq);
                if is_unread && !visit(entry) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The records in open answers of this session.
    fn in_open_answers(&self) -> impl Iterator<Item = Span> {
        self.open.values().flatten().map(|item| item.span)
    }

    fn is_in_an_open_answer(&self, seq: u64) -> bool {
        self.in_open_answers().any(|span| span.seq() == seq)
    }

    /// The number of unread records of one channel or of all, without those in `but`.
    fn unread_but(&self, core: &mut Core, channel: Option<Channel>, but: &BTreeMap<u64, Span>) -> u64 {
        let channels = Channel::ALL.into_iter().filter(|c| channel.is_none_or(|only| only == *c));
        let unread: u64 = channels.map(|channel| self.unread_of(core, channel)).sum();
        let acked = &self.file.ledger().acked;
        // Another session may hold records that this process has not read yet.
        let known = but.range(..=core.last_seq()).map(|(_, span)| span);
        let not_counted =
            known.filter(|span| channel.is_none_or(|only| only == span.0) && !acked.has(span.0, span.seq()));
        unread.saturating_sub(not_counted.count() as u64)
    }

    fn unread_of(&self, core: &mut Core, channel: Channel) -> u64 {
        let mut read = 0;
        for (from, to) in self.file.ledger().acked.of(channel).iter() {
            // If a block can't be read, the count is too high rather than too low.
            let up_to = core.rank(channel, to).unwrap_or(0);
            let before = core.rank(channel, from.saturating_sub(1)).unwrap_or(up_to);
            read += up_to.saturating_sub(before);
        }
        core.count(channel).saturating_sub(read)
    }

    fn take_back(&mut self, delivery: DeliveryId) -> Vec<Item> {
        let mut items = self.open.remove(&delivery).unwrap_or_default();
        self.returned.retain(|(of, item)| {
            let is_it = *of == delivery;
            if is_it {
                items.push(item.clone());
            }
            !is_it
        });
        items
    }

    /// Acknowledges these items unless they are acknowledged already. It is the last step of a locked operation.
    fn retire(&mut self, items: Vec<Item>) -> usize {
        let ledger = self.file.ledger();
        let mut fresh = BTreeMap::new();
        for item in items.into_iter().filter(|item| !ledger.acked.has(item.span.0, item.span.seq())) {
            fresh.insert(item.span.seq(), item);
        }
        let count = fresh.len();
        if let Some((&seq, last)) = fresh.last_key_value() {
            let newest = Some(Newest { seq, id: last.id.clone() });
            let spans = joined(fresh.values().map(|item| item.span).collect());
            let spans = self.journal.core().settle_spans(spans, &self.file.ledger().acked);
            self.note(Note::Ack { spans, newest });
        }
        self.end();
        if count > 0 {
            self.journal.core().write_state();
        }
        count
    }

    /// Whether there are notes that the disk has not taken, by any mailbox of this consumer in this process.
    pub fn has_unwritten_notes(&self) -> bool {
        !self.journal.unwritten.is_empty(&self.consumer)
    }

    /// Drops the notes that the disk did not take. The caller must not show the records of these notes.
    pub fn drop_unwritten_notes(self) {
        self.journal.unwritten.take(&self.consumer);
    }

    /// Tries to write the notes that the disk did not take. Until that succeeds, a message may come again without a mark
    /// after a crash.
    pub fn settle(&mut self) {
        if let Ok(_lock) = self.begin() {
            self.end();
        }
    }

    /// Begins an operation that may change the consumer's file.
    fn begin(&mut self) -> Result<Box<dyn Lock>> {
        let lock = lock(&self.storage, &self.journal.core(), &self.consumer)?;
        self.refresh()?;
        if self.has_others() {
            self.pass_by_others()?;
        }
        Ok(lock)
    }

    /// Whether there are new results of work, which may be for another consumer.
    fn has_others(&self) -> bool {
        self.journal.core().last_of(Channel::Work).is_some_and(|last| last > self.passed_by)
    }

    /// Marks results of work for other consumers as read, so that counts and retention skip them.
    fn pass_by_others(&mut self) -> Result<()> {
        let journal = self.journal.clone();
        let mut core = journal.core();
        let last = core.last_of(Channel::Work).unwrap_or(0);
        let mut spans = Vec::new();
        self.walk(&mut core, self.passed_by, Some(Channel::Work), &mut |entry| {
            if !entry.record.is_for(self.consumer.as_str()) {
                spans.push(span_of(entry));
            }
            true
        })?;
        drop(core);
        if !spans.is_empty() {
            self.note(Note::Ack { spans: joined(spans), newest: None });
        }
        self.passed_by = last;
        Ok(())
    }

    fn refresh(&mut self) -> Result<()> {
        self.file.refresh_or_keep().map_err(JournalError::storage("read the consumer's file"))?;
        self.journal.unwritten.each(&self.consumer, |note| self.file.apply_unwritten(note));
        Ok(())
    }

    /// Applies a note; [`Mailbox::end`] writes it.
    fn note(&mut self, note: Note) {
        story::noted(&self.consumer, &note);
        self.file.apply_unwritten(&note);
        self.noted.push(note);
    }

    /// Ends an operation and writes its notes. Notes that can't be written still hold in this process; the next operation or
    /// [`Mailbox::settle`] tries again.
    fn end(&mut self) {
        let mut core = self.journal.core();
        let mut notes = self.journal.unwritten.take(&self.consumer);
        notes.append(&mut self.noted);
        if let Some(last) = notes.len().checked_sub(1) {
            let now = core.clock.now();
            if is_long_ago(self.file.ledger().seen_at, now) {
                // Before the last note, so that no record is noted as shown when the disk takes only some of the notes.
                self.file.apply_unwritten(&Note::Seen { at: now });
                notes.insert(last, Note::Seen { at: now });
            }
            match self.file.append(&notes) {
                Ok(false) => {}
                Ok(true) => core.audit(vec![made_again(&self.consumer)]),
                Err(_) => {
                    self.journal.unwritten.add(&self.consumer, notes);
                    core.stats.notes_failed_total += 1;
                }
            }
        }
        // After a failure the next operation compacts the file.
        let _ = self.file.compact(core.options.consumer_bytes_max);
        let shown = &self.file.ledger().shown;
        core.readers.insert(self.reader, Channel::ALL.map(|channel| shown.of(channel).through()));
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        self.journal.core().readers.remove(&self.reader);
        // A session may have been silent for weeks. If this note fails, that of the leader's last retention
        // round counts.
        let now = self.journal.core().clock.now();
        if is_long_ago(self.file.ledger().seen_at, now)
            && let Ok(_lock) = self.begin()
        {
            self.note(Note::Seen { at: now });
            self.end();
        }
    }
}

fn is_long_ago(seen_at: Option<Timestamp>, now: Timestamp) -> bool {
    seen_at.is_none_or(|at| now.duration_since(at).abs() >= SEEN_EVERY)
}

impl Item {
    fn new(entry: &Entry) -> Self {
        Self { span: span_of(entry), id: entry.record.id.clone() }
    }
}

/// The record's place and the places back to the previous record of its channel, which belong to other channels.
fn span_of(entry: &Entry) -> Span {
    Span(entry.record.channel, entry.prev + 1, entry.record.seq)
}

fn lock(storage: &Arc<dyn Storage>, core: &Core, consumer: &ConsumerName) -> Result<Box<dyn Lock>> {
    let path = ledger_file::lock_path(consumer);
    let waited_ms = core.options.lock_wait_ms;
    let lock = storage.lock(&path, waited_ms).map_err(JournalError::storage("lock the consumer's file"))?;
    lock.ok_or(JournalError::Busy { lock: path, waited_ms })
}

fn take_slot(storage: &dyn Storage, consumer: &ConsumerName, max: u16) -> Result<(u16, Box<dyn Lock>)> {
    for slot in 0..max {
        let lock = storage.try_lock(&ledger_file::slot_path(consumer, slot));
        if let Some(lock) = lock.map_err(JournalError::storage("take a place for this session"))? {
            return Ok((slot, lock));
        }
    }
    Err(JournalError::TooManySessions { consumer: consumer.to_string(), max })
}

/// The records with one id that may be acknowledged, by place.
type Named<'a> = BTreeMap<u64, (&'a Arc<Entry>, DeliveryState)>;

/// Those of them that an answer to the id acknowledges.
fn answered(named: &Named<'_>) -> Vec<Item> {
    let known = named.values().filter(|(_, state)| state.is_known_to_the_model());
    let known: Vec<Item> = known.map(|(entry, _)| Item::new(entry)).collect();
    if !known.is_empty() {
        return known;
    }
    // A session that goes on with the conversation of another one answers what that one was shown.
    let oldest = named.values().next().filter(|(entry, _)| entry.record.edit_of.is_none());
    oldest.map(|(entry, _)| Item::new(entry)).into_iter().collect()
}

/// The place of the newest record with an id, if it is among the newest blocks.
pub(super) fn find_id(core: &mut Core, id: &str) -> Result<Option<u64>> {
    let mut before = u64::MAX;
    for _ in 0..ID_SEARCH_PAGES_MAX {
        let Some(entries) = core.page_before(before)? else { return Ok(None) };
        if let Some(found) = entries.iter().rev().find(|entry| entry.record.id == id) {
            return Ok(Some(found.record.seq));
        }
        before = entries.first().map_or(0, |first| first.record.seq);
    }
    Ok(None)
}

fn json_len(record: &Record) -> usize {
    serde_json::to_vec(record).map_or(usize::MAX, |json| json.len())
}

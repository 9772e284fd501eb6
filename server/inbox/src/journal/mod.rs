//! The journal: every message once, in order, durable before any session is told of it; and what each consumer was shown.
//!
//! Files below the home folder: `inbox/<day>.jsonl` hold the records, `inbox/index/` their indexes, `inbox/consumers/` the
//! notes of what each consumer was shown, `inbox/state.json` a summary, `inbox/lost.json` the losses of the record files,
//! `interactions/` the audit log, and the holder of `leader.lock` writes. A missing file is made again: a consumer's file
//! from the summary, an index from its records. Missing records come again from the sources, which read them anew.
//!
//! From the lowest part up: `line` is a record as bytes, `index` finds it, `log` is all files, `load` mends them, `writer`
//! adds to them, `core` joins them with the window and the counters; `ledger` holds what a consumer was shown, and
//! a session reads through `mailbox`. The journal must never show a record that a power cut could still take away. The one
//! exception is a disk that takes no writes, and then the journal reports that.

mod audit;
mod consumer;
mod core;
mod delivery;
mod delivery_state;
mod error;
mod floor;
mod index;
mod interaction;
mod intervals;
mod keys;
mod ledger;
mod ledger_file;
mod line;
mod lines;
mod load;
mod log;
mod look;
mod losses;
mod mailbox;
mod options;
mod orphans;
mod retention;
mod scan;
mod segment;
mod state;
mod story;
mod term;
mod unwritten;
mod window;
mod writer;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::watch;

pub use self::core::Removed;
pub use consumer::{ConsumerName, WATCHER};
pub use delivery::{Batch, DeliveryId, Handed, Purpose, Query};
pub use delivery_state::{DeliveryState, Move};
pub use error::{JournalError, Result};
pub use interaction::{Interaction, InteractionKind};
pub use ledger_file::has_read;
pub use look::Look;
pub use losses::ReadAgain;
pub use losses::{LOST_FILE, Losses};
pub use mailbox::Mailbox;
pub use options::{
    Appended, Finding, Held, JournalLine, JournalOptions, JournalStats, NewConsumerStarts, OpenReport, Pulse,
};
pub use orphans::Orphans;
pub use retention::{Pruned, RetentionPolicy, is_idle};
pub use state::State;
pub use story::refused;
pub use term::{newest_path, path_in};

use self::core::Core;
use self::unwritten::UnwrittenNotes;
use crate::record::{Channel, Draft, Record};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::{Changes, Storage};

/// The journal of one home folder; a cheap clone.
#[derive(Clone)]
pub struct Journal {
    core: Arc<Mutex<Core>>,
    unwritten: UnwrittenNotes,
    grown: watch::Sender<u64>,
    /// Whether the leader is another process that shows no sign of running.
    silent: watch::Sender<bool>,
}

impl Journal {
    /// Opens the journal under `storage`. This process leads if it may and no other process does. The leader mends files
    /// that a crash left damaged; the report lists them.
    pub fn open(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        options: JournalOptions,
    ) -> Result<(Self, OpenReport)> {
        let grown = watch::Sender::new(0);
        let (core, report) = Core::open(storage, clock, options, grown.clone())?;
        Ok((
            Self {
                core: Arc::new(Mutex::new(core)),
                unwritten: UnwrittenNotes::default(),
                grown,
                silent: watch::Sender::new(false),
            },
            report,
        ))
    }

    /// Whether this process leads. Only the leader polls the sources and appends.
    pub fn is_leader(&self) -> bool {
        self.core().is_leader()
    }

    /// Takes the lead if it is free. Returns whether this process leads now.
    pub fn try_lead(&self) -> Result<bool> {
        self.core().try_lead()
    }

    /// Whether this process leads, read from the disk: a process that was stopped for long may have been replaced.
    pub fn leads(&self) -> bool {
        self.core().still_leads().unwrap_or(false)
    }

    /// Allows this process to take the lead, whatever [`JournalOptions::may_lead`] said.
    pub fn let_lead(&self) {
        self.core().options.may_lead = true;
    }

    /// Gives up the lead. Another process may take it, and this one follows.
    pub fn give_up_lead(&self) {
        self.core().give_up_lead();
    }

    /// Replaces a leader that shows no sign of running; `silent` is its pulse, which has not changed. Returns whether this
    /// process leads now. Whatever the replaced process still writes is ignored, and it learns of its replacement when it
    /// runs again.
    pub fn replace_leader(&self, silent: &Pulse) -> Result<bool> {
        self.core().replace_leader(silent)
    }

    /// Shows other processes that this leader runs. A follower does nothing.
    pub fn beat(&self) -> Result<()> {
        self.core().beat()
    }

    /// The leader's latest sign of running. A pulse that stays the same means that the leader does not run.
    pub fn pulse(&self) -> Result<Pulse> {
        self.core().pulse()
    }

    /// Whether the leader is another process that shows no sign of running, as last noted.
    pub fn is_leader_silent(&self) -> bool {
        *self.silent.borrow()
    }

    /// Notes whether the leader shows no sign of running, for [`Journal::watch_silence`].
    pub fn note_leader_silent(&self, silent: bool) {
        self.silent.send_if_modified(|known| std::mem::replace(known, silent) != silent);
    }

    /// Tells when [`Journal::is_leader_silent`] changes.
    pub fn watch_silence(&self) -> watch::Receiver<bool> {
        self.silent.subscribe()
    }

    /// The newest term of leadership that this process knows. The leader names its own files by it.
    pub fn term(&self) -> u64 {
        self.core().term()
    }

    /// Tells when the journal's files change. `None` where the disk can't tell; the caller then has to poll.
    pub fn changes(&self) -> Option<Changes> {
        self.core().storage.changes(segment::INBOX)
    }

    /// Tells of every change of the disk. `None` unless the disk is simulated.
    pub fn every_change(&self) -> Option<Changes> {
        self.core().storage.every_change()
    }

    /// Makes a follower look for new records, and a leader write again the records that the disk did not take. Returns
    /// whether there are new records. Cheap; call it every 250 to 1000 ms.
    pub fn refresh(&self) -> Result<bool> {
        self.core().refresh()
    }

    /// Makes the leader check whether another program has changed the journal's files, and mend them. It costs one look at
    /// each file's metadata while none has changed; call it every ten seconds. A follower does nothing.
    pub fn look_at_files(&self) -> Result<()> {
        self.core().look_at_files()
    }

    /// Whether [`Journal::refresh`] has nothing to do for this leader until the next append.
    pub fn is_settled(&self) -> bool {
        self.core().is_settled()
    }

    /// Whether the disk has a record of this key, as far back as keys are remembered. If not, the caller must append the
    /// message before it moves its cursor.
    pub fn has(&self, key: &str) -> bool {
        self.held(key) == Held::OnDisk
    }

    /// Where the record of this key is, as far back as keys are remembered.
    pub fn held(&self, key: &str) -> Held {
        self.core().held(key)
    }

    /// Appends the new ones of these drafts, in order: one write a record, one sync a call, then the audit log, then the watchers.
    ///
    /// While the disk takes no writes, it returns [`JournalError::NotDurable`]. The messages are then in memory and the
    /// watchers are told, but the caller must not move its cursor; it appends the same drafts again at its next poll.
    pub fn append(&self, drafts: Vec<Draft>) -> Result<Appended> {
        self.core().append(drafts)
    }

    /// A watch of the newest record's place.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.grown.subscribe()
    }

    /// Up to `limit` records after `seq`, in order.
    pub fn read_after(&self, seq: u64, limit: usize) -> Result<Vec<Record>> {
        let mut core = self.core();
        let mut records = Vec::new();
        let mut at = seq;
        while records.len() < limit
            && let Some(page) = core.page_after(at, &|_, _| true)?
        {
            at = page.through;
            let left = limit - records.len();
            records.extend(page.entries.iter().take(left).map(|entry| entry.record.clone()));
        }
        Ok(records)
    }

    /// The newest record of a channel, if the files still have it.
    pub fn newest_of(&self, channel: Channel) -> Result<Option<Record>> {
        let mut core = self.core();
        let Some(seq) = core.last_of(channel) else { return Ok(None) };
        Ok(core.entry(seq)?.map(|entry| entry.record.clone()))
    }

    /// The newest record with this id, as far back as an acknowledgement looks.
    pub fn find(&self, id: &str) -> Result<Option<Record>> {
        let mut core = self.core();
        let Some(seq) = mailbox::find_id(&mut core, id)? else { return Ok(None) };
        Ok(core.entry(seq)?.map(|entry| entry.record.clone()))
    }

    /// The record at this place, if the files still have it.
    pub fn at(&self, seq: u64) -> Result<Option<Record>> {
        Ok(self.core().entry(seq)?.map(|entry| entry.record.clone()))
    }

    /// The newest record's place; 0 when there is none.
    pub fn last_seq(&self) -> u64 {
        self.core().last_seq()
    }

    /// The counters of this process, and the journal's newest places.
    pub fn stats(&self) -> JournalStats {
        self.core().stats()
    }

    /// The losses of the record files that the leader has noted, and those that this follower has found and the leader has
    /// not noted yet.
    pub fn losses(&self) -> Losses {
        self.core().losses()
    }

    /// The range that a source must read again if it has dealt with the losses up to `done`. `None` for a follower.
    pub fn to_read_again(&self, done: Option<Timestamp>) -> Option<ReadAgain> {
        self.core().to_read_again(done)
    }

    /// Deletes the files that the policy releases, but none with a record that an active consumer has not acknowledged. A
    /// follower does nothing. Call it at the start and every hour.
    pub fn prune(&self, policy: &RetentionPolicy) -> Result<Pruned> {
        self.core().prune(policy)
    }

    /// Removes a consumer for good, unless a session or a command reads as it.
    pub fn remove_consumer(&self, name: &ConsumerName) -> Result<Removed> {
        self.core().remove_consumer(name)
    }

    /// Writes one line to the audit log, its time filled in. A failure is counted and stops nothing.
    pub fn interaction(&self, interaction: Interaction) {
        self.core().audit(vec![interaction]);
    }

    /// Begins a session of `consumer`. The session ends when the mailbox is dropped or the process exits.
    pub fn mailbox(&self, consumer: &ConsumerName, session_id: &str) -> Result<Mailbox> {
        Mailbox::open(self, consumer, session_id)
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The journal: every message once, in order, durable before anybody is told; and who has seen what.
//!
//! Files below the home folder: `inbox/<day>.jsonl` hold the records, `inbox/index/` how to find them fast,
//! `inbox/consumers/` what each consumer was shown, `inbox/state.json` a summary, `inbox/lost.json` what the others have
//! lost, `interactions/` the audit log, and `leader.lock` says who writes. Everything but the records is made again when
//! it is missing: the consumers' files from the summary, the records by the sources that read again.
//!
//! From the ground up: `line` is a record as bytes, `index` finds it, `log` is all files, `load` mends them, `writer`
//! adds to them, `core` joins that with the window and the counters; `ledger` is what a consumer was shown, and
//! `mailbox` is how a session reads. The journal must never show a record that a power cut could still take away,
//! but while the disk takes no writes, and then it says so.

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
mod owed;
mod retention;
mod scan;
mod segment;
mod state;
mod story;
mod term;
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
pub use look::Look;
pub use losses::ReadAgain;
pub use losses::{LOST_FILE, Losses};
pub use mailbox::Mailbox;
pub use options::{
    Appended, Finding, Held, JournalOptions, JournalStats, NewConsumerStarts, OpenReport, Pulse,
};
pub use orphans::Orphans;
pub use retention::{Pruned, RetentionPolicy, is_idle};
pub use state::State;
pub use story::refused;
pub use term::{newest_path, path_in};

use self::core::Core;
use self::owed::Owed;
use crate::record::{Channel, Draft, Record};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::{Changes, Storage};

/// The journal of one home folder; a cheap clone.
#[derive(Clone)]
pub struct Journal {
    core: Arc<Mutex<Core>>,
    owed: Owed,
    grown: watch::Sender<u64>,
    /// Whether the leader, which is another process, does not move.
    silent: watch::Sender<bool>,
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").field("last_seq", &*self.grown.borrow()).finish_non_exhaustive()
    }
}

impl Journal {
    /// Opens the journal under `storage`, leading if this process may and nobody else does. What a crash left is
    /// mended by the leader and reported.
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
                owed: Owed::default(),
                grown,
                silent: watch::Sender::new(false),
            },
            report,
        ))
    }

    /// Whether this process leads: it polls and appends.
    pub fn is_leader(&self) -> bool {
        self.core().is_leader()
    }

    /// Takes the lead if it is free. Returns whether this process leads now.
    pub fn try_lead(&self) -> Result<bool> {
        self.core().try_lead()
    }

    /// Whether this process leads, looked up on the disk: one that was stopped for long may have been replaced.
    pub fn leads(&self) -> bool {
        self.core().still_leads().unwrap_or(false)
    }

    /// From now on this process may take the lead, also where it was opened without.
    pub fn let_lead(&self) {
        self.core().let_lead();
    }

    /// Gives the lead up: another process may take it, and this one follows.
    pub fn give_up_lead(&self) {
        self.core().give_up_lead();
    }

    /// Leads in place of a process that does not move: `silent` is what was seen of it for so long. Returns whether this
    /// process leads now. Nothing that the other one still writes counts, and it finds out when it moves again.
    pub fn replace_leader(&self, silent: &Pulse) -> Result<bool> {
        self.core().replace_leader(silent)
    }

    /// Lets others see that this process moves, while it leads.
    pub fn beat(&self) -> Result<()> {
        self.core().beat()
    }

    /// What is seen of the leader's moving.
    pub fn pulse(&self) -> Result<Pulse> {
        self.core().pulse()
    }

    /// Whether the process that leads, which is another one, shows no sign of moving.
    pub fn is_leader_silent(&self) -> bool {
        *self.silent.borrow()
    }

    /// Says whether it does, for whoever tells people.
    pub fn note_leader_silent(&self, silent: bool) {
        self.silent.send_if_modified(|known| std::mem::replace(known, silent) != silent);
    }

    /// Tells when that changes.
    pub fn watch_silence(&self) -> watch::Receiver<bool> {
        self.silent.subscribe()
    }

    /// The term of leadership in which a file of the leader's own is written.
    pub fn term(&self) -> u64 {
        self.core().term()
    }

    /// Tells when its files change, where the disk can tell. `None` where nobody can: whoever wants to know looks.
    pub fn changes(&self) -> Option<Changes> {
        self.core().changes()
    }

    /// Tells of every change of its disk; only a simulated one can.
    pub fn every_change(&self) -> Option<Changes> {
        self.core().every_change()
    }

    /// Lets a follower look for new records, and a leader try again what the disk did not take. Returns whether there
    /// are new records. Cheap; call it every 250 to 1000 ms.
    pub fn refresh(&self) -> Result<bool> {
        self.core().refresh()
    }

    /// Lets the leader look whether somebody else has touched the journal's files, and mend them. One look at the folder for
    /// each file, unless somebody has; call it every ten seconds. A follower does nothing.
    pub fn look_at_files(&self) -> Result<()> {
        self.core().look_at_files()
    }

    /// Whether another [`Journal::refresh`] of a leader has nothing to do unless something is appended.
    pub fn is_settled(&self) -> bool {
        self.core().is_settled()
    }

    /// Whether the disk has a record of this key, as far back as keys are remembered. Where it has not, the caller
    /// must append, and so must not move its cursor.
    pub fn has(&self, key: &str) -> bool {
        self.held(key) == Held::OnDisk
    }

    /// Where the record of this key is, as far back as keys are remembered.
    pub fn held(&self, key: &str) -> Held {
        self.core().held(key)
    }

    /// Appends what is new, in order: one write a record, one sync a call, then the audit log, then the watchers.
    ///
    /// While the disk takes no writes it returns [`JournalError::NotDurable`]: the messages are in memory and the
    /// watchers are told, but the caller must not move its cursor; it appends the same drafts again at its next poll.
    pub fn append(&self, drafts: Vec<Draft>) -> Result<Appended> {
        self.core().append(drafts)
    }

    /// The newest record's place, whenever it changes.
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

    /// The newest record's place; 0 when there is none.
    pub fn last_seq(&self) -> u64 {
        self.core().last_seq()
    }

    /// Counters and where the journal stands.
    pub fn stats(&self) -> JournalStats {
        self.core().stats()
    }

    /// What the files have lost, as the leader has noted it, and what a follower has met that the leader has not noted yet.
    pub fn losses(&self) -> Losses {
        self.core().losses()
    }

    /// What a source that has dealt with losses up to `done` must read again. A follower has no source.
    pub fn to_read_again(&self, done: Option<Timestamp>) -> Option<ReadAgain> {
        self.core().to_read_again(done)
    }

    /// Deletes whole files that the policy lets go: never one with a record that an active consumer has not
    /// acknowledged. Only the leader does anything. Call it at the start and every hour.
    pub fn prune(&self, policy: &RetentionPolicy) -> Result<Pruned> {
        self.core().prune(policy)
    }

    /// Forgets a consumer for good, unless somebody reads as it.
    pub fn remove_consumer(&self, name: &ConsumerName) -> Result<Removed> {
        self.core().remove_consumer(name)
    }

    /// Writes one line to the audit log, its time filled in. A failure is counted and stops nothing.
    pub fn interaction(&self, interaction: Interaction) {
        self.core().audit(vec![interaction]);
    }

    /// A session of `consumer` begins. It ends when the mailbox is dropped or the process dies.
    pub fn mailbox(&self, consumer: &ConsumerName, session_id: &str) -> Result<Mailbox> {
        Mailbox::open(self, consumer, session_id)
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

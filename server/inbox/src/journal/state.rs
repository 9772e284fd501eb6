//! `inbox/state.json`: the seed's summary for people and scripts.
//!
//! It is made from the journal and the consumers' files. The stored summary is read back only to notice that
//! one of these files has lost something. No message may depend on it.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::consumer::ConsumerName;
use super::ledger::{Ledger, Note};
use super::ledger_file::{self, CONSUMERS, LedgerFile};
use super::retention;
use crate::record::Channel;
use entraclaw_seams::storage::{Storage, read_whole};

const PATH: &str = "inbox/state.json";
const LOCK: &str = "inbox/state.lock";
/// While another process holds the lock, it writes a newer summary than ours.
const LOCK_WAIT_MS: u64 = 20;
/// The largest summary that is read.
const BYTES_MAX: u64 = 1024 * 1024;

/// The summary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct State {
    /// Version of this shape; 1.
    pub v: u32,
    /// Messages newer than the newest one that any consumer has acknowledged.
    pub unread: u64,
    /// Id of the newest message; empty when there is none.
    pub last_id: String,
    /// For each channel, the place of the newest message that a disk had for sure; it never gets lower.
    #[serde(default)]
    pub last_places: BTreeMap<Channel, u64>,
    /// When the newest message was written or received, whichever was later.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub last_at: Option<Timestamp>,
    /// For each consumer, the id of the newest message that it has acknowledged; empty when there is none. Only
    /// `entraclaw consumers remove` takes a name away.
    pub last_seen_consumer: BTreeMap<String, String>,
    /// For each consumer and channel, the place up to which it has acknowledged everything; it never gets lower.
    #[serde(default)]
    pub acked_through: BTreeMap<String, BTreeMap<Channel, u64>>,
}

/// What the disk had when the summary was last written. If the disk has less later, the difference was lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Witness {
    /// Place of the newest record of each channel.
    pub(super) last_places: [u64; Channel::ALL.len()],
    /// See [`State::last_at`].
    pub(super) last_at: Option<Timestamp>,
}

impl Witness {
    /// Place of the newest record.
    pub(super) fn last_seq(&self) -> u64 {
        self.last_places.into_iter().max().unwrap_or(0)
    }
}

/// The file of the summary, and the consumers' files that it is made from.
pub(super) struct StateFile {
    storage: Arc<dyn Storage>,
    consumers: BTreeMap<ConsumerName, LedgerFile>,
}

impl StateFile {
    pub(super) fn new(storage: Arc<dyn Storage>) -> Self {
        Self { storage, consumers: BTreeMap::new() }
    }

    /// The summary as any process last wrote it; `None` when it can't be read.
    fn stored(&self) -> Option<State> {
        let bytes = read_whole(&*self.storage, PATH, BYTES_MAX).ok()??;
        serde_json::from_slice(&bytes).ok()
    }

    /// What the disk had when the summary was last written; `None` where that is not known.
    pub(super) fn witness(&self) -> Option<Witness> {
        let State { last_places, last_at, .. } = self.stored()?;
        let of = |channel| last_places.get(&channel).copied().unwrap_or(0);
        (!last_places.is_empty()).then(|| Witness { last_places: Channel::ALL.map(of), last_at })
    }

    /// The places up to which the stored summary says that this consumer has acknowledged everything, by
    /// channel. `None` for a consumer that never was or that was removed on purpose.
    pub(super) fn acked_through(&self, name: &ConsumerName) -> Option<[u64; Channel::ALL.len()]> {
        let state = self.stored()?;
        let through = state.acked_through.get(name.as_str())?;
        Some(Channel::ALL.map(|channel| through.get(&channel).copied().unwrap_or(0)))
    }

    /// Whether a consumer may not have received all messages of a gap, given by its first and last place.
    /// `witness` tells how far each channel reached.
    pub(super) fn is_wanted(&self, (from, to): (u64, u64), witness: Option<&Witness>) -> bool {
        let has_all = |ledger: &Ledger| {
            Channel::ALL.into_iter().all(|channel| {
                let last = witness.map_or(to, |witness| witness.last_places[channel.index()]);
                ledger.acked.of(channel).covers(from, to.min(last))
            })
        };
        self.consumers.is_empty() || !self.consumers.values().all(|file| has_all(file.ledger()))
    }

    /// Whether a consumer has not acknowledged a message.
    pub(super) fn is_missed(&self, channel: Channel, seq: u64) -> bool {
        self.consumers.is_empty()
            || self.consumers.values().any(|file| !file.ledger().acked.has(channel, seq))
    }

    /// Forgets a consumer that was removed on purpose.
    pub(super) fn forget(&mut self, name: &ConsumerName, lock_wait_ms: u64) -> io::Result<()> {
        self.consumers.remove(name);
        let busy = || io::Error::other(format!("{PATH} is being written by another process; try again"));
        let _lock = self.storage.lock(LOCK, lock_wait_ms)?.ok_or_else(busy)?;
        let Some(mut state) = self.stored() else { return Ok(()) };
        let was_seen = state.last_seen_consumer.remove(name.as_str()).is_some();
        let was_known = state.acked_through.remove(name.as_str()).is_some();
        if was_seen || was_known { self.replace(&state) } else { Ok(()) }
    }

    fn replace(&self, state: &State) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(state)?;
        bytes.push(b'\n');
        self.storage.replace_derived(PATH, &bytes)
    }

    /// Writes the summary if it changed. It takes what the disk has now, where the writer knows that, and the
    /// number of messages after a place, which `unread_after` counts.
    pub(super) fn write(
        &mut self,
        last_id: Option<String>,
        witness: Option<Witness>,
        unread_after: impl FnOnce(u64) -> u64,
    ) -> io::Result<()> {
        let Some(_lock) = self.storage.lock(LOCK, LOCK_WAIT_MS)? else { return Ok(()) };
        self.refresh()?;
        let newest = self.consumers.values().map(|file| file.ledger().last_acked()).max();
        // Another process may have written the file since, so only the file tells what was known and whether
        // it is right.
        let stored = self.stored();
        let mut state = stored.clone().unwrap_or_default();
        state.v = 1;
        state.unread = unread_after(newest.unwrap_or(0));
        state.last_id = last_id.unwrap_or_default();
        if let Some(witness) = witness {
            for (channel, last) in Channel::ALL.into_iter().zip(witness.last_places) {
                let known = state.last_places.entry(channel).or_default();
                *known = last.max(*known);
            }
            state.last_at = witness.last_at.or(state.last_at);
        }
        for (name, file) in &self.consumers {
            if file.is_missing()? {
                continue;
            }
            let (name, ledger) = (name.to_string(), file.ledger());
            let seen = state.last_seen_consumer.entry(name.clone()).or_default();
            if let Some(newest) = &ledger.newest_acked {
                seen.clone_from(&newest.id);
            }
            let through = state.acked_through.entry(name).or_default();
            for channel in Channel::ALL {
                let known = through.entry(channel).or_default();
                *known = ledger.acked.of(channel).through().max(*known);
            }
        }
        if stored.as_ref() == Some(&state) { Ok(()) } else { self.replace(&state) }
    }

    /// The latest place that any consumer was shown.
    pub(super) fn last_seen(&mut self) -> io::Result<u64> {
        self.refresh()?;
        Ok(self.consumers.values().map(|file| file.ledger().last_seen()).max().unwrap_or(0))
    }

    /// The ledger of a consumer, as it was last read.
    pub(super) fn ledger(&self, name: &ConsumerName) -> Option<&Ledger> {
        self.consumers.get(name).map(LedgerFile::ledger)
    }

    /// The consumers that count for retention, and those that were not active for too long. A consumer with a
    /// running session is noted as active now, so that a session of many days counts until it ends and then
    /// as long as any other.
    pub(super) fn by_activity(
        &mut self,
        now: Timestamp,
        idle_days: u32,
        lock_wait_ms: u64,
    ) -> io::Result<(Vec<ConsumerName>, Vec<ConsumerName>)> {
        self.refresh()?;
        let (mut active, mut idle) = (Vec::new(), Vec::new());
        for (name, file) in &mut self.consumers {
            if file.is_missing()? {
                continue;
            }
            let ledger = file.ledger();
            let is_alive =
                ledger.slots.keys().any(|slot| ledger_file::slot_is_taken(&*self.storage, name, *slot));
            let is_known = ledger.seen_at.is_some();
            if is_alive || !is_known {
                // A consumer that can't be noted now is noted an hour later.
                let lock = self.storage.lock(&ledger_file::lock_path(name), lock_wait_ms)?;
                if lock.is_some() {
                    file.refresh()?;
                    file.append(&[Note::Seen { at: now }])?;
                }
            }
            let seen_at = file.ledger().seen_at;
            let counts = seen_at.is_none_or(|at| retention::is_active(at, now, idle_days));
            if is_alive || counts { active.push(name.clone()) } else { idle.push(name.clone()) }
        }
        Ok((active, idle))
    }

    /// How many consumers have a file.
    pub(super) fn consumers(&mut self) -> io::Result<usize> {
        self.refresh()?;
        Ok(self.consumers.len())
    }

    /// Reads what the consumers' files have gained since.
    pub(super) fn refresh(&mut self) -> io::Result<()> {
        let names = self.storage.list(CONSUMERS)?;
        let names = names.iter().filter_map(|name| LedgerFile::consumer_of(name));
        for name in names {
            let file = self.consumers.entry(name);
            let file = file.or_insert_with_key(|name| LedgerFile::new(Arc::clone(&self.storage), name));
            file.refresh()?;
        }
        Ok(())
    }
}

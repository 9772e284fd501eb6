//! `inbox/state.json`: the seed's summary for people and scripts.
//!
//! It is made from the journal and the consumers' files and never read back: nothing may depend on it.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::consumer::ConsumerName;
use super::ledger::{Ledger, Note};
use super::ledger_file::{self, CONSUMERS, LedgerFile};
use super::retention;
use crate::storage::Storage;

const PATH: &str = "inbox/state.json";
const LOCK: &str = "inbox/state.lock";
/// Whoever holds the lock is writing newer truth than ours at this moment.
const LOCK_WAIT_MS: u64 = 20;

/// The summary.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct State {
    /// Version of this shape; 1.
    pub v: u32,
    /// Messages newer than the newest one that any consumer has acknowledged.
    pub unread: u64,
    /// Id of the newest message; empty when there is none.
    pub last_id: String,
    /// For each consumer, the id of the newest message that it has acknowledged.
    pub last_seen_consumer: BTreeMap<String, String>,
}

/// Keeps the summary up to date.
pub(super) struct StateFile {
    storage: Arc<dyn Storage>,
    consumers: BTreeMap<ConsumerName, LedgerFile>,
}

impl StateFile {
    pub(super) fn new(storage: Arc<dyn Storage>) -> Self {
        Self { storage, consumers: BTreeMap::new() }
    }

    /// Writes the summary if it changed. `unread_after` counts the messages after a place.
    pub(super) fn write(
        &mut self,
        last_id: Option<String>,
        unread_after: impl FnOnce(u64) -> u64,
    ) -> io::Result<()> {
        let Some(_lock) = self.storage.lock(LOCK, LOCK_WAIT_MS)? else { return Ok(()) };
        self.refresh()?;
        let newest = self.consumers.values().map(|file| file.ledger().last_acked()).max();
        let seen = self.consumers.iter().filter_map(|(name, file)| {
            let newest = file.ledger().newest_acked.as_ref()?;
            Some((name.to_string(), newest.id.clone()))
        });
        let state = State {
            v: 1,
            unread: unread_after(newest.unwrap_or(0)),
            last_id: last_id.unwrap_or_default(),
            last_seen_consumer: seen.collect(),
        };
        let mut bytes = serde_json::to_vec(&state)?;
        bytes.push(b'\n');
        // Another process may have written it since, so only the file can tell whether it is right.
        let is_right = self.storage.read(PATH, 0, bytes.len() + 1).is_ok_and(|stored| stored == bytes);
        if is_right { Ok(()) } else { self.storage.replace_derived(PATH, &bytes) }
    }

    /// The latest place that any consumer was shown.
    pub(super) fn last_seen(&mut self) -> io::Result<u64> {
        self.refresh()?;
        Ok(self.consumers.values().map(|file| file.ledger().last_seen()).max().unwrap_or(0))
    }

    /// What a consumer was last known to have.
    pub(super) fn ledger(&self, name: &ConsumerName) -> Option<&Ledger> {
        self.consumers.get(name).map(LedgerFile::ledger)
    }

    /// Consumers that count for retention, and those that were not seen for too long. Whoever is there now is noted as
    /// seen, so that a session of many days counts until it ends and then as long as any other.
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
                // Who can't be noted now is noted an hour later.
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

    fn refresh(&mut self) -> io::Result<()> {
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

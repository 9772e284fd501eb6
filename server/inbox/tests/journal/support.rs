//! A home folder on a simulated disk, a clock that stands still, and short words for both.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use entraclaw_inbox::journal::{
    Batch, ConsumerName, DeliveryId, Journal, JournalError, JournalOptions, Mailbox, OpenReport, Query,
};
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::{Crash, MemoryStorage, Storage};
use jiff::{SignedDuration, Timestamp};

/// The day on which every test begins.
pub(crate) const DAY: &str = "2026-11-21";
/// Its journal file.
pub(crate) const FILE: &str = "inbox/2026-11-21.jsonl";
pub(crate) const INDEX: &str = "inbox/index/2026-11-21.json";

/// A clock that moves when it is told to.
pub(crate) struct HandClock(Mutex<Timestamp>);

impl HandClock {
    pub(crate) fn move_by(&self, hours: i64) {
        let mut now = self.0.lock().unwrap();
        *now += SignedDuration::from_hours(hours);
    }
}

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// One home folder and whoever works in it.
pub(crate) struct Home {
    pub(crate) disk: MemoryStorage,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) options: JournalOptions,
}

impl Home {
    pub(crate) fn new() -> Self {
        let noon: Timestamp = format!("{DAY}T12:00:00Z").parse().unwrap();
        Self {
            disk: MemoryStorage::new(),
            clock: Arc::new(HandClock(Mutex::new(noon))),
            options: JournalOptions::default(),
        }
    }

    pub(crate) fn with(options: JournalOptions) -> Self {
        Self { options, ..Self::new() }
    }

    /// Opens the journal as another process does.
    pub(crate) fn open(&self) -> (Journal, OpenReport) {
        self.try_open().unwrap()
    }

    pub(crate) fn try_open(&self) -> Result<(Journal, OpenReport), JournalError> {
        self.open_as(self.disk.new_process())
    }

    pub(crate) fn open_as(&self, process: MemoryStorage) -> Result<(Journal, OpenReport), JournalError> {
        self.open_on(Arc::new(process))
    }

    pub(crate) fn open_on(&self, storage: Arc<dyn Storage>) -> Result<(Journal, OpenReport), JournalError> {
        let clock: Arc<dyn Clock> = self.clock.clone();
        Journal::open(storage, clock, self.options.clone())
    }

    /// Ends every process by `kill -9` and opens the journal anew.
    pub(crate) fn reopen(&self) -> (Journal, OpenReport) {
        self.disk.crash(Crash::Process, 0);
        self.open()
    }

    pub(crate) fn text(&self, path: &str) -> String {
        String::from_utf8(self.disk.bytes(path).unwrap_or_default()).unwrap()
    }

    /// A home with `count` records in its journal and nobody in it.
    pub(crate) fn filled(count: u64) -> Self {
        let home = Self::new();
        let (journal, _) = home.open();
        journal.append(drafts(1..=count)).unwrap();
        home.disk.crash(Crash::Process, 0);
        home
    }
}

pub(crate) fn draft_on(channel: Channel, n: u64) -> Draft {
    let id = format!("m{n}");
    let meta = [("chat_id", "19:a"), ("message_id", &id), ("user", "Alice"), ("ts", "2026-11-21T11:59:00Z")];
    Draft {
        key: format!("{}/19:a/{id}", channel.as_str()),
        channel,
        chat_id: "19:a".into(),
        from: "Alice".into(),
        ts: format!("2026-11-21T11:59:00.{n:06}Z"),
        content_text_sanitized: format!("hello {n}"),
        meta: BTreeMap::from(meta.map(|(name, value)| (name.to_owned(), value.to_owned()))),
        edit_of: None,
        deleted: false,
        id,
    }
}

pub(crate) fn draft(n: u64) -> Draft {
    draft_on(Channel::Teams, n)
}

pub(crate) fn drafts(numbers: impl IntoIterator<Item = u64>) -> Vec<Draft> {
    numbers.into_iter().map(draft).collect()
}

pub(crate) fn consumer(name: &str) -> ConsumerName {
    ConsumerName::new(name).unwrap()
}

pub(crate) fn mailbox(journal: &Journal, name: &str) -> Mailbox {
    journal.mailbox(&consumer(name), "session").unwrap()
}

pub(crate) fn up_to(limit: usize) -> Query {
    Query { limit, ..Query::default() }
}

pub(crate) fn all() -> Query {
    up_to(usize::MAX)
}

pub(crate) fn ids(batch: &Batch) -> Vec<&str> {
    batch.items.iter().map(|item| item.record.id.as_str()).collect()
}

pub(crate) fn marked(batch: &Batch) -> Vec<(&str, bool)> {
    batch.items.iter().map(|item| (item.record.id.as_str(), item.redelivered)).collect()
}

/// Keys of everything that can be read.
pub(crate) fn keys(journal: &Journal) -> Vec<String> {
    journal.read_after(0, usize::MAX).unwrap().into_iter().map(|record| record.key).collect()
}

pub(crate) fn keys_of(numbers: impl IntoIterator<Item = u64>) -> Vec<String> {
    drafts(numbers).into_iter().map(|draft| draft.key).collect()
}

/// Hands out, finishes and acknowledges.
pub(crate) fn take(mailbox: &mut Mailbox, query: &Query) -> Batch {
    let delivery = DeliveryId(u64::MAX);
    let batch = mailbox.hand_out(delivery, query).unwrap();
    mailbox.finish(delivery);
    mailbox.acknowledge_returned().unwrap();
    batch
}

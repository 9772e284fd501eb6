//! In which order an append reaches the disk, the audit log, the watchers and the summary.

use std::io;
use std::sync::{Arc, Mutex};

use entraclaw_seams::storage::{AppendFile, Changes, Lock, MemoryStorage, Stamp, Storage};
use tokio::sync::watch;

use crate::support::*;

/// What happened, with the newest place that watchers knew then.
type Events = Arc<Mutex<Vec<(String, u64)>>>;
type Told = Arc<Mutex<Option<watch::Receiver<u64>>>>;

/// Notes writes and syncs on their way to the disk.
struct Observer {
    disk: MemoryStorage,
    events: Events,
    told: Told,
}

struct ObservedFile {
    file: Box<dyn AppendFile>,
    path: String,
    events: Events,
    told: Told,
}

fn note(events: &Events, told: &Told, what: String) {
    let told = told.lock().unwrap().as_ref().map_or(0, |watch| *watch.borrow());
    events.lock().unwrap().push((what, told));
}

impl AppendFile for ObservedFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let is_line = bytes.ends_with(b"\n") && !bytes[..bytes.len() - 1].contains(&b'\n');
        let what = if is_line { "line to" } else { "something else to" };
        note(&self.events, &self.told, format!("{what} {}", self.path));
        self.file.append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        note(&self.events, &self.told, format!("sync {}", self.path));
        self.file.sync()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.file.truncate(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
}

impl Storage for Observer {
    fn changes(&self, dir: &str) -> Option<Changes> {
        self.disk.changes(dir)
    }

    fn create_dir(&self, dir: &str) -> io::Result<()> {
        self.disk.create_dir(dir)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        self.disk.list(dir)
    }

    fn len(&self, path: &str) -> io::Result<Option<u64>> {
        self.disk.len(path)
    }

    fn stamp(&self, path: &str) -> io::Result<Option<Stamp>> {
        self.disk.stamp(path)
    }

    fn read(&self, path: &str, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.disk.read(path, offset, len)
    }

    fn append(&self, path: &str, create: bool) -> io::Result<Box<dyn AppendFile>> {
        let file = self.disk.append(path, create)?;
        let (events, told) = (Arc::clone(&self.events), Arc::clone(&self.told));
        Ok(Box::new(ObservedFile { file, path: path.to_owned(), events, told }))
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        note(&self.events, &self.told, format!("replace {path}"));
        self.disk.replace(path, bytes)
    }

    fn replace_derived(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        note(&self.events, &self.told, format!("replace {path}"));
        self.disk.replace_derived(path, bytes)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn try_lock(&self, path: &str) -> io::Result<Option<Box<dyn Lock>>> {
        self.disk.try_lock(path)
    }

    fn lock(&self, path: &str, wait_ms: u64) -> io::Result<Option<Box<dyn Lock>>> {
        self.disk.lock(path, wait_ms)
    }
}

#[test]
fn one_write_a_record_one_sync_then_the_audit_log_then_the_watchers() {
    let home = Home::new();
    let (events, told) = (Events::default(), Told::default());
    let observer = Observer { disk: home.disk.clone(), events: Arc::clone(&events), told: Arc::clone(&told) };
    let (journal, _) = home.open_on(Arc::new(observer)).unwrap();
    *told.lock().unwrap() = Some(journal.watch());
    journal.append(drafts([1])).unwrap();
    events.lock().unwrap().clear();
    journal.append(drafts([2, 1, 3])).unwrap();
    let audit = "line to interactions/2026-11-21.jsonl";
    let expected = [
        (format!("line to {FILE}"), 1),
        (format!("line to {FILE}"), 1),
        (format!("sync {FILE}"), 1),
        (audit.to_owned(), 1),
        (audit.to_owned(), 1),
        ("replace inbox/state.json".to_owned(), 3),
    ];
    assert_eq!(*events.lock().unwrap(), expected);

    let mut mailbox = mailbox(&journal, "c");
    events.lock().unwrap().clear();
    mailbox.hand_out(entraclaw_inbox::journal::DeliveryId(1), &all()).unwrap();
    assert_eq!(*events.lock().unwrap(), [("line to inbox/consumers/c.jsonl".to_owned(), 3)]);
}

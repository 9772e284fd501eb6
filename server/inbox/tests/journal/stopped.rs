//! A leader that is stopped, in any call and in the middle of a write, is replaced, and does no harm when it wakes up.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use entraclaw_inbox::journal::{Journal, JournalError, Mailbox, RetentionPolicy};
use entraclaw_seams::storage::{AppendFile, Changes, Lock, MemoryStorage, Stamp, Storage};

use crate::support::*;

/// What others do while a process is stopped, once.
type Meanwhile = Mutex<Option<(u64, bool, Box<dyn FnOnce() + Send>)>>;

/// A process that can be stopped in a call.
#[derive(Clone)]
struct Stoppable {
    disk: MemoryStorage,
    calls: Arc<AtomicU64>,
    meanwhile: Arc<Meanwhile>,
}

impl Stoppable {
    fn new(home: &Home) -> Self {
        Self { disk: home.disk.new_process(), calls: Arc::default(), meanwhile: Arc::default() }
    }

    /// It is stopped before its `n`th call from now, and wakes up when `meanwhile` is over. In a write it is stopped when
    /// half of the bytes are there, where `halfway`.
    fn stop_in_call(&self, n: u64, halfway: bool, meanwhile: impl FnOnce() + Send + 'static) {
        let at = self.calls.load(Ordering::SeqCst) + n;
        *self.meanwhile.lock().unwrap() = Some((at, halfway, Box::new(meanwhile)));
    }

    /// Takes the order back. Returns whether it was never stopped.
    fn never_stopped(&self) -> bool {
        self.meanwhile.lock().unwrap().take().is_some()
    }

    /// What happens in the call that begins, and whether half of a write comes first.
    fn due(&self) -> Option<(bool, Box<dyn FnOnce() + Send>)> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        let mut meanwhile = self.meanwhile.lock().unwrap();
        meanwhile.take_if(|(at, ..)| *at == call).map(|(_, halfway, happen)| (halfway, happen))
    }

    fn call(&self) -> &MemoryStorage {
        if let Some((_, happen)) = self.due() {
            happen();
        }
        &self.disk
    }
}

impl Storage for Stoppable {
    fn create_dir(&self, dir: &str) -> io::Result<()> {
        self.call().create_dir(dir)
    }

    fn list(&self, dir: &str) -> io::Result<Vec<String>> {
        self.call().list(dir)
    }

    fn len(&self, path: &str) -> io::Result<Option<u64>> {
        self.call().len(path)
    }

    fn stamp(&self, path: &str) -> io::Result<Option<Stamp>> {
        self.call().stamp(path)
    }

    fn read(&self, path: &str, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.call().read(path, offset, len)
    }

    fn append(&self, path: &str, create: bool) -> io::Result<Box<dyn AppendFile>> {
        let file = self.call().append(path, create)?;
        Ok(Box::new(StoppableFile { process: self.clone(), file }))
    }

    fn replace(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.call().replace(path, bytes)
    }

    fn replace_derived(&self, path: &str, bytes: &[u8]) -> io::Result<()> {
        self.call().replace_derived(path, bytes)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.call().rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.call().remove(path)
    }

    fn try_lock(&self, path: &str) -> io::Result<Option<Box<dyn Lock>>> {
        self.call().try_lock(path)
    }

    fn lock(&self, path: &str, wait_ms: u64) -> io::Result<Option<Box<dyn Lock>>> {
        self.call().lock(path, wait_ms)
    }

    fn changes(&self, dir: &str) -> Option<Changes> {
        self.disk.changes(dir)
    }
}

struct StoppableFile {
    process: Stoppable,
    file: Box<dyn AppendFile>,
}

impl AppendFile for StoppableFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some((halfway, happen)) = self.process.due() else { return self.file.append(bytes) };
        let written = if halfway { bytes.len() / 2 } else { 0 };
        self.file.append(&bytes[..written])?;
        happen();
        self.file.append(&bytes[written..])
    }

    fn sync(&mut self) -> io::Result<()> {
        self.process.call();
        self.file.sync()
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.process.call();
        self.file.truncate(len)
    }

    fn len(&self) -> io::Result<u64> {
        self.process.call();
        self.file.len()
    }
}

fn replace(follower: &Journal) -> bool {
    let pulse = follower.pulse().unwrap();
    follower.replace_leader(&pulse).unwrap()
}

fn open_stoppable(home: &Home) -> (Stoppable, Journal) {
    let process = Stoppable::new(home);
    let (journal, _) = home.open_on(Arc::new(process.clone())).unwrap();
    (process, journal)
}

/// Looks until nothing new is found.
fn look(journal: &Journal) {
    while journal.refresh().unwrap() {}
}

/// Everybody sees these records once and in the same order, now and after a restart.
fn all_see(home: &Home, journals: &[&Journal], numbers: std::ops::RangeInclusive<u64>, story: &str) {
    let (late, _) = home.open();
    let seen = keys(&late);
    let mut sorted = seen.clone();
    sorted.sort();
    assert_eq!(sorted, keys_of(numbers), "{story}");
    for journal in journals {
        look(journal);
        assert_eq!(keys(journal), seen, "{story}");
    }
    drop(late);
    let (after, report) = home.reopen();
    assert!(report.leader, "{story}");
    assert_eq!(keys(&after), seen, "{story}");
    let told: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    assert!(!told.iter().any(|finding| finding.contains("in no file")), "{story}: {told:?}");
}

/// Ids of what comes as new; nothing that was there already may come.
fn new_of(mailbox: &mut Mailbox, story: &str) -> Vec<String> {
    let batch = take(mailbox, &all());
    assert!(batch.items.iter().all(|item| !item.redelivered), "{story}: {:?}", marked(&batch));
    ids(&batch).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_leader_that_is_stopped_in_any_call_of_an_append_loses_and_doubles_nothing() {
    for halfway in [false, true] {
        for call in 0.. {
            let story = format!("stopped in call {call}, halfway: {halfway}");
            let home = Home::new();
            let (process, leader) = open_stoppable(&home);
            leader.append(drafts([1, 2])).unwrap();
            let (other, _) = home.open();
            let mut reader = mailbox(&other, "reader");
            let mut own_reader = mailbox(&leader, "own");
            let mut of_reader = new_of(&mut reader, &story);
            let next = other.clone();
            process.stop_in_call(call, halfway, move || {
                look(&next);
                assert!(replace(&next));
                // Its source goes on where the other one's position was, and reads in another order.
                next.append(drafts([5, 3, 4])).unwrap();
            });
            let outcome = leader.append(drafts([3, 4]));
            if process.never_stopped() {
                assert!(call > 5, "{call}");
                break;
            }
            // What it believes to have is shown at once.
            let mut of_own = new_of(&mut own_reader, &story);
            match outcome {
                Ok(appended) => {
                    for record in appended.new {
                        let there = other.read_after(record.seq - 1, 1).unwrap();
                        assert_eq!(there.first(), Some(&record), "{story}");
                    }
                }
                Err(error) => assert!(matches!(error, JournalError::NotLeader), "{story}: {error}"),
            }
            assert!(!leader.leads() && other.leads(), "{story}");
            let late = leader.append(drafts([6]));
            assert!(matches!(late, Err(JournalError::NotLeader)), "{story}: {late:?}");
            other.append(drafts([6])).unwrap();
            look(&leader);
            of_reader.extend(new_of(&mut reader, &story));
            of_own.extend(new_of(&mut own_reader, &story));
            for mut shown in [of_reader, of_own] {
                shown.sort();
                assert_eq!(shown, ["m1", "m2", "m3", "m4", "m5", "m6"], "{story}");
            }
            all_see(&home, &[&leader, &other], 1..=6, &story);
        }
    }
}

#[test]
fn a_process_that_is_stopped_while_it_takes_the_lead_is_replaced_as_well() {
    for call in 0.. {
        let story = format!("stopped in call {call}");
        let home = Home::new();
        let (leader, _) = home.open();
        leader.append(drafts([1, 2])).unwrap();
        let (process, second) = open_stoppable(&home);
        let (third, _) = home.open();
        let next = third.clone();
        process.stop_in_call(call, false, move || {
            look(&next);
            assert!(replace(&next));
            next.append(drafts([3])).unwrap();
        });
        let pulse = third.pulse().unwrap();
        let took = second.replace_leader(&pulse).unwrap();
        if process.never_stopped() {
            assert!(took && call > 10, "{call}");
            break;
        }
        assert!(!second.leads() && !leader.leads() && third.leads(), "{story}");
        assert!(leader.append(drafts([4])).is_err(), "{story}");
        assert!(second.append(drafts([4])).is_err(), "{story}");
        third.append(drafts([4])).unwrap();
        all_see(&home, &[&leader, &second, &third], 1..=4, &story);
    }
}

#[test]
fn a_leader_that_is_stopped_while_it_deletes_old_days_takes_nothing_from_the_next_one() {
    for call in 0.. {
        let story = format!("stopped in call {call}");
        let home = Home::new();
        let (process, leader) = open_stoppable(&home);
        let mut reader = mailbox(&leader, "reader");
        for n in 1..=8 {
            leader.append(drafts([n])).unwrap();
            home.clock.move_by(24);
            leader.prune(&RetentionPolicy::default()).unwrap();
        }
        take(&mut reader, &up_to(5));
        let (other, _) = home.open();
        let next = other.clone();
        process.stop_in_call(call, false, move || {
            look(&next);
            assert!(replace(&next));
            next.append(drafts([9])).unwrap();
        });
        let policy = RetentionPolicy { days_max: Some(2), ..RetentionPolicy::default() };
        // It may fail; what it has deleted counts.
        let _ = leader.prune(&policy);
        if process.never_stopped() {
            assert!(call > 10, "{call}");
            break;
        }
        other.append(drafts([10])).unwrap();
        look(&other);
        let of_other = keys(&other);
        assert!(of_other.ends_with(&keys_of(6..=10)), "{story}: {of_other:?}");
        let (after, report) = home.reopen();
        assert!(keys(&after).ends_with(&keys_of(6..=10)), "{story}");
        let told: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
        assert!(!told.iter().any(|finding| finding.contains("in no file")), "{story}: {told:?}");
    }
}

#[test]
fn a_leader_is_replaced_again_and_again_and_the_last_one_leads() {
    let home = Home::new();
    let mut journals = vec![home.open().0];
    journals[0].append(drafts([1])).unwrap();
    for n in 2..=6 {
        let (next, _) = home.open();
        assert!(replace(&next), "{n}");
        next.append(drafts([n])).unwrap();
        journals.push(next);
    }
    let leading = journals.iter().filter(|journal| journal.leads()).count();
    assert_eq!(leading, 1);
    assert!(journals[5].leads());
    let journals: Vec<&Journal> = journals.iter().collect();
    all_see(&home, &journals, 1..=6, "in a row");
}

#[test]
fn a_replaced_leader_leads_again_when_the_other_one_ends() {
    let home = Home::new();
    let (first, _) = home.open();
    first.append(drafts([1])).unwrap();
    let (second, _) = home.open();
    assert!(replace(&second));
    second.append(drafts([2])).unwrap();
    look(&first);
    assert!(!first.try_lead().unwrap());
    drop(second);
    assert!(first.try_lead().unwrap());
    first.append(drafts([3])).unwrap();
    all_see(&home, &[&first], 1..=3, "there and back");
}

#[test]
fn a_follower_shows_nothing_while_it_is_not_said_which_files_count() {
    let home = Home::new();
    let (leader, _) = home.open();
    leader.append(drafts([1])).unwrap();
    let (follower, _) = home.open();
    // Somebody has begun a term and died in it.
    home.disk.set_bytes("lead/2.lock", b"");
    let before = home.disk.bytes(FILE).unwrap();
    let (late, _) = home.open();
    assert!(late.leads(), "the lock of that term is free");
    assert_eq!(
        home.disk.bytes(&format!("{FILE}.replaced")).unwrap(),
        before,
        "what the one before wrote stays as it was"
    );
    assert!(matches!(leader.append(drafts([2])), Err(JournalError::NotLeader)));
    late.append(drafts([2])).unwrap();
    all_see(&home, &[&follower, &leader, &late], 1..=2, "a dead term");
}

/// The next leader may have copied the file before such a write came to its end.
#[test]
fn a_follower_shows_nothing_that_a_leader_writes_after_the_next_term_has_begun() {
    for call in 0.. {
        let story = format!("the term begins in call {call}");
        let home = Home::new();
        let (process, leader) = open_stoppable(&home);
        leader.append(drafts([1])).unwrap();
        let (follower, _) = home.open();
        let mut reader = mailbox(&follower, "reader");
        let mut shown = new_of(&mut reader, &story);
        let disk = home.disk.clone();
        process.stop_in_call(call, true, move || disk.set_bytes("lead/2.lock", b""));
        let _ = leader.append(drafts([2]));
        if process.never_stopped() {
            assert!(call > 5, "{call}");
            break;
        }
        look(&follower);
        shown.extend(new_of(&mut reader, &story));
        assert_eq!(shown, ["m1"], "{story}");
        let (late, _) = home.open();
        late.append(drafts([2])).unwrap();
        look(&follower);
        shown.extend(new_of(&mut reader, &story));
        assert_eq!(shown, ["m1", "m2"], "{story}");
        all_see(&home, &[&leader, &follower, &late], 1..=2, &story);
    }
}

#[test]
fn a_full_disk_makes_no_leader_look_stopped() {
    let home = Home::new();
    let (leader, _) = home.open();
    let (follower, _) = home.open();
    leader.beat().unwrap();
    home.disk.set_space_left(Some(0));
    let mut before = follower.pulse().unwrap();
    for _ in 0..4 {
        leader.beat().unwrap();
        let after = follower.pulse().unwrap();
        assert_ne!(before, after);
        before = after;
    }
}

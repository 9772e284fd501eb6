//! What happens when files of the journal are deleted, emptied, cut, converted or damaged between two processes, or under
//! a living one: it is told, counted, and what comes again is marked for whoever may have seen it.

use std::sync::Arc;

use entraclaw_inbox::journal::{Finding, JournalOptions, Look};
use entraclaw_seams::clock::Clock as _;
use entraclaw_seams::storage::Storage;
use rstest::rstest;

use crate::support::*;

/// Somebody was shown three of six messages, and then every process died.
fn home() -> Home {
    let home = Home::new();
    let (journal, _) = home.open();
    journal.append(drafts(1..=6)).unwrap();
    take(&mut mailbox(&journal, "reader"), &up_to(3));
    drop(journal);
    home
}

/// Whole lines of a file, from the first on.
fn first_lines(bytes: &[u8], count: usize) -> Vec<u8> {
    bytes.split_inclusive(|byte| *byte == b'\n').take(count).flatten().copied().collect()
}

#[rstest]
#[case::deleted(None, 1)]
#[case::emptied(Some(0), 1)]
#[case::cut(Some(4), 5)]
fn a_newest_file_that_is_not_what_it_was_is_noticed(#[case] lines: Option<usize>, #[case] from_seq: u64) {
    let home = home();
    match lines {
        None => home.disk.new_process().remove(FILE).unwrap(),
        Some(lines) => home.disk.set_bytes(FILE, &first_lines(&home.disk.bytes(FILE).unwrap(), lines)),
    }
    let look = || {
        let storage: Arc<dyn Storage> = Arc::new(home.disk.new_process());
        Look::at(&storage).unwrap().damage()
    };
    assert_eq!(look(), [format!("records {from_seq} to 6 are in no file")], "whoever only looks sees it");
    let (journal, report) = home.reopen();
    assert!(report.findings.contains(&Finding::Missing { from_seq, to_seq: 6 }), "{:?}", report.findings);
    assert_eq!(look(), [""; 0], "and is told of it otherwise once a leader knows");
    let losses = journal.losses();
    assert_eq!((losses.missing(), losses.restored()), (6 - from_seq + 1, 0));
    assert!(home.text("interactions/2026-11-21.jsonl").contains("are in no file"));
    assert_eq!(journal.append(drafts([100])).unwrap().new[0].seq, 7, "no place is given twice");
    let (journal, report) = home.reopen();
    assert_eq!(report.findings, [], "it is told once");
    assert_eq!(journal.losses().missing(), 6 - from_seq + 1, "and known for good");
}

#[test]
fn the_first_file_of_a_journal_may_be_missing_too() {
    let home = Home::new();
    let (journal, _) = home.open();
    journal.append(drafts(1..=2)).unwrap();
    home.clock.move_by(24);
    journal.append(drafts([3])).unwrap();
    drop(journal);
    home.disk.new_process().remove(FILE).unwrap();
    let (journal, report) = home.reopen();
    assert!(report.findings.contains(&Finding::Missing { from_seq: 1, to_seq: 2 }), "{:?}", report.findings);
    assert_eq!(journal.losses().missing(), 2);
}

/// An older version deleted old files without a word of it.
#[test]
fn a_first_file_that_every_consumer_has_is_not_told_to_be_missing() {
    let home = Home::new();
    let (journal, _) = home.open();
    journal.append(drafts(1..=2)).unwrap();
    home.clock.move_by(24);
    journal.append(drafts([3])).unwrap();
    take(&mut mailbox(&journal, "reader"), &all());
    drop(journal);
    home.disk.new_process().remove(FILE).unwrap();
    let (journal, report) = home.reopen();
    assert_eq!(report.findings, []);
    assert_eq!((keys(&journal), journal.losses().missing()), (keys_of([3]), 0));
}

#[test]
fn damage_behind_an_index_is_found_when_the_journal_is_opened() {
    let home = Home::with(JournalOptions { window_messages_max: 10, ..JournalOptions::default() });
    let (journal, _) = home.open();
    journal.append(drafts(1..=1_000)).unwrap();
    home.clock.move_by(24);
    journal.append(drafts([1_001])).unwrap();
    drop(journal);
    let mut bad = home.disk.bytes(FILE).unwrap();
    bad[4_096..8_192].fill(0);
    home.disk.set_bytes(FILE, &bad);
    let (journal, report) = home.reopen();
    assert!(report.findings.iter().any(|f| matches!(f, Finding::Damaged { .. })), "{:?}", report.findings);
    let left = keys(&journal).len() as u64;
    assert!((980..1_000).contains(&left), "{left}");
    assert_eq!(journal.losses().missing(), 1_001 - left);
}

#[test]
fn messages_that_come_again_are_marked_for_every_consumer() {
    let home = home();
    home.disk.new_process().remove(FILE).unwrap();
    let (journal, _) = home.reopen();
    journal.append([drafts(1..=6), drafts([7])].concat()).unwrap();
    let losses = journal.losses();
    assert_eq!((losses.missing(), losses.restored(), losses.gone()), (6, 6, 0));
    let mut reader = mailbox(&journal, "reader");
    let marks =
        [("m1", true), ("m2", true), ("m3", true), ("m4", true), ("m5", true), ("m6", true), ("m7", false)];
    assert_eq!(marked(&take(&mut reader, &all())), marks, "nobody knows which of them it has seen");
    assert_eq!(
        marked(&take(&mut mailbox(&journal, "other"), &all())),
        marks,
        "its agent may be the same person's"
    );
    let (journal, report) = home.reopen();
    assert_eq!(report.findings, []);
    assert_eq!(journal.losses().gone(), 0);
    assert_eq!(take(&mut mailbox(&journal, "reader"), &all()).items.len(), 0);
}

#[test]
fn messages_that_every_consumer_has_need_not_come_again() {
    let home = home();
    let (journal, _) = home.reopen();
    let mut reader = mailbox(&journal, "reader");
    take(&mut reader, &all());
    drop((reader, journal));
    let whole = home.disk.bytes(FILE).unwrap();
    home.disk.set_bytes(FILE, &first_lines(&whole, 4));
    let (journal, report) = home.reopen();
    assert!(report.findings.contains(&Finding::Missing { from_seq: 5, to_seq: 6 }), "{:?}", report.findings);
    assert_eq!((journal.losses().missing(), journal.losses().told(home.clock.now())), (0, None));
    assert!(!journal.append(drafts([5])).unwrap().new[0].restored, "nobody waits for it");
}

#[test]
fn a_place_that_was_never_on_the_disk_is_not_missing() {
    let home = Home::with(JournalOptions { window_messages_max: 2, ..JournalOptions::default() });
    let (journal, _) = home.open();
    journal.append(drafts(1..=2)).unwrap();
    home.disk.set_space_left(Some(0));
    journal.append(drafts(3..=8)).unwrap_err();
    home.disk.set_space_left(None);
    journal.append(drafts(3..=9)).unwrap();
    drop(journal);
    for path in home.disk.paths().into_iter().filter(|path| path.starts_with("inbox/index/")) {
        home.disk.new_process().remove(&path).unwrap();
    }
    let (journal, report) = home.reopen();
    assert_eq!(keys(&journal).len(), 9);
    assert_eq!(report.findings, [], "what was dropped was told then");
    assert_eq!(journal.losses().missing(), 0);
}

#[test]
fn a_follower_knows_what_the_leader_has_noticed() {
    let home = home();
    home.disk.new_process().remove(FILE).unwrap();
    let (leader, _) = home.reopen();
    let (follower, _) = home.open();
    assert!(leader.is_leader() && !follower.is_leader());
    assert_eq!(follower.losses().missing(), 6);
}

//! What happens when files of the journal are deleted, cut or damaged under a living leader: it looks, notes it, and brings
//! back what it has in memory; a follower tells it until then and passes over nothing.

use std::sync::Arc;

use entraclaw_inbox::journal::{Journal, JournalError, JournalOptions, Look};
use entraclaw_inbox::record::Draft;
use entraclaw_seams::clock::Clock as _;
use entraclaw_seams::storage::{MemoryStorage, Storage};
use rstest::rstest;

use crate::support::*;

/// A leader with six messages, of which `reader` was shown three.
fn led_home() -> (Home, Journal) {
    let home = Home::new();
    let (leader, _) = home.open();
    leader.append(drafts(1..=6)).unwrap();
    take(&mut mailbox(&leader, "reader"), &up_to(3));
    (home, leader)
}

/// Makes lines of the journal's file unreadable, from 1, in place.
fn damage(home: &Home, lines: impl IntoIterator<Item = usize>) {
    let mut bytes = home.disk.bytes(FILE).unwrap();
    for line in lines {
        let mut all: Vec<&mut [u8]> = bytes.split_inclusive_mut(|byte| *byte == b'\n').collect();
        all[line - 1][3] ^= 1;
    }
    home.disk.set_bytes(FILE, &bytes);
}

fn cut_to(home: &Home, lines: usize) {
    let bytes = home.disk.bytes(FILE).unwrap();
    let left: Vec<u8> = bytes.split_inclusive(|byte| *byte == b'\n').take(lines).flatten().copied().collect();
    home.disk.set_bytes(FILE, &left);
}

fn delete(home: &Home) {
    home.disk.new_process().remove(FILE).unwrap();
}

/// What the tools' answers say of lost messages.
fn told(home: &Home, journal: &Journal) -> Option<String> {
    journal.losses().told(home.clock.now())
}

#[rstest]
#[case::deleted(|home: &Home| delete(home), 6)]
#[case::emptied(|home: &Home| cut_to(home, 0), 6)]
#[case::cut(|home: &Home| cut_to(home, 2), 4)]
#[case::the_last_damaged(|home: &Home| damage(home, [6]), 1)]
#[case::all_damaged(|home: &Home| damage(home, 1..=6), 6)]
fn records_that_the_file_lacks_at_its_end_are_written_again_from_memory(
    #[case] harms: fn(&Home),
    #[case] missing: u64,
) {
    let (home, leader) = led_home();
    harms(&home);
    leader.look_at_files().unwrap();
    let losses = leader.losses();
    assert_eq!((losses.missing(), losses.rewritten(), losses.gone()), (missing, missing, 0));
    assert!(told(&home, &leader).unwrap().contains("written there again"), "{losses}");
    assert_eq!(leader.to_read_again(None), None, "nothing is left to read again");
    assert_eq!(leader.append(drafts(1..=6)).unwrap().new, [], "none of them is news");
    let (other, _) = home.open();
    let whole: Vec<_> = (1..=6).map(|n| (format!("m{n}"), false)).collect();
    let as_new =
        |batch| marked(&batch).into_iter().map(|(id, again)| (id.to_owned(), again)).collect::<Vec<_>>();
    assert_eq!(as_new(take(&mut mailbox(&other, "late"), &all())), whole, "nobody has seen any of them");
    assert_eq!(as_new(take(&mut mailbox(&other, "reader"), &all())), whole[3..], "what it had it has");
    leader.look_at_files().unwrap();
    assert_eq!(leader.losses().missing(), missing, "it is told once");
    let arrived = home.text("interactions/2026-11-21.jsonl").matches("\"inbound\"").count();
    assert_eq!(arrived, 6, "what is written again has not arrived again");
    let (journal, report) = home.reopen();
    assert_eq!((keys(&journal), report.findings), (keys_of(1..=6), vec![]));
    assert!(told(&home, &journal).is_some(), "the next leader knows");
}

#[test]
fn a_second_loss_of_the_same_places_is_noticed_too() {
    let (home, leader) = led_home();
    for times in 1..=3 {
        delete(&home);
        leader.look_at_files().unwrap();
        assert_eq!((leader.losses().missing(), leader.losses().gone()), (6 * times, 0));
        assert_eq!(keys(&home.open().0), keys_of(1..=6));
    }
}

#[test]
fn records_that_the_file_lacks_amid_others_come_again_at_the_end_and_marked() {
    let (home, leader) = led_home();
    take(&mut mailbox(&leader, "reader"), &all());
    let (other, _) = home.open();
    take(&mut mailbox(&other, "slow"), &up_to(1));
    damage(&home, [3, 4]);
    leader.look_at_files().unwrap();
    let losses = leader.losses();
    assert_eq!((losses.missing(), losses.restored(), losses.gone()), (2, 2, 0));
    assert!(told(&home, &leader).unwrap().contains("and came again"));
    other.refresh().unwrap();
    assert_eq!(told(&home, &other), told(&home, &leader), "every session tells the same");
    let late = [("m1", false), ("m2", false), ("m5", false), ("m6", false), ("m3", true), ("m4", true)];
    let (third, _) = home.open();
    assert_eq!(marked(&take(&mut mailbox(&third, "late"), &all())), late);
    let again: Vec<_> = keys(&leader);
    assert_eq!(again, keys_of([1, 2, 5, 6, 3, 4]), "the leader has them once too");
    assert_eq!(leader.append(drafts(1..=6)).unwrap().new, [], "none of them is news");
    let (journal, report) = home.reopen();
    assert_eq!((keys(&journal), report.findings), (keys_of([1, 2, 5, 6, 3, 4]), vec![]));
}

#[test]
fn messages_that_every_consumer_has_do_not_come_again_from_memory_either() {
    let (home, leader) = led_home();
    damage(&home, [2, 5]);
    leader.look_at_files().unwrap();
    assert_eq!(ids(&take(&mut mailbox(&leader, "reader"), &all())), ["m4", "m6", "m5"], "it has m2");
    assert_eq!(leader.append(drafts([2])).unwrap().new, []);
}

#[test]
fn messages_older_than_the_memory_are_read_again_from_the_source() {
    let home = Home::with(JournalOptions { window_messages_max: 4, ..JournalOptions::default() });
    let (leader, _) = home.open();
    leader.append(drafts(1..=10)).unwrap();
    delete(&home);
    leader.look_at_files().unwrap();
    let losses = leader.losses();
    assert_eq!((losses.missing(), losses.rewritten(), losses.gone()), (10, 4, 6));
    let told = told(&home, &leader).unwrap();
    assert!(told.contains(": 4 were written there again, 6 are still missing"), "{told}");
    assert!(leader.to_read_again(None).is_some());
    let again = leader.append(drafts(1..=11)).unwrap();
    let news: Vec<_> = again.new.iter().map(|record| (record.id.as_str(), record.restored)).collect();
    let expected: Vec<_> =
        (1..=6).map(|n| (format!("m{n}"), true)).chain([("m11".to_owned(), false)]).collect();
    assert_eq!(news, expected.iter().map(|(id, marked)| (id.as_str(), *marked)).collect::<Vec<_>>());
    assert_eq!((leader.losses().gone(), leader.losses().restored()), (0, 6));
    assert_eq!(home.reopen().1.findings, []);
}

#[test]
fn an_older_day_that_was_touched_is_looked_at_as_well() {
    let home = Home::with(JournalOptions { window_messages_max: 2, ..JournalOptions::default() });
    let (leader, _) = home.open();
    leader.append(drafts(1..=6)).unwrap();
    home.clock.move_by(24);
    leader.append(drafts(7..=9)).unwrap();
    damage(&home, [2, 3]);
    leader.look_at_files().unwrap();
    assert_eq!((leader.losses().missing(), leader.losses().gone()), (2, 2));
    assert!(leader.to_read_again(None).is_some());
    delete(&home);
    leader.look_at_files().unwrap();
    assert_eq!(leader.losses().missing(), 6, "the rest of the day is gone too");
    assert_eq!(keys(&leader), keys_of(7..=9));
}

#[test]
fn a_message_that_comes_before_the_look_is_put_behind_what_was_there() {
    let (home, leader) = led_home();
    delete(&home);
    leader.append(drafts([7])).unwrap();
    assert_eq!((leader.losses().missing(), leader.losses().gone()), (6, 0));
    let (journal, _) = home.reopen();
    assert_eq!(
        keys(&journal),
        keys_of(1..=7),
        "no later message goes with a deleted file, and no earlier one either"
    );
}

#[test]
fn a_file_that_was_touched_and_is_whole_changes_nothing() {
    let (home, leader) = led_home();
    home.disk.set_bytes(FILE, &home.disk.bytes(FILE).unwrap());
    leader.look_at_files().unwrap();
    assert_eq!((leader.losses().missing(), told(&home, &leader)), (0, None));
    leader.append(drafts([7])).unwrap();
    let before = home.disk.calls();
    leader.look_at_files().unwrap();
    let calls = home.disk.calls() - before;
    assert!(calls <= 2, "{calls} calls where nothing was touched");
    assert_eq!(home.reopen().1.findings, []);
}

#[test]
fn changes_by_the_leader_itself_are_nothing_to_read_again() {
    let home = Home::with(JournalOptions { segment_bytes_max: 2_000, ..JournalOptions::default() });
    let (leader, _) = home.open();
    for n in 1..=40 {
        leader.append(drafts([n])).unwrap();
        if n % 10 == 0 {
            home.clock.move_by(24);
        }
    }
    home.disk.set_space_left(Some(100));
    leader.append(drafts([41])).unwrap_err();
    home.disk.set_space_left(None);
    leader.refresh().unwrap();
    let files = home.disk.paths().iter().filter(|path| path.contains(".jsonl")).count() as u64;
    let before = home.disk.calls();
    leader.look_at_files().unwrap();
    let calls = home.disk.calls() - before;
    assert!(calls <= files + 2, "{calls} calls for {files} files");
}

#[test]
fn a_full_disk_keeps_what_is_written_again_in_memory_and_that_is_told() {
    let (home, leader) = led_home();
    delete(&home);
    home.disk.set_space_left(Some(0));
    assert!(matches!(leader.look_at_files(), Err(JournalError::NotDurable { .. })));
    assert!(leader.stats().counts.disk_failure.is_some());
    assert_eq!(ids(&take(&mut mailbox(&leader, "reader"), &all())), ["m4", "m5", "m6"]);
    home.disk.set_space_left(None);
    leader.refresh().unwrap();
    assert_eq!(keys(&home.reopen().0), keys_of(1..=6));
}

#[test]
fn a_replaced_leader_brings_nothing_back() {
    let (home, leader) = led_home();
    let (second, _) = home.open();
    let silent = second.pulse().unwrap();
    assert!(second.replace_leader(&silent).unwrap());
    leader.look_at_files().unwrap();
    assert!(!leader.is_leader());
    assert_eq!((second.losses().missing(), told(&home, &second)), (0, None));
    second.append(drafts([7])).unwrap();
    while leader.refresh().unwrap() {}
    assert_eq!(keys(&leader), keys_of(1..=7));
    assert_eq!(keys(&home.reopen().0), keys_of(1..=7));
}

#[rstest]
#[case::deleted(|home: &Home| delete(home), 6, 0)]
#[case::cut(|home: &Home| cut_to(home, 4), 2, 4)]
#[case::damaged(|home: &Home| damage(home, [2, 4]), 2, 4)]
#[case::the_last_damaged(|home: &Home| damage(home, [6]), 1, 5)]
fn a_follower_that_begins_before_the_leader_looks_tells_what_it_lacks(
    #[case] harms: fn(&Home),
    #[case] missing: u64,
    #[case] left: usize,
) {
    let (home, leader) = led_home();
    harms(&home);
    let (follower, _) = home.open();
    assert!(!follower.is_leader());
    assert_eq!((follower.losses().missing(), follower.losses().gone()), (missing, missing));
    assert!(told(&home, &follower).is_some());
    let look = || {
        let storage: Arc<dyn Storage> = Arc::new(home.disk.new_process());
        Look::at(&storage).unwrap()
    };
    assert_eq!(look().missing(), missing, "whoever only looks counts the same");
    let mut late = mailbox(&follower, "late");
    assert_eq!(take(&mut late, &all()).items.len(), left);
    leader.look_at_files().unwrap();
    follower.refresh().unwrap();
    assert_eq!(follower.losses(), leader.losses(), "what the leader has noted is told instead");
    assert_eq!((look().missing(), look().losses().missing()), (0, missing));
    assert_eq!(take(&mut late, &all()).items.len(), 6 - left, "what it lacked has come");
    assert_eq!(take(&mut mailbox(&follower, "later"), &all()).items.len(), 6);
}

/// A span of an acknowledgement reaches back to the message before. Over a place that the leader has not noted it would say
/// that the consumer has what it never got.
#[test]
fn an_acknowledgement_passes_over_nothing_that_may_come_again() {
    let home = Home::new();
    let (leader, _) = home.open();
    leader.append(drafts(1..=6)).unwrap();
    damage(&home, [3]);
    let (follower, _) = home.open();
    let mut reader = mailbox(&follower, "reader");
    assert_eq!(ids(&take(&mut reader, &all())), ["m1", "m2", "m4", "m5", "m6"]);
    drop((leader, reader, follower));
    // Nobody has it in memory any more, so the next leader must know that somebody lacks it.
    let (journal, _) = home.reopen();
    assert_eq!((journal.losses().missing(), journal.losses().gone()), (1, 1));
    assert!(journal.to_read_again(None).is_some());
    journal.append(drafts([3, 7])).unwrap();
    let mut reader = mailbox(&journal, "reader");
    assert_eq!(marked(&take(&mut reader, &all())), [("m3", true), ("m7", false)]);
    let notes = home.text("inbox/consumers/reader.jsonl");
    drop((reader, journal));
    let (journal, _) = home.reopen();
    assert_eq!(take(&mut mailbox(&journal, "reader"), &all()).items.len(), 0, "{notes}");
    let state = home.text("inbox/state.json");
    assert!(
        state.contains(r#""acked_through":{"reader":{"teams":8"#),
        "the hole holds nothing back: {state}"
    );
}

#[test]
fn a_session_that_reads_while_the_file_is_mended_gets_each_message_once() {
    for harm in 0..7_usize {
        let (home, leader) = led_home();
        if harm == 0 {
            delete(&home);
        } else {
            damage(&home, [harm]);
        }
        let (follower, _) = home.open();
        let mut late = mailbox(&follower, "late");
        let mut seen: Vec<String> =
            take(&mut late, &up_to(2)).items.iter().map(|item| item.record.key.clone()).collect();
        leader.look_at_files().unwrap();
        leader.append(drafts([7])).unwrap();
        follower.refresh().unwrap();
        seen.extend(take(&mut late, &all()).items.iter().map(|item| item.record.key.clone()));
        let mut sorted = seen.clone();
        sorted.sort();
        assert_eq!(sorted, keys_of(1..=7), "line {harm}: {seen:?}");
    }
}

#[test]
fn a_leader_that_ends_in_any_call_of_its_mending_loses_nothing_that_the_source_has() {
    for amid in [false, true] {
        for at in 0.. {
            let home = Home::new();
            let process = home.disk.new_process();
            let (leader, _) = home.open_as(process.clone()).unwrap();
            leader.append(drafts(1..=6)).unwrap();
            take(&mut mailbox(&leader, "reader"), &up_to(3));
            if amid {
                damage(&home, [4, 5]);
            } else {
                delete(&home);
            }
            home.disk.fail_call(at, entraclaw_seams::storage::Fault::Kill);
            let _ = leader.look_at_files();
            let is_over = home.disk.clear_fault();
            drop(leader);
            let (journal, _) = home.reopen();
            // What a source does that reads again.
            journal.append(drafts(1..=7)).unwrap();
            let batch = take(&mut mailbox(&journal, "reader"), &all());
            let mut got = ids(&batch);
            got.sort_unstable();
            got.dedup();
            assert!(
                ["m4", "m5", "m6", "m7"].iter().all(|id| got.contains(id)),
                "call {at}, amid {amid}: {got:?}"
            );
            let unmarked: Vec<_> = batch.items.iter().filter(|item| !item.redelivered).collect();
            let fresh = |id: &str| unmarked.iter().filter(|item| item.record.id == id).count();
            assert!((1..=7).all(|n| fresh(&format!("m{n}")) <= 1), "call {at}, amid {amid}");
            assert!(
                (1..=3).all(|n| fresh(&format!("m{n}")) == 0),
                "call {at}, amid {amid}: shown before, not marked"
            );
            if is_over {
                break;
            }
        }
    }
}

#[test]
fn a_look_of_a_follower_does_nothing() {
    let (home, _leader) = led_home();
    let process: MemoryStorage = home.disk.new_process();
    let (follower, _) = home.open_as(process).unwrap();
    delete(&home);
    follower.look_at_files().unwrap();
    assert_eq!(home.disk.bytes(FILE), None);
}

/// A replaced file may be exactly as long as it was: a line that everybody has is gone, and a message of the same length came.
#[test]
fn a_follower_sees_a_file_that_was_replaced_by_one_of_the_same_length() {
    let (home, leader) = led_home();
    let (follower, _) = home.open();
    let mut reader = mailbox(&follower, "reader");
    let len = home.disk.bytes(FILE).unwrap().len();
    damage(&home, [1]);
    leader.look_at_files().unwrap();
    leader.append(drafts([7])).unwrap();
    assert_eq!(home.disk.bytes(FILE).unwrap().len(), len);
    follower.refresh().unwrap();
    assert_eq!(ids(&take(&mut reader, &all())), ["m4", "m5", "m6", "m7"]);
}

#[test]
fn a_clock_that_was_wrong_does_not_let_the_journal_begin_in_the_future() {
    let home = Home::new();
    let (leader, _) = home.open();
    home.clock.move_by(24 * 365 * 200);
    leader.append(drafts([1])).unwrap();
    home.clock.move_by(-24 * 365 * 200);
    let storage: Arc<dyn Storage> = Arc::new(home.disk.new_process());
    assert_eq!(Look::at(&storage).unwrap().begins().unwrap().as_deref(), Some(DAY));
}

#[test]
fn the_journal_begins_on_the_day_of_its_first_message_whatever_comes_next() {
    let home = Home::new();
    let (leader, _) = home.open();
    home.clock.move_by(24 * 30);
    let on = |day: &str, n: u64| Draft { ts: format!("{day}T08:00:00Z"), ..draft(n) };
    leader.append(vec![on("2026-11-20", 1), on("2026-11-18", 2), on("2026-11-19", 3)]).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(home.disk.new_process());
    assert_eq!(Look::at(&storage).unwrap().begins().unwrap().as_deref(), Some("2026-11-20"));
}

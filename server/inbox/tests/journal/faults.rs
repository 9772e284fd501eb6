//! Every storage call fails once, in every way; the disk runs full and comes back; two race for the lead.

use std::collections::BTreeSet;
use std::io;

use entraclaw_inbox::journal::{DeliveryId, JournalError, JournalOptions};
use entraclaw_seams::storage::{Crash, Fault, MemoryStorage};
use rstest::rstest;

use crate::support::*;

/// What a run promised before it ended.
#[derive(Default)]
struct Promised {
    /// Drafts whose append said yes.
    appended: u64,
    shown: BTreeSet<u64>,
    retired: BTreeSet<u64>,
}

/// Opens, appends, reads and acknowledges until something fails for good.
fn run(home: &Home, process: &MemoryStorage, promised: &mut Promised) -> Result<(), JournalError> {
    let (journal, _) = home.open_as(process.clone())?;
    let mut mailbox = journal.mailbox(&consumer("c"), "s")?;
    for round in 0..4 {
        if round == 2 {
            home.clock.move_by(24);
        }
        let batch = drafts(round * 3 + 1..=round * 3 + 3);
        // A source that could not store keeps its cursor and brings the same messages again.
        journal.append(batch.clone()).or_else(|_| journal.append(batch))?;
        promised.appended = round * 3 + 3;
        let delivery = DeliveryId(round);
        let page = mailbox.hand_out(delivery, &up_to(2))?;
        if !process.is_alive() {
            // What a dead process was about to show, nobody saw.
            return Ok(());
        }
        for item in &page.items {
            let is_second = !promised.shown.insert(item.record.seq);
            assert_eq!(item.redelivered, is_second, "record {} in round {round}", item.record.seq);
        }
        if round == 1 {
            mailbox.give_back(delivery);
        } else {
            let seqs: Vec<u64> = page.items.iter().map(|item| item.record.seq).collect();
            mailbox.finish(delivery);
            // It counts as retired when it was asked for: the note may have been written before the failure.
            promised.retired.extend(seqs);
            mailbox.acknowledge_returned()?;
        }
    }
    Ok(())
}

/// What must be true after the machine or the process is back.
fn check(home: &Home, promised: &Promised, marks_survive: bool, context: &str) {
    let (journal, _) = home.open();
    let found = keys(&journal);
    let expected = keys_of(1..=12);
    assert!(
        found.len() as u64 >= promised.appended,
        "{context}: lost one of {}: {found:?}",
        promised.appended
    );
    assert_eq!(found, expected[..found.len()], "{context}");
    let stored = journal.read_after(0, usize::MAX).unwrap();
    let mut mailbox = mailbox(&journal, "c");
    let rest = take(&mut mailbox, &all());
    let mut unseen: BTreeSet<u64> = stored.iter().map(|record| record.seq).collect();
    for item in &rest.items {
        let seq = item.record.seq;
        unseen.remove(&seq);
        if marks_survive {
            let was_shown = promised.shown.contains(&seq);
            assert!(item.redelivered || !was_shown, "{context}: record {seq} came twice, unmarked");
        }
    }
    assert!(unseen.is_subset(&promised.retired), "{context}: {unseen:?} were never shown again");
    assert_eq!(mailbox.unread(None), 0, "{context}");
    journal.append(drafts([99])).unwrap();
    assert_eq!(ids(&take(&mut mailbox, &all())), ["m99"], "{context}");
}

#[rstest]
#[case::error(Fault::Error(io::ErrorKind::Other))]
#[case::full(Fault::Error(io::ErrorKind::StorageFull))]
#[case::kill(Fault::Kill)]
#[case::power_a(Fault::PowerCut(1))]
#[case::power_b(Fault::PowerCut(2))]
#[case::power_c(Fault::PowerCut(3))]
#[case::power_d(Fault::PowerCut(4))]
fn every_call_can_fail(#[case] fault: Fault) {
    let mut failed_runs = 0;
    for n in 0.. {
        let home = Home::new();
        let process = home.disk.new_process();
        home.disk.fail_call(n, fault);
        let mut promised = Promised::default();
        let ended = run(&home, &process, &mut promised);
        let struck = !home.disk.clear_fault();
        failed_runs += u64::from(ended.is_err());
        home.disk.crash(Crash::Process, 0);
        let marks_survive = !matches!(fault, Fault::PowerCut(_));
        check(&home, &promised, marks_survive, &format!("{fault:?} at call {n}, {ended:?}"));
        if !struck {
            assert!(ended.is_ok(), "{ended:?}");
            assert!(failed_runs > 0 && n > 100, "the run has {n} calls and failed {failed_runs} times");
            return;
        }
    }
}

#[test]
fn a_failed_sync_moves_on_to_another_file() {
    let home = Home::new();
    let (journal, _) = home.open();
    journal.append(drafts(1..=2)).unwrap();
    for n in 0.. {
        let calls = home.disk.calls();
        home.disk.fail_call(n, Fault::Error(io::ErrorKind::Other));
        let stored = journal.append(drafts([10 + n]));
        let was_sync = home.disk.paths().contains(&"inbox/2026-11-21.1.jsonl".into());
        if was_sync {
            stored.unwrap();
            let new = home.text("inbox/2026-11-21.1.jsonl");
            assert!(new.lines().all(|line| !home.text(FILE).contains(line)), "the spoiled file was cut back");
            break;
        }
        assert!(home.disk.calls() > calls + n, "no call failed by a sync");
    }
    home.disk.crash(Crash::Power, 9);
    let (journal, _) = home.open();
    let found = keys(&journal);
    assert_eq!(found[..2], keys_of([1, 2]));
    assert!(found.len() > 2);
    let seqs: Vec<u64> = journal.read_after(0, 99).unwrap().iter().map(|record| record.seq).collect();
    assert!(seqs.windows(2).all(|pair| pair[0] < pair[1]), "{seqs:?}");
}

#[test]
fn while_no_sync_works_nothing_is_promised() {
    let home = Home::new();
    let (journal, _) = home.open();
    journal.append(drafts([1])).unwrap();
    home.disk.set_syncs_fail(true);
    for n in 2..=20 {
        assert!(matches!(journal.append(drafts([n])), Err(JournalError::NotDurable { .. })));
    }
    assert!(home.disk.paths().len() < 12, "failed files do not pile up: {:?}", home.disk.paths());
    home.disk.set_syncs_fail(false);
    assert_eq!(journal.append(drafts(2..=20)).unwrap().duplicates, 19);
    for seed in 0..8 {
        home.disk.crash(Crash::Power, seed);
        assert_eq!(keys(&home.open().0), keys_of(1..=20));
    }
}

#[test]
fn a_full_disk_is_told_survived_and_left_behind() {
    let home = Home::with(JournalOptions { window_messages_max: 10, ..JournalOptions::default() });
    let (journal, _) = home.open();
    let mut mailbox = mailbox(&journal, "c");
    journal.append(drafts(1..=3)).unwrap();
    take(&mut mailbox, &all());
    home.disk.set_space_left(Some(500));
    let watch = journal.watch();
    let error = journal.append(drafts(4..=8)).unwrap_err();
    assert!(matches!(error, JournalError::NotDurable { held: 5, .. }), "{error}");
    assert!(error.to_string().contains("free some space"), "{error}");
    assert_eq!(*watch.borrow(), 8, "the window still serves");
    let stats = journal.stats();
    assert_eq!((stats.last_seq, stats.durable_seq, stats.counts.dropped_total), (8, 3, 0));
    assert!(stats.counts.disk_failure.unwrap().contains("no space"));
    assert_eq!(ids(&take(&mut mailbox, &up_to(2))), ["m4", "m5"]);
    assert!(take(&mut mailbox, &up_to(0)).items.is_empty());

    // Ten fit: of the five that wait and these eight, the oldest three go. Who was shown two of those is one consumer of
    // many, so they must come again too.
    assert!(journal.append(drafts(9..=16)).is_err());
    let stats = journal.stats();
    assert_eq!((stats.counts.dropped_total, stats.window_messages), (3, 10));
    assert_eq!(mailbox.unread(None), 10);

    home.disk.set_space_left(None);
    let stored = journal.append(drafts(4..=16)).unwrap();
    assert_eq!(stored.duplicates, 10, "the disk takes writes again with this call");
    assert_eq!(journal.stats().counts.disk_failure, None);
    // The source moves its cursor now, so what was dropped must be among it: late, not never.
    let late: Vec<&str> = stored.new.iter().map(|record| record.id.as_str()).collect();
    assert_eq!(late, ["m4", "m5", "m6"]);
    assert_eq!(journal.append(drafts(4..=16)).unwrap().duplicates, 13);
    let log = home.text("interactions/2026-11-21.jsonl");
    assert!(log.contains("takes writes again"), "{log}");

    let rest = take(&mut mailbox, &all());
    assert_eq!(
        ids(&rest),
        ["m7", "m8", "m9", "m10", "m11", "m12", "m13", "m14", "m15", "m16", "m4", "m5", "m6"]
    );
    home.disk.crash(Crash::Power, 3);
    let (journal, _) = home.open();
    let expected = keys_of([1, 2, 3].into_iter().chain(7..=16).chain(4..=6));
    assert_eq!(keys(&journal), expected);
}

/// Found by the state machine of `tests/mcp`: a push of a message that no disk had kept it from every other consumer.
#[test]
fn messages_that_one_consumer_was_shown_from_memory_come_to_the_others_too() {
    let home = Home::with(JournalOptions { window_messages_max: 3, ..JournalOptions::default() });
    let (leader, _) = home.open();
    let (follower, _) = home.open();
    let mut here = mailbox(&leader, "here");
    let mut there = mailbox(&follower, "there");
    home.disk.set_syncs_fail(true);
    assert!(leader.append(drafts(1..=2)).is_err());
    assert!(here.claim_push(1).unwrap());
    assert_eq!(ids(&here.hand_out(DeliveryId(1), &up_to(2)).unwrap()), ["m1", "m2"]);
    assert!(leader.append(drafts(1..=5)).is_err());
    assert_eq!(leader.stats().counts.dropped_total, 2);
    home.disk.set_syncs_fail(false);
    leader.refresh().unwrap();
    assert_eq!(leader.append(drafts(1..=5)).unwrap().duplicates, 3);
    while follower.refresh().unwrap() {}
    assert_eq!(ids(&take(&mut there, &all())), ["m3", "m4", "m5", "m1", "m2"]);
}

#[test]
fn a_leader_without_new_messages_tries_the_disk_too() {
    let home = Home::new();
    let (journal, _) = home.open();
    home.disk.set_space_left(Some(10));
    assert!(journal.append(drafts([1])).is_err());
    assert!(journal.refresh().is_err());
    home.disk.set_space_left(None);
    journal.refresh().unwrap();
    assert_eq!(journal.stats().durable_seq, 1);
    assert_eq!(keys(&home.reopen().0), keys_of([1]));
}

/// What was shown from memory only must not count for a record that comes after a crash.
#[test]
fn the_place_of_a_record_that_was_in_memory_only_stays_empty() {
    let home = Home::new();
    let (journal, _) = home.open();
    journal.append(drafts([1])).unwrap();
    let mut reader = mailbox(&journal, "c");
    home.disk.set_syncs_fail(true);
    assert!(journal.append(drafts([2])).is_err());
    assert_eq!(take(&mut reader, &all()).items.len(), 2);
    home.disk.crash(Crash::Process, 0);
    home.disk.set_syncs_fail(false);
    let (journal, _) = home.open();
    journal.append(drafts([3])).unwrap();
    let rest = take(&mut mailbox(&journal, "c"), &all());
    assert!(ids(&rest).contains(&"m3"), "{:?}", ids(&rest));
    assert!(rest.items.iter().find(|item| item.record.id == "m3").is_some_and(|item| !item.redelivered));
}

#[test]
fn of_two_that_race_one_leads() {
    let home = Home::new();
    let processes = [home.disk.new_process(), home.disk.new_process()];
    let journals = processes.clone().map(|process| home.open_as(process).unwrap().0);
    let mut next = 1;
    for round in 0..10 {
        // The dead one still believes that it leads; the disk knows better.
        let alive = usize::from(round > 5)..2;
        let leaders: Vec<usize> = alive.filter(|at| journals[*at].try_lead().unwrap()).collect();
        assert_eq!(leaders, [usize::from(round > 5)], "round {round}");
        if round == 5 {
            processes[0].kill();
            continue;
        }
        for (at, journal) in journals.iter().enumerate() {
            let taken = journal.append(drafts([next, next + 1]));
            assert_eq!(taken.is_ok(), leaders == [at]);
        }
        next += 2;
    }
    assert_eq!(keys(&journals[1]), keys_of(1..next));
}

/// A leader dies between its write and its sync. Whoever shows the record then must sync it first: after a power cut
/// its place would be another record's, and what was acknowledged would be the wrong one.
#[rstest]
#[case::by_a_follower(true)]
#[case::by_the_next_process(false)]
fn records_are_synced_before_they_are_shown(#[case] by_a_follower: bool) {
    let mut tried = 0;
    for (n, seed) in (0..12).flat_map(|n| (0..12).map(move |seed| (n, seed))) {
        let home = Home::new();
        let process = home.disk.new_process();
        let (leader, _) = home.open_as(process.clone()).unwrap();
        let (follower, _) = home.open();
        leader.append(drafts([1])).unwrap();
        follower.refresh().unwrap();
        home.disk.fail_call(n, Fault::Kill);
        let _ = leader.append(drafts([2]));
        home.disk.clear_fault();
        process.kill();
        let shown = if by_a_follower {
            follower.refresh().unwrap();
            keys(&follower)
        } else {
            drop(follower);
            keys(&home.open().0)
        };
        tried += usize::from(shown.len() == 2);
        home.disk.crash(Crash::Power, seed);
        assert_eq!(keys(&home.open().0), shown, "call {n}, seed {seed}");
    }
    assert!(tried > 12, "the leader died after its write in {tried} runs");
}

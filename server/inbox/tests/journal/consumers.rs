//! Who sees what, when it comes again, and how it is marked.

use std::sync::Arc;

use entraclaw_inbox::journal::{
    DeliveryId, DeliveryState, JournalError, JournalOptions, Mailbox, NewConsumerStarts, Orphans, Purpose,
    Query,
};
use entraclaw_inbox::record::{Channel, Record};
use entraclaw_seams::storage::Storage;

use crate::support::*;

const ONE: DeliveryId = DeliveryId(1);
const TWO: DeliveryId = DeliveryId(2);

fn filled(count: u64) -> (Home, entraclaw_inbox::journal::Journal) {
    let home = Home::new();
    let (journal, _) = home.open();
    journal.append(drafts(1..=count)).unwrap();
    (home, journal)
}

#[test]
fn consumers_have_cursors_of_their_own() {
    let (home, journal) = filled(3);
    assert_eq!(ids(&take(&mut mailbox(&journal, "claude-code"), &all())), ["m1", "m2", "m3"]);
    assert_eq!(ids(&take(&mut mailbox(&journal, "copilot-cli"), &up_to(1))), ["m1"]);
    let (journal, _) = home.reopen();
    assert!(take(&mut mailbox(&journal, "claude-code"), &all()).items.is_empty());
    assert_eq!(ids(&take(&mut mailbox(&journal, "copilot-cli"), &all())), ["m2", "m3"]);
}

#[test]
fn a_page_says_what_is_left() {
    let (_home, journal) = filled(5);
    let mut mailbox = mailbox(&journal, "c");
    let page = mailbox.hand_out(ONE, &up_to(2)).unwrap();
    assert_eq!((ids(&page), page.unread_remaining), (vec!["m1", "m2"], 3));
    assert_eq!(mailbox.unread(None), 5, "shown is not read");
    let next = mailbox.hand_out(TWO, &up_to(2)).unwrap();
    assert_eq!((ids(&next), next.unread_remaining), (vec!["m3", "m4"], 1));
    mailbox.finish(ONE);
    mailbox.finish(TWO);
    assert_eq!(mailbox.acknowledge_returned().unwrap(), 4);
    assert_eq!(mailbox.unread(None), 1);
    assert_eq!(mailbox.oldest_unread_ts().unwrap(), "2026-11-21T11:59:00.000005Z");
    take(&mut mailbox, &all());
    assert_eq!((mailbox.unread(None), mailbox.oldest_unread_ts()), (0, None));
}

#[test]
fn a_cancelled_delivery_comes_again_marked() {
    let (_home, journal) = filled(2);
    let mut mailbox = mailbox(&journal, "c");
    let first = mailbox.hand_out(ONE, &all()).unwrap();
    assert_eq!(marked(&first), [("m1", false), ("m2", false)]);
    mailbox.give_back(ONE);
    assert_eq!(mailbox.acknowledge_returned().unwrap(), 0);
    let again = mailbox.hand_out(TWO, &all()).unwrap();
    assert_eq!(marked(&again), [("m1", true), ("m2", true)]);
    mailbox.finish(TWO);
    mailbox.give_back(TWO);
    assert_eq!(
        marked(&take(&mut mailbox, &all())),
        [("m1", true), ("m2", true)],
        "lost after it was finished"
    );
    assert_eq!(mailbox.unread(None), 0);
}

#[test]
fn a_killed_session_leaves_marks() {
    let (home, journal) = filled(3);
    let mut first = mailbox(&journal, "c");
    first.hand_out(ONE, &up_to(2)).unwrap();
    first.finish(ONE);
    let (journal, _) = home.reopen();
    let batch = take(&mut mailbox(&journal, "c"), &all());
    assert_eq!(marked(&batch), [("m1", true), ("m2", true), ("m3", false)]);
}

#[test]
fn a_deleted_file_of_a_consumer_leaves_no_orphans() {
    let (home, journal) = filled(1);
    mailbox(&journal, "c").hand_out(ONE, &all()).unwrap();
    let storage: Arc<dyn Storage> = Arc::new(home.disk.new_process());
    let mut orphans = Orphans::of(Arc::clone(&storage), home.clock.clone(), &consumer("c"));
    assert!(orphans.any_untold().unwrap());
    storage.remove("inbox/consumers/c.jsonl").unwrap();
    assert!(!orphans.any_untold().unwrap());
}

#[test]
fn a_peek_retires_nothing() {
    let (_home, journal) = filled(3);
    let mut mailbox = mailbox(&journal, "c");
    let peek = Query { purpose: Purpose::Peek, ..up_to(2) };
    let page = mailbox.hand_out(ONE, &peek).unwrap();
    assert_eq!((marked(&page), page.unread_remaining), (vec![("m1", false), ("m2", false)], 1));
    mailbox.finish(ONE);
    assert_eq!(mailbox.acknowledge_returned().unwrap(), 0);
    let batch = take(&mut mailbox, &all());
    assert_eq!(marked(&batch), [("m1", true), ("m2", true), ("m3", false)]);
}

#[test]
fn a_push_is_shown_but_not_read() {
    let (home, journal) = filled(2);
    let mut mailbox = mailbox(&journal, "c");
    assert_eq!(mailbox.state_of(1).unwrap(), DeliveryState::New);
    assert!(mailbox.claim_push(1).unwrap() && !mailbox.claim_push(1).unwrap());
    assert!(!mailbox.claim_push(77).unwrap(), "there is no such record");
    let states = [1, 2, 77].map(|seq| mailbox.state_of(seq).unwrap());
    assert_eq!(states, [DeliveryState::Pushed, DeliveryState::New, DeliveryState::Acknowledged]);
    drop(mailbox);
    let (journal, _) = home.reopen();
    let mut mailbox = journal.mailbox(&consumer("c"), "next").unwrap();
    assert_eq!(mailbox.unread(None), 2);
    assert_eq!(mailbox.acknowledge_ids(&["m1", "m2"]).unwrap(), 1, "m2 was never shown");
    let batch = mailbox.hand_out(ONE, &all()).unwrap();
    assert_eq!(ids(&batch), ["m2"]);
    mailbox.give_back(ONE);
    let batch = mailbox.hand_out(ONE, &all()).unwrap();
    assert!(batch.items[0].redelivered && !batch.items[0].pushed);
}

/// A call must not read a journal of any length for one id.
#[test]
fn an_id_is_looked_for_among_the_oldest_and_the_newest_unread_records_alone() {
    let (_home, journal) = filled(9_000);
    let mut mailbox = mailbox(&journal, "c");
    for (seq, retired) in [(8_000, 1), (8_600, 0), (8_900, 1)] {
        assert!(mailbox.claim_push(seq).unwrap());
        assert_eq!(mailbox.acknowledge_ids(&[&format!("m{seq}")]).unwrap(), retired, "{seq}");
    }
}

#[test]
fn of_several_sessions_one_pushes_and_none_what_a_call_took() {
    let (home, leader) = filled(2);
    let mut here = mailbox(&leader, "c");
    let (follower, _) = home.open();
    let mut there = follower.mailbox(&consumer("c"), "other").unwrap();
    // Both have looked before either says that it pushes.
    assert_eq!(
        (here.state_of(1).unwrap(), there.state_of(1).unwrap()),
        (DeliveryState::New, DeliveryState::New)
    );
    assert!(here.claim_push(1).unwrap() && !there.claim_push(1).unwrap());
    assert_eq!(there.state_of(2).unwrap(), DeliveryState::New);
    assert_eq!(ids(&here.hand_out(ONE, &up_to(2)).unwrap()), ["m1", "m2"]);
    assert!(!there.claim_push(2).unwrap(), "a call has brought it");
}

#[test]
fn a_channel_is_read_past_a_long_row_of_others() {
    let home = Home::new();
    let (journal, _) = home.open();
    let mixed = (1..=2_000).map(|n| draft_on(if n % 500 == 0 { Channel::Email } else { Channel::Teams }, n));
    journal.append(mixed.collect()).unwrap();
    let mut mailbox = mailbox(&journal, "c");
    let mail = Query { channel: Some(Channel::Email), ..up_to(3) };
    let page = take(&mut mailbox, &mail);
    assert_eq!((ids(&page), page.unread_remaining), (vec!["m500", "m1000", "m1500"], 1));
    assert_eq!(ids(&take(&mut mailbox, &mail)), ["m2000"]);
    assert_eq!((mailbox.unread(Some(Channel::Email)), mailbox.unread(Some(Channel::Bot))), (0, 0));
    assert_eq!(mailbox.unread(None), 1_996);
    let all = take(&mut mailbox, &all());
    assert_eq!(all.items.len(), 1_996);
    assert!(!ids(&all).contains(&"m500"));
}

#[test]
fn reading_can_begin_after_a_message() {
    let (_home, journal) = filled(700);
    let mut mailbox = mailbox(&journal, "c");
    let since = |id: &str| Query { since_id: Some(id.into()), ..up_to(2) };
    assert_eq!(ids(&mailbox.hand_out(ONE, &since("m698")).unwrap()), ["m699", "m700"]);
    assert_eq!(ids(&mailbox.hand_out(ONE, &since("m3")).unwrap()), ["m4", "m5"]);
    assert_eq!(ids(&mailbox.hand_out(ONE, &since("")).unwrap()), ["m1", "m2"]);
    let error = mailbox.hand_out(ONE, &since("nobody")).unwrap_err();
    assert!(matches!(error, JournalError::UnknownId { .. }));
    assert!(error.to_string().contains("since_id \"nobody\""), "{error}");
    mailbox.acknowledge(ONE).unwrap();
    assert_eq!(mailbox.unread(None), 694);
    assert_eq!(ids(&take(&mut mailbox, &up_to(3))), ["m3", "m6", "m7"]);
}

#[test]
fn a_page_is_bounded_in_bytes_but_never_empty() {
    let (_home, journal) = filled(5);
    let mut mailbox = mailbox(&journal, "c");
    let tight = Query { bytes_max: 1, ..all() };
    assert_eq!(ids(&take(&mut mailbox, &tight)), ["m1"]);
    let one = serde_json::to_vec(&journal.read_after(0, 1).unwrap()[0]).unwrap().len();
    let two = Query { bytes_max: 2 * one + 1, ..all() };
    assert_eq!(ids(&take(&mut mailbox, &two)), ["m2", "m3"]);
    assert!(take(&mut mailbox, &up_to(0)).items.is_empty());
}

#[test]
fn sessions_of_one_consumer_share_without_overlap() {
    let home = Home::new();
    let one = home.disk.new_process();
    let (leader, _) = home.open_as(one.clone()).unwrap();
    leader.append(drafts(1..=6)).unwrap();
    let (follower, _) = home.open();
    let mut first = leader.mailbox(&consumer("c"), "first").unwrap();
    let mut second = follower.mailbox(&consumer("c"), "second").unwrap();
    assert_eq!(ids(&first.hand_out(ONE, &up_to(2)).unwrap()), ["m1", "m2"]);
    first.finish(ONE);
    let page = second.hand_out(ONE, &up_to(2)).unwrap();
    assert_eq!(
        (ids(&page), page.unread_remaining),
        (vec!["m3", "m4"], 2),
        "m1 and m2 are with a living session"
    );
    second.give_back(ONE);
    // Its own finished delivery is not acknowledged, so this session gets it again.
    assert_eq!(marked(&first.hand_out(TWO, &up_to(1)).unwrap()), [("m1", true)]);
    one.kill();
    let page = take(&mut second, &all());
    let redelivered = ["m1", "m2", "m3", "m4"].map(|id| (id, true));
    assert_eq!(marked(&page), [&redelivered[..], &[("m5", false), ("m6", false)]].concat());
}

#[test]
fn orphaned_deliveries_are_taken_over_for_a_push_once_by_a_session_of_that_time() {
    let home = Home::new();
    let (leader, _) = home.open();
    leader.append(drafts(1..=4)).unwrap();
    let (one, two) = (home.disk.new_process(), home.disk.new_process());
    let (first, _) = home.open_as(one.clone()).unwrap();
    let (second, _) = home.open_as(two.clone()).unwrap();
    let mut first = first.mailbox(&consumer("c"), "first").unwrap();
    let mut second = second.mailbox(&consumer("c"), "second").unwrap();
    let mut lives = leader.mailbox(&consumer("c"), "third").unwrap();
    let mut lives_too = leader.mailbox(&consumer("c"), "fourth").unwrap();
    assert!(lives.claim_push(1).unwrap());
    assert_eq!(ids(&first.hand_out(ONE, &up_to(2)).unwrap()), ["m1", "m2"]);
    assert_eq!(ids(&second.hand_out(ONE, &up_to(1)).unwrap()), ["m3"]);
    assert!(lives.take_over(&all_of).unwrap().is_empty(), "both live");
    one.kill();
    assert_eq!(seqs(&lives.take_over(&all_of).unwrap()), [2], "it has pushed m1 itself");
    assert!(lives_too.take_over(&all_of).unwrap().is_empty() && lives.take_over(&all_of).unwrap().is_empty());
    home.clock.move_by(2);
    two.kill();
    let mut late = leader.mailbox(&consumer("c"), "late").unwrap();
    assert!(late.take_over(&all_of).unwrap().is_empty(), "it was given long before this one began");
    assert_eq!(lives_too.unread(None), 4, "a push retires nothing");
    assert_eq!(seqs(&lives_too.take_over(&all_of).unwrap()), [3], "this one lived then");
}

#[test]
fn a_push_that_showed_nothing_leaves_the_message_to_the_others_without_its_mark() {
    let home = Home::new();
    let (leader, _) = home.open();
    leader.append(drafts(1..=2)).unwrap();
    let process = home.disk.new_process();
    let (dying, _) = home.open_as(process.clone()).unwrap();
    let mut dead = dying.mailbox(&consumer("c"), "dead").unwrap();
    let mut one = leader.mailbox(&consumer("c"), "one").unwrap();
    let mut other = leader.mailbox(&consumer("c"), "other").unwrap();
    assert_eq!(ids(&dead.hand_out(ONE, &up_to(1)).unwrap()), ["m1"]);
    process.kill();
    assert_eq!(seqs(&one.take_over(&all_of).unwrap()), [1]);
    assert!(one.claim_push(2).unwrap() && !other.claim_push(2).unwrap());
    other.withdraw_pushes(&[1, 2]).unwrap();
    assert!(
        other.state_of(2).unwrap() == DeliveryState::Pushed && !other.has_orphans().unwrap(),
        "it was not the one that pushed them"
    );
    one.withdraw_pushes(&[1, 2]).unwrap();
    assert!(!one.has_orphans().unwrap(), "it would try in vain again");
    let marks = |mailbox: &mut Mailbox| -> Vec<(bool, bool)> {
        let batch = mailbox.hand_out(ONE, &Query { purpose: Purpose::Peek, ..all() }).unwrap();
        batch.items.iter().map(|item| (item.redelivered, item.pushed)).collect()
    };
    assert!(other.state_of(2).unwrap() == DeliveryState::New && other.has_orphans().unwrap());
    assert_eq!(seqs(&other.take_over(&all_of).unwrap()), [1]);
    one.withdraw_pushes(&[1, 2]).unwrap();
    assert_eq!(
        marks(&mut other),
        [(true, true), (false, false)],
        "the first was shown by the session that died, and the other"
    );
}

/// What one push brings where everything fits.
fn all_of(records: &[Record]) -> usize {
    records.len()
}

fn seqs(records: &[Record]) -> Vec<u64> {
    records.iter().map(|record| record.seq).collect()
}

#[test]
fn a_session_in_the_slot_of_an_ended_one_hides_no_orphaned_delivery() {
    let home = Home::new();
    let (leader, _) = home.open();
    leader.append(drafts(1..=3)).unwrap();
    let process = home.disk.new_process();
    let (dying, _) = home.open_as(process.clone()).unwrap();
    let mut dead = dying.mailbox(&consumer("c"), "dead").unwrap();
    assert_eq!(ids(&dead.hand_out(ONE, &all()).unwrap()), ["m1", "m2", "m3"]);
    let mut lives = leader.mailbox(&consumer("c"), "lives").unwrap();
    process.kill();
    // A hook, say, and it takes the slot.
    drop(leader.mailbox(&consumer("c"), "looks").unwrap());
    let mut next = leader.mailbox(&consumer("c"), "next").unwrap();
    assert_eq!(seqs(&lives.take_over(&|_| 1).unwrap()), [1], "no more than fits");
    assert_eq!(ids(&next.hand_out(ONE, &up_to(1)).unwrap()), ["m1"]);
    assert_eq!(seqs(&next.take_over(&all_of).unwrap()), [2, 3], "it was opened in time to be told");
    assert!(!lives.has_orphans().unwrap());
}

#[test]
fn a_delivery_that_could_not_be_given_back_at_once_is_given_back_when_the_disk_takes_writes() {
    let (home, journal) = filled(1);
    let mut first = journal.mailbox(&consumer("c"), "first").unwrap();
    let mut second = journal.mailbox(&consumer("c"), "second").unwrap();
    assert_eq!(ids(&first.hand_out(ONE, &all()).unwrap()), ["m1"]);
    first.finish(ONE);
    let busy = home.disk.new_process().lock("inbox/consumers/c~.lock", 0).unwrap().unwrap();
    first.give_back(ONE);
    assert!(first.has_unwritten_notes());
    drop(busy);
    first.settle();
    assert!(!first.has_unwritten_notes());
    assert_eq!(marked(&second.hand_out(TWO, &all()).unwrap()), [("m1", true)]);
}

#[test]
fn a_session_that_ends_frees_what_it_held() {
    let (_home, journal) = filled(1);
    let mut first = mailbox(&journal, "c");
    let mut second = mailbox(&journal, "c");
    first.hand_out(ONE, &all()).unwrap();
    assert!(second.hand_out(ONE, &all()).unwrap().items.is_empty());
    drop(first);
    assert_eq!(marked(&second.hand_out(ONE, &all()).unwrap()), [("m1", true)]);
}

#[test]
fn there_are_only_so_many_sessions() {
    let home = Home::with(JournalOptions { sessions_max: 2, ..JournalOptions::default() });
    let (journal, _) = home.open();
    let _two = [mailbox(&journal, "c"), mailbox(&journal, "c")];
    let error = journal.mailbox(&consumer("c"), "third").err().unwrap();
    assert!(error.to_string().contains("--consumer"), "{error}");
    mailbox(&journal, "other");
}

#[test]
fn a_new_consumer_begins_where_the_options_say() {
    let home = Home::with(JournalOptions {
        new_consumer_starts: NewConsumerStarts::Now,
        ..JournalOptions::default()
    });
    let (journal, _) = home.open();
    journal.append(drafts(1..=300)).unwrap();
    let mut mailbox = mailbox(&journal, "watch-cli");
    assert_eq!(mailbox.unread(None), 0);
    journal.append(drafts(301..=302)).unwrap();
    drop(mailbox);
    let (journal, _) = home.reopen();
    let mut mailbox = journal.mailbox(&consumer("watch-cli"), "s").unwrap();
    assert_eq!(ids(&take(&mut mailbox, &all())), ["m301", "m302"]);
}

#[test]
fn the_consumers_file_stays_short_and_says_the_same() {
    let home = Home::with(JournalOptions { consumer_bytes_max: 2_000, ..JournalOptions::default() });
    let (journal, _) = home.open();
    journal.append(drafts(1..=600)).unwrap();
    let mut reader = mailbox(&journal, "c");
    let mut other = mailbox(&journal, "c");
    for n in 0..150 {
        let page = take(if n % 2 == 0 { &mut reader } else { &mut other }, &up_to(3));
        assert_eq!(page.items[0].record.seq, n * 3 + 1);
        assert!(!page.items[0].redelivered);
    }
    assert!(home.disk.bytes("inbox/consumers/c.jsonl").unwrap().len() < 5_000);
    reader.hand_out(ONE, &up_to(5)).unwrap();
    assert_eq!(other.hand_out(ONE, &up_to(1)).unwrap().items[0].record.seq, 456);
    assert_eq!((reader.unread(None), other.unread(None)), (150, 150));
    let (journal, _) = home.reopen();
    let next = mailbox(&journal, "c").hand_out(ONE, &all()).unwrap();
    assert_eq!(next.items.iter().filter(|item| item.redelivered).count(), 6);
    assert_eq!(next.items.len(), 150);
}

#[test]
fn the_consumers_file_goes_on_after_any_cut() {
    let (home, journal) = filled(4);
    let mut mailbox = mailbox(&journal, "c");
    take(&mut mailbox, &up_to(1));
    mailbox.hand_out(ONE, &up_to(1)).unwrap();
    let path = "inbox/consumers/c.jsonl";
    let whole = home.disk.bytes(path).unwrap();
    let summary = home.disk.bytes("inbox/state.json").unwrap();
    let without = || (0..=whole.len()).map(|cut| (cut, b"".as_slice()));
    for (cut, summary) in without().chain((0..=whole.len()).map(|cut| (cut, summary.as_slice()))) {
        home.disk.set_bytes(path, &whole[..cut]);
        home.disk.set_bytes("inbox/state.json", summary);
        let (journal, _) = home.reopen();
        let mut mailbox = journal.mailbox(&consumer("c"), "s").unwrap();
        let rest = take(&mut mailbox, &all());
        assert!(ids(&rest).ends_with(&["m2", "m3", "m4"]), "cut at {cut}: {:?}", ids(&rest));
        assert!(summary.is_empty() || rest.items.len() == 3, "cut at {cut}: the summary knows who has m1");
        let (journal, _) = home.reopen();
        let mut mailbox = journal.mailbox(&consumer("c"), "s").unwrap();
        assert!(
            take(&mut mailbox, &all()).items.is_empty(),
            "cut at {cut}: what came after the cut was kept"
        );
    }
}

#[test]
fn a_session_sees_that_another_rewrote_the_file() {
    let home = Home::with(JournalOptions { consumer_bytes_max: 2_500, ..JournalOptions::default() });
    let (journal, _) = home.open();
    journal.append(drafts(1..=400)).unwrap();
    let mut busy = mailbox(&journal, "c");
    for pause in 1..24 {
        let mut idle = journal.mailbox(&consumer("c"), "idle").unwrap();
        assert_eq!(idle.unread(None), busy.unread(None));
        for _ in 0..pause {
            take(&mut busy, &up_to(1));
        }
        assert_eq!(idle.unread(None), busy.unread(None), "after {pause} takes");
    }
}

#[test]
fn notes_that_could_not_be_written_are_remembered_and_written_later() {
    let home = Home::with(JournalOptions { consumer_bytes_max: 1, ..JournalOptions::default() });
    let (journal, _) = home.open();
    journal.append(drafts(1..=50)).unwrap();
    let mut first = mailbox(&journal, "c");
    let mut second = mailbox(&journal, "c");
    home.disk.set_space_left(Some(20));
    assert_eq!(ids(&take(&mut first, &up_to(2))), ["m1", "m2"], "a full disk stops no delivery");
    assert!(journal.stats().notes_failed_total > 0);
    home.disk.set_space_left(None);
    for _ in 0..30 {
        take(&mut second, &Query { since_id: Some("m10".into()), ..up_to(1) });
    }
    assert_eq!(first.unread(None), 18, "the file was rewritten without what it never had");
    assert_eq!(ids(&first.hand_out(ONE, &up_to(1)).unwrap()), ["m3"]);
    assert_eq!(second.unread(None), 18, "now it is written");
    drop((first, second));
    let (journal, _) = home.reopen();
    assert_eq!(ids(&take(&mut mailbox(&journal, "c"), &up_to(9)))[7..], ["m10", "m41"]);
}

/// A model that looks and takes the same message at once, and cancels the look, keeps what it took: the cancelled look took the
/// hold away, and another session was handed the message too.
#[test]
fn a_look_that_is_cancelled_gives_nothing_back() {
    let home = Home::filled(1);
    let (here, _) = home.open();
    let (there, _) = home.open();
    let (mut one, mut other) = (mailbox(&here, "claude-code"), mailbox(&there, "claude-code"));
    let (look, take) = (DeliveryId(1), DeliveryId(2));
    assert_eq!(one.hand_out(look, &Query { purpose: Purpose::Peek, ..all() }).unwrap().items.len(), 1);
    assert_eq!(one.hand_out(take, &all()).unwrap().items.len(), 1);
    one.give_back(look);
    assert_eq!(other.state_of(1).unwrap(), DeliveryState::PendingElsewhere);
    assert!(other.hand_out(ONE, &all()).unwrap().items.is_empty());
}

/// The result of work that a consumer asked for.
fn result_for(name: &str, n: u64) -> entraclaw_inbox::record::Draft {
    let mut draft = draft_on(Channel::Work, n);
    draft.meta.insert(entraclaw_inbox::record::CONSUMER_KEY.to_owned(), name.to_owned());
    draft
}

#[test]
fn the_result_of_work_is_for_the_consumer_that_asked_and_counts_for_no_other() {
    let (home, journal) = filled(2);
    journal.append(vec![result_for("codex", 3), draft(4), result_for("claude-code", 5)]).unwrap();
    let mut claude = mailbox(&journal, "claude-code");
    let mut codex = mailbox(&journal, "codex");
    assert_eq!((claude.unread(None), codex.unread(None)), (4, 4));
    let seqs = journal.read_after(0, 10).unwrap();
    let place = |id: &str| seqs.iter().find(|record| record.id == id).unwrap().seq;
    assert_eq!(claude.state_of(place("m3")).unwrap(), DeliveryState::Acknowledged);
    assert_eq!(codex.state_of(place("m3")).unwrap(), DeliveryState::New);
    assert!(!claude.claim_push(place("m3")).unwrap() && codex.claim_push(place("m3")).unwrap());
    let storage: Arc<dyn Storage> = Arc::new(home.disk.clone());
    let mut look = entraclaw_inbox::journal::Look::at(&storage).unwrap();
    // Somebody who was never there is counted by what a session of theirs would be shown.
    let waiting = look.waiting(&consumer("gemini-cli"), 10).unwrap();
    assert_eq!(waiting.iter().map(|one| one.record.id.as_str()).collect::<Vec<_>>(), ["m1", "m2", "m4"]);
    assert_eq!(look.unread(&consumer("codex")).unwrap(), 4);
    assert_eq!(ids(&take(&mut claude, &all())), ["m1", "m2", "m4", "m5"]);
    assert_eq!(ids(&take(&mut codex, &all())), ["m1", "m2", "m3", "m4"]);
    assert_eq!((claude.unread(None), codex.unread(None)), (0, 0));
    // Also what comes while both are there, and after a restart.
    journal.append(vec![result_for("codex", 6)]).unwrap();
    assert_eq!((claude.unread(Some(Channel::Work)), codex.unread(Some(Channel::Work))), (0, 1));
    drop((claude, codex));
    let (journal, _) = home.reopen();
    assert!(take(&mut mailbox(&journal, "claude-code"), &all()).items.is_empty());
    assert_eq!(ids(&take(&mut mailbox(&journal, "codex"), &all())), ["m6"]);
}

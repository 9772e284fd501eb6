//! What an id acknowledges where a message and its edit have it in common: an answer to the message must not take away an edit
//! that the model may never have seen.

use entraclaw_inbox::journal::DeliveryState::{self, *};
use entraclaw_inbox::journal::{DeliveryId, Journal, Mailbox, Purpose, Query};
use entraclaw_inbox::record::Draft;

use crate::support::*;

const ANSWER: DeliveryId = DeliveryId(1);
const LOST: DeliveryId = DeliveryId(2);

/// A message at place 1, and its edit at place 2.
fn edited() -> (Home, Journal) {
    let home = Home::new();
    let (journal, _) = home.open();
    let edit = Draft { key: "teams/19:a/m1@2".into(), edit_of: Some("m1".into()), ..draft(1) };
    journal.append(vec![draft(1), edit]).unwrap();
    (home, journal)
}

/// An answer with the oldest that are unread.
fn shows(mailbox: &mut Mailbox, delivery: DeliveryId, count: usize) {
    assert_eq!(mailbox.hand_out(delivery, &up_to(count)).unwrap().items.len(), count);
    mailbox.finish(delivery);
}

/// How many are acknowledged by the id, and how both then stand.
fn named(mailbox: &mut Mailbox) -> (usize, [DeliveryState; 2]) {
    let retired = mailbox.acknowledge_ids(&["m1"]).unwrap();
    (retired, [1, 2].map(|seq| mailbox.state_of(seq).unwrap()))
}

#[test]
fn an_edit_in_an_answer_that_was_given_back_comes_again() {
    let (home, journal) = edited();
    let mut reader = mailbox(&journal, "claude-code");
    shows(&mut reader, LOST, 2);
    reader.give_back(LOST);
    shows(&mut reader, ANSWER, 1);
    assert_eq!(named(&mut reader), (1, [Acknowledged, Doubtful]));
    drop(reader);
    let (journal, _) = home.reopen();
    let batch = take(&mut mailbox(&journal, "claude-code"), &all());
    assert_eq!(
        batch.items.iter().map(|item| (item.record.seq, item.redelivered)).collect::<Vec<_>>(),
        [(2, true)]
    );
}

#[test]
fn an_edit_in_an_answer_of_a_session_that_ended_comes_again() {
    for shows_anew in [true, false] {
        let (_home, journal) = edited();
        shows(&mut mailbox(&journal, "claude-code"), ANSWER, 2);
        let mut reader = mailbox(&journal, "claude-code");
        // Without that, the model remembers the message from a conversation that it goes on with.
        if shows_anew {
            shows(&mut reader, ANSWER, 1);
        }
        assert_eq!(named(&mut reader), (1, [Acknowledged, Orphaned]));
        assert_eq!(ids(&take(&mut reader, &all())), ["m1"]);
    }
}

/// The next call acknowledges the message before the id of that call is looked at, and a model may answer twice.
#[test]
fn a_second_answer_to_a_message_takes_away_no_edit() {
    let (_home, journal) = edited();
    shows(&mut mailbox(&journal, "claude-code"), ANSWER, 2);
    let mut reader = mailbox(&journal, "claude-code");
    shows(&mut reader, ANSWER, 1);
    assert_eq!(reader.acknowledge_returned().unwrap(), 1);
    assert_eq!(named(&mut reader), (0, [Acknowledged, Orphaned]));
    assert_eq!(ids(&take(&mut reader, &all())), ["m1"]);
}

#[test]
fn an_edit_in_an_answer_that_has_not_left_comes_again_if_it_is_lost() {
    let (_home, journal) = edited();
    let mut reader = mailbox(&journal, "claude-code");
    reader.hand_out(LOST, &Query { limit: 2, ..all() }).unwrap();
    assert_eq!(named(&mut reader), (1, [Acknowledged, HandedOut]));
    reader.give_back(LOST);
    assert_eq!(ids(&take(&mut reader, &all())), ["m1"]);
}

#[test]
fn a_message_and_an_edit_that_the_model_knows_are_answered_together() {
    for purpose in [Purpose::TellUnread, Purpose::Peek, Purpose::HandOut] {
        let (_home, journal) = edited();
        let mut reader = mailbox(&journal, "claude-code");
        reader.hand_out(ANSWER, &Query { purpose, ..all() }).unwrap();
        reader.finish(ANSWER);
        assert_eq!(named(&mut reader), (2, [Acknowledged; 2]), "{purpose:?}");
    }
    let (_home, journal) = edited();
    let mut reader = mailbox(&journal, "claude-code");
    assert!(reader.claim_push(1).unwrap() && reader.claim_push(2).unwrap());
    assert_eq!(named(&mut reader), (2, [Acknowledged; 2]));
}

//! Two sessions of one consumer that both find the same thing to do, and one of which is faster: the slower one looks again
//! when it has the lock.

use std::sync::Arc;

use entraclaw_inbox::journal::{DeliveryId, Mailbox, Purpose, Query};
use entraclaw_inbox::record::Record;

use crate::slow::{At, Slow};
use crate::support::*;

const ONE: DeliveryId = DeliveryId(1);

/// Two sessions in processes of their own; the first can be held up. What is returned last keeps both alive.
fn sessions(home: &Home) -> (Slow, Mailbox, Mailbox) {
    let slow = Slow::new(home.disk.new_process());
    let (first, _) = home.open_on(Arc::new(slow.clone())).unwrap();
    let (second, _) = home.open();
    let slower = first.mailbox(&consumer("c"), "slower").unwrap();
    let faster = second.mailbox(&consumer("c"), "faster").unwrap();
    (slow, slower, faster)
}

#[test]
fn a_message_that_both_find_new_is_pushed_by_one() {
    let home = Home::filled(2);
    let (slow, mut slower, mut faster) = sessions(&home);
    slow.before(At::Lock, move || assert!(faster.claim_push(1).unwrap()));
    assert!(!slower.claim_push(1).unwrap(), "the other one has pushed it");
    assert!(!slow.waits());
    assert!(slower.claim_push(2).unwrap());
}

#[test]
fn a_message_that_is_shown_or_acknowledged_before_the_lock_is_not_pushed() {
    for purpose in [Purpose::Peek, Purpose::HandOut] {
        let home = Home::filled(1);
        let (slow, mut slower, mut faster) = sessions(&home);
        slow.before(At::Lock, move || {
            let batch = faster.hand_out(ONE, &Query { purpose, ..all() }).unwrap();
            assert_eq!(ids(&batch), ["m1"]);
            if purpose == Purpose::HandOut {
                faster.finish(ONE);
                assert_eq!(faster.acknowledge_returned().unwrap(), 1);
            }
        });
        assert!(!slower.claim_push(1).unwrap(), "{purpose:?}");
        assert!(!slow.waits());
    }
}

#[test]
fn messages_that_two_sessions_would_announce_are_announced_by_one() {
    let home = Home::filled(1);
    let (slow, mut slower, mut faster) = sessions(&home);
    assert_eq!(slower.announced_through().unwrap(), 0);
    // The faster one lives on, so its agent was told.
    let lives = Arc::new(std::sync::Mutex::new(None));
    let keeps = Arc::clone(&lives);
    slow.before(At::Lock, move || {
        assert!(faster.claim_announcement(1).unwrap());
        *keeps.lock().unwrap() = Some(faster);
    });
    assert!(!slower.claim_announcement(1).unwrap());
    assert!(lives.lock().unwrap().is_some());
}

#[test]
fn an_orphaned_delivery_that_two_sessions_would_take_over_goes_to_one() {
    let home = Home::filled(1);
    let process = home.disk.new_process();
    let (dying, _) = home.open_as(process.clone()).unwrap();
    let mut dead = dying.mailbox(&consumer("c"), "dead").unwrap();
    let (slow, mut slower, mut faster) = sessions(&home);
    assert_eq!(ids(&dead.hand_out(ONE, &all()).unwrap()), ["m1"]);
    process.kill();
    let all_of = |records: &[Record]| records.len();
    slow.before(At::Lock, move || assert_eq!(faster.take_over(&all_of).unwrap().len(), 1));
    assert!(slower.has_orphans().unwrap());
    assert!(slower.take_over(&all_of).unwrap().is_empty());
    assert!(!slow.waits());
}

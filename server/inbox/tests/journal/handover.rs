//! What a follower reads while the leader goes on to another file, and what it leaves alone once it failed to lead.

use std::io;
use std::sync::Arc;

use entraclaw_inbox::journal::Journal;
use entraclaw_seams::storage::Fault;

use crate::slow::{At, Slow};
use crate::support::*;

fn refreshed(follower: &Journal) -> Vec<String> {
    // A follower looks again and again; what is found by the second look was not lost.
    follower.refresh().unwrap();
    follower.refresh().unwrap();
    keys(follower)
}

#[test]
fn a_record_appended_between_a_look_at_the_file_and_at_the_folder_is_not_passed_by() {
    let home = Home::new();
    let (leader, _) = home.open();
    leader.append(drafts([1])).unwrap();
    let slow = Slow::new(home.disk.new_process());
    let (follower, _) = home.open_on(Arc::new(slow.clone())).unwrap();
    assert_eq!(keys(&follower), keys_of([1]));
    let (writing, clock) = (leader.clone(), Arc::clone(&home.clock));
    slow.before(At::List, move || {
        writing.append(drafts([2])).unwrap();
        clock.move_by(24);
        writing.append(drafts([3])).unwrap();
    });
    assert_eq!(refreshed(&follower), keys_of([1, 2, 3]));
}

#[test]
fn a_process_that_failed_to_lead_mends_nothing_under_the_leader() {
    // Until every call of a take-over has failed once.
    for call in 0.. {
        let home = Home::filled(1);
        let process = home.disk.new_process();
        let (leader, _) = home.open();
        let (other, _) = home.open_as(process).unwrap();
        drop(leader);
        home.disk.fail_call(call, Fault::Error(io::ErrorKind::Other));
        let failed = other.try_lead().is_err();
        if home.disk.clear_fault() {
            assert!(call > 10, "{call}");
            break;
        }
        if !failed {
            continue;
        }
        let (next, _) = home.open();
        home.clock.move_by(24);
        next.append(drafts([2])).unwrap();
        let newest = "inbox/2026-11-22.jsonl";
        let whole = home.disk.bytes(newest).unwrap();
        // Half of the next line is on its way.
        let mut halfway = whole.clone();
        halfway.extend_from_slice(b"{\"v\":1,\"seq\":");
        home.disk.set_bytes(newest, &halfway);
        other.refresh().unwrap();
        assert_eq!(home.disk.bytes(newest).unwrap(), halfway, "call {call}");
        home.disk.set_bytes(newest, &whole);
    }
}

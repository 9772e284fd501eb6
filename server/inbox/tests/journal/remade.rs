//! What happens when a consumer's own file is deleted, emptied or overwritten, between two sessions or under a living one:
//! it is made again, nothing that was acknowledged comes again, and nothing else comes twice unmarked.

use entraclaw_inbox::journal::{DeliveryId, Purpose, Query, Removed};
use entraclaw_seams::storage::Storage as _;
use rstest::rstest;

use crate::support::*;

const OWN: &str = "inbox/consumers/reader.jsonl";

/// Three of six messages are acknowledged, two more were shown, and then every process died.
fn home() -> Home {
    let home = Home::new();
    let (journal, _) = home.open();
    journal.append(drafts(1..=6)).unwrap();
    let mut reader = mailbox(&journal, "reader");
    take(&mut reader, &up_to(3));
    reader.hand_out(DeliveryId(9), &up_to(2)).unwrap();
    drop((reader, journal));
    home
}

fn harm(home: &Home, how: &str) {
    let whole = home.disk.bytes(OWN).unwrap();
    match how {
        "deleted" => home.disk.new_process().remove(OWN).unwrap(),
        "emptied" => home.disk.set_bytes(OWN, b""),
        "zeroed" => home.disk.set_bytes(OWN, &vec![0; whole.len()]),
        "overwritten" => home.disk.set_bytes(OWN, b"something else\nof two lines\n"),
        "cut" => home.disk.set_bytes(OWN, &whole[..whole.len() / 2]),
        _ => {
            let mut bytes = whole;
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            home.disk.set_bytes(OWN, &bytes);
        }
    }
}

fn fresh() -> Query {
    Query { purpose: Purpose::TellNew, ..all() }
}

#[rstest]
fn a_file_that_is_gone_between_sessions_is_made_again(
    #[values("deleted", "emptied", "zeroed", "overwritten", "flipped")] how: &str,
) {
    let home = home();
    harm(&home, how);
    let (journal, _) = home.reopen();
    journal.append(drafts([7])).unwrap();
    let mut reader = mailbox(&journal, "reader");
    assert_eq!(reader.unread(None), 4);
    let told = reader.hand_out(DeliveryId(1), &fresh()).unwrap();
    assert_eq!(ids(&told), ["m4", "m5", "m6", "m7"], "hooks and waiting commands tell it");
    assert_eq!(reader.hand_out(DeliveryId(2), &fresh()).unwrap().items.len(), 0, "once");
    let marks = [("m4", true), ("m5", true), ("m6", true), ("m7", true)];
    assert_eq!(marked(&take(&mut reader, &all())), marks);
    assert!(
        home.text("interactions/2026-11-21.jsonl")
            .contains("the file of consumer reader was missing or damaged")
    );
    assert_eq!(home.disk.bytes(&format!("{OWN}.damaged")).is_some(), !matches!(how, "deleted" | "emptied"));
    drop((reader, journal));
    let (journal, _) = home.reopen();
    assert_eq!(mailbox(&journal, "reader").unread(None), 0, "it was told once");
    assert_eq!(home.text("interactions/2026-11-21.jsonl").matches("the file of consumer").count(), 1);
}

#[rstest]
fn messages_that_came_since_are_new(#[values("deleted", "zeroed")] how: &str) {
    let home = home();
    harm(&home, how);
    let (journal, _) = home.reopen();
    let mut reader = mailbox(&journal, "reader");
    journal.append(drafts([7])).unwrap();
    let marks = [("m4", true), ("m5", true), ("m6", true), ("m7", false)];
    assert_eq!(marked(&take(&mut reader, &all())), marks);
}

#[rstest]
fn a_file_that_is_gone_under_a_running_session_is_written_anew(
    #[values("deleted", "emptied", "zeroed", "overwritten", "cut")] how: &str,
) {
    let home = home();
    let (journal, _) = home.reopen();
    let mut reader = mailbox(&journal, "reader");
    harm(&home, how);
    assert_eq!(reader.unread(None), 3, "it is known, whatever became of the file");
    journal.append(drafts([7])).unwrap();
    assert_eq!(marked(&take(&mut reader, &up_to(2))), [("m4", true), ("m5", true)]);
    let (second, _) = home.open();
    let mut sibling = mailbox(&second, "reader");
    assert_eq!(marked(&take(&mut sibling, &all())), [("m6", false), ("m7", false)]);
    assert_eq!(reader.unread(None), 0, "what the sibling did is read from the new file");
    drop((reader, sibling, second, journal));
    let (journal, _) = home.reopen();
    assert_eq!(mailbox(&journal, "reader").unread(None), 0);
    assert!(home.disk.bytes(&format!("{OWN}.damaged")).is_none(), "what was known was whole");
}

#[test]
fn a_consumer_that_was_removed_on_purpose_begins_anew() {
    let home = home();
    let (journal, _) = home.reopen();
    assert_eq!(journal.remove_consumer(&consumer("reader")).unwrap(), Removed::Gone);
    assert!(!home.text("inbox/state.json").contains("reader"));
    assert_eq!(take(&mut mailbox(&journal, "reader"), &all()).items.len(), 6);
}

/// A power cut or a full disk may leave the beginning of a line, which the next note closes.
#[test]
fn a_line_that_a_process_ended_in_is_no_damage() {
    let home = home();
    let whole = home.disk.bytes(OWN).unwrap();
    home.disk.set_bytes(OWN, &[whole.as_slice(), b"{\"note\":\"see"].concat());
    let (journal, _) = home.reopen();
    drop(mailbox(&journal, "reader"));
    assert_eq!(mailbox(&journal, "reader").unread(None), 3);
    assert!(home.disk.bytes(&format!("{OWN}.damaged")).is_none());
    assert!(!home.text("interactions/2026-11-21.jsonl").contains("the file of consumer"));
}

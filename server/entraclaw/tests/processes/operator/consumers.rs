//! Consumers: a mistyped name makes none, and an unneeded one is removed.

use std::sync::Arc;

use entraclaw_inbox::journal::{ConsumerName, Journal, JournalOptions};
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::storage::DiskStorage;
use rstest::rstest;

use super::support::Fixture;

/// A journal with one message of Alice, read by `claude-code` and `reviewer`.
fn filled(fixture: &Fixture) -> Journal {
    let disk = Arc::new(DiskStorage::open(&fixture.home).unwrap());
    let (journal, _) = Journal::open(disk, Arc::new(SystemClock), JournalOptions::default()).unwrap();
    for name in ["claude-code", "reviewer"] {
        drop(journal.mailbox(&ConsumerName::new(name).unwrap(), "test").unwrap());
    }
    let draft = Draft {
        key: "teams/19:a/1".to_owned(),
        id: "1".to_owned(),
        channel: Channel::Teams,
        chat_id: "19:a@thread.v2".to_owned(),
        from: "Alice".to_owned(),
        ts: "2026-11-21T10:00:00Z".to_owned(),
        content_text_sanitized: "hello".to_owned(),
        meta: [("chat_type".to_owned(), "group".to_owned())].into(),
        edit_of: None,
        deleted: false,
    };
    journal.append(vec![draft]).unwrap();
    journal
}

#[rstest]
#[case("wait", "cluade-code", "did you mean claude-code? there are claude-code, reviewer")]
#[case("wait", "somebody", "no consumer is named somebody; there are claude-code, reviewer")]
#[case("inbox", "revewer", "did you mean reviewer? there are claude-code, reviewer")]
fn a_mistyped_consumer_is_refused_and_not_made(
    #[case] command: &str,
    #[case] typed: &str,
    #[case] told: &str,
) {
    let fixture = Fixture::new();
    drop(filled(&fixture));
    let said = fixture.run(&[command, "--consumer", typed]);
    assert_eq!((said.code, said.out.as_str()), (1, ""), "{}", said.err);
    assert!(said.err.contains(told), "{}", said.err);
    assert!(!fixture.home.join(format!("inbox/consumers/{typed}.jsonl")).exists());
    // The default of a bare wait is still an agent's.
    let said = fixture.run(&["wait", "--timeout", "1s", "--format", "json"]);
    assert!(said.code == 0 && !said.out.contains(&format!("\"{typed}\"")), "{}{}", said.out, said.err);
    assert!(said.out.contains("\"next\":\"handle these"), "{}", said.out);
}

/// A wait may name a host before its first session, and the consumer of the configuration.
#[test]
fn a_host_that_has_not_connected_yet_may_be_waited_for() {
    let fixture = Fixture::new();
    drop(filled(&fixture));
    let said = fixture.run(&["wait", "--consumer", "copilot-cli", "--timeout", "1s"]);
    assert!(said.code == 0 || said.code == 4, "{} {}", said.code, said.err);
    let fixture = Fixture::new().config("[inbox]\nconsumer = \"night\"\n");
    drop(filled(&fixture));
    let said = fixture.run(&["wait", "--consumer", "night", "--timeout", "1s"]);
    assert!(said.code == 0 || said.code == 4, "{} {}", said.code, said.err);
}

#[test]
fn consumers_are_listed_and_removed_unless_they_are_in_use() {
    let fixture = Fixture::new();
    let said = fixture.run(&["consumers"]);
    assert!(said.code == 0 && said.out.starts_with("No consumer has read this inbox yet"), "{}", said.out);
    let journal = filled(&fixture);
    let said = fixture.run(&["consumers"]);
    let lines: Vec<&str> = said.out.lines().collect();
    assert!(lines[0].starts_with("claude-code  1 unread message, there "), "{}", said.out);
    assert!(lines.len() == 2 && lines[1].starts_with("reviewer     1 unread message"), "{}", said.out);
    assert_eq!(fixture.run(&["consumers", "list"]).out.lines().count(), 2);
    let said = fixture.run(&["consumers", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(listed[1]["name"], "reviewer");

    let reader = journal.mailbox(&ConsumerName::new("reviewer").unwrap(), "a session").unwrap();
    let said = fixture.run(&["consumers", "remove", "reviewer"]);
    assert!(said.code == 1 && said.err.contains("a session or a command reads as it"), "{}", said.err);
    drop(reader);
    let said = fixture.run(&["consumers", "remove", "revewer"]);
    assert!(said.code == 1 && said.err.contains("did you mean reviewer?"), "{}", said.err);
    let said = fixture.run(&["consumers", "remove", "reviewer"]);
    assert!(said.code == 0 && said.out.starts_with("removed: reviewer"), "{}{}", said.out, said.err);
    assert!(!fixture.home.join("inbox/consumers/reviewer.jsonl").exists());
    let state = std::fs::read_to_string(fixture.home.join("inbox/state.json")).unwrap();
    assert!(!state.contains("reviewer"), "{state}");
    assert!(!fixture.run(&["consumers"]).out.contains("reviewer"));
}

#[test]
fn one_message_is_singular_and_a_group_is_named() {
    let fixture = Fixture::new();
    drop(filled(&fixture));
    let said = fixture.run(&["inbox", "--consumer", "reviewer"]);
    assert!(said.out.starts_with("1 unread message for reviewer"), "{}", said.out);
    assert!(said.out.contains("Alice by teams in a group, "), "{}", said.out);
    let said = fixture.run(&["wait", "--consumer", "reviewer"]);
    assert!(
        said.out.contains("From Alice by teams in a group, ") && said.out.contains("\nNext: handle"),
        "{}",
        said.out
    );
}

//! Appending and reading, without anything going wrong.

use entraclaw_inbox::journal::{Interaction, InteractionKind, JournalError, JournalOptions};
use entraclaw_inbox::record::Channel;
use serde_json::{Value, json};

use crate::support::*;

#[test]
fn a_line_is_the_seeds_record_with_its_place_and_checksum() {
    let home = Home::new();
    let (journal, _) = home.open();
    let appended = journal.append(vec![draft(1)]).unwrap();
    assert_eq!(appended.new[0].seq, 1);
    let line: Value = serde_json::from_str(home.text(FILE).trim_end()).unwrap();
    let members: Vec<&str> = line.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        members,
        [
            "v",
            "seq",
            "key",
            "id",
            "received_at",
            "channel",
            "chat_id",
            "from",
            "ts",
            "content_text_sanitized",
            "meta",
            "consumed_by",
            "crc"
        ]
    );
    assert_eq!(line["received_at"], "2026-11-21T12:00:00.000Z");
    assert_eq!(line["consumed_by"], json!([]));
}

#[test]
fn the_same_message_is_taken_once() {
    let home = Home::new();
    let (journal, _) = home.open();
    let first = journal.append(drafts([1, 2, 1])).unwrap();
    assert_eq!((first.new.len(), first.duplicates), (2, 1));
    let again = journal.append(drafts([2, 3])).unwrap();
    assert_eq!((again.new.len(), again.duplicates), (1, 1));
    assert!(journal.has(&draft(3).key) && !journal.has(&draft(4).key));
    let (journal, _) = home.reopen();
    let after_restart = journal.append(drafts([1, 2, 3])).unwrap();
    assert_eq!((after_restart.new.len(), after_restart.duplicates), (0, 3));
    assert_eq!(keys(&journal), keys_of(1..=3));
}

#[test]
fn a_leader_is_silent_as_last_noted() {
    let home = Home::new();
    let (journal, _) = home.open();
    for silent in [false, true, false] {
        journal.note_leader_silent(silent);
        assert_eq!(journal.is_leader_silent(), silent);
    }
}

#[test]
fn only_the_newest_keys_are_remembered() {
    let home = Home::with(JournalOptions { dedup_keys_max: 3, ..JournalOptions::default() });
    let (journal, _) = home.open();
    journal.append(drafts(1..=5)).unwrap();
    assert_eq!(journal.append(drafts(3..=5)).unwrap().duplicates, 3);
    let (journal, _) = home.reopen();
    assert_eq!(journal.append(drafts(3..=5)).unwrap().duplicates, 3);
    let (journal, _) = home.reopen();
    assert_eq!(journal.append(drafts([1])).unwrap().new[0].seq, 6);
}

#[test]
fn watchers_are_told_the_newest_place() {
    let home = Home::new();
    let (journal, _) = home.open();
    let mut watch = journal.watch();
    journal.append(drafts(1..=3)).unwrap();
    assert!(watch.has_changed().unwrap());
    assert_eq!(*watch.borrow_and_update(), 3);
    journal.append(drafts(1..=3)).unwrap();
    assert!(!watch.has_changed().unwrap(), "duplicates wake nobody");
}

#[test]
fn days_and_full_files_are_read_as_one() {
    let home = Home::with(JournalOptions {
        window_messages_max: 5,
        segment_bytes_max: 2_000,
        ..JournalOptions::default()
    });
    let (journal, _) = home.open();
    for n in 1..=20 {
        journal.append(vec![draft(n)]).unwrap();
    }
    home.clock.move_by(24);
    journal.append(drafts(21..=23)).unwrap();
    home.clock.move_by(-48);
    journal.append(drafts(24..=25)).unwrap();
    let paths = home.disk.paths();
    assert!(paths.contains(&"inbox/2026-11-21.2.jsonl".into()), "{paths:?}");
    assert!(paths.contains(&"inbox/2026-11-22.jsonl".into()), "{paths:?}");
    assert!(
        !paths.iter().any(|path| path.contains("inbox/2026-11-20")),
        "a clock that goes back starts no file"
    );
    let (reopened, report) = home.reopen();
    assert_eq!((report.records, report.findings), (25, vec![]));
    assert_eq!(keys(&reopened), keys_of(1..=25));
    let some: Vec<u64> = reopened.read_after(3, 4).unwrap().iter().map(|record| record.seq).collect();
    assert_eq!(some, [4, 5, 6, 7]);
    assert_eq!(reopened.read_after(25, 4).unwrap(), []);
}

#[test]
fn messages_that_leave_the_window_unseen_are_counted_and_still_served() {
    let home = Home::new();
    let (journal, _) = home.open();
    let mut slow = mailbox(&journal, "slow");
    journal.append(drafts(1..=150)).unwrap();
    assert_eq!(take(&mut slow, &up_to(100)).items.len(), 100);
    journal.append(drafts(151..=500)).unwrap();
    let stats = journal.stats();
    assert_eq!(
        (stats.window_messages, stats.counts.spilled_total, stats.counts.dropped_total),
        (200, 200, 0)
    );
    let rest = take(&mut slow, &all());
    assert_eq!(rest.items.len(), 400);
    assert!(rest.items.windows(2).all(|pair| pair[0].record.seq + 1 == pair[1].record.seq));
}

#[test]
fn the_audit_log_has_ids_but_no_words() {
    let home = Home::new();
    let (journal, _) = home.open();
    journal.append(drafts(1..=2)).unwrap();
    let refused = Interaction {
        channel: Some(Channel::Teams),
        who: Some("tenant/object\nwith a line".into()),
        ..Interaction::new(InteractionKind::Refused).detail("x".repeat(1_000))
    };
    journal.interaction(refused);
    let log = home.text("interactions/2026-11-21.jsonl");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["kind"], "inbound");
    assert_eq!((&lines[0]["channel"], &lines[0]["chat_id"]), (&json!("teams"), &json!("19:a")));
    assert_eq!(lines[0]["id"], "m1");
    assert_eq!(lines[2]["kind"], "refused");
    assert_eq!(lines[2]["who"], "tenant/object with a line");
    assert_eq!(lines[2]["detail"].as_str().unwrap().len(), 256);
    assert!(!log.contains("hello"), "{log}");
}

#[test]
fn a_flood_fills_no_more_of_the_audit_log_than_its_bound_and_is_counted() {
    const BYTES_MAX: u64 = 64 * 1024;
    let home = Home::with(JournalOptions { audit_day_bytes_max: BYTES_MAX, ..JournalOptions::default() });
    let (journal, _) = home.open();
    let of = |kind, n: u32| Interaction { who: Some(format!("{n}")), ..Interaction::new(kind) };
    let flood = |kind| (0..2_000).for_each(|n| journal.interaction(of(kind, n)));
    let (today, tomorrow) = ("interactions/2026-11-21.jsonl", "interactions/2026-11-22.jsonl");
    let lines = |kind: &str| {
        let wanted = format!("\"kind\":\"{kind}\"");
        home.text(today).lines().filter(|line| line.contains(&wanted)).count()
    };
    flood(InteractionKind::Refused);
    let refused = lines("refused");
    assert!(refused > 100 && home.text(today).len() as u64 <= BYTES_MAX / 2 + 1_024, "{refused} lines");
    assert_eq!(lines("fault"), 1, "that lines are left out is said once");
    journal.interaction(of(InteractionKind::Access, 1));
    assert_eq!(lines("access"), 1, "what strangers have refused takes nothing else out of the log");
    flood(InteractionKind::Outbound);
    let written = refused + lines("outbound");
    assert!(lines("outbound") > 100 && home.text(today).len() as u64 <= BYTES_MAX);
    home.clock.move_by(24);
    journal.interaction(of(InteractionKind::Access, 2));
    let told = format!("{} lines of 2026-11-21 were left out", 4_000 - written);
    let (first, second) =
        home.text(tomorrow).split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(first.contains(&told) && second.contains("access"), "{first}\n{second}");
    assert_eq!(journal.stats().counts.interactions_failed_total, 0);
}

#[test]
fn the_audit_log_goes_on_after_a_torn_line_and_a_failure_stops_nothing() {
    let home = Home::new();
    let (journal, _) = home.open();
    home.disk.set_bytes("interactions/2026-11-21.jsonl", b"{\"v\":1,\"ts");
    journal.append(drafts([1])).unwrap();
    let log = home.text("interactions/2026-11-21.jsonl");
    assert!(log.lines().nth(1).unwrap().contains("m1"), "{log}");
    home.disk.set_space_left(Some(0));
    journal.interaction(Interaction::fault("x"));
    let stats = journal.stats();
    assert_eq!(stats.counts.interactions_failed_total, 1);
    assert!(stats.counts.interactions_failure.unwrap().contains("no space left"));
}

#[test]
fn the_summary_has_the_seeds_shape_and_is_made_again() {
    let home = Home::new();
    let (journal, _) = home.open();
    journal.append(drafts(1..=3)).unwrap();
    take(&mut mailbox(&journal, "claude-code"), &up_to(2));
    take(&mut mailbox(&journal, "copilot-cli"), &up_to(1));
    let expected = json!({
        "v": 1, "unread": 1, "last_id": "m3",
        "last_places": { "teams": 3, "email": 0, "bot": 0, "work": 0 }, "last_at": "2026-11-21T12:00:00Z",
        "last_seen_consumer": { "claude-code": "m2", "copilot-cli": "m1" },
        "acked_through": {
            "claude-code": { "teams": 2, "email": 0, "bot": 0, "work": 0 },
            "copilot-cli": { "teams": 1, "email": 0, "bot": 0, "work": 0 },
        },
    });
    let state = |home: &Home| serde_json::from_str::<Value>(&home.text("inbox/state.json")).unwrap();
    assert_eq!(state(&home), expected);
    for broken in ["", "{\"unread\":99", "{\"v\":1,\"unread\":99,\"last_id\":\"\",\"last_seen_consumer\":{}}"]
    {
        home.disk.set_bytes("inbox/state.json", broken.as_bytes());
        home.reopen();
        assert_eq!(state(&home), expected, "{broken:?}");
    }
}

#[test]
fn one_leads_and_the_others_follow() {
    let home = Home::new();
    let process = home.disk.new_process();
    let (leader, report) = home.open_as(process.clone()).unwrap();
    assert!(report.leader);
    let (follower, report) = home.open();
    assert!(!report.leader && !follower.is_leader() && !follower.try_lead().unwrap());
    assert!(matches!(follower.append(drafts([1])), Err(JournalError::NotLeader)));
    let watch = follower.watch();
    leader.append(drafts(1..=300)).unwrap();
    home.clock.move_by(24);
    leader.append(drafts(301..=302)).unwrap();
    assert!(follower.refresh().unwrap());
    while follower.refresh().unwrap() {}
    assert_eq!(*watch.borrow(), 302);
    assert_eq!(keys(&follower), keys_of(1..=302));
    assert!(!follower.refresh().unwrap());
    process.kill();
    assert!(follower.try_lead().unwrap());
    assert_eq!(follower.append(drafts([302, 303])).unwrap().duplicates, 1);
    assert_eq!(keys(&follower), keys_of(1..=303));
    assert!(leader.append(drafts([304])).is_err(), "a dead process writes nothing");
}

#[test]
fn a_lead_that_is_given_up_is_free_for_another() {
    let home = Home::new();
    let (first, _) = home.open();
    let (second, _) = home.open();
    second.give_up_lead();
    assert!(first.is_leader(), "who follows has no lead to give up");
    first.give_up_lead();
    assert!(!first.is_leader() && !first.leads());
    assert!(matches!(first.append(drafts([1])), Err(JournalError::NotLeader)));
    assert!(second.try_lead().unwrap());
    second.append(drafts([1])).unwrap();
    while first.refresh().unwrap() {}
    assert_eq!(keys(&first), keys_of([1]));
    assert!(!first.try_lead().unwrap());
}

#[test]
fn a_message_is_found_by_its_id_and_the_newest_by_its_channel() {
    let home = Home::new();
    let (journal, _) = home.open();
    let newest = |channel| journal.newest_of(channel).unwrap().map(|record| record.id);
    assert_eq!(newest(Channel::Teams), None);
    journal.append(drafts(1..=300)).unwrap();
    journal.append(vec![draft_on(Channel::Email, 301), draft_on(Channel::Bot, 302)]).unwrap();
    let found = |id: &str| journal.find(id).unwrap().map(|record| record.seq);
    assert_eq!(
        (found("m1"), found("m300"), found("m302"), found("m303")),
        (Some(1), Some(300), Some(302), None)
    );
    let of = [Channel::Teams, Channel::Email, Channel::Bot, Channel::Work].map(newest);
    assert_eq!(of, [Some("m300"), Some("m301"), Some("m302"), None].map(|id| id.map(str::to_owned)));
}

#[test]
fn a_reader_never_leads() {
    let home = Home::with(JournalOptions { may_lead: false, ..JournalOptions::default() });
    let (reader, report) = home.open();
    assert!(!report.leader && !reader.try_lead().unwrap());
}

#[test]
fn a_monster_is_refused_and_the_others_go_on() {
    let home = Home::new();
    let (journal, _) = home.open();
    let monster =
        || entraclaw_inbox::record::Draft { content_text_sanitized: "\u{1}".repeat(2_100_000), ..draft(2) };
    assert_eq!(journal.append(vec![draft(1), monster(), draft(3)]).unwrap().new.len(), 2);
    assert_eq!(journal.append(vec![monster()]).unwrap().duplicates, 1);
    assert_eq!(journal.stats().counts.dropped_total, 1);
    assert!(home.text("interactions/2026-11-21.jsonl").contains("\"dropped\""));
    let big =
        entraclaw_inbox::record::Draft { content_text_sanitized: "\u{1}".repeat(2_000_000), ..draft(4) };
    journal.append(vec![big, draft(5)]).unwrap();
    let (journal, report) = home.reopen();
    assert_eq!(report.findings, []);
    assert_eq!(keys(&journal), keys_of([1, 3, 4, 5]));
}

#[test]
fn there_are_only_so_many_consumers() {
    let home = Home::with(JournalOptions { consumers_max: 2, ..JournalOptions::default() });
    let (journal, _) = home.open();
    for name in ["a", "b", "a"] {
        mailbox(&journal, name);
    }
    let error = journal.mailbox(&consumer("c"), "s").err().unwrap().to_string();
    assert!(error.contains("2 consumers"), "{error}");
}

#[test]
fn it_can_be_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    fn sent<T: Send>() {}
    shared::<entraclaw_inbox::journal::Journal>();
    sent::<entraclaw_inbox::journal::Mailbox>();
}

//! Checks reports and the problems found in them, on a simulated disk.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rstest::rstest;

use super::judge::judge;
use super::*;
use entraclaw_inbox::journal::{ConsumerName, Journal, JournalOptions};
use entraclaw_inbox::source::SourceState;
use entraclaw_inbox::upkeep::Round;
use entraclaw_seams::clock::TokioClock;
use entraclaw_seams::storage::{MemoryStorage, Storage};

fn now() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

fn before(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

fn ago(seconds: i64) -> String {
    before(seconds).to_string()
}

fn session(id: &str, leads: bool) -> SessionFile {
    SessionFile {
        v: 1,
        id: id.to_owned(),
        pid: 40,
        version: "0.1.0".to_owned(),
        started_at: ago(3_600),
        host_seen_at: Some(ago(2)),
        leads,
        may_lead: true,
        hosts: vec![HostLine { name: "claude-code".to_owned(), version: "2.1.330".to_owned() }],
        consumers: vec!["claude-code".to_owned()],
        carriers: vec!["channel".to_owned(), "wait".to_owned()],
        ..SessionFile::default()
    }
}

fn status() -> StatusFile {
    let state = SourceState {
        asked_at: Some(before(2)),
        answered_at: Some(before(2)),
        conversations: 7,
        ..SourceState::default()
    };
    let source = SourceLine { name: "teams".to_owned(), poll_interval_ms: Some(5_000), state };
    StatusFile {
        v: 1,
        written_at: ago(2),
        session: "one".to_owned(),
        pid: 40,
        leads_since: ago(3_600),
        sources: vec![source],
        graph: GraphLine {
            requests_total: 700,
            requests_last_minute: 12,
            budget_per_minute: 900,
            throttled_total: 0,
        },
        ..StatusFile::default()
    }
}

fn put(disk: &MemoryStorage, path: &str, shape: &impl serde::Serialize) {
    disk.set_bytes(path, &serde_json::to_vec(shape).unwrap());
}

fn looked(disk: &MemoryStorage) -> Report {
    let storage: Arc<dyn Storage> = Arc::new(disk.new_process());
    let mut report = gather(&storage, "/home/alice/.entraclaw", now(), 30);
    judge(&mut report, &[], now());
    report
}

#[test]
fn a_home_without_anything_is_quiet_and_healthy() {
    let disk = MemoryStorage::new();
    let report = looked(&disk);
    assert!(report.healthy && report.leader.is_none());
    assert!(report.notes[0].contains("no session is running"));
    assert!(disk.paths().is_empty(), "a look writes nothing: {:?}", disk.paths());
}

#[test]
fn running_sessions_differ_from_ended_ones() {
    let disk = MemoryStorage::new();
    let process = disk.new_process();
    put(&disk, "sessions/one.json", &session("one", true));
    put(&disk, "sessions/two.json", &session("two", true));
    put(&disk, "sessions/three.json", &"not a session");
    disk.set_bytes("sessions/two.lock", b"");
    put(&disk, STATUS_FILE, &status());
    let _alive = process.try_lock("sessions/one.lock").unwrap().unwrap();
    let report = looked(&disk);
    let alive: Vec<_> = report.sessions.iter().map(|line| (line.file.id.as_str(), line.alive)).collect();
    assert_eq!(alive, [("one", true), ("two", false)]);
    assert_eq!(report.leader.as_ref().unwrap().file.id, "one");
    assert!(report.healthy, "{:?}", report.problems);
    assert!(report.notes[0].contains("1 session file is left over"));
    let shown = anstream::adapter::strip_str(&show::human(&report, now())).to_string();
    for words in [
        "status     healthy",
        "home       /home/alice/.entraclaw",
        "leader     process 40, for 60 min",
        "teams      asked every 5 s, answered as of 2 s ago, 7 conversations, 0 behind",
        "graph      12 of 900 requests in the last minute, 700 in all, 0 throttled",
        "session    40 claude-code 2.1.330, heard 2 s ago; reads as claude-code; by channel, wait",
        "(ended, file left over)",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
}

#[rstest]
#[case(0, "0 B")]
#[case(999, "999 B")]
#[case(1_000, "1 kB")]
#[case(999_999, "999 kB")]
#[case(1_000_000, "1 MB")]
#[case(999_999_999, "999 MB")]
#[case(1_000_000_000, "1 GB")]
fn bytes_are_told_in_the_largest_unit_that_they_fill(#[case] bytes: u64, #[case] told: &str) {
    assert_eq!(amount::size(bytes), told);
}

/// The line about an idle agent that has had all wake-ups of the hour.
#[test]
fn a_session_with_used_up_wake_ups_says_until_when() {
    let disk = MemoryStorage::new();
    let process = disk.new_process();
    let shown = |from: i64| {
        let from = Some((now() + SignedDuration::from_secs(from)).to_string());
        put(&disk, "sessions/one.json", &SessionFile { wake_ups_from: from, ..session("one", true) });
        anstream::adapter::strip_str(&show::human(&looked(&disk), now())).to_string()
    };
    put(&disk, "sessions/one.json", &session("one", true));
    let alive = process.try_lock("sessions/one.lock").unwrap().unwrap();
    let words = "its wake-ups wait until 2026-11-21T12:20:00Z: the last hour had as many as `wake.messages_per_hour` lets through";
    assert!(shown(1_200).contains(words), "{}", shown(1_200));
    assert!(!shown(-1).contains("wake-ups wait"), "it is over");
    drop(alive);
    assert!(!shown(1_200).contains("wake-ups wait"), "the session has ended");
}

#[rstest]
#[case::source_error(
    |s: &mut StatusFile, _: &mut SessionFile| {
        s.sources[0].state.failures = 2;
        s.sources[0].state.error = Some("the list of chats could not be read: graph answered 403; check".to_owned());
    },
    "teams: the list of chats could not be read")]
#[case::never_worked(
    |s: &mut StatusFile, _: &mut SessionFile| {
        (s.sources[0].state.failures, s.sources[0].state.answered_at) = (1, None);
        s.sources[0].state.error = Some("the list of chats could not be read: the agent can't sign in".to_owned());
    },
    "teams: the list of chats could not be read")]
#[case::serious_source(
    |s: &mut StatusFile, _: &mut SessionFile| {
        s.sources[0].state.failures = 1;
        s.sources[0].state.error = Some("the list of chats could not be read: graph answered 403; check".to_owned());
        s.sources[0].state.serious_from = Some(before(1));
    },
    "teams: the list of chats could not be read")]
#[case::hanging_source(
    |s: &mut StatusFile, _: &mut SessionFile| {
        s.sources[0].state.asked_at = Some(before(20));
        s.sources[0].state.answered_at = Some(before(25));
    },
    "teams: no answer for 20 s")]
#[case::sponsors(
    |s: &mut StatusFile, _: &mut SessionFile| {
        let trouble = "it is not known who the sponsors of the agent are: graph answered 403; grant it".to_owned();
        s.sponsors = Some(SponsorsLine { trouble, awaited: false });
    },
    "it is not known who the sponsors of the agent are")]
#[case::unsaved(
    |s: &mut StatusFile, _: &mut SessionFile| s.sources[0].state.unsaved = Some("sources/teams.json could not be saved: x; y".to_owned()),
    "teams: sources/teams.json could not be saved")]
#[case::last_session(
    |s: &mut StatusFile, f: &mut SessionFile| {
        s.sources[0].state.unsaved = Some("1 messages are in memory only".to_owned());
        f.leads = false;
    },
    "in the last session: 1 messages are in memory only")]
#[case::audit(
    |_: &mut StatusFile, f: &mut SessionFile| f.journal.interactions_failed_total = 3,
    "3 lines of the audit log could not be written")]
#[case::late_source(
    |s: &mut StatusFile, _: &mut SessionFile| s.sources[0].state.answered_at = Some(before(600)),
    "teams: nothing was read for 600 s")]
#[case::disk(
    |_: &mut StatusFile, f: &mut SessionFile| f.journal.disk_failure = Some("No space left".to_owned()),
    "the disk takes no writes, so messages are in memory only: No space left; free some space")]
#[case::lost(|_: &mut StatusFile, f: &mut SessionFile| f.journal.dropped_total = 3, "3 messages were lost")]
#[case::no_session_polls(|_: &mut StatusFile, f: &mut SessionFile| f.leads = false, "no session polls; one should")]
#[case::no_session_can_poll(
    |_: &mut StatusFile, f: &mut SessionFile| { f.leads = false; f.may_lead = false; },
    "none is signed in")]
#[case::trouble(
    |_: &mut StatusFile, f: &mut SessionFile| f.trouble = Some("config.toml, line 2: wrong".to_owned()),
    "session 40 does nothing: config.toml, line 2: wrong")]
#[case::upkeep(
    |s: &mut StatusFile, _: &mut SessionFile| s.upkeep = Some(Round { error: Some("disk".to_owned()), ..Round::default() }),
    "old files could not be deleted: disk")]
fn what_is_wrong_is_said(#[case] breaks: fn(&mut StatusFile, &mut SessionFile), #[case] problem: &str) {
    let disk = MemoryStorage::new();
    let process = disk.new_process();
    let (mut status, mut one) = (status(), session("one", true));
    breaks(&mut status, &mut one);
    put(&disk, STATUS_FILE, &status);
    put(&disk, "sessions/one.json", &one);
    let _alive = process.try_lock("sessions/one.lock").unwrap().unwrap();
    let report = looked(&disk);
    assert!(!report.healthy);
    assert!(report.problems.iter().any(|told| told.contains(problem)), "{:?}", report.problems);
}

#[test]
fn jobs_that_ended_without_a_result_are_noted() {
    let noted = |lost: u64| {
        let mut report = looked(&MemoryStorage::new());
        report.work = Some(entraclaw_work::WorkSummary { lost, running: 1, ..Default::default() });
        judge(&mut report, &[], now());
        assert!(report.healthy, "{:?}", report.problems);
        report.notes.into_iter().filter(|note| note.contains("without a result")).collect::<Vec<_>>()
    };
    assert!(noted(0).is_empty());
    let note = "2 jobs ended without a result; the next session of a host says so in the inbox";
    assert_eq!(noted(2), [note]);
}

#[test]
fn one_failure_and_a_new_leader_are_no_problem() {
    let disk = MemoryStorage::new();
    let process = disk.new_process();
    let mut status = status();
    status.leads_since = ago(5);
    status.sources[0].state.failures = 1;
    status.sources[0].state.error = Some("a hiccup".to_owned());
    status.sources[0].state.answered_at = Some(before(9_000));
    put(&disk, STATUS_FILE, &status);
    put(&disk, "sessions/one.json", &session("one", true));
    let _alive = process.try_lock("sessions/one.lock").unwrap().unwrap();
    assert!(looked(&disk).healthy);
}

#[rstest]
#[case::a_moment_ago(0, false)]
#[case::long_ago(31, true)]
#[tokio::test(start_paused = true)]
async fn a_consumer_is_idle_when_no_running_session_reads_as_it_for_long(
    #[case] days: i64,
    #[case] is_idle: bool,
) {
    let disk = MemoryStorage::new();
    let process = disk.new_process();
    let clock = Arc::new(TokioClock::starting_at(before(days * 24 * 3_600)));
    let (journal, _) = Journal::open(Arc::new(process.clone()), clock, JournalOptions::default()).unwrap();
    for name in ["claude-code", "codex"] {
        journal.mailbox(&ConsumerName::new(name).unwrap(), "s").unwrap();
    }
    for name in ["one", "two", "ended"] {
        put(&disk, &format!("sessions/{name}.json"), &session(name, false));
    }
    let _alive =
        ["one", "two"].map(|name| process.try_lock(&format!("sessions/{name}.lock")).unwrap().unwrap());
    let report = looked(&disk);
    let lines: Vec<_> =
        report.consumers.iter().map(|line| (line.name.as_str(), line.sessions, line.idle)).collect();
    assert_eq!(lines, [("claude-code", 2, false), ("codex", 0, is_idle)]);
}

#[rstest]
#[case(true, 2, true)]
#[case(true, 0, false)]
#[case(false, 2, false)]
fn unread_messages_of_a_consumer_that_is_gone_are_noted(
    #[case] idle: bool,
    #[case] unread: u64,
    #[case] is_noted: bool,
) {
    let line = ConsumerLine { name: "codex".to_owned(), unread, idle, ..ConsumerLine::default() };
    let mut report = Report { consumers: vec![line], ..Report::default() };
    judge(&mut report, &[], now());
    let noted = report.notes.iter().any(|note| note.starts_with("codex was not seen for so long"));
    assert_eq!(noted, is_noted, "{:?}", report.notes);
}

#[test]
fn broken_files_are_skipped() {
    let disk = MemoryStorage::new();
    disk.set_bytes(STATUS_FILE, b"{\"v\":1");
    disk.set_bytes("sessions/x.json", &[0xff; 40]);
    disk.set_bytes("inbox/consumers/claude-code.jsonl", b"garbage\n");
    disk.set_bytes("inbox/2026-11-20.jsonl", b"garbage\n");
    let report = looked(&disk);
    assert!(report.status.is_none() && report.sessions.is_empty());
    assert_eq!(report.consumers.len(), 1);
}

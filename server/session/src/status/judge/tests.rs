//! Checks what is a problem of a report, what is only a note, and from when on.

use jiff::SignedDuration;
use rstest::rstest;

use super::*;
use entraclaw_inbox::sessions::SessionFile;
use entraclaw_inbox::upkeep::Round;
use entraclaw_work::WorkSummary;

fn now() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

fn before(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

fn session(pid: u32) -> SessionLine {
    let file = SessionFile { v: 1, id: pid.to_string(), pid, may_lead: true, ..SessionFile::default() };
    SessionLine { file, alive: true }
}

/// A machine on which all is well: one session polls Teams every five seconds.
fn well() -> Report {
    let mut leader = session(40);
    leader.file.leads = true;
    let state =
        SourceState { asked_at: Some(before(2)), answered_at: Some(before(2)), ..SourceState::default() };
    let source = SourceLine { name: "teams".to_owned(), poll_interval_ms: Some(5_000), state };
    let status = StatusFile {
        written_at: before(2).to_string(),
        leads_since: before(3_600).to_string(),
        sources: vec![source],
        graph: entraclaw_inbox::sessions::GraphLine { budget_per_minute: 900, ..Default::default() },
        ..StatusFile::default()
    };
    Report {
        home: "/home/alice/.entraclaw".to_owned(),
        leader: Some(leader.clone()),
        sessions: vec![leader],
        status: Some(status),
        ..Report::default()
    }
}

fn teams(report: &mut Report) -> &mut SourceState {
    &mut report.status.as_mut().unwrap().sources[0].state
}

fn leads_for(report: &mut Report, seconds: i64) {
    report.status.as_mut().unwrap().leads_since = before(seconds).to_string();
}

fn no_session(report: &mut Report) {
    (report.leader, report.sessions) = (None, Vec::new());
}

fn judged(change: impl FnOnce(&mut Report)) -> Report {
    let mut report = well();
    change(&mut report);
    judge(&mut report, &[], now());
    assert_eq!(report.healthy, report.problems.is_empty());
    report
}

#[test]
fn where_all_is_well_nothing_is_told() {
    let report = judged(|_| {});
    assert_eq!((report.problems, report.notes), (Vec::<String>::new(), Vec::<String>::new()));
    let mut report = well();
    judge(&mut report, &["config.toml, line 2: wrong".to_owned()], now());
    assert_eq!(report.problems, ["config.toml, line 2: wrong"]);
}

fn unasked(report: &mut Report) {
    (teams(report).asked_at, teams(report).answered_at) = (None, None);
}

fn silent_for(report: &mut Report, seconds: i64) {
    (teams(report).asked_at, teams(report).answered_at) = (Some(before(seconds)), Some(before(seconds + 5)));
}

fn unread_for(report: &mut Report, seconds: i64) {
    (teams(report).asked_at, teams(report).answered_at) = (Some(before(seconds)), Some(before(seconds)));
}

fn fails(report: &mut Report, failures: u32, serious_from: Option<Timestamp>) {
    teams(report).error = Some("graph answered 503".to_owned());
    (teams(report).failures, teams(report).serious_from) = (failures, serious_from);
}

fn works(report: &mut Report, ended_s: i64) {
    report.work =
        Some(WorkSummary { on_the_way: 2, oldest_ended_at: Some(before(ended_s)), ..WorkSummary::default() });
}

fn requests(report: &mut Report, last_minute: u64, throttled: u64) {
    let graph = &mut report.status.as_mut().unwrap().graph;
    (graph.requests_last_minute, graph.throttled_total) = (last_minute, throttled);
}

#[rstest]
#[case::asked_for_the_first_time_soon(|r: &mut Report| { unasked(r); leads_for(r, 30); }, None)]
#[case::never_asked(|r: &mut Report| { unasked(r); leads_for(r, 31); }, Some("teams: never asked"))]
#[case::pushed_to_and_never_asked(
    |r: &mut Report| { unasked(r); r.status.as_mut().unwrap().sources[0].poll_interval_ms = None; }, None)]
#[case::a_hiccup(|r: &mut Report| fails(r, 1, None), None)]
#[case::a_second_failure(|r: &mut Report| fails(r, 2, None), Some("teams: graph answered 503"))]
#[case::serious_now(|r: &mut Report| fails(r, 1, Some(now())), Some("teams: graph answered 503"))]
#[case::serious_in_a_second(|r: &mut Report| fails(r, 1, Some(before(-1))), None)]
#[case::waits(|r: &mut Report| silent_for(r, 5), None)]
#[case::waits_long(|r: &mut Report| silent_for(r, 60), Some("teams: no answer for 60 s"))]
#[case::waits_without_a_poll(
    |r: &mut Report| { silent_for(r, 60); r.status.as_mut().unwrap().sources[0].poll_interval_ms = None; }, None)]
#[case::read_two_minutes_ago(|r: &mut Report| unread_for(r, 120), None)]
#[case::read_longer_ago(|r: &mut Report| unread_for(r, 121), Some("teams: nothing was read for 121 s"))]
#[case::read_longer_ago_by_another(|r: &mut Report| { unread_for(r, 121); leads_for(r, 30); }, None)]
#[case::read_longer_ago_and_led_since(
    |r: &mut Report| { unread_for(r, 121); leads_for(r, 31); }, Some("teams: nothing was read"))]
#[case::read_five_slow_polls_ago(
    |r: &mut Report| { unread_for(r, 300); r.status.as_mut().unwrap().sources[0].poll_interval_ms = Some(60_000); }, None)]
#[case::read_more_than_five_slow_polls_ago(
    |r: &mut Report| { unread_for(r, 301); r.status.as_mut().unwrap().sources[0].poll_interval_ms = Some(60_000); },
    Some("teams: nothing was read for 301 s"))]
#[case::throttled_once(|r: &mut Report| requests(r, 899, 1), None)]
#[case::busy(|r: &mut Report| requests(r, 900, 0), None)]
#[case::budget_used_up(|r: &mut Report| requests(r, 900, 1), Some("graph: the budget of requests is used up"))]
#[case::a_result_of_a_minute_ago(|r: &mut Report| works(r, 60), None)]
#[case::a_late_result(|r: &mut Report| works(r, 61), Some("2 results of work did not reach the inbox in a minute"))]
#[case::broken_work(
    |r: &mut Report| r.work = Some(WorkSummary { error: Some("no folder".to_owned()), ..WorkSummary::default() }),
    Some("work/ in the home folder: no folder; repair"))]
#[case::a_stopped_leader(
    |r: &mut Report| r.sessions[0].file.leader_silent = true, Some("process 40 polls, but does not move"))]
#[case::a_broken_journal(
    |r: &mut Report| r.journal.error = Some("denied".to_owned()), Some("the journal can't be read: denied"))]
#[case::damage(
    |r: &mut Report| r.journal.damage = vec!["a.jsonl".to_owned()],
    Some("the journal is damaged: a.jsonl; process 40, which polls, mends it"))]
#[case::messages_that_are_gone(
    |r: &mut Report| (r.journal.lost, r.journal.gone_total) = (Some("3 are lost".to_owned()), 3),
    Some("3 are lost; look at the disk"))]
fn a_problem_begins_at_its_bound(#[case] change: fn(&mut Report), #[case] problem: Option<&str>) {
    let report = judged(change);
    assert_eq!(report.problems.len(), usize::from(problem.is_some()), "{:?}", report.problems);
    let told = report.problems.first().map(String::as_str).unwrap_or_default();
    assert!(told.starts_with(problem.unwrap_or_default()), "{told}");
}

#[rstest]
#[case::no_session(no_session, "no session is running, so nothing is polled")]
#[case::a_result_for_the_next_session(
    |r: &mut Report| { no_session(r); works(r, 61); }, "2 results of work will reach the inbox when a host starts")]
#[case::one_file_left(
    |r: &mut Report| r.sessions.push(SessionLine { alive: false, ..session(41) }), "1 session file is left over")]
#[case::files_left(
    |r: &mut Report| r.sessions.extend([41, 42].map(|pid| SessionLine { alive: false, ..session(pid) })),
    "2 session files are left over")]
#[case::a_replaced_leader(
    |r: &mut Report| { let mut one = session(41); one.file.leads = true; r.sessions.push(one); },
    "process 41 did not move and was replaced")]
#[case::losses_that_came_again(
    |r: &mut Report| r.journal.lost = Some("a file was cut".to_owned()), "a file was cut; delete")]
#[case::kept_aside(
    |r: &mut Report| r.journal.kept_aside = vec!["a.broken".to_owned()], "what could not be read of the journal")]
#[case::old_messages(
    |r: &mut Report| r.status.as_mut().unwrap().upkeep =
        Some(Round { held_back_by: vec!["codex".to_owned(), "claude".to_owned()], ..Round::default() }),
    "old messages are kept, for they are unread by codex and claude")]
fn what_is_worth_knowing_is_no_problem(#[case] change: fn(&mut Report), #[case] note: &str) {
    let report = judged(change);
    assert_eq!(report.problems, Vec::<String>::new());
    assert!(report.notes.iter().any(|told| told.starts_with(note)), "{:?}", report.notes);
}

#[test]
fn damage_without_a_session_is_mended_by_the_next_one() {
    let report = judged(|report| {
        no_session(report);
        report.journal.damage = vec!["a.jsonl".to_owned()];
    });
    assert_eq!(
        report.problems,
        [
            "the journal is damaged: a.jsonl; start a session: it mends the file and keeps what can't be read aside"
        ]
    );
}

/// A failure counts by the time at which the last session ended, for nothing was asked since.
#[rstest]
#[case::it_lasted_then(4, true)]
#[case::it_had_just_begun(1, false)]
fn a_failure_of_the_last_session_counts_if_it_lasted_when_that_ended(
    #[case] serious_s: i64,
    #[case] counts: bool,
) {
    let report = judged(|report| {
        no_session(report);
        fails(report, 1, Some(before(serious_s)));
    });
    let problems: &[&str] = if counts { &["teams, in the last session: graph answered 503"] } else { &[] };
    assert_eq!(report.problems, problems);
}

#[test]
fn a_session_that_has_ended_is_not_told_to_be_idle() {
    let mut line = session(40);
    line.file.trouble = Some("wrong".to_owned());
    assert_eq!(idle(&line).as_deref(), Some("session 40 does nothing: wrong"));
    line.alive = false;
    assert_eq!(idle(&line), None);
}

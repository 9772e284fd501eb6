//! Single rules of the fake hosts, each on the profiles that differ in it.

mod host_support;
mod wakes;

use std::sync::Arc;

use fake_hosts::{Action, Carrier, HostMachine, HostOptions, Mode, OnFault, Outcome, Signal, profile};
use host_support::TestSession;
use rstest::rstest;
use serde_json::{Value, json};

const CLAUDE: &str = "claude-code@2.1.330";
const CHANNELS: &str = "claude-code@seed";
const COPILOT: &str = "copilot-cli@1.0.102";
const SIXTY: &str = "copilot-cli@seed";
const CODEX: &str = "codex@0.169.0";
const GEMINI: &str = "gemini-cli@0.61.0";

fn channel(text: &str) -> Value {
    json!({"content": text, "meta": {"chat_id": "c1"}})
}

#[rstest]
#[case::the_first_description(SIXTY, Mode::Tui, Some(60_000))]
#[case::todays_copilot(COPILOT, Mode::Tui, Some(180_000))]
#[case::claude_headless(CLAUDE, Mode::Print, None)]
fn a_call_has_the_limit_of_its_host(#[case] host: &str, #[case] mode: Mode, #[case] limit_ms: Option<u64>) {
    let mut session = TestSession::open(host, mode, &["wait"]);
    session.call("wait");
    if let Some(limit_ms) = limit_ms {
        session.until(limit_ms - 1);
        assert!(session.outcomes().is_empty());
        session.until(limit_ms);
        assert_eq!(session.outcomes(), [("wait".to_owned(), Outcome::TimedOut)]);
        assert_eq!(session.cancels().len(), 1);
        assert!(session.shown(Carrier::ToolResult)[0].is_error);
    } else {
        session.until(600_000);
        assert!(session.outcomes().is_empty());
    }
}

#[test]
fn a_late_reply_is_dropped() {
    let mut session = TestSession::open(SIXTY, Mode::Tui, &["wait"]);
    session.call("wait");
    session.until(61_000);
    let before = session.model().len();
    session.result("wait", "a message of Alice");
    assert_eq!(session.model().len(), before);
    assert_eq!(session.outcomes().len(), 1);
}

#[rstest]
#[case(COPILOT, true)]
#[case(SIXTY, false)]
fn progress_extends_only_where_it_does(#[case] host: &str, #[case] extends: bool) {
    let mut session = TestSession::open(host, Mode::Tui, &["wait"]);
    session.call("wait");
    let token = session.sent().last().unwrap()["params"]["_meta"]["progressToken"].clone();
    for minute in 0..20 {
        session.until(minute * 30_000);
        session.notify("notifications/progress", &json!({"progressToken": token, "progress": minute}));
    }
    assert_eq!(session.outcomes().is_empty(), extends);
}

#[test]
fn progress_of_another_token_extends_nothing() {
    let mut session = TestSession::open(COPILOT, Mode::Tui, &["wait"]);
    session.call("wait");
    session.until(170_000);
    session.notify("notifications/progress", &json!({"progressToken": 999, "progress": 1}));
    session.notify("notifications/progress", &json!({"progressToken": null}));
    session.until(180_000);
    assert_eq!(session.outcomes()[0].1, Outcome::TimedOut);
}

#[test]
fn claude_runs_only_read_only_calls_together() {
    let mut session = TestSession::open(CLAUDE, Mode::Print, &["read_a", "read_b", "write"]);
    session.calls(&["read_a", "read_b", "write"]);
    assert_eq!(session.called(), ["read_a", "read_b"]);
    session.result("read_a", "1");
    assert_eq!(session.called().len(), 2);
    session.result("read_b", "2");
    assert_eq!(session.called(), ["read_a", "read_b", "write"]);
}

#[test]
fn a_wait_that_is_not_read_only_blocks_the_step() {
    let mut session = TestSession::open(CLAUDE, Mode::Print, &["wait", "read_b"]);
    session.calls(&["wait", "read_b"]);
    session.until(500_000);
    assert_eq!(session.called(), ["wait"]);
}

#[test]
fn copilot_runs_all_calls_together() {
    let mut session = TestSession::open(COPILOT, Mode::Print, &["a", "b"]);
    session.calls(&["a", "b"]);
    assert_eq!(session.called(), ["a", "b"]);
}

#[rstest]
fn no_notification_but_the_channel_reaches_a_model(
    #[values(CLAUDE, CHANNELS, COPILOT, SIXTY)] host: &str,
    #[values(Mode::Tui, Mode::Print)] mode: Mode,
    #[values(
        "notifications/message",
        "notifications/progress",
        "notifications/resources/updated",
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
        "notifications/cancelled",
        "notifications/claude/channel/permission",
        "notifications/foo",
        "foo/bar"
    )]
    method: &str,
) {
    let mut session = TestSession::open(host, mode, &["a"]);
    let text =
        json!({"uri": "x://y", "level": "emergency", "data": "MARK", "content": "MARK", "requestId": 0});
    session.notify(method, &text);
    session.call("a");
    session.notify(method, &text);
    session.result("a", "done");
    assert_eq!(session.model().len(), 1);
    assert_eq!(session.model()[0].text, "done");
}

const LOGS: &str = "faults.undeclared_logs";

fn log(session: &mut TestSession) {
    session.notify("notifications/message", &json!({"level": "info", "data": "working"}));
}

#[rstest]
#[case::tried(CODEX, true)]
#[case::not_tried(SIXTY, false)]
fn a_log_message_that_was_not_declared_is_told_of_and_costs_no_call(#[case] host: &str, #[case] known: bool) {
    let mut session = TestSession::open(host, Mode::Print, &["a"]);
    session.call("a");
    log(&mut session);
    session.result("a", "done");
    assert_eq!(session.faults(), [(LOGS, known, true)]);
    assert_eq!(session.outcomes(), [("a".to_owned(), Outcome::Result)]);
}

#[test]
fn a_log_message_fails_the_open_call_of_a_host_whose_profile_says_so() {
    let mut strict = profile(CODEX).unwrap().as_ref().clone();
    strict.faults.undeclared_logs.value = OnFault::Fails;
    let options = HostOptions { mode: Mode::Print, ..HostOptions::default() };
    let mut session = TestSession::open_as(Arc::new(strict), options, &["a"]);
    session.call("a");
    log(&mut session);
    assert_eq!(session.faults(), [(LOGS, true, false)]);
    assert_eq!(session.outcomes(), [("a".to_owned(), Outcome::Error)]);
}

#[test]
fn a_log_message_is_no_fault_before_the_capabilities_are_known_with_the_capability_or_in_the_newer_era() {
    let host = HostMachine::new(profile(CODEX).unwrap(), HostOptions::default());
    let mut session = TestSession { host, now_ms: 0, done: Vec::new() };
    session.start();
    log(&mut session);
    let declares = json!({"protocolVersion": "2025-06-18", "capabilities": {"logging": {}},
        "serverInfo": {"name": "s", "version": "1"}});
    session.reply(&session.last_id("initialize"), json!({"result": declares}));
    assert!(session.host.is_open());
    log(&mut session);
    assert_eq!(session.faults(), []);
    let mut session = TestSession::modern(CLAUDE, HostOptions::default(), &["a"]);
    log(&mut session);
    assert_eq!(session.faults(), []);
}

#[rstest]
#[case(CLAUDE, Mode::Tui)]
#[case(CLAUDE, Mode::Print)]
#[case(CHANNELS, Mode::Print)]
#[case(COPILOT, Mode::Tui)]
#[case(SIXTY, Mode::Tui)]
fn most_hosts_drop_the_channel(#[case] host: &str, #[case] mode: Mode) {
    let mut session = TestSession::open(host, mode, &["a"]);
    session.notify("notifications/claude/channel", &channel("hello"));
    assert!(session.model().is_empty());
}

#[test]
fn a_channel_message_wakes_an_idle_host() {
    let mut session = TestSession::open(CHANNELS, Mode::Tui, &["a"]);
    session.until(5000);
    session.notify("notifications/claude/channel", &channel("hello"));
    let shown = session.model();
    assert_eq!(shown[0].text, "<channel source=\"claw\" chat_id=\"c1\">\nhello\n</channel>");
    assert!(shown[0].woke && session.host.in_turn());
    assert_eq!((shown[0].carrier, shown[0].at_ms), (Carrier::Channel, 5000));
}

#[test]
fn channel_messages_wait_for_the_end_of_a_turn_and_come_together() {
    let mut session = TestSession::open(CHANNELS, Mode::Tui, &["a"]);
    session.act(Action::BeginTurn { prompt: "work".to_owned() });
    session.call("a");
    for text in ["one", "two", "three"] {
        session.notify("notifications/claude/channel", &channel(text));
    }
    session.result("a", "done");
    assert!(session.shown(Carrier::Channel).is_empty());
    session.until(9000);
    session.act(Action::EndTurn);
    let shown = session.shown(Carrier::Channel);
    let texts: Vec<bool> =
        ["one", "two", "three"].iter().zip(&shown).map(|(text, entry)| entry.text.contains(text)).collect();
    assert_eq!(texts, [true, true, true]);
    assert!(shown.iter().all(|entry| entry.woke && entry.at_ms == 9000));
}

#[test]
fn a_session_without_the_flag_or_a_server_without_the_capability_gets_no_channel() {
    let options = HostOptions { channels: false, ..HostOptions::default() };
    let mut session = TestSession::open_with(CHANNELS, options, &["a"]);
    session.notify("notifications/claude/channel", &channel("hello"));
    session.notify("notifications/claude/channel", &json!({"content": "x", "meta": {"n": 1}}));
    assert!(session.model().is_empty());
}

#[test]
fn a_long_call_of_claude_goes_to_the_background_and_wakes_it_later() {
    let mut session = TestSession::open(CLAUDE, Mode::Tui, &["wait"]);
    session.act(Action::BeginTurn { prompt: "listen".to_owned() });
    session.call("wait");
    session.until(120_000);
    assert_eq!(session.outcomes(), [("wait".to_owned(), Outcome::Backgrounded)]);
    assert!(session.cancels().is_empty());
    session.act(Action::EndTurn);
    session.until(400_000);
    session.result("wait", &"m".repeat(60_000));
    let task = session.shown(Carrier::TaskNotification);
    assert!(task[0].woke && task[0].text.contains("<status>completed</status>"));
    assert!(task[0].text.contains(&format!("<result>{}</result>", "m".repeat(60_000))));
    assert_eq!(task[0].label.as_deref(), Some("wait"));
}

#[test]
fn a_background_result_of_a_busy_host_comes_at_the_next_tool_boundary() {
    let mut session = TestSession::open(CLAUDE, Mode::Tui, &["wait", "a"]);
    session.call("wait");
    session.until(120_000);
    session.call("a");
    session.result("wait", "late");
    assert!(session.shown(Carrier::TaskNotification).is_empty());
    session.result("a", "done");
    let task = session.shown(Carrier::TaskNotification);
    assert_eq!((task.len(), task[0].woke), (1, false));
}

#[test]
fn an_interrupt_cancels_and_ends_the_turn() {
    let mut session = TestSession::open(CLAUDE, Mode::Tui, &["wait"]);
    session.call("wait");
    session.act(Action::Interrupt);
    assert_eq!(session.cancels()[0]["reason"], "AbortError: user-cancel");
    assert_eq!(session.outcomes()[0].1, Outcome::Cancelled);
    assert!(!session.host.in_turn());
    session.result("wait", "late");
    assert_eq!(session.model().len(), 1);
}

#[test]
fn of_an_interrupt_of_gemini_nothing_is_sent() {
    let mut session = TestSession::open(GEMINI, Mode::Tui, &["wait"]);
    session.call("wait");
    session.act(Action::Interrupt);
    assert!(session.cancels().is_empty());
    assert_eq!(session.outcomes()[0].1, Outcome::Cancelled);
    let before = session.model().len();
    session.result("wait", "late");
    assert_eq!(session.model().len(), before);
}

#[rstest]
#[case::a_late_server(CODEX, 1000, true)]
#[case::all_others_wait(GEMINI, 5000, false)]
fn only_codex_begins_a_turn_without_a_late_server(#[case] host: &str, #[case] ms: u64, #[case] begins: bool) {
    let profile = profile(host).unwrap();
    let mut session =
        TestSession { host: HostMachine::new(profile, HostOptions::default()), now_ms: 0, done: Vec::new() };
    session.start();
    session.call("wait");
    session.until(ms - 1);
    assert!(session.outcomes().is_empty());
    session.until(ms);
    assert_eq!(session.outcomes().len(), usize::from(begins));
    session.serve(&["wait"]);
    session.call("wait");
    assert_eq!(session.called().last().map(String::as_str), Some("wait"));
}

#[test]
fn a_call_of_codex_names_the_thread_of_its_session() {
    let options = HostOptions { thread: "thread-7".to_owned(), ..HostOptions::default() };
    let mut session = TestSession::open_with(CODEX, options, &["a"]);
    session.call("a");
    let meta = session.sent().last().unwrap()["params"]["_meta"].clone();
    assert_eq!(meta["threadId"], "thread-7");
    assert_eq!(meta["windowId"], "thread-7:0");
    assert_eq!(meta["x-codex-turn-metadata"]["turn_trigger"], "user");
    assert!(meta["x-codex-turn-metadata"]["turn_started_at_unix_ms"].is_u64());
}

#[test]
fn a_call_of_opencode_that_is_over_is_cancelled_before_the_next_one() {
    let mut session = TestSession::open("opencode@1.18.33", Mode::Print, &["a"]);
    session.call("a");
    session.result("a", "1");
    assert!(session.cancels().is_empty());
    session.call("a");
    assert_eq!(session.cancels()[0]["reason"], "AbortError: The operation was aborted.");
    session.until(10_000);
    assert_eq!(session.cancels().len(), 1);
}

#[test]
fn a_prompt_typed_into_a_turn_waits_for_the_tool() {
    let mut session = TestSession::open(CLAUDE, Mode::Tui, &["a"]);
    session.call("a");
    session.act(Action::BeginTurn { prompt: "and this".to_owned() });
    assert!(session.shown(Carrier::Prompt).is_empty());
    session.result("a", "done");
    assert_eq!(session.shown(Carrier::Prompt)[0].text, "and this");
}

#[test]
fn claude_signals_a_stubborn_server_three_times() {
    let mut session = TestSession::open(CLAUDE, Mode::Tui, &["a"]);
    session.until(1000);
    session.act(Action::Exit);
    session.until(5000);
    assert_eq!(
        session.stops(),
        [(1000, Some(Signal::Int)), (1100, Some(Signal::Term)), (1600, Some(Signal::Kill))]
    );
    assert!(session.host.is_over());
}

#[test]
fn a_server_that_ends_at_the_first_signal_gets_no_second() {
    let mut session = TestSession::open(CLAUDE, Mode::Tui, &["a"]);
    session.act(Action::Exit);
    session.until(50);
    session.exit();
    session.until(5000);
    assert_eq!(session.stops().len(), 1);
    assert!(session.host.is_over());
}

#[test]
fn copilot_terminates_and_kills_within_ten_milliseconds() {
    let mut session = TestSession::open(COPILOT, Mode::Print, &["a"]);
    session.call("a");
    session.act(Action::Exit);
    session.until(5000);
    assert_eq!(session.cancels()[0]["reason"], "request cancelled");
    assert_eq!(session.stops(), [(0, Some(Signal::Term)), (10, Some(Signal::Kill))]);
}

#[test]
fn the_first_description_only_closes_stdin() {
    let mut session = TestSession::open(SIXTY, Mode::Tui, &["a"]);
    session.act(Action::Exit);
    session.until(60_000);
    assert_eq!(session.stops(), [(0, None)]);
    assert!(session.host.is_over());
}

#[rstest]
fn a_killed_host_closes_the_pipe_and_nothing_else(#[values(CLAUDE, COPILOT, SIXTY)] host: &str) {
    let mut session = TestSession::open(host, Mode::Tui, &["a"]);
    session.call("a");
    session.act(Action::Kill);
    session.until(60_000);
    assert_eq!(session.stops(), [(0, None)]);
    assert!(session.cancels().is_empty());
}

#[test]
fn an_interactive_claude_never_restarts_an_exited_server() {
    let mut session = TestSession::open(CLAUDE, Mode::Tui, &["a"]);
    session.call("a");
    session.exit();
    session.call("a");
    let texts: Vec<String> = session.model().into_iter().map(|entry| entry.text).collect();
    assert_eq!(texts, ["Connection closed", "No such tool: a"]);
    assert_eq!(session.host.spawns(), 1);
    session.act(Action::Reconnect);
    let effects = session.host.start(100);
    assert!(!effects.is_empty());
    session.serve(&["a"]);
    assert_eq!(session.host.spawns(), 2);
}

#[rstest]
#[case(Mode::Tui, 1)]
#[case(Mode::Print, 0)]
fn claude_asks_for_changed_resources_only_in_the_terminal(#[case] mode: Mode, #[case] more: usize) {
    let mut session = TestSession::open(CLAUDE, mode, &["a"]);
    session.until(2000);
    session.notify("notifications/resources/list_changed", &json!({}));
    assert_eq!(session.count("resources/list"), 1 + more);
    assert_eq!(session.count("resources/templates/list"), more);
}

#[test]
fn a_refused_tool_goes_nowhere() {
    let options = HostOptions { allow_tools: false, ..HostOptions::default() };
    let mut session = TestSession::open_with(CLAUDE, options, &["a"]);
    session.call("a");
    session.call("no_such");
    assert!(session.called().is_empty());
    assert!(session.model().iter().all(|entry| entry.is_error));
    assert_eq!(session.outcomes().len(), 2);
}

#[test]
fn a_tool_can_be_called_by_the_models_name() {
    let mut session = TestSession::open(COPILOT, Mode::Tui, &["inbox.pull"]);
    session.call("claw-inbox-pull");
    assert_eq!(session.called(), ["inbox.pull"]);
}

#[test]
fn the_model_of_a_deferring_host_gets_names_the_other_descriptions() {
    let session = TestSession::open(CLAUDE, Mode::Tui, &["a"]);
    assert_eq!(session.shown(Carrier::Tools)[0].text, "mcp__claw__a");
    let session = TestSession::open(COPILOT, Mode::Tui, &["a"]);
    assert_eq!(session.shown(Carrier::Tools)[0].text, "claw-a: does a");
}

#[test]
fn calls_made_before_the_server_is_open_wait_for_it() {
    let profile = profile(COPILOT).unwrap();
    let mut session =
        TestSession { host: HostMachine::new(profile, HostOptions::default()), now_ms: 0, done: Vec::new() };
    let effects = session.host.start(0);
    session.done.extend(effects.into_iter().map(|effect| (0, effect)));
    session.call("a");
    assert!(session.called().is_empty());
    session.serve(&["a"]);
    assert_eq!(session.called(), ["a"]);
}

#[test]
fn a_silent_server_is_given_up_and_calls_fail() {
    let profile = profile(CLAUDE).unwrap();
    let mut session =
        TestSession { host: HostMachine::new(profile, HostOptions::default()), now_ms: 0, done: Vec::new() };
    let effects = session.host.start(0);
    session.done.extend(effects.into_iter().map(|effect| (0, effect)));
    session.call("a");
    session.until(60_000);
    assert_eq!(session.stops()[0], (30_000, Some(Signal::Int)));
    assert_eq!(session.outcomes(), [("a".to_owned(), Outcome::Error)]);
}

#[test]
fn every_call_has_exactly_one_outcome_when_the_host_ends() {
    let mut session = TestSession::open(CLAUDE, Mode::Print, &["a", "read_b"]);
    session.calls(&["a", "a", "read_b"]);
    session.act(Action::Exit);
    assert_eq!(session.outcomes().len(), 3);
    assert!(session.outcomes().iter().all(|(_, outcome)| *outcome == Outcome::Cancelled));
}

fn ask(id: &str) -> Action {
    Action::AskPermission(fake_hosts::PermissionAsk {
        request_id: id.to_owned(),
        tool_name: "Bash".to_owned(),
        description: "delete everything".to_owned(),
        input_preview: "rm -r .".to_owned(),
    })
}

#[rstest]
#[case(CHANNELS, Mode::Tui, 1)]
#[case(CHANNELS, Mode::Print, 0)]
#[case(CLAUDE, Mode::Tui, 0)]
#[case(COPILOT, Mode::Tui, 0)]
fn a_permission_dialog_is_told_where_the_host_relays_it(
    #[case] host: &str,
    #[case] mode: Mode,
    #[case] told: usize,
) {
    let mut session = TestSession::open(host, mode, &["a"]);
    session.act(ask("abcde"));
    assert_eq!(session.count("notifications/claude/channel/permission_request"), told);
    session.notify(
        "notifications/claude/channel/permission",
        &json!({"request_id": "abcde", "behavior": "allow"}),
    );
    assert!(session.model().is_empty(), "a model is told nothing of it");
}

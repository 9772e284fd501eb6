//! Rules of fake hosts for everything that wakes or feeds a model besides MCP: shells, hooks, wake-ups,
//! tasks.

use fake_hosts::{Action, Carrier, Effect, HostOptions, Mode, Outcome, ShellEnd};
use rstest::rstest;
use serde_json::{Value, json};

use crate::host_support::TestSession;

/// A host with all features set up.
fn open(host: &str, mode: Mode) -> TestSession {
    let options = HostOptions {
        mode,
        shell: true,
        hooks: true,
        wake_up: true,
        experimental: true,
        ..HostOptions::default()
    };
    let mut session = TestSession::open_with(host, options, &["wait"]);
    session.silence();
    session
}

fn start_shell(session: &mut TestSession) {
    let description = "messages for you".to_owned();
    session.act(Action::StartShell {
        arguments: vec!["wait".to_owned()],
        description,
        label: "shell".to_owned(),
    });
    session.silence();
}

fn end_turn(session: &mut TestSession) {
    session.act(Action::EndTurn);
    session.silence();
}

fn end_shell(session: &mut TestSession) {
    let (_, id) = session
        .done
        .iter()
        .rev()
        .find_map(|(ms, effect)| match effect {
            Effect::Shell { id, .. } => Some((*ms, *id)),
            _ => None,
        })
        .unwrap();
    let end = ShellEnd { output: "THE OUTPUT".to_owned(), code: 0 };
    let effects = session.host.on_shell_end(session.now_ms, id, end);
    session.keep(effects);
    session.silence();
}

#[rstest]
#[case("claude-code@2.1.330", false)]
#[case("copilot-cli@1.0.102", true)]
fn a_shell_that_ends_wakes_an_idle_session(#[case] host: &str, #[case] with_output: bool) {
    let mut session = open(host, Mode::Tui);
    start_shell(&mut session);
    end_turn(&mut session);
    assert!(!session.host.in_turn());
    end_shell(&mut session);
    assert!(session.host.in_turn());
    let shown = session.shown(Carrier::BackgroundShell);
    assert_eq!(shown.len(), 1);
    assert!(shown[0].woke);
    assert_eq!(shown[0].text.contains("THE OUTPUT"), with_output, "{}", shown[0].text);
    assert_eq!(shown[0].text.contains("messages for you"), !with_output);
    session.act(Action::ReadShell { label: "read".to_owned() });
    assert_eq!(session.shown(Carrier::BackgroundShell)[1].text, "THE OUTPUT");
}

#[rstest]
#[case("claude-code@2.1.330", true)]
#[case("copilot-cli@1.0.102", false)]
fn a_shell_that_ends_in_a_turn_waits_as_the_host_says(#[case] host: &str, #[case] at_boundary: bool) {
    let mut session = open(host, Mode::Tui);
    start_shell(&mut session);
    end_shell(&mut session);
    assert!(session.shown(Carrier::BackgroundShell).is_empty());
    session.act(Action::Work);
    session.silence();
    assert_eq!(session.shown(Carrier::BackgroundShell).len(), usize::from(at_boundary));
    end_turn(&mut session);
    assert_eq!(session.shown(Carrier::BackgroundShell).len(), 1);
}

#[test]
fn a_command_without_permission_does_not_run() {
    let mut session = TestSession::open("claude-code@2.1.330", Mode::Tui, &[]);
    start_shell(&mut session);
    assert!(!session.done.iter().any(|(_, effect)| matches!(effect, Effect::Shell { .. })));
    assert_eq!(session.outcomes(), [("shell".to_owned(), Outcome::Error)]);
}

fn block() -> Value {
    json!({"decision": "block", "reason": "read your mail"})
}

#[rstest]
#[case("claude-code@2.1.330", "Stop", "hook_event_name",
    json!({"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "read your mail"}}),
    "<system-reminder>\nStop hook additional context: read your mail\n</system-reminder>")]
#[case("claude-code@2.1.148", "Stop", "hook_event_name", block(), "Stop hook feedback:\nread your mail")]
#[case(
    "copilot-cli@1.0.102",
    "agentStop",
    "sessionId",
    block(),
    "<current_datetime>2026-01-01T00:00:00.000Z</current_datetime>\n\nread your mail"
)]
fn a_hook_at_the_end_of_a_turn_makes_it_go_on(
    #[case] host: &str,
    #[case] event: &str,
    #[case] member: &str,
    #[case] answer: Value,
    #[case] shown: &str,
) {
    let mut session = open(host, Mode::Tui);
    session.act(Action::Work);
    session.silence();
    session.act(Action::EndTurn);
    let (asked, input) = session.hook();
    assert_eq!(asked, event);
    assert!(input.get(member).is_some(), "{input}");
    assert_eq!(input["stop_hook_active"], false);
    session.answer_hook(&answer.to_string());
    assert!(session.host.in_turn());
    assert_eq!(session.shown(Carrier::Hook).last().unwrap().text, shown);
    session.act(Action::EndTurn);
    assert_eq!(session.hook().1["stop_hook_active"], true);
    session.answer_hook("");
    assert!(!session.host.in_turn());
}

#[test]
fn the_end_of_a_turn_is_blocked_eight_times_in_a_row_at_most() {
    let mut session = open("copilot-cli@1.0.102", Mode::Print);
    session.act(Action::Work);
    session.silence();
    for _ in 0..8 {
        session.act(Action::EndTurn);
        session.answer_hook(&json!({"decision": "block", "reason": "again"}).to_string());
        assert!(session.host.in_turn());
    }
    session.act(Action::EndTurn);
    assert!(!session.host.in_turn());
}

#[rstest]
#[case("nonsense")]
#[case("{\"decision\":\"deny\",\"reason\":\"another host's word\"}")]
#[case("{\"decision\":\"block\"}")]
#[case("[]")]
fn an_answer_that_the_host_does_not_know_changes_nothing(#[case] answer: &str) {
    let mut session = open("claude-code@2.1.330", Mode::Tui);
    session.act(Action::Work);
    session.silence();
    session.act(Action::EndTurn);
    session.answer_hook(answer);
    assert!(!session.host.in_turn());
    assert!(session.shown(Carrier::Hook).is_empty());
}

#[test]
fn a_slow_hook_is_not_waited_for() {
    let mut session = open("copilot-cli@1.0.102", Mode::Tui);
    session.act(Action::BeginTurn { prompt: "hello".to_owned() });
    assert!(session.shown(Carrier::Prompt).is_empty());
    let slow = session.now_ms + 29_999;
    session.until(slow);
    assert!(session.shown(Carrier::Prompt).is_empty());
    session.until(slow + 1);
    assert_eq!(session.shown(Carrier::Prompt).len(), 1);
}

#[test]
fn a_turn_ends_when_the_hooks_in_front_of_its_end_are_done() {
    let mut session = open("claude-code@2.1.330", Mode::Tui);
    session.act(Action::BeginTurn { prompt: "hello".to_owned() });
    session.act(Action::EndTurn);
    assert_eq!(session.hook().0, "UserPromptSubmit");
    session.answer_hook("");
    assert_eq!(session.hook().0, "Stop");
    session.answer_hook("");
    assert!(!session.host.in_turn());

    session.call("wait");
    session.act(Action::EndTurn);
    session.result("wait", "done");
    assert_eq!(session.hook().0, "PostToolUse");
    session.answer_hook("");
    assert!(session.host.in_turn(), "while a call runs no model ends its turn");
    session.call("wait");
    session.result("wait", "done");
    session.act(Action::EndTurn);
    session.call("wait");
    session.answer_hook("");
    assert!(session.host.in_turn(), "it has gone on after all");
    session.result("wait", "done");
    session.act(Action::EndTurn);
    assert_eq!(session.hook().0, "PostToolUse");
    session.answer_hook("");
    assert_eq!(session.hook().0, "Stop");
}

#[test]
fn a_hook_adds_to_the_prompt_and_to_a_tool_result() {
    let mut session = open("copilot-cli@1.0.102", Mode::Tui);
    session.act(Action::BeginTurn { prompt: "hello".to_owned() });
    assert_eq!(session.hook().1["prompt"], "hello");
    session.answer_hook(&json!({"additionalContext": "one"}).to_string());
    session.call("wait");
    session.result("wait", "done");
    assert_eq!(session.hook(), ("postToolUse".to_owned(), session.hook().1));
    session.call("wait");
    let waits = session.called().len();
    session.answer_hook(&json!({"additionalContext": "two"}).to_string());
    assert_eq!((waits, session.called().len()), (1, 2), "the next step waits for the hook");
    let model: Vec<String> = session.model().into_iter().map(|entry| entry.text).collect();
    let added = "Tool \"wait\" succeeded. Additional guidance from postToolUse hooks:\ntwo";
    assert_eq!(model, ["hello", "one", "done", added]);
}

#[rstest]
#[case("copilot-cli@1.0.102", Mode::Tui, true)]
#[case("copilot-cli@1.0.102", Mode::Print, false)]
#[case("claude-code@2.1.330", Mode::Tui, true)]
#[case("claude-code@2.1.237", Mode::Tui, false)]
fn a_wake_up_wakes_where_there_is_one(#[case] host: &str, #[case] mode: Mode, #[case] wakes: bool) {
    let mut session = open(host, mode);
    let effects = session.host.on_wake_up(0, "a message from outside");
    session.keep(effects);
    // One host runs its hook of prompts first.
    session.silence();
    assert_eq!(session.host.in_turn(), wakes);
    assert_eq!(session.shown(Carrier::WakeUp).len(), usize::from(wakes));
}

/// A session of the newer era whose call was answered with a task.
fn with_task(options: HostOptions) -> TestSession {
    let mut session = TestSession::modern("copilot-cli@1.0.102", options, &["wait"]);
    session.silence();
    session.call("wait");
    let id = session.call_id("wait");
    let task = json!({"resultType": "task", "taskId": "t1", "status": "working", "pollIntervalMs": 1000});
    session.reply(&id, json!({"result": task}));
    session
}

#[rstest]
#[case(Mode::Tui, true)]
#[case(Mode::Print, false)]
fn a_task_is_followed_and_its_end_wakes_the_terminal_only(#[case] mode: Mode, #[case] wakes: bool) {
    let mut session = with_task(HostOptions { mode, experimental: true, ..HostOptions::default() });
    assert_eq!(session.outcomes(), [("wait".to_owned(), Outcome::Backgrounded)]);
    session.act(Action::EndTurn);
    for _ in 0..3 {
        session
            .reply(&session.last_id("tasks/get"), json!({"result": {"taskId": "t1", "status": "working"}}));
        let next = session.now_ms + 1000;
        session.until(next);
    }
    assert_eq!(session.count("tasks/get"), 4);
    let result = json!({"content": [{"type": "text", "text": "it came"}]});
    let state = json!({"taskId": "t1", "status": "completed", "result": result});
    session.reply(&session.last_id("tasks/get"), json!({"result": state}));
    assert_eq!(session.host.in_turn(), wakes);
    let shown: Vec<String> = session.shown(Carrier::Task).into_iter().map(|entry| entry.text).collect();
    assert_eq!(shown, if wakes { vec!["it came".to_owned()] } else { Vec::new() });
}

#[test]
fn without_the_experimental_setting_a_task_is_no_result() {
    let session = with_task(HostOptions::default());
    assert_eq!(session.count("tasks/get"), 0);
    assert_eq!(session.outcomes(), [("wait".to_owned(), Outcome::Error)]);
    let declares = |value: &Value| value.to_string().contains("io.modelcontextprotocol/tasks");
    assert!(!session.sent().iter().any(declares));
}

/// A session with the waking hook, whose first turn has ended.
fn with_waking_hook(host: &str, mode: Mode) -> TestSession {
    let options = HostOptions { mode, waking_hook: true, ..HostOptions::default() };
    let mut session = TestSession::open_with(host, options, &["wait"]);
    session.silence();
    session.act(Action::BeginTurn { prompt: "work".to_owned() });
    end_turn(&mut session);
    session
}

fn begun(session: &TestSession) -> Vec<u64> {
    let ids = session.done.iter().filter_map(|(_, effect)| match effect {
        Effect::Waking { id, .. } => Some(*id),
        _ => None,
    });
    ids.collect()
}

fn ended(session: &TestSession) -> Vec<u64> {
    let ids = session.done.iter().filter_map(|(_, effect)| match effect {
        Effect::EndWaking(id) => Some(*id),
        _ => None,
    });
    ids.collect()
}

fn end_waking(session: &mut TestSession, id: u64, code: i32) {
    let end = ShellEnd { output: "WORDS".to_owned(), code };
    let effects = session.host.on_waking_end(session.now_ms, id, &end);
    session.keep(effects);
    session.silence();
}

#[rstest]
#[case("claude-code@2.1.330", "[SYSTEM NOTIFICATION - NOT USER INPUT]")]
#[case("claude-code@2.1.148", "<summary>Stop hook feedback</summary>")]
#[case("claude-code@2.1.80", "Stop hook blocking error from command")]
fn a_hook_beside_the_session_wakes_it_by_the_exit_code_two(#[case] host: &str, #[case] words: &str) {
    let mut session = with_waking_hook(host, Mode::Tui);
    let first = begun(&session);
    assert_eq!(first.len(), 1);
    end_waking(&mut session, first[0], 0);
    assert!(session.shown(Carrier::WakingHook).is_empty() && !session.host.in_turn());
    session.act(Action::BeginTurn { prompt: "work".to_owned() });
    end_turn(&mut session);
    let second = begun(&session)[1];
    end_waking(&mut session, second, 2);
    let shown = session.shown(Carrier::WakingHook);
    assert!(shown.len() == 1 && shown[0].woke, "{shown:?}");
    assert!(shown[0].text.contains("WORDS") && shown[0].text.contains(words), "{}", shown[0].text);
    // The end of the turn that it started starts one more.
    end_turn(&mut session);
    assert_eq!(begun(&session).len(), 3);
}

#[test]
fn hooks_beside_the_session_pile_up_until_their_time_is_over() {
    let mut session = with_waking_hook("claude-code@2.1.148", Mode::Tui);
    for _ in 0..2 {
        session.act(Action::BeginTurn { prompt: "work".to_owned() });
        end_turn(&mut session);
    }
    assert_eq!((begun(&session).len(), ended(&session).len()), (3, 0));
    let over = session.now_ms + 600_000;
    session.until(over);
    assert_eq!(ended(&session), begun(&session));
    assert!(session.shown(Carrier::WakingHook).is_empty());
}

#[rstest]
#[case("claude-code@2.1.330", true)]
#[case("claude-code@2.1.148", false)]
fn the_end_of_the_host_ends_its_hooks_or_leaves_them(#[case] host: &str, #[case] ends: bool) {
    let mut session = with_waking_hook(host, Mode::Tui);
    session.act(Action::Exit);
    assert_eq!(ended(&session).len(), usize::from(ends));
    let mut killed = with_waking_hook(host, Mode::Tui);
    killed.act(Action::Kill);
    assert!(ended(&killed).is_empty());
}

#[test]
fn a_headless_run_waits_for_its_hook_and_is_not_woken() {
    let mut session = with_waking_hook("claude-code@2.1.330", Mode::Print);
    session.act(Action::Exit);
    let ends =
        |session: &TestSession| session.done.iter().any(|(_, effect)| matches!(effect, Effect::Signal(_)));
    assert!(!ends(&session));
    end_waking(&mut session, 1, 2);
    assert!(ends(&session) && session.shown(Carrier::WakingHook).is_empty());
}

#[test]
fn an_old_version_waits_for_the_hook_and_goes_on_with_its_words() {
    let mut session = with_waking_hook("claude-code@2.0.73", Mode::Tui);
    assert!(session.host.in_turn());
    end_waking(&mut session, 1, 2);
    let shown = session.shown(Carrier::Hook);
    assert!(shown.last().is_some_and(|entry| entry.text == "Stop hook feedback:\nWORDS"), "{shown:?}");
    end_turn(&mut session);
    end_waking(&mut session, 2, 0);
    assert!(!session.host.in_turn());
}

/// The text that the model of Qwen Code reads at the end of a command, with quotes and angle brackets escaped
/// as in XML.
#[test]
fn a_shell_is_shown_as_its_host_escapes_it() {
    let shown = |host: &str| {
        let options = HostOptions { shell: true, ..HostOptions::default() };
        let mut session = TestSession::open_with(host, options, &["wait"]);
        let arguments = vec!["w".to_owned(), "--consumer".to_owned(), "a'b".to_owned()];
        session.act(Action::StartShell { arguments, description: "wait".to_owned(), label: "s".to_owned() });
        session.act(Action::EndTurn);
        let end = ShellEnd { output: "chat_id \"19:c\" & &lt;b>\n".to_owned(), code: 0 };
        let effects = session.host.on_shell_end(session.now_ms, 1, end);
        session.keep(effects);
        session.shown(Carrier::BackgroundShell).pop().unwrap().text
    };
    let text = shown("qwen-code@0.24.4");
    for words in [
        "<summary>Shell command \"w --consumer a&apos;b\" completed.</summary>",
        "<command>w --consumer a&apos;b</command>\n<cwd>/home/alice/project</cwd>\n<pid>4001</pid>\n<exit-code>0</exit-code>",
        "<output-tail truncated=\"false\">chat_id &quot;19:c&quot; &amp; &amp;lt;b&gt;</output-tail>",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(shown("gemini-cli@0.61.0").contains("chat_id \"19:c\" & &lt;b>\n"));
}

/// In plan mode the host asks about every tool that does not only read, whatever the settings allow.
#[test]
fn a_session_that_only_plans_asks_before_it_answers() {
    for (plans, expected) in [(false, 1), (true, 0)] {
        let options = HostOptions { unasked: Some(vec!["*".to_owned()]), ..HostOptions::default() };
        let mut session = TestSession::open_with("claude-code@2.1.330", options, &["wait"]);
        if plans {
            session.act(Action::OnlyPlan);
        }
        session.call("wait");
        session.silence();
        assert_eq!(session.count("tools/call"), expected, "plans: {plans}");
        session.act(Action::AnswerDialog { allow: true });
        assert_eq!(session.count("tools/call"), 1);
    }
}

/// Another conversation has another id for its hooks, and going back restores the first one.
#[test]
fn another_conversation_has_another_id() {
    let options = HostOptions { hooks: true, ..HostOptions::default() };
    let mut session = TestSession::open_with("claude-code@2.1.330", options, &["wait"]);
    let first = session.hook().1["session_id"].clone();
    session.silence();
    session.act(Action::ChangeSession { back: false });
    let (event, cleared) = session.hook();
    assert_eq!((event.as_str(), cleared["source"].as_str()), ("SessionStart", Some("clear")));
    assert_ne!(cleared["session_id"], first);
    session.silence();
    session.act(Action::ChangeSession { back: true });
    assert_eq!(session.hook().1["session_id"], first);
    assert_eq!(session.hook().1["source"], "resume");
}

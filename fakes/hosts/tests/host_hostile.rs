//! A fake host goes on whatever a server writes: no panic, no second outcome, no endless work.

use fake_hosts::drive::HostEventKind;
use fake_hosts::{Action, Effect, HostMachine, HostOptions, Mode, ShellEnd, ToolCall, profiles};
use proptest::prelude::*;
use serde_json::{Value, json};

#[derive(Debug, Clone)]
enum Event {
    Bytes(Vec<u8>),
    Message(Value),
    Wait(u64),
    Call(u8),
    Act(Action),
    Exit,
    StdoutClosed,
    Start,
    ShellEnd(u64, String),
    HookAnswer(u64, String),
    WakeUps(String),
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z{}<>/\\\\]{0,12}".prop_map(Value::from),
        Just(json!("2025-11-25")),
        Just(json!("2026-07-28")),
        Just(json!("server-discover-probe-1")),
        Just(json!("listen:0")),
        Just(json!({"tools": {"listChanged": true}, "experimental": {"claude/channel": {}}})),
        Just(json!([{"name": "a"}, {"name": "read", "annotations": {"readOnlyHint": true}}])),
        Just(json!([{"type": "text", "text": "hi"}])),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((member(), inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn member() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "tools",
        "content",
        "structuredContent",
        "isError",
        "nextCursor",
        "protocolVersion",
        "capabilities",
        "supportedVersions",
        "meta",
        "_meta",
        "progressToken",
        "progress",
        "name",
        "description",
        "annotations",
        "type",
        "text",
        "resource",
        "uri",
        "message",
        "code",
        "instructions",
        "ttlMs",
        "io.modelcontextprotocol/subscriptionId",
    ])
    .prop_map(str::to_owned)
}

fn method() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        "ping",
        "roots/list",
        "sampling/createMessage",
        "elicitation/create",
        "notifications/progress",
        "notifications/tools/list_changed",
        "notifications/resources/list_changed",
        "notifications/prompts/list_changed",
        "notifications/claude/channel",
        "notifications/subscriptions/acknowledged",
        "notifications/resources/updated",
        "x",
    ])
    .prop_map(Value::from)
}

fn id() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0_u64..12).prop_map(Value::from),
        Just(json!("server-discover-probe-1")),
        Just(json!("listen:0")),
        json_value(),
    ]
}

fn message() -> impl Strategy<Value = Value> {
    prop_oneof![
        (id(), json_value()).prop_map(|(id, result)| json!({"jsonrpc": "2.0", "id": id, "result": result})),
        (id(), json_value()).prop_map(|(id, error)| json!({"jsonrpc": "2.0", "id": id, "error": error})),
        (method(), json_value())
            .prop_map(|(method, params)| json!({"jsonrpc": "2.0", "method": method, "params": params})),
        (id(), method(), json_value()).prop_map(
            |(id, method, params)| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        ),
        json_value(),
    ]
}

fn hook_answer() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just(json!({"decision": "block", "reason": "r"}).to_string()),
        Just(json!({"additionalContext": "c", "hookSpecificOutput": {"additionalContext": "s"}}).to_string()),
        json_value().prop_map(|value| value.to_string()),
        ".{0,20}",
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let acts = vec![
        Action::EndTurn,
        Action::Interrupt,
        Action::Reconnect,
        Action::Exit,
        Action::Kill,
        Action::BeginTurn { prompt: "go on".to_owned() },
        Action::AnswerSampling { model: "m".to_owned(), text: "t".to_owned() },
        Action::ReadResource { uri: "x://y".to_owned(), label: "read".to_owned() },
        Action::Work,
        Action::StartShell { arguments: Vec::new(), description: "d".to_owned(), label: "read".to_owned() },
        Action::ReadShell { label: "read".to_owned() },
    ];
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..40).prop_map(Event::Bytes),
        8 => message().prop_map(Event::Message),
        2 => prop::sample::select(vec![0_u64, 1, 100, 3000, 61_000, 200_000]).prop_map(Event::Wait),
        3 => (0_u8..3).prop_map(Event::Call),
        1 => prop::sample::select(acts).prop_map(Event::Act),
        1 => (0_u64..4, ".{0,20}").prop_map(|(id, text)| Event::ShellEnd(id, text)),
        2 => (0_u64..12, hook_answer()).prop_map(|(id, text)| Event::HookAnswer(id, text)),
        1 => ".{0,20}".prop_map(Event::WakeUps),
        1 => prop::sample::select(vec![Event::Exit, Event::StdoutClosed, Event::Start]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 2,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_hostile_server_breaks_no_host(
        which in 0_usize..4,
        tui in any::<bool>(),
        friendly in any::<bool>(),
        events in prop::collection::vec(event(), 0..60),
    ) {
        let profile = profiles().unwrap().swap_remove(which);
        let mode = if tui { Mode::Tui } else { Mode::Print };
        let all = HostOptions { shell: true, hooks: true, wake_up: true, experimental: true, ..HostOptions::default() };
        let mut host = HostMachine::new(profile, HostOptions { mode, ..all });
        let mut now_ms = 0_u64;
        let mut labels = 0_u64;
        let mut outcomes = std::collections::BTreeMap::<String, u32>::new();
        let mut effects = host.start(0);
        if friendly {
            effects.extend(befriend(&mut host, &effects));
        }
        for event in events {
            effects.extend(match event {
                Event::Bytes(bytes) => host.on_line(now_ms, &bytes),
                Event::Message(message) => host.on_line(now_ms, message.to_string().as_bytes()),
                Event::Wait(wait_ms) => {
                    now_ms += wait_ms;
                    host.on_timer(now_ms)
                }
                Event::Call(tool) => {
                    labels += 1;
                    let tool = ["a", "read", "none"][usize::from(tool)];
                    host.act(now_ms, Action::Call(ToolCall::new(tool, json!({}), format!("call-{labels}"))))
                }
                Event::Act(action) => host.act(now_ms, action),
                Event::ShellEnd(id, output) => host.on_shell_end(now_ms, id, ShellEnd { output, code: 0 }),
                Event::HookAnswer(id, answer) => host.on_hook_answer(now_ms, id, &answer),
                Event::WakeUps(text) => host.on_wake_up(now_ms, &text),
                Event::Exit => host.on_server_exit(now_ms, None),
                Event::StdoutClosed => host.on_stdout_closed(now_ms),
                Event::Start => host.start(now_ms),
            });
            prop_assert!(effects.len() < 5000);
            for effect in effects.drain(..) {
                match effect {
                    Effect::Send(line) => {
                        let message: Value = serde_json::from_slice(&line).unwrap();
                        prop_assert_eq!(&message["jsonrpc"], "2.0");
                        prop_assert!(!line.contains(&b'\n'));
                    }
                    Effect::Tell(HostEventKind::CallDone { label, .. }) if label != "read" => {
                        let count = outcomes.entry(label).or_default();
                        *count += 1;
                        prop_assert_eq!(*count, 1);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Answers the opening, so that the hostile part reaches the rules after it.
fn befriend(host: &mut HostMachine, first: &[Effect]) -> Vec<Effect> {
    let mut all = Vec::new();
    let mut open: Vec<Effect> = first.to_vec();
    for _ in 0..6 {
        let mut next = Vec::new();
        for effect in open {
            let Effect::Send(line) = effect else { continue };
            let message: Value = serde_json::from_slice(&line).unwrap();
            let body = match message["method"].as_str() {
                Some("initialize") => {
                    json!({"protocolVersion": "2025-11-25", "serverInfo": {"name": "s", "version": "1"}, "capabilities":
                    {"tools": {"listChanged": true}, "resources": {"listChanged": true}, "experimental": {"claude/channel": {}}}})
                }
                Some("tools/list") => {
                    json!({"tools": [{"name": "a"}, {"name": "read", "annotations": {"readOnlyHint": true}}]})
                }
                Some("server/discover") => Value::Null,
                _ => continue,
            };
            let id = &message["id"];
            let answer = if body.is_null() {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}})
            } else {
                json!({"jsonrpc": "2.0", "id": id, "result": body})
            };
            next.extend(host.on_line(0, answer.to_string().as_bytes()));
        }
        all.extend(next.clone());
        open = next;
    }
    all
}

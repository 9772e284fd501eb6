//! The driver, over in-memory pipes on a paused clock and over real pipes of real processes.

use std::sync::{Arc, Mutex};

use fake_hosts::drive::{HostEvent, HostEventKind, Order, drive};
use fake_hosts::process::{ProcessServer, ServerCommand};
use fake_hosts::script::{Script, play};
use fake_hosts::task::TaskServer;
use fake_hosts::{Action, HostMachine, HostOptions, Mode, Outcome, Signal, ToolCall, profile};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::sync::mpsc;

fn host(id: &str) -> HostMachine {
    let options = HostOptions { mode: Mode::Print, ..HostOptions::default() };
    HostMachine::new(profile(id).unwrap(), options)
}

/// A server with one tool that answers after the requested seconds, or never.
async fn serve(input: DuplexStream, mut output: DuplexStream) -> Option<i32> {
    let mut lines = BufReader::new(input).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        let Some(id) = message.get("id") else { continue };
        let body = match message["method"].as_str().unwrap() {
            "initialize" => {
                json!({"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "scripted", "version": "1"}}})
            }
            "tools/list" => {
                json!({"result": {"tools": [{"name": "wait", "inputSchema": {"type": "object"}}]}})
            }
            "tools/call" => {
                let wait_s = message["params"]["arguments"]["seconds"].as_u64().unwrap();
                tokio::time::sleep(std::time::Duration::from_secs(wait_s)).await;
                json!({"result": {"content": [{"type": "text", "text": "here\u{2028}it is"}]}})
            }
            _ => json!({"error": {"code": -32601, "message": "no"}}),
        };
        let mut answer = body;
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = id.clone();
        if output.write_all(format!("{answer}\r\n").as_bytes()).await.is_err() {
            break;
        }
    }
    Some(0)
}

async fn run<S: fake_hosts::drive::Server>(
    machine: HostMachine,
    server: &mut S,
    script: &str,
) -> (Vec<HostEvent>, fake_hosts::drive::Driven) {
    let (actions, actions_in) = mpsc::channel(4);
    let (events, events_in) = mpsc::channel(4);
    let script = Script::parse("test", script).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&seen);
    let player = play(script, actions, events_in, move |event| keep.lock().unwrap().push(event.clone()));
    let (driven, ()) = tokio::join!(drive(machine, server, actions_in, events), player);
    let seen = seen.lock().unwrap().clone();
    (seen, driven)
}

fn outcomes(events: &[HostEvent]) -> Vec<(u64, Outcome)> {
    events
        .iter()
        .filter_map(|event| match &event.kind {
            HostEventKind::CallDone { outcome, .. } => Some((event.at_ms, *outcome)),
            _ => None,
        })
        .collect()
}

const SCRIPT: &str = "
- call: { tool: wait, arguments: { seconds: 50 } }
- wait_ms: 5000
- call: { tool: wait, arguments: { seconds: 100 } }
- exit
";

#[tokio::test(start_paused = true)]
async fn simulated_minutes_pass_in_an_instant_and_twice_the_same() {
    let mut logs = Vec::new();
    for _ in 0..2 {
        let local = tokio::task::LocalSet::new();
        let log = local
            .run_until(async {
                let mut server = TaskServer::new(|input, output| Ok(serve(input, output)));
                let (events, driven) = Box::pin(run(host("copilot-cli@seed"), &mut server, SCRIPT)).await;
                // It sleeps in its call and does not notice the end of its stdin.
                assert!(driven.left_running);
                events
            })
            .await;
        logs.push(log);
    }
    assert_eq!(outcomes(&logs[0]), [(50_000, Outcome::Result), (115_000, Outcome::TimedOut)]);
    assert_eq!(logs[0], logs[1]);
}

#[tokio::test(start_paused = true)]
async fn a_server_of_this_program_that_ends_is_started_again_by_the_next_call() {
    let local = tokio::task::LocalSet::new();
    local
        .run_until(async {
            let mut starts = 0;
            let mut server = TaskServer::new(move |input, output| {
                starts += 1;
                let first = starts == 1;
                Ok(async move {
                    if first {
                        let work = serve(input, output);
                        let _ = tokio::time::timeout(std::time::Duration::from_secs(1), work).await;
                        return Some(7);
                    }
                    serve(input, output).await
                })
            });
            let script = "
- call: { tool: wait, arguments: { seconds: 30 } }
- call: { tool: wait, arguments: { seconds: 2 } }
";
            let (events, _) = Box::pin(run(host("claude-code@2.1.330"), &mut server, script)).await;
            let ends: Vec<Outcome> = outcomes(&events).into_iter().map(|(_, outcome)| outcome).collect();
            assert_eq!(ends, [Outcome::Error, Outcome::Result]);
        })
        .await;
}

/// Drives a host with orders given at once; returns the lines and the outcomes of calls.
async fn ordered(id: &str, orders: Vec<Order>) -> Vec<HostEvent> {
    let local = tokio::task::LocalSet::new();
    let run = local.run_until(async {
        let mut server = TaskServer::new(|input, output| Ok(serve(input, output)));
        let (give, take) = mpsc::channel(16);
        let (events, mut heard) = mpsc::channel(16);
        for order in orders {
            give.send(order).await.unwrap();
        }
        let driven = drive(host(id), &mut server, take, events);
        let listened = async {
            let mut seen = Vec::new();
            while let Some(event) = heard.recv().await {
                let done = matches!(event.kind, HostEventKind::CallDone { .. });
                seen.push(event);
                if done {
                    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                    give.send(Order::Act(Action::Exit)).await.unwrap();
                }
            }
            seen
        };
        tokio::join!(driven, listened).1
    });
    Box::pin(run).await
}

fn call(seconds: u64) -> Order {
    Order::Act(Action::Call(ToolCall::new("wait", json!({"seconds": seconds}), "one")))
}

#[tokio::test(start_paused = true)]
async fn a_held_up_result_arrives_after_the_host_gave_up_on_its_call() {
    let events = ordered("copilot-cli@seed", vec![Order::LoseReply, call(50)]).await;
    assert_eq!(outcomes(&events), [(60_000, Outcome::TimedOut)]);
    let late = events.iter().find(|event| {
        matches!(&event.kind, HostEventKind::Wire(wire) if wire.trace(0).msg.pointer("/result/content").is_some())
    });
    assert_eq!(late.map(|event| event.at_ms), Some(60_000), "the result is on the wire, too late");
    let shown = events.iter().any(|e| matches!(&e.kind, HostEventKind::Model(m) if m.text.contains("it is")));
    assert!(!shown, "the model never sees it");
}

#[tokio::test(start_paused = true)]
async fn a_raw_line_goes_out_as_it_is() {
    let line = br#"{"jsonrpc":"2.0","id":"mine","method":"no/such"}"#;
    let events = ordered("copilot-cli@seed", vec![Order::Raw(line.to_vec()), call(1)]).await;
    let sent = events.iter().any(|e| matches!(&e.kind, HostEventKind::Wire(wire) if wire.bytes == line));
    assert!(sent);
    assert_eq!(outcomes(&events), [(1_000, Outcome::Result)]);
}

#[tokio::test(start_paused = true)]
async fn a_signal_from_elsewhere_ends_the_server_in_its_call() {
    let events = ordered("copilot-cli@seed", vec![call(30), Order::Signal(Signal::Kill)]).await;
    let ends: Vec<Outcome> = outcomes(&events).into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(ends, [Outcome::Error]);
}

#[cfg(unix)]
fn shell(script: &str) -> ProcessServer {
    ProcessServer::new(ServerCommand {
        program: "/bin/sh".to_owned(),
        arguments: vec!["-c".to_owned(), script.to_owned()],
        ..ServerCommand::default()
    })
}

#[cfg(unix)]
fn wire_events(events: &[HostEvent]) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| match &event.kind {
            HostEventKind::Wire(wire) => wire.trace(0).msg.as_str().map(str::to_owned),
            _ => None,
        })
        .collect()
}

/// Refuses the probe, answers the handshake, declares nothing, then goes on reading.
#[cfg(unix)]
const SHELL_SERVER: &str = r#"
echo starting >&2
while IFS= read -r line; do
  case "$line" in
    *server/discover*) echo '{"jsonrpc":"2.0","id":"server-discover-probe-1","error":{"code":-32601,"message":"no"}}';;
    *initialize\"*) echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}}';;
  esac
done
"#;

#[cfg(unix)]
#[tokio::test]
async fn a_real_process_is_opened_and_ended_by_the_first_signal() {
    let mut server = shell(SHELL_SERVER);
    let (events, driven) = run(host("claude-code@2.1.330"), &mut server, "[]").await;
    assert!(!driven.left_running);
    let happened = wire_events(&events);
    assert!(happened.contains(&"signal SIGINT".to_owned()), "{happened:?}");
    assert!(!happened.contains(&"signal SIGTERM".to_owned()), "{happened:?}");
    assert_eq!(server.stderr(), "starting\n");
}

/// A shell without job control makes its background programs ignore these signals. A child of the host
/// inherited that, and was killed instead of ended.
#[cfg(target_os = "linux")]
#[test]
fn a_server_has_the_default_signals_where_its_host_ignores_them() {
    let again = "a_real_process_is_opened_and_ended_by_the_first_signal";
    let ran = std::process::Command::new("sh")
        .args(["-c", "trap '' HUP INT QUIT; exec \"$0\" --exact \"$1\""])
        .arg(std::env::current_exe().unwrap())
        .arg(again)
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && told.contains("1 passed"), "{told}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_stubborn_process_is_killed() {
    let mut server = shell(&format!("trap '' INT TERM\n{SHELL_SERVER}\nsleep 60"));
    let (events, driven) = run(host("claude-code@2.1.330"), &mut server, "[exit]").await;
    assert!(!driven.left_running);
    let happened = wire_events(&events);
    assert!(happened.contains(&"signal SIGKILL".to_owned()), "{happened:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_process_that_ends_on_the_probe_is_started_once_more_without_it() {
    let mut server = shell("read -r line; case \"$line\" in *server/discover*) exit 3;; esac; exit 4");
    let (events, driven) = run(host("claude-code@2.1.330"), &mut server, "[]").await;
    let failed = events.iter().any(|event| matches!(event.kind, HostEventKind::Failed(_)));
    assert!(failed);
    assert_eq!(driven.code, Some(4));
}

#[tokio::test]
async fn a_program_that_is_not_there_fails_and_does_not_hang() {
    let mut server = ProcessServer::new(ServerCommand {
        program: "/nowhere/entraclaw-test".to_owned(),
        ..ServerCommand::default()
    });
    let (events, driven) = run(host("copilot-cli@1.0.102"), &mut server, "- call: { tool: a }").await;
    assert!(events.iter().any(|event| matches!(event.kind, HostEventKind::Failed(_))));
    assert_eq!(outcomes(&events).len(), 1);
    assert!(!driven.left_running);
}

#[cfg(unix)]
#[tokio::test]
async fn noise_on_stdout_is_logged_and_ignored() {
    let mut server = shell(&format!("echo hello; printf '\\377\\n'; {SHELL_SERVER}"));
    let (events, _) = run(host("claude-code@2.1.330"), &mut server, "[]").await;
    assert!(events.iter().any(|event| event.kind == HostEventKind::Ready));
    let noise = events.iter().filter(
        |event| matches!(&event.kind, HostEventKind::Wire(wire) if wire.trace(0).msg.get("not_json").is_some()),
    );
    assert_eq!(noise.count(), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn a_server_that_never_stops_writing_is_ended_in_time() {
    let mut server =
        shell("trap '' INT TERM; while :; do echo '{\"jsonrpc\":\"2.0\",\"method\":\"x\"}'; done");
    let options = HostOptions { mode: Mode::Print, start_timeout_ms: Some(600), ..HostOptions::default() };
    let machine = HostMachine::new(profile("claude-code@2.1.330").unwrap(), options);
    let (events, driven) = run(machine, &mut server, "[]").await;
    assert!(!driven.left_running);
    assert!(events.iter().any(|event| matches!(event.kind, HostEventKind::Failed(_))));
}

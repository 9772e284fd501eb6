//! Time and quantity: bursts, busy hosts, and the end of a session.

use std::time::Duration;

use entraclaw_mcp::Exit;
use serde_json::json;
use tokio::time::Instant;

use crate::support::{Home, ids};

#[tokio::test(start_paused = true)]
async fn end_of_input_ends_a_session_at_once_with_a_wait_and_a_send_open() {
    let home = Home::new();
    *home.outbox.takes.lock().unwrap() = Duration::from_secs(30);
    let mut host = home.host("some-host").await;
    host.call(1, "wait_for_inbound_message", json!({"timeout_s": 50})).await;
    host.call(2, "send_teams_message", json!({"chat_id": "chat-1", "content": "hi"})).await;
    host.settle().await;
    let started = Instant::now();
    let (lines, exit) = host.finish().await;
    assert_eq!((lines.len(), exit), (0, Exit::InputClosed));
    assert!(started.elapsed() < Duration::from_millis(100), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn end_of_input_is_not_held_up_by_a_host_that_reads_nothing() {
    let home = Home::new();
    let mut host = crate::support::Host::start(home.options(), 64);
    host.send(crate::support::initialize("some-host", "2025-11-25")).await;
    host.settle().await;
    let started = Instant::now();
    drop(host.to_server.take());
    assert_eq!(host.server.await.unwrap(), Exit::InputClosed);
    assert!(started.elapsed() <= Duration::from_millis(100), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn five_hundred_messages_while_the_agent_works_come_in_order_and_none_is_lost() {
    let home = Home::new();
    let mut host = home.host("codex-mcp-client").await;
    home.receive(1..=250);
    home.receive(251..=500);
    let mut seen = Vec::new();
    for id in 0..200 {
        let answer = host.ask(id, "wait_for_inbound_message", json!({"timeout_s": 1})).await;
        seen.extend(ids(&answer));
        assert_eq!(answer["unread_remaining"], 500 - seen.len());
        if seen.len() == 500 {
            break;
        }
    }
    assert_eq!(seen, (1..=500).map(|n| format!("m{n}")).collect::<Vec<_>>());
    let stats = host.ask(999, "inbound_queue_stats", json!({})).await;
    assert_eq!(stats["dropped_total"], 0);
}

#[tokio::test(start_paused = true)]
async fn a_burst_is_pushed_whole_to_a_host_that_reads_slowly() {
    let home = Home::new();
    let mut options = home.options();
    options.connection.limits.out_bytes_max = 1_000;
    let mut host = crate::support::Host::start(options, 128);
    host.open("claude-code", "2025-11-25").await;
    home.receive(1..=120);
    let mut pushed = Vec::new();
    while pushed.len() < 120 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let message = host.next().await;
        if message["method"] == "notifications/claude/channel" {
            pushed.push(message["params"]["meta"]["message_id"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(pushed, (1..=120).map(|n| format!("m{n}")).collect::<Vec<_>>());
    assert_eq!(host.next().await["params"]["data"]["summary"], "120 new messages");
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_requests_does_not_keep_a_message_from_a_waiting_call() {
    let home = Home::new();
    let mut host = home.host("codex-mcp-client").await;
    host.call("wait", "wait_for_inbound_message", json!({})).await;
    host.settle().await;
    home.receive([1]);
    let lines = (0..2_000).map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string() + "\n");
    let flood = lines.collect::<Vec<_>>().concat();
    let mut to_server = host.to_server.take().unwrap();
    let sender = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        to_server.write_all(flood.as_bytes()).await.unwrap();
        to_server
    });
    let mut before = 0;
    while host.next().await["id"] != "wait" {
        before += 1;
    }
    assert!(before < 1_500, "{before} answers came first");
    for _ in before..2_000 {
        host.next_answer().await;
    }
    drop(sender.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_never_stalls_the_rest() {
    let home = Home::new();
    let mut host = home.host("codex-mcp-client").await;
    host.call("wait", "wait_for_inbound_message", json!({})).await;
    for id in 0..4_900 {
        let started = Instant::now();
        host.request(id, "ping", json!({})).await;
        assert_eq!(host.next().await["id"], id);
        assert!(started.elapsed() < Duration::from_millis(1));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(host.next().await["id"], "wait");
}

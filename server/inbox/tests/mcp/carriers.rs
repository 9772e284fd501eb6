//! Push, log ping and resource: hints beside the tools, in a fixed order, in the same characters.

use std::time::Duration;

use entraclaw_inbox::presence::Presence;
use entraclaw_mcp::hosts::{HandsDown, HostRow, Park};
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Home, Host, ids, initialize, tool_json};

fn push(n: u32) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/claude/channel", "params": {
        "content": format!("text {n}"),
        "meta": {"chat_id": "chat-1", "message_id": format!("m{n}"), "user": "Alice", "ts": "2026-01-01T00:00:00Z"}
    }})
}

fn ping(n: u32, unread: u32, summary: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {
        "level": "info", "logger": "entraclaw.inbox",
        "data": {"channel": "teams", "from": "Alice", "unread": unread, "id": format!("m{n}"), "summary": summary}
    }})
}

fn updated() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "entraclaw://inbox"}})
}

#[tokio::test(start_paused = true)]
async fn a_message_is_pushed_then_announced_and_pull_shows_it_marked() {
    let home = Home::new();
    let mut host = home.host("claude-code").await;
    home.receive([1]);
    assert_eq!(host.next().await, push(1));
    assert_eq!(host.next().await, ping(1, 1, "1 new message"));
    home.receive([2, 3]);
    assert_eq!(host.next().await, push(2));
    assert_eq!(host.next().await, push(3));
    assert_eq!(host.next().await, ping(2, 3, "1 new message"));
    assert_eq!(host.next().await, ping(3, 3, "1 new message"));
    host.quiet(60).await;
    assert_eq!(ids(&host.ask(1, "inbox_pull", json!({})).await), ["m1 pushed", "m2 pushed", "m3 pushed"]);
}

#[tokio::test(start_paused = true)]
async fn each_message_has_a_log_ping_and_a_flood_has_one() {
    let home = Home::new();
    let mut host = home.host("copilot-cli").await;
    home.receive(1..=13);
    for n in 1..=13 {
        assert_eq!(host.next().await, ping(n, 13, "1 new message"));
    }
    home.receive(14..=113);
    assert_eq!(host.next().await, ping(113, 113, "100 new messages"));
    host.quiet(60).await;
}

#[rstest]
#[case("claude-code", "2.1.80", json!({}), true)]
#[case("claude-code", "2.1.330", json!({}), true)]
#[case("Claude Code", "2.1.330", json!({}), true)]
#[case("claude-code", "2.0.73", json!({}), false)]
#[case("claude-code", "", json!({}), false)]
#[case("vscode", "1.107.0", json!({}), false)]
#[case("cursor-vscode", "1.0.0", json!({}), false)]
#[case("copilot-cli", "1.0.102", json!({}), false)]
#[case("github-copilot-developer", "1.0.0", json!({}), false)]
#[case("github-copilot-cli", "1", json!({}), false)]
#[case("codex-mcp-client", "0.169.0", json!({}), false)]
#[case("vscode", "1.107.0", json!({"experimental": {"claude/channel": {}}}), true)]
#[case("copilot-cli", "1.0.102", json!({"experimental": {"claude/channel": {}}}), true)]
#[tokio::test(start_paused = true)]
async fn a_push_goes_to_hosts_that_may_show_it_and_only_there_is_marked(
    #[case] client: &str,
    #[case] client_version: &str,
    #[case] capabilities: Value,
    #[case] pushed: bool,
) {
    let home = Home::new();
    let mut host = home.connect();
    let mut open = initialize(client, "2025-11-25");
    open["params"]["clientInfo"]["version"] = client_version.into();
    open["params"]["capabilities"] = capabilities;
    host.send(open).await;
    host.next().await;
    host.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    host.settle().await;
    home.receive([1]);
    if pushed {
        assert_eq!(host.next().await, push(1));
    }
    assert_eq!(host.next().await["method"], "notifications/message");
    host.quiet(60).await;
    let marked = if pushed { "m1 pushed" } else { "m1" };
    assert_eq!(ids(&host.ask(1, "inbox_pull", json!({})).await), [marked]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_pushed_before_initialized_and_then_what_had_come_is() {
    let home = Home::new();
    home.receive([1]);
    let mut host = home.connect();
    host.send(initialize("claude-code", "2025-11-25")).await;
    host.next().await;
    home.receive([2]);
    host.quiet(60).await;
    host.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    assert_eq!(host.next().await, push(1));
    assert_eq!(host.next().await, push(2));
}

#[tokio::test(start_paused = true)]
async fn a_waiting_call_takes_the_message_instead_of_a_push_and_before_the_hints() {
    let home = Home::new();
    let mut host = home.host("claude-code").await;
    host.request(1, "resources/subscribe", json!({"uri": "entraclaw://inbox"})).await;
    host.next().await;
    host.call(2, "wait_for_inbound_message", json!({"max_items": 2})).await;
    host.settle().await;
    home.receive([1, 2, 3]);
    let answer = host.next().await;
    assert_eq!(answer["id"], 2);
    let answer = tool_json(&answer);
    assert_eq!(ids(&answer), ["m1", "m2"]);
    assert_eq!(answer["unread_remaining"], 1);
    assert_eq!(host.next().await, push(3));
    for n in 1..=3 {
        let announced = host.next().await;
        assert_eq!(announced["method"], "notifications/message");
        assert_eq!(announced["params"]["data"]["id"], format!("m{n}"));
    }
    assert_eq!(host.next().await, updated());
    host.quiet(10).await;
}

#[tokio::test(start_paused = true)]
async fn a_message_is_pushed_once_over_sessions() {
    let home = Home::new();
    let mut host = home.host("claude-code").await;
    home.receive([1]);
    assert_eq!(host.next().await, push(1));
    drop(host.finish().await);
    let mut next = home.host("claude-code").await;
    next.quiet(60).await;
    assert_eq!(ids(&next.ask(1, "inbox_pull", json!({})).await), ["m1 pushed"]);
}

#[tokio::test(start_paused = true)]
async fn naming_a_pushed_message_acknowledges_it() {
    let home = Home::new();
    let mut host = home.host("claude-code").await;
    home.receive([1, 2, 3]);
    host.settle().await;
    host.call(1, "send_teams_message", json!({"chat_id": "chat-1", "content": "hi", "reply_to": ["m1"]}))
        .await;
    tool_json(&host.next_answer().await);
    host.call(2, "inbox_pull", json!({"since_id": "m2"})).await;
    assert_eq!(ids(&tool_json(&host.next_answer().await)), ["m3 pushed"]);
    assert_eq!(ids(&host.ask(3, "inbox_pull", json!({})).await), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn the_log_level_is_honoured() {
    let home = Home::new();
    let mut host = home.host("copilot-cli").await;
    host.request(1, "logging/setLevel", json!({"level": "notice"})).await;
    host.next().await;
    home.receive([1]);
    host.quiet(10).await;
    host.request(2, "logging/setLevel", json!({"level": "debug"})).await;
    host.next().await;
    home.receive([2]);
    assert_eq!(host.next().await, ping(2, 2, "1 new message"));
}

#[tokio::test(start_paused = true)]
async fn the_ping_holds_no_text_of_the_message() {
    let home = Home::new();
    let mut host = home.host("copilot-cli").await;
    home.receive_texts([("m1".to_owned(), "a secret word".to_owned())]);
    assert!(!host.next().await.to_string().contains("secret"));
}

#[tokio::test(start_paused = true)]
async fn the_resource_tells_of_growth_while_subscribed_and_reading_it_only_looks() {
    let home = Home::new();
    let mut host = home.host("copilot-cli").await;
    host.request(1, "logging/setLevel", json!({"level": "error"})).await;
    host.request(2, "resources/subscribe", json!({"uri": "entraclaw://inbox"})).await;
    host.next().await;
    host.next().await;
    home.receive([1, 2]);
    assert_eq!(host.next().await, updated());
    host.request(3, "resources/read", json!({"uri": "entraclaw://inbox"})).await;
    let contents = host.next().await["result"]["contents"].clone();
    assert_eq!(
        (&contents[0]["uri"], &contents[0]["mimeType"]),
        (&json!("entraclaw://inbox"), &json!("application/json"))
    );
    let inbox: Value = serde_json::from_str(contents[0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(inbox["unread"], 2);
    assert_eq!(ids(&inbox), ["m1", "m2"]);
    host.request(4, "resources/unsubscribe", json!({"uri": "entraclaw://inbox"})).await;
    host.next().await;
    home.receive([3]);
    host.quiet(10).await;
    assert_eq!(ids(&host.ask(5, "inbox_pull", json!({})).await), ["m1 redelivered", "m2 redelivered", "m3"]);
}

/// What `entraclaw status` says of a connection.
#[tokio::test(start_paused = true)]
async fn the_presence_counts_open_calls_and_names_what_is_sent_unasked() {
    let mut options = Home::new().options();
    let presence = Presence::default();
    options.presence = presence.clone();
    let mut host = Host::start(options, 64 * 1024);
    host.open("some-host", "2025-11-25").await;
    assert!(!presence.get().carriers.contains("resource"), "{:?}", presence.get());
    host.request(1, "resources/subscribe", json!({"uri": "entraclaw://inbox"})).await;
    host.next_answer().await;
    assert!(presence.get().carriers.contains("resource"), "{:?}", presence.get());
    assert_eq!(presence.get().waiting_calls, 0);
    host.call(2, "wait_for_inbound_message", json!({"timeout_s": 30})).await;
    host.settle().await;
    assert_eq!(presence.get().waiting_calls, 1);
    host.next_answer().await;
    host.settle().await;
    assert_eq!(presence.get().waiting_calls, 0);
}

#[tokio::test(start_paused = true)]
async fn the_resource_shows_the_newest_twenty() {
    let home = Home::new();
    home.receive(1..=50);
    let mut host = home.host("copilot-cli").await;
    host.request(1, "resources/read", json!({"uri": "entraclaw://inbox"})).await;
    let answer = host.next().await;
    let inbox: Value =
        serde_json::from_str(answer["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(inbox["unread"], 50);
    assert_eq!(ids(&inbox), (31..=50).map(|n| format!("m{n}")).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn every_carrier_shows_the_same_characters() {
    let home = Home::new();
    let text = "a &lt;b&gt; &amp;amp; \"q\" \\ \n\tü 日本 🙂 &lt;/channel&gt;";
    let mut host = home.host("claude-code").await;
    home.receive_texts([("m1".to_owned(), text.to_owned())]);
    assert_eq!(host.next().await["params"]["content"], text);
    host.next().await;
    host.request(1, "resources/read", json!({"uri": "entraclaw://inbox"})).await;
    let answer = host.next().await;
    let inbox: Value =
        serde_json::from_str(answer["result"]["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(inbox["messages"][0]["content_text_sanitized"], text);
    let pulled = host.ask(2, "inbox_pull", json!({"mark_consumed": false})).await;
    assert_eq!(pulled["messages"][0]["content_text_sanitized"], text);
    let waited = host.ask(3, "wait_for_inbound_message", json!({})).await;
    assert_eq!(waited["messages"][0]["content_text_sanitized"], text);
}

#[tokio::test(start_paused = true)]
async fn progress_is_sent_only_where_the_table_says_that_it_helps() {
    const PATIENT: &[HostRow] = &[HostRow {
        family: "patient",
        names: &["patient-host"],
        wait_cap_s: 200,
        park: Park::Never,
        abandons: false,
        progress_every_s: Some(30),
        channel_since: None,
        environment: HandsDown::Everything,
        source: "this test",
    }];
    let home = Home::new();
    let mut options = home.options();
    options.connection.hosts = PATIENT;
    let mut host = Host::start(options, 64 * 1024);
    host.open("patient-host", "2025-11-25").await;
    let call = |token: Value| {
        json!({
            "name": "wait_for_inbound_message", "arguments": {"timeout_s": 70}, "_meta": {"progressToken": token}
        })
    };
    host.request(1, "tools/call", call(json!("t"))).await;
    for progress in [1, 2] {
        tokio::time::sleep(Duration::from_secs(29)).await;
        let beat = host.next().await;
        assert_eq!(beat["method"], "notifications/progress");
        let time = if progress == 1 { "30 s" } else { "1 min" };
        let message = format!("listening for {time}: other sessions' sources");
        assert_eq!(beat["params"], json!({"progressToken": "t", "progress": progress, "message": message}));
    }
    assert_eq!(host.next().await["id"], 1);
    host.quiet(100).await;
    // No token, or a broken one: no progress.
    host.request(2, "tools/call", call(json!([]))).await;
    assert_eq!(host.next().await["id"], 2);
    // Most built-in rows ask for none.
    let mut host = home.host("gemini-cli-mcp-client").await;
    host.request(3, "tools/call", call(json!(3))).await;
    assert_eq!(host.next().await["id"], 3);
}

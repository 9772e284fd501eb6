//! Nine things that a widely used service loop gets wrong; each is right here, and each name says what is right.

use std::time::Duration;

use entraclaw_mcp::{Exit, LINE_BYTES_MAX};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::{Home, check, ids, modern_meta, tool_json};

#[tokio::test(start_paused = true)]
async fn edge_1_a_notification_before_initialize_does_not_end_the_server() {
    let mut host = Home::new().connect();
    host.cancel("server-discover-probe-1", Some("timed out")).await;
    host.send(json!({"jsonrpc": "2.0", "method": "made/up"})).await;
    host.open("some-host", "2025-11-25").await;
}

#[tokio::test(start_paused = true)]
async fn edge_2_a_second_initialize_does_not_turn_a_legacy_session_modern() {
    let mut host = Home::new().host("some-host").await;
    host.send(crate::support::initialize("other", "2099-01-01")).await;
    assert_eq!(host.next().await["error"]["code"], -32600);
    host.request(1, "ping", json!({})).await;
    assert_eq!(host.next().await, json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    host.request(2, "tools/list", json!({})).await;
    let result = host.next().await["result"].clone();
    assert_eq!(result.as_object().unwrap().keys().collect::<Vec<_>>(), ["tools"]);
}

#[tokio::test(start_paused = true)]
async fn edge_3_end_of_input_does_not_wait_for_a_call_in_flight() {
    let mut host = Home::new().host("some-host").await;
    host.call(1, "wait_for_inbound_message", json!({})).await;
    host.settle().await;
    let started = Instant::now();
    assert_eq!(host.finish().await.1, Exit::InputClosed);
    assert!(started.elapsed() < Duration::from_millis(100));
}

#[tokio::test(start_paused = true)]
async fn edge_4_a_cancelled_call_loses_no_message() {
    let home = Home::new();
    let mut host = home.host("codex-mcp-client").await;
    host.call(1, "wait_for_inbound_message", json!({})).await;
    host.cancel(1, Some("MCP request cancelled by caller")).await;
    home.receive([1]);
    assert_eq!(ids(&host.ask(2, "wait_for_inbound_message", json!({})).await), ["m1"]);
}

#[tokio::test(start_paused = true)]
async fn edge_5_two_hundred_sends_leave_in_order() {
    let home = Home::new();
    let mut host = home.host("claude-code").await;
    home.receive(1..=200);
    for n in 1..=200 {
        assert_eq!(host.next().await["params"]["meta"]["message_id"], format!("m{n}"));
    }
}

#[tokio::test(start_paused = true)]
async fn edge_6_a_notification_stands_on_the_wire_before_the_answer_it_belongs_before() {
    let home = Home::new();
    let mut host = home.connect();
    let filter = json!({"notifications": {"resourceSubscriptions": ["entraclaw://inbox"]}, "_meta": modern_meta("some-host")});
    host.request(1, "subscriptions/listen", filter).await;
    host.request(2, "tools/list", json!({"_meta": modern_meta("some-host")})).await;
    assert_eq!(host.next().await["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(host.next().await["id"], 2);
}

#[test]
fn edge_7_errors_have_the_right_code_and_the_id_that_was_readable() {
    check(
        "2025-11-25",
        &[
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"#,
            r#"{"jsonrpc":"1.0","id":2,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":5}}"#,
        ],
        &[
            r#"{"id":1,"error":{"code":-32700}}"#,
            r#"{"id":2,"error":{"code":-32600}}"#,
            r#"{"id":3,"error":{"code":-32602,"message":"params.name…"}}"#,
        ],
    );
    let long = format!(
        r#"{{"jsonrpc":"2.0","id":4,"method":"ping","params":{{"x":"{}"}}}}"#,
        "x".repeat(LINE_BYTES_MAX)
    );
    check("", &[&long], &[r#"{"id":4,"error":{"code":-32600}}"#]);
}

#[tokio::test(start_paused = true)]
async fn edge_7_legacy_requests_go_on_after_a_modern_one() {
    let mut host = Home::new().connect();
    host.request(1, "tools/list", json!({"_meta": modern_meta("some-host")})).await;
    host.next().await;
    host.open("some-host", "2025-11-25").await;
    host.request(2, "tools/list", json!({})).await;
    assert!(host.next().await["result"]["tools"].is_array());
}

#[test]
fn edge_8_undeclared_lists_are_decided_per_era() {
    let meta = modern_meta("some-host");
    check(
        "2025-11-25",
        &[
            r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"completion/complete","params":{}}"#,
            &format!(r#"{{"jsonrpc":"2.0","id":3,"method":"prompts/list","params":{{"_meta":{meta}}}}}"#),
        ],
        &[
            r#"{"id":1,"result":{"prompts":[]}}"#,
            r#"{"id":2,"error":{"code":-32601}}"#,
            r#"{"id":3,"error":{"code":-32601}}"#,
        ],
    );
}

#[tokio::test(start_paused = true)]
async fn edge_9_a_host_without_a_progress_token_is_served_like_any_other() {
    let home = Home::new();
    home.receive([1]);
    let mut host = home.host("codex-mcp-client").await;
    let mut seen = Vec::new();
    for (id, meta) in [(1, Value::Null), (2, json!({})), (3, json!({"progressToken": 3}))] {
        let mut params = json!({"name": "inbox_pull", "arguments": {"mark_consumed": false}});
        if !meta.is_null() {
            params["_meta"] = meta;
        }
        host.request(id, "tools/call", params).await;
        seen.push(ids(&tool_json(&host.next_answer().await)).len());
    }
    assert_eq!(seen, [1, 1, 1]);
}

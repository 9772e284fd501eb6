//! What stands on a line, and what becomes of lines that say nothing.

use std::time::Duration;

use entraclaw_mcp::{Exit, LINE_BYTES_MAX};
use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::support::{Home, Host, check};

#[test]
fn carriage_returns_a_byte_order_mark_and_empty_lines_are_tolerated() {
    check(
        "",
        &[
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r",
            "",
            "\r",
            "   ",
            r#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#,
        ],
        &[r#"{"id":1,"result":{}}"#, r#"{"id":"a","result":{}}"#],
    );
}

#[test]
fn a_broken_line_is_answered_when_its_id_can_be_read_and_never_with_a_null_id() {
    check(
        "2025-11-25",
        &[
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"a":}}"#,
            r#"{"jsonrpc":"2.0","id":5,"result":{"a":}}"#,
            "hello",
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"1.0","id":6,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":5}"#,
            r#"{"jsonrpc":"2.0","id":8,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":10,"method":"ping"}"#,
        ],
        &[
            r#"{"id":4,"error":{"code":-32700,"message":"this line is no json…"}}"#,
            r#"{"id":6,"error":{"code":-32600,"message":"jsonrpc…"}}"#,
            r#"{"id":7,"error":{"code":-32600,"message":"method…"}}"#,
            r#"{"id":10,"result":{}}"#,
        ],
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_utf8_is_a_broken_line() {
    let mut host = Home::new().connect();
    host.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\",\"params\":{\"a\":\"\xff\xfe\"}}\n")
        .await;
    let answer = host.next().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(3), &json!(-32700)));
    host.request(4, "ping", json!({})).await;
    assert_eq!(host.next().await["id"], 4);
}

#[tokio::test(start_paused = true)]
async fn an_oversize_line_is_refused_by_its_id_and_the_next_line_is_served() {
    let mut host = Home::new().connect();
    let long = "x".repeat(LINE_BYTES_MAX);
    host.send_bytes(
        format!("{{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"params\":{{\"x\":\"{long}\"}},\"id\":3}}\n")
            .as_bytes(),
    )
    .await;
    let answer = host.next().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(3), &json!(-32600)));
    assert!(answer["error"]["message"].as_str().unwrap().contains(&LINE_BYTES_MAX.to_string()), "{answer}");
    host.send_bytes(format!("{long}{long}\n").as_bytes()).await;
    host.request(4, "ping", json!({})).await;
    assert_eq!(host.next().await["id"], 4);
}

#[tokio::test(start_paused = true)]
async fn half_a_line_before_the_end_is_ignored() {
    let mut host = Home::new().connect();
    host.send_bytes(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}").await;
    let (lines, exit) = host.finish().await;
    assert_eq!(lines.len(), 1);
    assert_eq!(exit, Exit::InputClosed);
}

#[test]
fn batches_are_served_in_the_one_version_that_has_them() {
    check(
        "2025-03-26",
        &[
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"nope"},7]"#,
            r#"[{"jsonrpc":"2.0","method":"notifications/x"}]"#,
            "[]",
            r#"[{"jsonrpc":"2.0","id":4,"method":"initialize","params":{}}]"#,
            r#"[{"jsonrpc":"2.0","id":5,"method":"subscriptions/listen","params":{"notifications":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}]"#,
        ],
        &[
            r#"[{"id":1,"result":{}},{"id":2,"error":{"code":-32601}}]"#,
            r#"[{"id":4,"error":{"code":-32600,"message":"initialize must not stand in a batch"}}]"#,
            r#"[{"id":5,"error":{"code":-32600,"message":"subscriptions/listen must not stand in a batch"}}]"#,
        ],
    );
    check(
        "2025-06-18",
        &[r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":"b","method":"ping"}]"#],
        &[
            r#"{"id":1,"error":{"code":-32600,"message":"batches belong to protocol version 2025-03-26…"}}"#,
            r#"{"id":"b","error":{"code":-32600}}"#,
        ],
    );
}

#[tokio::test(start_paused = true)]
async fn a_batch_with_a_waiting_call_is_answered_when_the_last_of_it_is() {
    let home = Home::new();
    let mut host = home.connect();
    host.open("some-host", "2025-03-26").await;
    let wait = json!({"name": "wait_for_inbound_message", "arguments": {"timeout_s": 5}});
    host.send(json!([
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": wait},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    ]))
    .await;
    host.quiet(4).await;
    let answers = host.next().await;
    assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&json!(2), &json!(1)));
    // One that is cancelled is left out.
    host.send(json!([
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": wait},
        {"jsonrpc": "2.0", "id": 4, "method": "ping"}
    ]))
    .await;
    host.cancel(3, None).await;
    assert_eq!(host.next().await, json!([{"jsonrpc": "2.0", "id": 4, "result": {}}]));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_reads_slowly_gets_everything_in_order_and_can_still_end_the_session() {
    let home = Home::new();
    let mut options = home.options();
    options.connection.limits.out_bytes_max = 2_000;
    options.connection.limits.line_bytes_max = 4_000;
    let mut host = Host::start(options, 64);
    // Requests far beyond what the bounds hold; nobody reads.
    let sender = tokio::spawn({
        let mut to_server = host.to_server.take().unwrap();
        async move {
            use tokio::io::AsyncWriteExt;
            for id in 0..500 {
                let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n");
                to_server.write_all(line.as_bytes()).await.unwrap();
            }
            to_server
        }
    });
    tokio::time::sleep(Duration::from_secs(30)).await;
    for id in 0..500 {
        assert_eq!(host.next().await["id"], id);
    }
    drop(sender.await.unwrap());
    assert_eq!(host.server.await.unwrap(), Exit::InputClosed);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_takes_nothing_for_a_minute_with_both_directions_full_is_gone() {
    let home = Home::new();
    let mut options = home.options();
    options.connection.limits.out_bytes_max = 100;
    options.connection.limits.line_bytes_max = 100;
    let mut host = Host::start(options, 64);
    let mut to_server = host.to_server.take().unwrap();
    let flood = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        while to_server.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await.is_ok() {}
    });
    assert_eq!(host.server.await.unwrap(), Exit::OutputStalled);
    flood.await.unwrap();
    let mut rest = Vec::new();
    host.from_server.read_to_end(&mut rest).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_host_that_takes_little_is_not_taken_for_gone() {
    let home = Home::new();
    let mut options = home.options();
    options.connection.limits.out_bytes_max = 100;
    options.connection.limits.line_bytes_max = 100;
    let mut host = Host::start(options, 64);
    let mut to_server = host.to_server.take().unwrap();
    let flood = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        while to_server.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await.is_ok() {}
    });
    // Without the buffer, which would take more at a time.
    let mut from_server = host.from_server.into_inner();
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_secs(50)).await;
        let mut taken = [0; 10];
        from_server.read_exact(&mut taken).await.unwrap();
    }
    assert!(!host.server.is_finished());
    drop(from_server);
    flood.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_closed_output_ends_the_session() {
    let Host { to_server, from_server, server } = Home::new().connect();
    drop(from_server);
    let mut to_server = to_server.unwrap();
    tokio::io::AsyncWriteExt::write_all(
        &mut to_server,
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
    )
    .await
    .unwrap();
    assert_eq!(server.await.unwrap(), Exit::OutputClosed);
}

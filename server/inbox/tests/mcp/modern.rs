//! The era without sessions: every request for itself.

use entraclaw_inbox::rules;
use entraclaw_mcp::MODERN_VERSIONS;
use serde_json::{Value, json};

use crate::support::{Home, Host, check, ids, initialize, modern_meta, tool_json};

async fn modern(host: &mut Host, id: impl Into<Value>, method: &str, mut params: Value) {
    params["_meta"] = modern_meta("some-host");
    host.request(id, method, params).await;
}

#[test]
fn required_keys_are_asked_for_by_name() {
    check(
        "",
        &[
            r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{"_meta":{}}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}"#,
            r#"{"jsonrpc":"2.0","id":6,"method":"server/discover","params":{"_meta":5}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{}}}}"#,
        ],
        &[
            r#"{"id":1,"error":{"code":-32602,"message":"params._meta: missing…"}}"#,
            r#"{"id":2,"error":{"code":-32602,"message":"params._meta[\"io.modelcontextprotocol/protocolVersion\"]: missing…"}}"#,
            r#"{"id":3,"error":{"code":-32602,"message":"params._meta[\"io.modelcontextprotocol/clientCapabilities\"]: missing…"}}"#,
            r#"{"id":4,"error":{"code":-32602,"message":"params._meta[\"io.modelcontextprotocol/protocolVersion\"]: missing…"}}"#,
            r#"{"id":5,"error":{"code":-32022,"data":{"supported":["2026-07-28"],"requested":"2099-01-01"}}}"#,
            r#"{"id":6,"error":{"code":-32602,"message":"params._meta: must be an object, got a number"}}"#,
            r#"{"id":7,"error":{"code":-32602,"message":"params._meta[\"io.modelcontextprotocol/clientInfo\"]: name…"}}"#,
        ],
    );
}

#[tokio::test(start_paused = true)]
async fn discover_is_answered_at_once_but_claude_code_is_sent_to_initialize() {
    let mut host = Home::new().connect();
    modern(&mut host, "probe", "server/discover", json!({})).await;
    let result = host.next().await["result"].clone();
    assert_eq!(result["supportedVersions"], json!(MODERN_VERSIONS));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["cacheScope"], "private");
    assert!(result["ttlMs"].as_u64().is_some());
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"],
        json!({"name": "entraclaw", "version": "0.0.0"})
    );
    assert_eq!(result["capabilities"]["logging"], json!({}));
    assert!(result["capabilities"].get("experimental").is_none());
    assert!(result["instructions"].as_str().unwrap().len() <= 2_048);

    host.request("probe-2", "server/discover", json!({"_meta": modern_meta("claude-code")})).await;
    assert_eq!(host.next().await["error"]["code"], -32601);
    host.open("claude-code", "2025-11-25").await;
}

#[tokio::test(start_paused = true)]
async fn every_result_is_complete_and_what_may_be_cached_says_for_how_long() {
    let home = Home::new();
    home.receive([1]);
    let mut host = home.connect();
    for (id, method, params, cacheable) in [
        (1, "tools/list", json!({}), true),
        (2, "resources/list", json!({}), true),
        (3, "resources/templates/list", json!({}), true),
        (4, "resources/read", json!({"uri": "entraclaw://inbox"}), true),
        (5, "tools/call", json!({"name": "inbound_queue_stats"}), false),
    ] {
        modern(&mut host, id, method, params).await;
        let answer = host.next().await;
        let result = &answer["result"];
        assert_eq!((&answer["id"], &result["resultType"]), (&json!(id), &json!("complete")), "{answer}");
        assert_eq!(result.get("ttlMs").is_some(), cacheable, "{answer}");
        assert_eq!(result.get("cacheScope").is_some(), cacheable, "{answer}");
        assert!(result["_meta"]["io.modelcontextprotocol/serverInfo"].is_object(), "{answer}");
    }
    for (id, method, code) in [
        (6, "ping", -32601),
        (7, "logging/setLevel", -32601),
        (8, "prompts/list", -32601),
        (9, "resources/subscribe", -32601),
    ] {
        modern(&mut host, id, method, json!({"level": "info", "uri": "entraclaw://inbox"})).await;
        assert_eq!(host.next().await["error"]["code"], code, "{method}");
    }
    modern(&mut host, 10, "resources/read", json!({"uri": "entraclaw://other"})).await;
    assert_eq!(host.next().await["error"]["code"], -32602);
}

#[tokio::test(start_paused = true)]
async fn nothing_comes_unasked_without_a_subscription() {
    let home = Home::new();
    let mut host = home.connect();
    modern(&mut host, 1, "tools/list", json!({})).await;
    host.next().await;
    home.receive([1, 2, 3]);
    host.quiet(100).await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_acknowledged_first_and_tells_what_was_asked_until_it_is_cancelled() {
    let home = Home::new();
    let mut host = home.connect();
    let filter = json!({"notifications": {
        "toolsListChanged": true, "resourcesListChanged": true, "resourceSubscriptions": ["file:///x", "entraclaw://inbox"]
    }});
    modern(&mut host, "listen:0", "subscriptions/listen", filter).await;
    modern(&mut host, 2, "subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})).await;
    let tag = |id: Value| json!({"io.modelcontextprotocol/subscriptionId": id});
    assert_eq!(
        host.next().await,
        json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
            "_meta": tag(json!("listen:0")), "notifications": {"resourceSubscriptions": ["entraclaw://inbox"]}
        }})
    );
    assert_eq!(
        host.next().await,
        json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {
            "_meta": tag(json!(2)), "notifications": {}
        }})
    );
    home.receive([1, 2]);
    assert_eq!(
        host.next().await,
        json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {
            "_meta": tag(json!("listen:0")), "uri": "entraclaw://inbox"
        }})
    );
    host.quiet(60).await;
    host.cancel("listen:0", None).await;
    home.receive([3]);
    host.quiet(60).await;
    // The id is free again, and the other one is still open.
    modern(&mut host, 2, "tools/list", json!({})).await;
    assert_eq!(host.next().await["error"]["code"], -32600);
    modern(&mut host, "listen:0", "tools/list", json!({})).await;
    assert!(host.next().await["result"].is_object());
}

#[tokio::test(start_paused = true)]
async fn broken_filters_and_too_many_subscriptions_are_refused() {
    let mut host = Home::new().connect();
    for params in [
        json!({}),
        json!({"notifications": []}),
        json!({"notifications": {"resourceSubscriptions": "entraclaw://inbox"}}),
        json!({"notifications": {"resourceSubscriptions": [5]}}),
    ] {
        modern(&mut host, 1, "subscriptions/listen", params.clone()).await;
        let answer = host.next().await;
        assert_eq!(answer["error"]["code"], -32602, "{params}");
        assert!(answer["error"]["message"].as_str().unwrap().starts_with("params.notifications"), "{answer}");
    }
    for id in 0..16 {
        modern(&mut host, id, "subscriptions/listen", json!({"notifications": {}})).await;
        host.next().await;
    }
    modern(&mut host, 16, "subscriptions/listen", json!({"notifications": {}})).await;
    assert_eq!(host.next().await["error"]["code"], -32600);
}

#[tokio::test(start_paused = true)]
async fn both_eras_share_one_pipe() {
    let home = Home::new();
    let mut host = home.connect();
    modern(&mut host, 1, "tools/list", json!({})).await;
    assert_eq!(host.next().await["result"]["resultType"], "complete");
    host.open("some-host", "2025-06-18").await;
    host.request(2, "ping", json!({})).await;
    assert_eq!(host.next().await["result"], json!({}));
    modern(&mut host, 3, "tools/list", json!({})).await;
    assert_eq!(host.next().await["result"]["resultType"], "complete");
    host.request(4, "tools/list", json!({"_meta": {"progressToken": 0}})).await;
    assert!(host.next().await["result"].get("resultType").is_none());
    modern(&mut host, 5, "server/discover", json!({})).await;
    assert!(host.next().await["result"]["supportedVersions"].is_array());
}

#[tokio::test(start_paused = true)]
async fn each_request_is_its_own_consumer_by_its_clients_name() {
    let home = Home::new();
    home.receive([1]);
    let mut host = home.connect();
    for (id, client) in [(1, "host-a"), (2, "host-b")] {
        let params = json!({"name": "inbox_pull", "_meta": modern_meta(client)});
        host.request(id, "tools/call", params).await;
        assert_eq!(ids(&tool_json(&host.next().await)), ["m1"], "{client}");
    }
    let params = json!({"name": "inbox_pull", "_meta": modern_meta("host-a")});
    host.request(3, "tools/call", params).await;
    assert!(ids(&tool_json(&host.next().await)).is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_seventeenth_consumer_closes_an_idle_inbox_whose_messages_come_again() {
    let home = Home::new();
    home.receive([1]);
    let mut host = home.connect();
    let clients: Vec<String> = (1..=17).map(|number| format!("host-{number:02}")).collect();
    for (id, client) in clients.iter().chain([&clients[0]]).enumerate() {
        let params = json!({"name": "inbox_pull", "_meta": modern_meta(client)});
        host.request(id, "tools/call", params).await;
        let expected = if id < clients.len() { "m1" } else { "m1 redelivered" };
        assert_eq!(ids(&tool_json(&host.next().await)), [expected], "{client}, request {id}");
    }
}

#[tokio::test(start_paused = true)]
async fn instructions_are_those_of_the_host_in_both_eras() {
    for client in ["copilot-cli", "qwen-cli-mcp-client-mail", "some-host"] {
        let family = match client {
            "copilot-cli" => Some("copilot-cli"),
            "some-host" => None,
            _ => Some("qwen-code"),
        };
        let told = rules::instructions(family, &rules::WaitCommand::default());
        let mut host = Home::new().connect();
        host.request("probe", "server/discover", json!({"_meta": modern_meta(client)})).await;
        assert_eq!(host.next().await["result"]["instructions"], told, "{client}");
        host.send(initialize(client, "2025-11-25")).await;
        assert_eq!(host.next().await["result"]["instructions"], told, "{client}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_more_is_written_for_a_request_that_was_cancelled_even_when_it_was_queued() {
    let home = Home::new();
    let mut host = Host::start(home.options(), 64);
    let filter = json!({"notifications": {"resourceSubscriptions": ["entraclaw://inbox"]}});
    modern(&mut host, "gone", "subscriptions/listen", filter.clone()).await;
    modern(&mut host, "stays", "subscriptions/listen", filter).await;
    for number in 1..=3 {
        home.receive([number]);
        host.settle().await;
    }
    host.cancel("gone", None).await;
    modern(&mut host, "last", "resources/list", json!({})).await;
    let mut told = Vec::new();
    loop {
        let message = host.next().await;
        if message.get("id").is_some() {
            break;
        }
        let id = message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].as_str().unwrap();
        told.push(format!("{} {id}", message["method"].as_str().unwrap()));
    }
    // The first line was on its way already.
    let updated = "notifications/resources/updated stays";
    let acknowledged = "notifications/subscriptions/acknowledged";
    assert_eq!(
        told,
        [&format!("{acknowledged} gone"), &format!("{acknowledged} stays"), updated, updated, updated]
    );
}

#[tokio::test(start_paused = true)]
async fn a_log_message_belongs_to_a_waiting_call_that_asked_for_its_level() {
    let home = Home::new();
    let mut host = home.connect();
    let call = |level: Value| {
        let mut meta = modern_meta("some-host");
        meta["io.modelcontextprotocol/logLevel"] = level;
        json!({"name": "wait_for_inbound_message", "_meta": meta})
    };
    let mut listen = json!({"notifications": {"resourceSubscriptions": ["entraclaw://inbox"]}});
    listen["_meta"] = modern_meta("some-host");
    listen["_meta"]["io.modelcontextprotocol/logLevel"] = "debug".into();
    host.request("listen", "subscriptions/listen", listen).await;
    host.next().await;

    host.request(1, "tools/call", call(json!("info"))).await;
    host.settle().await;
    home.receive([1]);
    assert_eq!(
        host.next().await,
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {
            "level": "info", "logger": "entraclaw.inbox",
            "data": {"channel": "teams", "unread": 0, "id": "m1", "summary": "1 new message"}
        }})
    );
    assert_eq!(host.next().await["id"], 1);
    assert_eq!(host.next().await["method"], "notifications/resources/updated");

    host.request(2, "tools/call", call(json!("notice"))).await;
    host.settle().await;
    home.receive([2]);
    assert_eq!(host.next().await["id"], 2);
    assert_eq!(host.next().await["method"], "notifications/resources/updated");
    for (id, level) in [(3, json!("loud")), (4, json!(1)), (5, json!(null))] {
        host.request(id, "tools/call", call(level)).await;
        let answer = host.next().await;
        assert_eq!(answer["error"]["code"], -32602);
        assert!(answer["error"]["message"].as_str().unwrap().contains("logLevel"), "{answer}");
    }
    home.receive([3]);
    assert_eq!(host.next().await["method"], "notifications/resources/updated");
    host.quiet(60).await;
}

#[tokio::test(start_paused = true)]
async fn a_closed_input_answers_every_open_subscription_before_the_end() {
    let mut host = Home::new().connect();
    let filter = json!({"notifications": {"resourceSubscriptions": ["entraclaw://inbox"]}});
    modern(&mut host, "listen:0", "subscriptions/listen", filter.clone()).await;
    modern(&mut host, 7, "subscriptions/listen", filter).await;
    host.next().await;
    host.next().await;
    let (left, _) = host.finish().await;
    let ended: Vec<_> = left.iter().map(|message| message["id"].clone()).collect();
    assert!(ended.contains(&json!("listen:0")) && ended.contains(&json!(7)) && left.len() == 2, "{left:?}");
    for message in &left {
        assert_eq!(message["result"]["resultType"], "complete", "{message}");
        assert_eq!(message["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], message["id"]);
    }
}

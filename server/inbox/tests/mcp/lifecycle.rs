//! How a session begins, and what is refused before and after.

use std::collections::BTreeSet;

use entraclaw_inbox::presence::Presence;
use entraclaw_inbox::sessions::HostLine;
use rstest::rstest;
use serde_json::json;

use crate::support::{Home, Host, check, modern_meta};

const INIT: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"VERSION","capabilities":{},"clientInfo":{"name":"some-host","version":"1"}}}"#;

#[rstest]
#[case("2024-11-05", "2024-11-05")]
#[case("2025-03-26", "2025-03-26")]
#[case("2025-06-18", "2025-06-18")]
#[case("2025-11-25", "2025-11-25")]
#[case("2026-07-28", "2025-11-25")]
#[case("2099-01-01", "2025-11-25")]
fn versions_are_echoed_or_answered_with_the_newest_that_has_initialize(
    #[case] asked: &str,
    #[case] got: &str,
) {
    check(
        "",
        &[&INIT.replace("VERSION", asked)],
        &[&format!(
            r#"{{"id":1,"result":{{"protocolVersion":"{got}","serverInfo":{{"name":"entraclaw","version":"0.0.0"}},
            "capabilities":{{"tools":{{"listChanged":false}},"resources":{{"subscribe":true}},"logging":{{}},"experimental":{{"claude/channel":{{}}}}}}}}}}"#
        )],
    );
}

#[test]
fn a_second_initialize_is_refused_and_changes_nothing() {
    check(
        "2025-06-18",
        &[
            &INIT.replace("VERSION", "2099-01-01"),
            r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#,
        ],
        &[
            r#"{"id":1,"error":{"code":-32600,"message":"initialize: this session has begun…"}}"#,
            r#"{"id":2,"result":{}}"#,
            r#"{"id":3,"result":{}}"#,
        ],
    );
}

#[test]
fn before_initialize_only_ping_is_served_and_the_error_says_what_to_send() {
    check(
        "",
        &[
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"nonsense"}"#,
        ],
        &[
            r#"{"id":1,"result":{}}"#,
            r#"{"id":2,"error":{"code":-32600,"message":"send initialize first…"}}"#,
            r#"{"id":3,"error":{"code":-32600,"message":"send initialize first…"}}"#,
        ],
    );
}

#[test]
fn notifications_before_initialize_are_ignored_and_the_session_can_still_begin() {
    check(
        "",
        &[
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"probe"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"made/up","params":{"a":1}}"#,
            &INIT.replace("VERSION", "2025-11-25"),
        ],
        &[r#"{"id":1,"result":{"protocolVersion":"2025-11-25"}}"#],
    );
}

#[rstest]
#[case(r#"{"capabilities":{},"clientInfo":{"name":"h"}}"#, "params.protocolVersion: missing…")]
#[case(
    r#"{"protocolVersion":7,"capabilities":{},"clientInfo":{"name":"h"}}"#,
    "params.protocolVersion: must be a string, got a number"
)]
#[case(r#"{"protocolVersion":"2025-11-25","clientInfo":{"name":"h"}}"#, "params.capabilities: missing…")]
#[case(
    r#"{"protocolVersion":"2025-11-25","capabilities":[],"clientInfo":{"name":"h"}}"#,
    "params.capabilities: must be an object, got an array"
)]
#[case(r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#, "params.clientInfo: missing…")]
#[case(
    r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":5}}"#,
    "params.clientInfo.name: must be a string"
)]
fn a_broken_initialize_names_the_field_and_may_be_sent_again(#[case] params: &str, #[case] message: &str) {
    check(
        "",
        &[
            &format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}"#),
            &INIT.replace("VERSION", "2025-11-25"),
        ],
        &[
            &json!({"id": 0, "error": {"code": -32602, "message": message}}).to_string(),
            r#"{"id":1,"result":{"protocolVersion":"2025-11-25"}}"#,
        ],
    );
}

#[test]
fn methods_of_a_legacy_session() {
    check(
        "2025-11-25",
        &[
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#,
            r#"{"jsonrpc":"2.0","id":2,"method":"resources/templates/list","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"prompts/list"}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"prompts/get","params":{"name":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":5,"method":"completion/complete","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":6,"method":"tools/list","params":{"cursor":"5"}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"loud"}}"#,
            r#"{"jsonrpc":"2.0","id":8,"method":"logging/setLevel","params":{"level":"error"}}"#,
            r#"{"jsonrpc":"2.0","id":9,"method":"resources/subscribe","params":{"uri":"file:///etc"}}"#,
            r#"{"jsonrpc":"2.0","id":10,"method":"resources/subscribe","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":11,"method":"resources/read","params":{"uri":"entraclaw://other"}}"#,
            r#"{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":5}}"#,
            r#"{"jsonrpc":"2.0","id":13,"method":"tools/call","params":{"name":"inbox_pul"}}"#,
            r#"{"jsonrpc":"2.0","id":14,"method":"tools/call","params":{"name":"inbox_pull","arguments":[]}}"#,
            r#"{"jsonrpc":"2.0","id":15,"method":"tools/list","params":[]}"#,
        ],
        &[
            r#"{"id":1,"result":{"resources":[{"uri":"entraclaw://inbox","name":"inbox"}]}}"#,
            r#"{"id":2,"result":{"resourceTemplates":[]}}"#,
            r#"{"id":3,"result":{"prompts":[]}}"#,
            r#"{"id":4,"error":{"code":-32601,"message":"method not found: prompts/get"}}"#,
            r#"{"id":5,"error":{"code":-32601}}"#,
            r#"{"id":6,"error":{"code":-32602,"message":"params.cursor…"}}"#,
            r#"{"id":7,"error":{"code":-32602,"message":"params.level: expected one of debug, info…"}}"#,
            r#"{"id":8,"result":{}}"#,
            r#"{"id":9,"error":{"code":-32002,"message":"params.uri…"}}"#,
            r#"{"id":10,"error":{"code":-32602,"message":"params.uri: missing…"}}"#,
            r#"{"id":11,"error":{"code":-32002}}"#,
            r#"{"id":12,"error":{"code":-32602,"message":"params.name: must be a string, got a number"}}"#,
            r#"{"id":13,"error":{"code":-32602,"message":"params.name: no tool is named `inbox_pul`; did you mean inbox_pull?"}}"#,
            r#"{"id":14,"error":{"code":-32602,"message":"params.arguments…"}}"#,
            r#"{"id":15,"error":{"code":-32602,"message":"params: must be an object, got an array"}}"#,
        ],
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_a_legacy_session_has_no_member_of_the_modern_era() {
    let home = Home::new();
    let mut host = home.host("claude-code").await;
    for (id, method) in [(1, "tools/list"), (2, "resources/list"), (3, "ping")] {
        host.request(id, method, json!({})).await;
        let result = host.next().await["result"].clone();
        for member in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            assert!(result.get(member).is_none(), "{method}: {result}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_lines_of_a_connection_are_counted() {
    let (home, presence) = (Home::new(), Presence::default());
    let mut options = home.options();
    options.presence = presence.clone();
    let mut host = Host::start(options, 64 * 1024);
    for id in 1..=3 {
        host.request(id, "ping", json!({})).await;
        host.next().await;
        host.settle().await;
        assert_eq!(presence.get().lines_total, id);
    }
}

#[rstest]
#[case::with_a_session(false, "2.1.80")]
#[case::without_sessions(true, "1")]
#[tokio::test(start_paused = true)]
async fn the_host_of_a_connection_is_known_by_name_and_version(
    #[case] is_modern: bool,
    #[case] version: &str,
) {
    let (home, presence) = (Home::new(), Presence::default());
    let mut options = home.options();
    options.presence = presence.clone();
    let mut host = Host::start(options, 64 * 1024);
    assert!(presence.get().hosts.is_empty());
    let mut params = json!({});
    if is_modern {
        params["_meta"] = modern_meta("some-host");
    } else {
        host.open("some-host", "2025-11-25").await;
    }
    host.request(1, "tools/list", params).await;
    host.next_answer().await;
    let line = HostLine { name: "some-host".to_owned(), version: version.to_owned() };
    assert_eq!(presence.get().hosts, BTreeSet::from([line]));
}

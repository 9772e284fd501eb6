//! Files of messages: pairing inside the file, both forms of a line, and the shape of a verdict.

use schemas::{FileValidator, Version};
use serde_json::{Value, json};

fn definitions(version: Version, lines: &[Value]) -> Vec<Option<(u64, &'static str, bool)>> {
    let mut file = FileValidator::new(version);
    lines
        .iter()
        .map(|line| {
            let judged = file.line(line.to_string().as_bytes())?;
            Some((judged.line, judged.verdict.definition, judged.verdict.valid))
        })
        .collect()
}

#[test]
fn plain_messages_are_paired_by_id() {
    let found = definitions(
        Version::V2025_06_18,
        &[
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }),
            json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [] } }),
            json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": [] } }),
            json!({ "jsonrpc": "2.0", "id": "a", "method": "roots/list" }),
            json!({ "jsonrpc": "2.0", "id": "a", "result": {} }),
        ],
    );
    let wanted = [
        Some((1, "ListToolsRequest", true)),
        Some((2, "ListToolsResult", true)),
        Some((3, "JSONRPCResponse", true)),
        Some((4, "ListRootsRequest", true)),
        Some((5, "ListRootsResult", false)),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn recorded_messages_are_paired_by_side_and_process() {
    let to = |proc: i64, msg: Value| json!({ "ms": 1, "proc": proc, "dir": "host>server", "msg": msg });
    let from = |proc: i64, msg: Value| json!({ "ms": 1, "proc": proc, "dir": "server>host", "msg": msg });
    let found = definitions(
        Version::V2025_11_25,
        &[
            to(1, json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" })),
            to(2, json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" })),
            from(1, json!({ "jsonrpc": "2.0", "id": 1, "method": "roots/list" })),
            json!({ "ms": 2, "proc": 1, "dir": "event", "msg": "stdin EOF" }),
            from(1, json!({ "cut": "{\"jsonrpc\"", "length": 9000 })),
            from(2, json!({ "jsonrpc": "2.0", "id": 1, "result": {} })),
            from(1, json!({ "jsonrpc": "2.0", "id": 1, "result": {} })),
            to(1, json!({ "jsonrpc": "2.0", "id": 1, "result": { "roots": [] } })),
            from(1, json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" })),
        ],
    );
    let wanted = [
        Some((1, "PingRequest", true)),
        Some((2, "ListToolsRequest", true)),
        Some((3, "ListRootsRequest", true)),
        None,
        None,
        Some((6, "ListToolsResult", false)),
        Some((7, "EmptyResult", true)),
        Some((8, "ListRootsResult", true)),
        Some((9, "ListToolsRequest", false)),
    ];
    assert_eq!(found, wanted);
}

#[test]
fn empty_lines_count_and_are_no_messages() {
    let mut file = FileValidator::new(Version::V2025_06_18);
    assert_eq!(file.line(b" \r\n"), None);
    assert_eq!(file.line(b"nothing\n").unwrap().line, 2);
}

#[test]
fn a_verdict_is_one_flat_object() {
    let mut file = FileValidator::new(Version::V2025_06_18);
    let line = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#;
    let judged = serde_json::to_value(file.line(line).unwrap()).unwrap();
    let wanted = json!({
        "line": 1,
        "valid": false,
        "definition": "CallToolRequest",
        "errors": [{ "path": "/params/name", "message": "expected string, found number", "rule": "schema" }],
    });
    assert_eq!(judged, wanted);
}

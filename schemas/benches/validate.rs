//! Microseconds a message: a session as hosts hold it, fed to the validator again and again.
//! `cargo bench --profile dist -p schemas` prints one line a version and kind of input.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark measures real time and prints it"
)]

use std::hint::black_box;
use std::time::Instant;

use schemas::{Direction, Verdict, WireValidator};
use serde_json::{Value, json};

/// Calls in one session.
const CALLS: usize = 200;
/// Sessions that are measured; one more goes ahead to compile the schemas.
const SESSIONS: usize = 100;

fn session(modern: bool) -> Vec<(Direction, Value)> {
    let (host, server) = (Direction::HostToServer, Direction::ServerToHost);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "host", "version": "1.0.0" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": { "form": {} } },
    });
    let tool = json!({ "name": "wait", "description": "Waits.", "inputSchema": { "type": "object", "properties": { "timeout_s": { "type": "integer" } } } });
    let mut out = Vec::new();
    if modern {
        out.push((
            host,
            json!({ "jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": { "_meta": meta } }),
        ));
        out.push((server, json!({ "jsonrpc": "2.0", "id": 0, "result": { "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": [tool] } })));
    } else {
        let info = json!({ "name": "host", "version": "1.0.0" });
        out.push((host, json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": { "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info } })));
        out.push((server, json!({ "jsonrpc": "2.0", "id": 0, "result": { "protocolVersion": "2025-11-25", "capabilities": { "tools": {}, "experimental": { "claude/channel": {} } }, "serverInfo": info } })));
        out.push((host, json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })));
    }
    for id in 1..=CALLS {
        let mut call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "wait", "arguments": { "timeout_s": 50 }, "_meta": { "progressToken": id } } });
        let mut result =
            json!({ "content": [{ "type": "text", "text": "{\"unread_remaining\":0,\"messages\":[]}\n" }] });
        if modern {
            let mut meta = meta.clone();
            meta["progressToken"] = id.into();
            call["params"]["_meta"] = meta;
            result["resultType"] = "complete".into();
        }
        out.push((host, call));
        out.push((server, json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": id, "progress": 1 } })));
        if !modern {
            out.push((server, json!({ "jsonrpc": "2.0", "method": "notifications/claude/channel", "params": { "content": "hello", "meta": { "chat_id": "c", "message_id": "m", "user": "Alice", "ts": "2026-01-01T00:00:00Z" } } })));
        }
        out.push((server, json!({ "jsonrpc": "2.0", "id": id, "result": result })));
    }
    out
}

/// A benchmark of faults would measure the telling of them.
fn check(verdict: &Verdict) {
    assert!(verdict.errors.iter().all(|error| error.rule == "push"), "{verdict:?}");
}

fn main() {
    for (name, modern) in [("2025-11-25", false), ("2026-07-28", true)] {
        let session = session(modern);
        let lines: Vec<(Direction, String)> = session.iter().map(|(d, m)| (*d, m.to_string())).collect();
        for text in [false, true] {
            // The machine may be busy with other work: the median and the best session say more than the mean.
            let mut sessions: Vec<f64> = (0..=SESSIONS)
                .map(|_| {
                    let started = Instant::now();
                    let mut validator = WireValidator::new();
                    if text {
                        for (direction, line) in &lines {
                            check(&black_box(validator.feed(*direction, line)));
                        }
                    } else {
                        for (direction, message) in &session {
                            check(&black_box(validator.feed_value(*direction, message)));
                        }
                    }
                    let messages = u32::try_from(session.len()).unwrap_or(u32::MAX);
                    started.elapsed().as_secs_f64() * 1e6 / f64::from(messages)
                })
                .skip(1)
                .collect();
            sessions.sort_by(f64::total_cmp);
            let what = if text { "lines, parsing included" } else { "parsed messages" };
            println!(
                "{name} {what}: median {:.2}, best {:.2} µs/message",
                sessions[SESSIONS / 2],
                sessions[0]
            );
        }
    }
}

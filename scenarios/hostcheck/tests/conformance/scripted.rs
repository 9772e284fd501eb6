//! A server of 2025-11-25 that does what a test says at each message, and what is usual otherwise.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use hostcheck::conformance::{self, Findings, Plan, Target, Wishes};
use schemas::Version;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};

use crate::mutants::{OLD, in_paused_time};

/// What the server does at a message.
pub(crate) enum Does {
    /// It answers as usual.
    Usual,
    /// It answers with this `result` or `error`, after a time.
    Says(Duration, Value),
    Nothing,
    Ends,
}

/// At once, as the time of an answer.
pub(crate) const AT_ONCE: Duration = Duration::ZERO;

/// In place of the name of a row.
pub(crate) const EVERY_ROW: &str = "";

/// A server with these tools. The script gets the number of the start, and the message.
pub(crate) fn target(tools: &Value, script: impl Fn(usize, &Value) -> Does + 'static) -> Target {
    let (script, tools, starts) = (Rc::new(script), tools.clone(), Cell::new(0));
    Target::Inside(Rc::new(move |input, output| {
        starts.set(starts.get() + 1);
        let (script, start) = (Rc::clone(&script), starts.get());
        Box::pin(serve(tools.clone(), move |message| script(start, message), input, output))
    }))
}

/// Judges it by one row of the protocol or by every one, as a run does that is quick or has everything.
pub(crate) fn judge(target: Target, row: &str, full: bool) -> Findings {
    judge_wishing(target, row, full, None)
}

/// Like [`judge`], with the tool whose call lasts.
pub(crate) fn judge_wishing(target: Target, row: &str, full: bool, long_call: Option<&str>) -> Findings {
    let long_call = long_call.map(|name| (name.to_owned(), json!({"a": "x"})));
    let wishes = Arc::new(Wishes { quick: !full, seed: 1, long_call, ..Wishes::default() });
    judge_by(&Plan { full, wishes, ..plan(target, row) })
}

/// Judges it by one row, as a run does to which the row was named.
pub(crate) fn judge_named(target: Target, row: &str) -> Findings {
    judge_by(&Plan { named: true, ..plan(target, row) })
}

/// Judges it in one host by one row, as a run does that is quick or has everything.
pub(crate) fn judge_in(host: &str, target: Target, row: &str, full: bool) -> Findings {
    let wishes = Arc::new(Wishes { quick: !full, seed: 1, ..Wishes::default() });
    let known = hostcheck::host::all().expect("the profiles are sound");
    let hosts = known.iter().filter(|known| known.id == host).cloned().collect();
    judge_by(&Plan { full, wishes, hosts, versions: Vec::new(), ..plan(target, row) })
}

fn plan(target: Target, row: &str) -> Plan {
    let rows = conformance::rows().expect("the rows");
    Plan {
        target,
        name: None,
        wishes: Arc::new(Wishes { quick: true, seed: 1, ..Wishes::default() }),
        rows: rows.into_iter().filter(|placed| row == EVERY_ROW || placed.row.id == row).collect(),
        versions: vec![OLD],
        full: false,
        named: false,
        demanded: false,
        hosts: Vec::new(),
        at_once: 2,
    }
}

fn judge_by(plan: &Plan) -> Findings {
    in_paused_time(async { conformance::judge(plan, &|_| {}, &conformance::Stop::default()).await })
}

/// Tools that only read and need the text `a`.
pub(crate) fn tools(names: &[&str]) -> Value {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
    let tool =
        |name: &&str| json!({"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": true}});
    names.iter().map(tool).collect()
}

/// A result, as a tool gives it.
pub(crate) fn said(text: &str, is_error: bool) -> Value {
    json!({"result": {"content": [{"type": "text", "text": text}], "isError": is_error}})
}

/// Whether a message calls a tool with arguments that fit, or without; `None` for any other.
pub(crate) fn fits(message: &Value) -> Option<bool> {
    (message["method"] == "tools/call").then(|| message.pointer("/params/arguments/a").is_some())
}

async fn serve(
    tools: Value,
    script: impl Fn(&Value) -> Does,
    input: DuplexStream,
    mut output: DuplexStream,
) -> i32 {
    let mut lines = BufReader::new(input).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        if message.get("id").is_none() {
            continue;
        }
        let mut answer = match script(&message) {
            Does::Usual => usual(&tools, &message),
            Does::Says(after, answer) => {
                tokio::time::sleep(after).await;
                answer
            }
            Does::Nothing => continue,
            Does::Ends => return 1,
        };
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = message["id"].clone();
        if output.write_all(format!("{answer}\n").as_bytes()).await.is_err() {
            break;
        }
    }
    0
}

/// The usual answer to a request.
pub(crate) fn usual(tools: &Value, message: &Value) -> Value {
    match message["method"].as_str() {
        Some("initialize") => json!({"result": {
            "protocolVersion": Version::V2025_11_25.as_str(),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "scripted", "version": "1"},
        }}),
        Some("ping") => json!({"result": {}}),
        Some("tools/list") => json!({"result": {"tools": tools}}),
        Some("tools/call") => said("done", false),
        _ => json!({"error": {"code": -32601, "message": "no such method"}}),
    }
}

//! Reads a recording, and completes messages that its tracer shortened. Only the server's side is completed;
//! the host's lines stay unchanged.

use std::path::Path;

use fake_hosts::log::{Dir, TraceLine};
use serde_json::{Map, Value, json};

/// The names of the recordings in a folder; `None` if there is no such folder.
pub(crate) fn names(folder: &Path) -> Option<Vec<String>> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            name.strip_suffix(".jsonl").map(str::to_owned)
        })
        .collect();
    names.sort();
    (!names.is_empty()).then_some(names)
}

/// All lines of a recording, completed.
pub(crate) fn read(path: &Path) -> Result<Vec<TraceLine>, String> {
    let text = read_text(path)?;
    parse(&text)
}

/// The text of a file.
#[expect(clippy::disallowed_methods, reason = "a test reads its own fixtures")]
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// All lines of a recording's text, completed.
pub(crate) fn parse(text: &str) -> Result<Vec<TraceLine>, String> {
    let mut lines = Vec::new();
    for (number, text) in text.lines().enumerate() {
        if text.trim().is_empty() || text.starts_with('#') {
            continue;
        }
        let line = serde_json::from_str::<TraceLine>(text)
            .map_err(|error| format!("line {}: {error}", number + 1))?;
        lines.push(line);
    }
    let called: Vec<String> = lines.iter().filter_map(called_tool).collect();
    let mut mended: Vec<TraceLine> = lines.iter().map(|line| mend(line, &called)).collect();
    add_unrecorded_progress(&mut mended);
    Ok(mended)
}

fn called_tool(line: &TraceLine) -> Option<String> {
    (line.dir == Dir::HostToServer && line.msg.get("method")? == "tools/call")
        .then(|| line.msg.pointer("/params/name")?.as_str().map(str::to_owned))
        .flatten()
}

/// A message that the tracer cut or trimmed, completed so that a host can read it.
fn mend(line: &TraceLine, called: &[String]) -> TraceLine {
    let mut line = line.clone();
    if line.dir != Dir::ServerToHost {
        return line;
    }
    // A long message of which the first part is kept, and in some cases its size.
    if let Some(text) = line.msg.get("cut").or_else(|| line.msg.get("head")).and_then(Value::as_str) {
        let size = line.msg.get("bytes").and_then(Value::as_u64);
        line.msg = whole_answer(&unclipped(text), size, called);
        return line;
    }
    // Tools of which only the names are kept.
    if let Some(Value::Array(tools)) = line.msg.pointer_mut("/result/tools") {
        for tool in tools {
            if let Value::String(name) = tool {
                *tool = json!({"name": name, "inputSchema": {"type": "object"}});
            }
        }
        if let Value::Object(message) = &mut line.msg {
            message.remove("trimmed");
        }
    }
    line
}

/// The text of a message that was cut twice: once as a message, then as the text of that.
fn unclipped(text: &str) -> String {
    text.strip_prefix("{\"clipped\": \"").map_or_else(|| text.to_owned(), |inner| inner.replace("\\\"", "\""))
}

/// An answer of the kind with which a cut text begins, and of the same size if that is known.
fn whole_answer(text: &str, size: Option<u64>, called: &[String]) -> Value {
    let id = member_after(text, "\"id\": ");
    let result = if let Some(version) = member_after(text, "\"protocolVersion\": ") {
        let capabilities = member_after(text, "\"capabilities\": ").unwrap_or_default();
        json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": {"name": "cut", "version": "1"}})
    } else if text.contains("\"tools\": [") {
        json!({"tools": whole_tools(text, called)})
    } else {
        let size = size.and_then(|size| usize::try_from(size).ok()).unwrap_or_default();
        json!({"content": [{"type": "text", "text": "x".repeat(size)}]})
    };
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The JSON value that follows a piece of text.
fn member_after(text: &str, before: &str) -> Option<Value> {
    let rest = &text[text.find(before)? + before.len()..];
    serde_json::Deserializer::from_str(rest).into_iter::<Value>().next()?.ok()
}

/// The complete tools of a cut list, and minimal ones for the others that were called.
fn whole_tools(cut: &str, called: &[String]) -> Vec<Value> {
    let mut tools = Vec::new();
    let start = cut.find("\"tools\": [").map_or(cut.len(), |at| at + 10);
    let mut rest = cut[start..].trim_start_matches([',', ' ']);
    loop {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
        let Some(Ok(tool)) = values.next() else {
            break;
        };
        let used = values.byte_offset();
        tools.push(Value::Object(tool));
        rest = rest[used..].trim_start_matches([',', ' ']);
    }
    for name in called {
        if !tools.iter().any(|tool| tool["name"] == *name) {
            tools.push(json!({"name": name, "inputSchema": {"type": "object"}}));
        }
    }
    tools
}

/// One tracer kept only the first three progress notifications of a call. The others came at the same
/// interval, which is an argument of the call.
fn add_unrecorded_progress(lines: &mut Vec<TraceLine>) {
    const KEPT: u64 = 3;
    let calls: Vec<(u64, Value, Value, u64)> = lines
        .iter()
        .filter_map(|line| {
            let every = line.msg.pointer("/params/arguments/progress_every")?.as_u64()?;
            let token = line.msg.pointer("/params/_meta/progressToken")?.clone();
            Some((line.ms, line.msg.get("id")?.clone(), token, every * 1000))
        })
        .collect();
    for (called_ms, id, token, every_ms) in calls {
        let recorded =
            lines.iter().filter(|line| line.msg.pointer("/params/progressToken") == Some(&token)).count();
        let answered = lines.iter().position(|line| {
            line.dir == Dir::ServerToHost && line.msg.get("id") == Some(&id) && line.ms > called_ms
        });
        let Some(answered) = answered.filter(|_| recorded == usize::try_from(KEPT).unwrap_or(0)) else {
            continue;
        };
        let proc = lines[answered].proc;
        let mut more = Vec::new();
        for count in KEPT + 1.. {
            let ms = called_ms + count * every_ms;
            if ms >= lines[answered].ms {
                break;
            }
            more.push(TraceLine {
                ms,
                proc,
                dir: Dir::ServerToHost,
                msg: json!({"jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": count}}),
            });
        }
        lines.splice(answered..answered, more);
    }
}

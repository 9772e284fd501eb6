//! Changes of a line on the wire, one small fault each. Nothing here knows a scenario.

#![expect(
    clippy::needless_pass_by_value,
    reason = "all changes have one shape, and most change what they are given"
)]

use std::time::Duration;

use serde_json::{Value, json};

use crate::token::TOKEN;

/// A part of the output for one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Piece {
    /// These bytes, at once.
    Bytes(Vec<u8>),
    /// These bytes, later; others pass them.
    Late(Duration, Vec<u8>),
    /// Nothing any more.
    End,
    /// Nothing any more, and no rest.
    Spin,
}

/// State that is kept from line to line.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Lines so far, this one included.
    pub(super) lines: u64,
    /// Something that a fault keeps.
    kept: Option<Value>,
    /// How often a fault has struck.
    struck: u64,
}

/// Makes others of a line.
pub(super) type Change = fn(&mut State, Value) -> Vec<Piece>;

/// Every so many answers a fault strikes that would show at once if it struck each time.
const NOW_AND_THEN: u64 = 2;

fn one(message: &Value) -> Vec<Piece> {
    vec![Piece::Bytes(format!("{message}\n").into_bytes())]
}

fn raw(bytes: impl Into<Vec<u8>>) -> Vec<Piece> {
    vec![Piece::Bytes(bytes.into())]
}

/// The result of a tool's call.
fn is_tool_result(message: &Value) -> bool {
    message.pointer("/result/content").is_some()
}

fn says(message: &Value, method: &str) -> bool {
    message.get("method").and_then(Value::as_str) == Some(method)
}

/// Changes the messages in a tool's result, in its text and in its structure alike. Whether there were any.
fn with_messages(message: &mut Value, change: impl FnOnce(&mut Vec<Value>)) -> bool {
    let text = message.pointer("/result/content/0/text").and_then(Value::as_str);
    let Some(mut answer) = text.and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
        return false;
    };
    let Some(list) = answer.get_mut("messages").and_then(Value::as_array_mut) else { return false };
    if list.is_empty() {
        return false;
    }
    change(list);
    message["result"]["content"][0]["text"] = answer.to_string().into();
    if message.pointer("/result/structuredContent").is_some() {
        message["result"]["structuredContent"] = answer;
    }
    true
}

pub(super) fn drops_a_reply(state: &mut State, message: Value) -> Vec<Piece> {
    if is_tool_result(&message) {
        state.struck += 1;
        if state.struck == 1 {
            return Vec::new();
        }
    }
    one(&message)
}

pub(super) fn answers_twice(_: &mut State, message: Value) -> Vec<Piece> {
    let twice = is_tool_result(&message);
    let mut pieces = one(&message);
    if twice {
        pieces.extend(one(&message));
    }
    pieces
}

pub(super) fn prints(state: &mut State, message: Value) -> Vec<Piece> {
    let mut pieces = if state.lines == 2 { raw("listening for messages\n") } else { Vec::new() };
    pieces.extend(one(&message));
    pieces
}

pub(super) fn leaks_the_token(_: &mut State, mut message: Value) -> Vec<Piece> {
    if is_tool_result(&message) {
        message["result"]["_meta"] = json!({"contoso.com/trace": format!("Bearer {TOKEN}")});
    }
    one(&message)
}

pub(super) fn answers_another_id(_: &mut State, mut message: Value) -> Vec<Piece> {
    if is_tool_result(&message) {
        message["id"] = "another".into();
    }
    one(&message)
}

pub(super) fn result_and_error(_: &mut State, mut message: Value) -> Vec<Piece> {
    if is_tool_result(&message) {
        message["error"] = json!({"code": -32603, "message": "but not quite"});
    }
    one(&message)
}

pub(super) fn spreads_lines(_: &mut State, message: Value) -> Vec<Piece> {
    if is_tool_result(&message) {
        let pretty = serde_json::to_string_pretty(&message).unwrap_or_default();
        return raw(pretty + "\n");
    }
    one(&message)
}

pub(super) fn byte_order_mark(state: &mut State, message: Value) -> Vec<Piece> {
    if state.lines == 1 {
        return raw(format!("\u{feff}{message}\n"));
    }
    one(&message)
}

pub(super) fn latin1(_: &mut State, mut message: Value) -> Vec<Piece> {
    if !with_messages(&mut message, |_| ()) {
        return one(&message);
    }
    let mut bytes = message.to_string().into_bytes();
    if let Some(at) = bytes.iter().position(|byte| *byte == b'm') {
        bytes[at] = 0xe9;
    }
    bytes.push(b'\n');
    raw(bytes)
}

pub(super) fn older_envelope(_: &mut State, mut message: Value) -> Vec<Piece> {
    message["jsonrpc"] = "1.0".into();
    one(&message)
}

pub(super) fn wrong_era(_: &mut State, mut message: Value) -> Vec<Piece> {
    if message.pointer("/result/protocolVersion").is_some() {
        message["result"]["protocolVersion"] = "2031-01-01".into();
    }
    one(&message)
}

pub(super) fn speaks_first(state: &mut State, message: Value) -> Vec<Piece> {
    let early = json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "hello"}});
    let mut pieces = if state.lines == 1 { one(&early) } else { Vec::new() };
    pieces.extend(one(&message));
    pieces
}

pub(super) fn undeclared_prompts(_: &mut State, message: Value) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if is_tool_result(&message) {
        pieces = one(&json!({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}));
    }
    pieces.extend(one(&message));
    pieces
}

pub(super) fn foreign_progress(_: &mut State, message: Value) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if is_tool_result(&message) {
        pieces = one(&json!({"jsonrpc": "2.0", "method": "notifications/progress",
            "params": {"progressToken": "nobody-asked", "progress": 1}}));
    }
    pieces.extend(one(&message));
    pieces
}

pub(super) fn backward_progress(state: &mut State, mut message: Value) -> Vec<Piece> {
    if says(&message, "notifications/progress") {
        state.struck += 1;
        message["params"]["progress"] =
            (1.0 / f64::from(u32::try_from(state.struck).unwrap_or(u32::MAX))).into();
    }
    one(&message)
}

pub(super) fn broken_schema(_: &mut State, mut message: Value) -> Vec<Piece> {
    if let Some(tools) = message.pointer_mut("/result/tools").and_then(Value::as_array_mut) {
        for tool in tools {
            tool["inputSchema"]["type"] = "array".into();
        }
    }
    one(&message)
}

pub(super) fn sleeps_past_the_limit(_: &mut State, message: Value) -> Vec<Piece> {
    if is_tool_result(&message) {
        return vec![Piece::Late(Duration::from_secs(70), format!("{message}\n").into_bytes())];
    }
    one(&message)
}

pub(super) fn is_slow(_: &mut State, message: Value) -> Vec<Piece> {
    vec![Piece::Late(Duration::from_secs(20), format!("{message}\n").into_bytes())]
}

pub(super) fn turns_the_order(_: &mut State, mut message: Value) -> Vec<Piece> {
    with_messages(&mut message, |list| list.reverse());
    one(&message)
}

pub(super) fn says_it_again(state: &mut State, mut message: Value) -> Vec<Piece> {
    let before = state.kept.take();
    let mut newest = None;
    with_messages(&mut message, |list| {
        newest = list.last().cloned();
        if let Some(before) = &before {
            list.insert(0, before.clone());
        }
    });
    state.kept = newest.or(before);
    one(&message)
}

pub(super) fn drops_a_message(state: &mut State, mut message: Value) -> Vec<Piece> {
    with_messages(&mut message, |list| {
        state.struck += 1;
        if state.struck.is_multiple_of(NOW_AND_THEN) {
            list.pop();
        }
    });
    one(&message)
}

pub(super) fn drops_the_first(state: &mut State, mut message: Value) -> Vec<Piece> {
    with_messages(&mut message, |list| {
        state.struck += 1;
        if state.struck == 1 {
            list.remove(0);
        }
    });
    one(&message)
}

pub(super) fn marks_all_redelivered(_: &mut State, mut message: Value) -> Vec<Piece> {
    with_messages(&mut message, |list| list.iter_mut().for_each(|m| m["redelivered"] = true.into()));
    one(&message)
}

pub(super) fn marks_all_pushed(_: &mut State, mut message: Value) -> Vec<Piece> {
    with_messages(&mut message, |list| list.iter_mut().for_each(|m| m["pushed"] = true.into()));
    one(&message)
}

pub(super) fn forgets_marks(_: &mut State, mut message: Value) -> Vec<Piece> {
    with_messages(&mut message, |list| {
        for message in list.iter_mut().filter_map(Value::as_object_mut) {
            message.remove("redelivered");
            message.remove("pushed");
        }
    });
    one(&message)
}

pub(super) fn makes_messages_up(state: &mut State, mut message: Value) -> Vec<Piece> {
    with_messages(&mut message, |list| {
        state.struck += 1;
        if let Some(mut made_up) = list.first().cloned() {
            made_up["id"] = format!("1{}", state.struck).into();
            list.push(made_up);
        }
    });
    one(&message)
}

pub(super) fn changes_a_text(_: &mut State, mut message: Value) -> Vec<Piece> {
    with_messages(&mut message, |list| {
        for message in list {
            let text = message["content_text_sanitized"].as_str().unwrap_or_default();
            message["content_text_sanitized"] = text.replace('e', "\u{e9}").into();
        }
    });
    one(&message)
}

pub(super) fn changes_what_it_pushes(_: &mut State, mut message: Value) -> Vec<Piece> {
    if says(&message, "notifications/claude/channel") {
        let text = message["params"]["content"].as_str().unwrap_or_default();
        message["params"]["content"] = text.replace('e', "3").into();
    }
    one(&message)
}

pub(super) fn writes_beside_the_json(_: &mut State, mut message: Value) -> Vec<Piece> {
    if with_messages(&mut message, |_| ()) {
        let text = message["result"]["content"][0]["text"].as_str().unwrap_or_default();
        message["result"]["content"][0]["text"] = format!("{text} (and that was all)").into();
    }
    one(&message)
}

/// Characters that the channel's envelope is made of come as they were typed.
pub(super) fn opens_tags(_: &mut State, message: Value) -> Vec<Piece> {
    if !says(&message, "notifications/claude/channel") && !is_tool_result(&message) {
        return one(&message);
    }
    let open = message.to_string().replace("&lt;", "<").replace("&gt;", ">");
    raw(open + "\n")
}

pub(super) fn dies_at_work(_: &mut State, message: Value) -> Vec<Piece> {
    if is_tool_result(&message) {
        return vec![Piece::End];
    }
    one(&message)
}

pub(super) fn pushes_nothing(_: &mut State, message: Value) -> Vec<Piece> {
    if says(&message, "notifications/claude/channel") { Vec::new() } else { one(&message) }
}

/// Takes a cancelled call for one that goes on: its answer comes, and what it held is gone.
pub(super) fn hears_no_cancel(_: &mut State, message: Value) -> Vec<Piece> {
    if says(&message, "notifications/cancelled") { Vec::new() } else { one(&message) }
}

/// Takes its third line for the end.
pub(super) fn hears_the_end(state: &mut State, message: Value) -> Vec<Piece> {
    if state.lines == 3 { vec![Piece::End] } else { one(&message) }
}

/// Takes every wait for one of a second.
pub(super) fn cuts_waits_short(_: &mut State, mut message: Value) -> Vec<Piece> {
    if says(&message, "tools/call") && message["params"]["name"] == "wait_for_inbound_message" {
        message["params"]["arguments"] = json!({"timeout_s": 1});
    }
    one(&message)
}

/// Waits for its first call by asking itself whether it is there.
pub(super) fn never_rests(_: &mut State, message: Value) -> Vec<Piece> {
    if says(&message, "tools/call") { vec![Piece::Spin] } else { one(&message) }
}

//! Changes of a line on the wire, one small fault each. Nothing here knows a scenario.

#![expect(clippy::ptr_arg, clippy::unnecessary_wraps, reason = "all changes of a kind have one shape")]

use std::time::Duration;

use entraclaw_sanitize::secrets::HIDDEN;
use serde_json::{Value, json};

use crate::token::{AGENT_TOKEN, TOKEN};

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

/// Writes something else in place of a line; nothing: the line as it is, with what was changed in it.
type Instead = fn(&mut State, &mut Value) -> Option<Vec<Piece>>;

/// The lines that a fault changes, and how.
#[derive(Debug, Clone, Copy)]
pub(super) enum Change {
    /// Each line.
    Line(Instead),
    /// Each result of a tool's call.
    Result(Instead),
    /// The messages in a tool's result, in its text and in its structure alike.
    Messages(fn(&mut State, &mut Vec<Value>)),
}

impl Change {
    /// The output for a line.
    pub(super) fn pieces(self, state: &mut State, mut message: Value) -> Vec<Piece> {
        let instead = match self {
            Self::Line(instead) => instead(state, &mut message),
            Self::Result(instead) if is_tool_result(&message) => instead(state, &mut message),
            Self::Messages(change) => {
                with_messages(&mut message, |list| change(state, list));
                None
            }
            Self::Result(_) => None,
        };
        instead.unwrap_or_else(|| one(&message))
    }
}

/// Every so many answers a fault strikes that would show at once if it struck each time.
const NOW_AND_THEN: u64 = 2;

/// Two lines.
fn both(first: &Value, second: &Value) -> Option<Vec<Piece>> {
    Some([one(first), one(second)].concat())
}

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

/// Changes the messages in a tool's result. Whether there were any.
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

pub(super) fn drops_a_reply(state: &mut State, _: &mut Value) -> Option<Vec<Piece>> {
    state.struck += 1;
    (state.struck == 1).then(Vec::new)
}

pub(super) fn answers_twice(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    both(message, message)
}

pub(super) fn prints(state: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    (state.lines == 2).then(|| [raw("listening for messages\n"), one(message)].concat())
}

pub(super) fn leaks_the_token(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    message["result"]["_meta"] = json!({"contoso.com/trace": format!("Bearer {TOKEN}")});
    None
}

/// Shows in an error what was hidden there.
pub(super) fn leaks_an_agents_token(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    let is_error = message.pointer("/result/isError") == Some(&Value::Bool(true));
    is_error.then(|| raw(message.to_string().replace(HIDDEN, AGENT_TOKEN) + "\n"))
}

/// The secret that scenarios plant in a session.
const PLANTED: &str = "ghp_0123456789abcdefABCDEF0123456789abcd";

pub(super) fn shows_a_secret(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    let text = message.to_string();
    text.contains(HIDDEN).then(|| raw(text.replace(HIDDEN, PLANTED) + "\n"))
}

pub(super) fn answers_another_id(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    message["id"] = "another".into();
    None
}

pub(super) fn result_and_error(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    message["error"] = json!({"code": -32603, "message": "but not quite"});
    None
}

pub(super) fn spreads_lines(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    let pretty = serde_json::to_string_pretty(&message).unwrap_or_default();
    Some(raw(pretty + "\n"))
}

pub(super) fn byte_order_mark(state: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    (state.lines == 1).then(|| raw(format!("\u{feff}{message}\n")))
}

pub(super) fn latin1(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    if !with_messages(message, |_| ()) {
        return None;
    }
    let mut bytes = message.to_string().into_bytes();
    if let Some(at) = bytes.iter().position(|byte| *byte == b'm') {
        bytes[at] = 0xe9;
    }
    bytes.push(b'\n');
    Some(raw(bytes))
}

pub(super) fn older_envelope(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    message["jsonrpc"] = "1.0".into();
    None
}

pub(super) fn wrong_era(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    *message.pointer_mut("/result/protocolVersion")? = "2031-01-01".into();
    None
}

pub(super) fn speaks_first(state: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    let early = json!({"jsonrpc": "2.0", "method": "notifications/message",
        "params": {"level": "info", "data": "hello"}});
    if state.lines == 1 { both(&early, message) } else { None }
}

pub(super) fn undeclared_prompts(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    both(&json!({"jsonrpc": "2.0", "method": "notifications/prompts/list_changed"}), message)
}

pub(super) fn foreign_progress(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress",
        "params": {"progressToken": "of-no-request", "progress": 1}});
    both(&progress, message)
}

pub(super) fn backward_progress(state: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    if says(message, "notifications/progress") {
        state.struck += 1;
        message["params"]["progress"] =
            (1.0 / f64::from(u32::try_from(state.struck).unwrap_or(u32::MAX))).into();
    }
    None
}

pub(super) fn broken_schema(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    for tool in message.pointer_mut("/result/tools").and_then(Value::as_array_mut)? {
        tool["inputSchema"]["type"] = "array".into();
    }
    None
}

pub(super) fn sleeps_past_the_limit(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    late(70, message)
}

pub(super) fn is_slow(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    late(20, message)
}

fn late(seconds: u64, message: &Value) -> Option<Vec<Piece>> {
    Some(vec![Piece::Late(Duration::from_secs(seconds), format!("{message}\n").into_bytes())])
}

pub(super) fn turns_the_order(_: &mut State, list: &mut Vec<Value>) {
    list.reverse();
}

pub(super) fn says_it_again(state: &mut State, list: &mut Vec<Value>) {
    let newest = list.last().cloned();
    if let Some(before) = std::mem::replace(&mut state.kept, newest) {
        list.insert(0, before);
    }
}

pub(super) fn drops_a_message(state: &mut State, list: &mut Vec<Value>) {
    state.struck += 1;
    if state.struck.is_multiple_of(NOW_AND_THEN) {
        list.pop();
    }
}

pub(super) fn drops_the_first(state: &mut State, list: &mut Vec<Value>) {
    state.struck += 1;
    if state.struck == 1 {
        list.remove(0);
    }
}

pub(super) fn marks_all_redelivered(_: &mut State, list: &mut Vec<Value>) {
    mark(list, "redelivered");
}

pub(super) fn marks_all_pushed(_: &mut State, list: &mut Vec<Value>) {
    mark(list, "pushed");
}

fn mark(list: &mut [Value], mark: &str) {
    for message in list {
        message[mark] = true.into();
    }
}

pub(super) fn forgets_marks(_: &mut State, list: &mut Vec<Value>) {
    for message in list.iter_mut().filter_map(Value::as_object_mut) {
        message.remove("redelivered");
        message.remove("pushed");
    }
}

pub(super) fn makes_messages_up(state: &mut State, list: &mut Vec<Value>) {
    state.struck += 1;
    let mut made_up = list[0].clone();
    made_up["id"] = format!("1{}", state.struck).into();
    list.push(made_up);
}

pub(super) fn changes_a_text(_: &mut State, list: &mut Vec<Value>) {
    for message in list {
        let text = message["content_text_sanitized"].as_str().unwrap_or_default();
        message["content_text_sanitized"] = text.replace('e', "\u{e9}").into();
    }
}

pub(super) fn changes_what_it_pushes(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    if says(message, "notifications/claude/channel") {
        let text = message["params"]["content"].as_str().unwrap_or_default();
        message["params"]["content"] = text.replace('e', "3").into();
    }
    None
}

pub(super) fn writes_beside_the_json(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    if with_messages(message, |_| ()) {
        let text = message["result"]["content"][0]["text"].as_str().unwrap_or_default();
        message["result"]["content"][0]["text"] = format!("{text} (and that was all)").into();
    }
    None
}

/// Characters that the channel's envelope is made of come as they were typed.
pub(super) fn opens_tags(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    let shows = says(message, "notifications/claude/channel") || is_tool_result(message);
    shows.then(|| raw(message.to_string().replace("&lt;", "<").replace("&gt;", ">") + "\n"))
}

pub(super) fn dies_at_work(_: &mut State, _: &mut Value) -> Option<Vec<Piece>> {
    Some(vec![Piece::End])
}

pub(super) fn pushes_nothing(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    says(message, "notifications/claude/channel").then(Vec::new)
}

/// Takes a cancelled call for one that goes on: its answer comes, and what it held is gone.
pub(super) fn hears_no_cancel(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    says(message, "notifications/cancelled").then(Vec::new)
}

/// Takes its third line for the end.
pub(super) fn hears_the_end(state: &mut State, _: &mut Value) -> Option<Vec<Piece>> {
    (state.lines == 3).then(|| vec![Piece::End])
}

/// Takes every wait for one of a second.
pub(super) fn cuts_waits_short(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    if says(message, "tools/call") && message["params"]["name"] == "wait_for_inbound_message" {
        message["params"]["arguments"] = json!({"timeout_s": 1});
    }
    None
}

/// Waits for its first call by asking itself whether it is there.
pub(super) fn never_rests(_: &mut State, message: &mut Value) -> Option<Vec<Piece>> {
    says(message, "tools/call").then(|| vec![Piece::Spin])
}

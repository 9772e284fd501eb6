//! Facts about single messages: the name of the host, the order of members, ids, tokens, answers to the
//! probe's requests.

use fake_hosts::Mode;
use serde_json::{Value, json};

use super::claim::{Claims, order};
use super::session::{Said, Session};
use super::tracer::META_VERSION;

/// An answer within this time was no user's decision, in milliseconds.
const AT_ONCE_MS: u64 = 500;
/// Shortest observation for facts about missing answers, in milliseconds.
const SILENT_MS: u64 = 40_000;
const META: &str = "io.modelcontextprotocol/";

pub(super) fn draw(sessions: &[Session], claims: &mut Claims) {
    for session in sessions {
        identity(session, claims);
        orders(session, claims);
        ids(session, claims);
        tokens(session, claims);
        answers(session, claims);
    }
}

fn meta<'a>(said: &'a Said, name: &str) -> Option<&'a Value> {
    said.params().get("_meta")?.get(format!("{META}{name}"))
}

fn identity(session: &Session, claims: &mut Claims) {
    if let Some(said) = session.asked("initialize").next() {
        let at = session.at(said.number);
        let params = said.params();
        for (fact, member) in
            [("identity.client_info", "clientInfo"), ("identity.protocol_version", "protocolVersion")]
        {
            if let Some(value) = params.get(member) {
                claims.add(fact, value.clone(), at.clone());
            }
        }
        if let Some(value) = params.get("capabilities") {
            claims.add_mode("identity.capabilities", session.mode, value.clone(), at);
        }
    }
    if let Some(said) =
        session.said.iter().find(|said| said.by_host && meta(said, "protocolVersion").is_some())
    {
        let at = session.at(said.number);
        if let Some(value) = meta(said, "clientInfo") {
            claims.add("identity.client_info", value.clone(), at.clone());
        }
        if let Some(value) = meta(said, "clientCapabilities") {
            claims.add_mode("identity.modern_capabilities", session.mode, value.clone(), at.clone());
        }
        if let Some(value) = meta(said, "protocolVersion") {
            claims.add("opening.modern_version", value.clone(), at);
        }
    }
}

fn orders(session: &Session, claims: &mut Claims) {
    let mut claim = |fact, said: &Said| claims.add(fact, order(said), session.at(said.number));
    for said in session.said.iter().filter(|said| said.by_host) {
        let members = said.order().len();
        match (said.method(), said.json.get("id")) {
            (Some("server/discover"), Some(_)) if said.number == first_number(session) => {
                claim("wire.opening_order", said);
            }
            (Some("tools/call"), Some(_)) => claim("wire.request_order", said),
            (Some(method), Some(_))
                if method.ends_with("/list") && members == 4 && said.params().get("cursor").is_none() =>
            {
                claim("wire.bare_request_order", said);
            }
            (Some(_), None) if members == 2 => claim("wire.bare_notification_order", said),
            (Some(_), None) => claim("wire.notification_order", said),
            (None, Some(_)) if said.json.get("error").is_some() => claim("wire.error_order", said),
            (None, Some(_)) => claim("wire.result_order", said),
            _ => {}
        }
    }
    for call in session.calls("") {
        let params = call.asked.params();
        let members: Vec<&str> =
            params.as_object().into_iter().flat_map(serde_json::Map::keys).map(String::as_str).collect();
        if members.len() == 3 {
            claims.add("wire.call_params_order", members.into(), session.at(call.asked.number));
        }
    }
}

fn first_number(session: &Session) -> u64 {
    session.said.iter().find(|said| said.by_host).map_or(0, |said| said.number)
}

fn ids(session: &Session, claims: &mut Claims) {
    let first = session.said.iter().find(|said| said.by_host);
    if let Some(said) = first.filter(|said| said.method() == Some("server/discover")) {
        let rule = match &said.json["id"] {
            Value::String(id) => json!({"fixed": id}),
            _ => json!("counter"),
        };
        claims.add("wire.probe_id", rule, session.at(said.number));
    }
    if let Some(said) = session.asked("subscriptions/listen").next() {
        let rule = match &said.json["id"] {
            // The first id; the counter in it belongs to the prefix.
            Value::String(id) => match id.strip_suffix('0') {
                Some(prefix) => json!({"prefix": prefix}),
                None => json!({"fixed": id}),
            },
            _ => json!("counter"),
        };
        claims.add("wire.listen_id", rule, session.at(said.number));
    }
    let bare = session.asked("tools/list").find(|said| said.params().get("cursor").is_none());
    if let Some(said) = bare {
        match said.json.get("params") {
            None => claims.add("wire.empty_params", json!(false), session.at(said.number)),
            Some(params) if params.as_object().is_some_and(serde_json::Map::is_empty) => {
                claims.add("wire.empty_params", json!(true), session.at(said.number));
            }
            // Params that hold only `_meta` say nothing about requests without params.
            Some(_) => {}
        }
    }
}

fn tokens(session: &Session, claims: &mut Claims) {
    let Some(call) = session.calls("").first().copied() else { return };
    let at = session.at(call.asked.number);
    let meta = call.asked.params().get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
    let token = meta.get("progressToken");
    let listed = session.asked("tools/list").next();
    let list_has_one = listed.is_some_and(|said| said.params().pointer("/_meta/progressToken").is_some());
    let rule = match token {
        None => Some("none"),
        Some(_) if list_has_one => Some("all_by_counter"),
        Some(token) if Some(token) == call.asked.json.get("id") => Some("calls_by_id"),
        Some(Value::String(text)) if text.len() == 36 && text.matches('-').count() == 4 => {
            Some("calls_by_uuid")
        }
        Some(_) => None,
    };
    match rule {
        Some(rule) => claims.add("wire.progress_tokens", json!(rule), at.clone()),
        None => claims.hint("wire.progress_tokens", format!("a token of no known kind at {at}")),
    }
    let own: Vec<(&String, &Value)> =
        meta.iter().filter(|(name, _)| *name != "progressToken" && !name.starts_with(META)).collect();
    let names_call = |name: &str| {
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        name.to_ascii_lowercase().ends_with("tooluseid")
    };
    let call_id = own.iter().find(|(name, _)| names_call(name));
    match call_id {
        Some((name, _)) => claims.add("wire.tool_use_id_key", json!(name), at.clone()),
        None if own.is_empty() => claims.add("wire.tool_use_id_key", Value::Null, at.clone()),
        None => claims.hint("wire.tool_use_id_key", format!("{at} has other members in `_meta`")),
    }
    if own.len() == usize::from(call_id.is_some()) {
        claims.add_mode("wire.call_meta", session.mode, json!({}), at);
    } else {
        let names: Vec<&str> = own.iter().map(|(name, _)| name.as_str()).collect();
        claims.hint(
            "wire.call_meta",
            format!("{at} has {}; the user must say which parts change", names.join(", ")),
        );
    }
}

/// Answers to the probe's own requests.
fn answers(session: &Session, claims: &mut Claims) {
    let mode = session.mode;
    for asked in session.said.iter().filter(|said| !said.by_host && said.json.get("id").is_some()) {
        let Some(method) = asked.method() else { continue };
        let answer = session.answer_to(asked);
        let at = session.at(answer.unwrap_or(asked).number);
        let waited_ms = session.last_ms().saturating_sub(asked.ms);
        if answer.is_none() && waited_ms < SILENT_MS {
            continue;
        }
        match method {
            "ping" if session.is_modern() => claims.add("modern.answers_ping", json!(answer.is_some()), at),
            "roots/list" => {
                if let Some(kind) = answer.and_then(roots) {
                    claims.add("requests.roots", json!(kind), at);
                }
            }
            "sampling/createMessage" => {
                let rule = match answer {
                    None => json!("silent"),
                    Some(answer) if answer.json.get("error").is_some() => unknown(answer),
                    Some(_) => json!("ask"),
                };
                claims.add_mode("requests.sampling", mode, rule, at);
            }
            "elicitation/create" => elicitation(asked, answer, mode, at, claims),
            "hostcheck/unknown" => {
                let message = answer.and_then(|answer| answer.json.pointer("/error/message")?.as_str());
                match message {
                    Some(message) if message == method => {
                        claims.add("requests.unknown_message", json!("method"), at);
                    }
                    Some(message) => claims.add("requests.unknown_message", json!({"text": message}), at),
                    None => {}
                }
            }
            _ => {}
        }
    }
}

fn unknown(answer: &Said) -> Value {
    if answer.json.pointer("/error/code") == Some(&json!(-32601)) { json!("unknown") } else { json!("ask") }
}

fn roots(answer: &Said) -> Option<&'static str> {
    let Some(roots) = answer.json.pointer("/result/roots").and_then(Value::as_array) else {
        let unknown = answer.json.pointer("/error/code") == Some(&json!(-32601));
        return unknown.then_some("unknown");
    };
    match roots.as_slice() {
        [] => Some("empty"),
        [root] if root.get("name").is_some() => Some("named_working_directory"),
        [_] => Some("working_directory"),
        // Several roots are a choice that profiles do not have.
        _ => None,
    }
}

fn elicitation(asked: &Said, answer: Option<&Said>, mode: Mode, at: String, claims: &mut Claims) {
    let url = asked.params().get("mode").and_then(Value::as_str) == Some("url");
    let error = answer.and_then(|answer| answer.json.get("error"));
    if url {
        let refusal = error.map(|error| json!({"code": error["code"], "message": error["message"]}));
        if answer.is_some() {
            claims.add("requests.url_elicitation", json!(refusal), at);
        }
        return;
    }
    let rule = match answer {
        None => json!("silent"),
        Some(answer) if error.is_some() => unknown(answer),
        Some(answer) => match answer.json.pointer("/result/action") {
            Some(action) if answer.ms.saturating_sub(asked.ms) < AT_ONCE_MS => json!({"answer": action}),
            _ => json!("ask"),
        },
    };
    claims.add_mode("requests.elicitation", mode, rule, at);
}

/// Whether a message of the host is of the newer era.
pub(super) fn is_modern(said: &Said) -> bool {
    said.params().get("_meta").is_some_and(|meta| meta.get(META_VERSION).is_some())
}

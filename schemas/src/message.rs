//! Judges one message by itself: reads the line, chooses the definition, and applies the rules without
//! history. It never looks at another message; its caller passes the request of an answer.

use serde_json::Value;

use crate::catalog::{Asked, catalog};
use crate::down::down;
use crate::own;
use crate::rules;
use crate::verdict::Findings;
use crate::version::{Direction, Version};
use crate::whole;

/// The kind of a message, by its members alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A method and an id.
    Request,
    /// A method without an id.
    Notification,
    /// A result.
    Result,
    /// An error.
    Error,
    /// None of these.
    Nothing,
}

/// The kind of a message; if several members contradict, the method wins, then the result.
pub(crate) fn kind(message: &Value) -> Kind {
    sort(message).0
}

/// The kind, and whether several members contradict. One pass is cheaper than four look-ups.
fn sort(message: &Value) -> (Kind, bool) {
    let (mut method, mut id, mut result, mut error) = (false, false, false, false);
    for name in message.as_object().into_iter().flat_map(serde_json::Map::keys) {
        match name.as_str() {
            "method" => method = true,
            "id" => id = true,
            "result" => result = true,
            "error" => error = true,
            _ => {}
        }
    }
    let kind = match (method, id, result, error) {
        (true, true, ..) => Kind::Request,
        (true, false, ..) => Kind::Notification,
        (false, _, true, _) => Kind::Result,
        (false, _, false, true) => Kind::Error,
        (false, _, false, false) => Kind::Nothing,
    };
    (kind, u8::from(method) + u8::from(result) + u8::from(error) > 1)
}

/// The method, if it is a string.
pub(crate) fn method(message: &Value) -> Option<&str> {
    message.get("method")?.as_str()
}

/// Reads a line, with or without its newline; `None` if it holds no JSON.
pub(crate) fn read(line: &[u8], found: &mut Findings) -> Option<Value> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let line = match line.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => {
            found.breaks(&rules::BYTE_ORDER_MARK, ("", ""), "the line starts with a byte order mark");
            rest
        }
        None => line,
    };
    let text = match std::str::from_utf8(line) {
        Ok(text) => text,
        Err(error) => {
            found.breaks(&rules::NOT_UTF8, ("", ""), format!("no UTF-8 after byte {}", error.valid_up_to()));
            return None;
        }
    };
    if text.contains('\n') {
        found.breaks(&rules::ONE_LINE, ("", ""), "the message is spread over several lines");
    }
    match whole::read(text) {
        Ok((message, repeated)) => {
            if let Some(name) = repeated {
                found.breaks(
                    &rules::REPEATED_NAME,
                    ("", ""),
                    format!("an object has two members named {name:?}"),
                );
            }
            Some(message)
        }
        Err(error) => {
            // Only the place is reported: the text of the error may quote the line.
            let from = match error.column() {
                0 | 1 => String::new(),
                column => format!(" from column {column} on"),
            };
            found.breaks(&rules::NOT_JSON, ("", ""), format!("a line is not JSON{from}"));
            None
        }
    }
}

/// Judges a message, or each message of a batch, by its definition and by the rules without history. `asked`
/// has the known requests of responses, in the order of the batch.
pub(crate) fn judge(
    version: Version,
    direction: Option<Direction>,
    message: &Value,
    asked: &dyn Fn(&Value) -> Option<Asked>,
    found: &mut Findings,
) {
    let Value::Array(batch) = message else {
        found.definition = judge_one(version, direction, message, asked(message).as_ref(), "", found);
        return;
    };
    judge_batch(version, batch, found);
    for (index, message) in batch.iter().enumerate() {
        let at = format!("/{index}");
        judge_one(version, direction, message, asked(message).as_ref(), &at, found);
    }
}

/// Judges a batch as a whole.
pub(crate) fn judge_batch(version: Version, batch: &[Value], found: &mut Findings) {
    let answers = batch.iter().filter(|message| matches!(kind(message), Kind::Result | Kind::Error)).count();
    found.definition = if answers > 0 { "JSONRPCBatchResponse" } else { "JSONRPCBatchRequest" };
    if version != Version::V2025_03_26 {
        found.definition = "JSONRPCMessage";
        found.breaks(&rules::BATCH, ("", ""), format!("{version} has no batches"));
    }
    if batch.is_empty() {
        found.breaks(&rules::EMPTY_BATCH, ("", ""), "the batch is empty");
    } else if answers > 0 && answers < batch.len() {
        found.breaks(&rules::EMPTY_BATCH, ("", ""), "the batch mixes answers with other messages");
    }
    for (index, message) in batch.iter().enumerate() {
        if method(message) == Some("initialize") {
            found.breaks(
                &rules::INITIALIZE_IN_BATCH,
                (&format!("/{index}"), ""),
                "`initialize` can't be batched",
            );
        }
    }
}

/// Judges one message by its definition; gives the definition's name, empty if there is none.
pub(crate) fn judge_one(
    version: Version,
    direction: Option<Direction>,
    message: &Value,
    asked: Option<&Asked>,
    at: &str,
    found: &mut Findings,
) -> &'static str {
    let (kind, mixed) = sort(message);
    if mixed {
        found.breaks(
            &rules::MIXED_ENVELOPE,
            (at, ""),
            "only one of `method`, `result` and `error` can be there",
        );
    }
    match kind {
        Kind::Request | Kind::Notification => judge_call(version, direction, message, kind, at, found),
        Kind::Result => judge_result(version, message, asked, at, found),
        Kind::Error => judge_error(version, message, at, found),
        Kind::Nothing => {
            found.breaks(&rules::NOT_A_MESSAGE, (at, ""), "there is no `method`, no `result` and no `error`");
            ""
        }
    }
}

/// Checks that a channel push of Claude Code can arrive at all.
fn channel(params: &Value, at: &str, found: &mut Findings) {
    let mut breaks =
        |below: &str, said: &str| found.breaks(&rules::CHANNEL, (at, &format!("/params{below}")), said);
    if !params["content"].is_string() {
        breaks("/content", "a channel push has a text");
    }
    match params.get("meta") {
        None => {}
        Some(Value::Object(meta)) => {
            for (name, _) in meta.iter().filter(|(_, value)| !value.is_string()) {
                breaks(&format!("/meta/{name}"), "is no text, and the host drops the whole push");
            }
        }
        Some(_) => breaks("/meta", "is no object"),
    }
}

fn judge_call(
    version: Version,
    direction: Option<Direction>,
    message: &Value,
    kind: Kind,
    at: &str,
    found: &mut Findings,
) -> &'static str {
    let catalog = catalog(version);
    let method = method(message);
    let known = method.and_then(|method| catalog.method(method));
    let definition = match (known, kind) {
        (Some(known), _) => known.name.as_str(),
        (None, Kind::Request) => "JSONRPCRequest",
        (None, _) => "JSONRPCNotification",
    };
    for error in catalog.errors(definition, message, at) {
        found.push(error);
    }
    meta_keys(version, message.get("params"), (at, "/params/_meta"), found);
    if method == Some(own::CHANNEL) {
        channel(&message["params"], at, found);
    }
    if let Some(method) = method.filter(|method| own::is_of_events(method)) {
        own::events(method, &message["params"], at, found);
    }
    let one_way = known.map_or_else(
        || method.is_some_and(|method| method.starts_with("notifications/")),
        |known| known.result.is_none(),
    );
    if one_way && kind == Kind::Request {
        found.breaks(&rules::NOTIFICATION_WITH_ID, (at, "/id"), "a notification has no id");
    }
    if let (Some(known), Some(direction), Some(method)) = (known, direction, method)
        && !known.sender.may(direction)
    {
        let side = if direction == Direction::HostToServer { "host" } else { "server" };
        found.breaks(&rules::WRONG_SIDE, (at, "/method"), format!("`{method}` is not sent by the {side}"));
    }
    definition
}

fn judge_result(
    version: Version,
    message: &Value,
    asked: Option<&Asked>,
    at: &str,
    found: &mut Findings,
) -> &'static str {
    let catalog = catalog(version);
    let envelope = catalog.result_envelope();
    let result = &message["result"];
    let definition = catalog.result(result, asked);
    if !catalog.fits(envelope, message) {
        let below = format!("{at}/result");
        for error in catalog.errors(envelope, message, at) {
            // The result's own definition describes the fault better.
            if definition.is_none() || !error.path.starts_with(&below) {
                found.push(error);
            }
        }
    }
    if let Some(definition) = definition
        && !catalog.fits(definition, result)
    {
        for error in catalog.errors(definition, result, &format!("{at}/result")) {
            found.push(error);
        }
    }
    if let Some(asked) = asked.filter(|asked| own::is_of_events(&asked.method)) {
        own::events(&format!("{}#result", asked.method), result, at, found);
    }
    meta_keys(version, Some(result), (at, "/result/_meta"), found);
    if version.is_modern() {
        match result.get("resultType").and_then(Value::as_str) {
            Some("input_required") => {
                if result.get("inputRequests").is_none() && result.get("requestState").is_none() {
                    found.breaks(
                        &rules::INPUT_REQUIRED_EMPTY,
                        (at, "/result"),
                        "`inputRequests` or `requestState` is missing",
                    );
                }
            }
            Some("complete" | "task") | None => {}
            Some(_) => found.breaks(
                &rules::RESULT_TYPE,
                (at, "/result/resultType"),
                "must be `complete` or `input_required`",
            ),
        }
    }
    definition.unwrap_or(envelope)
}

/// Checks the keys of `_meta`; the first versions have no rule about them.
fn meta_keys(version: Version, holder: Option<&Value>, place: (&str, &str), found: &mut Findings) {
    let meta = holder.and_then(|holder| holder.get("_meta")).and_then(Value::as_object);
    if version < Version::V2025_06_18 {
        return;
    }
    for key in meta.into_iter().flatten().map(|(key, _)| key).filter(|key| !is_meta_key(key)) {
        let shown: String = key.chars().take(40).collect();
        found.breaks(&rules::META_KEY, place, format!("`{shown}` is no name, nor a prefix and a name"));
    }
}

/// Nearly all keys are the protocol's own, and recognising them costs a tenth of the general check.
const OWN_META_KEYS: &[&str] = &[
    "progressToken",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientInfo",
    "io.modelcontextprotocol/clientCapabilities",
    "io.modelcontextprotocol/subscriptionId",
];

fn is_meta_key(key: &str) -> bool {
    OWN_META_KEYS.contains(&key) || is_name(key)
}

fn is_name(key: &str) -> bool {
    let (prefix, name) = key.rsplit_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let ends = |text: &[u8]| {
        text.first().is_some_and(u8::is_ascii_alphanumeric)
            && text.last().is_some_and(u8::is_ascii_alphanumeric)
    };
    let label = |label: &str| {
        let label = label.as_bytes();
        ends(label)
            && label[0].is_ascii_alphabetic()
            && label.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
    };
    let name = name.as_bytes();
    let inside = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let named = name.is_empty() || ends(name) && name.iter().all(inside);
    named && prefix.is_none_or(|prefix| prefix.split('.').all(label))
}

fn judge_error(version: Version, message: &Value, at: &str, found: &mut Findings) -> &'static str {
    let catalog = catalog(version);
    let code = down(message, &["error", "code"]).and_then(Value::as_i64);
    let definition = catalog.error(code);
    for error in catalog.errors(definition, message, at) {
        found.push(error);
    }
    if version.is_modern()
        && let Some(code) = code
    {
        let reserved = (-32099..=-32020).contains(&code) && definition == catalog.error_envelope();
        if reserved || code == -32002 {
            found.breaks(
                &rules::RESERVED_ERROR_CODE,
                (at, "/error/code"),
                format!("{code} is not for free use"),
            );
        }
    }
    definition
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meta_keys_are_names_with_or_without_a_prefix() {
        for good in ["a", "progressToken", "com.contoso/a-b_c.d", "io.modelcontextprotocol/tasks", "x/", ""] {
            assert!(is_meta_key(good), "{good}");
        }
        for bad in ["-a", "a b", "/a", "1a/b", "a-/b", "a..b/c", "a/b/c", "é", "a/-"] {
            assert!(!is_meta_key(bad), "{bad}");
        }
        assert!(OWN_META_KEYS.iter().all(|own| is_name(own)));
    }
}

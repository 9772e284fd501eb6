//! Reads a transcript as far as a report needs: the kind of each line, and the pairs of requests and answers.
//! It must never change a line, and never fail on a broken one.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::event::{Lane, WireLine};
use crate::text::cut;

/// Bytes of a preview.
const PREVIEW_BYTES_MAX: usize = 110;

/// A line with its kind and its pair.
pub(crate) struct Read<'a> {
    /// The line.
    pub(crate) line: &'a WireLine,
    /// Its kind in a few words; empty if the line needs none.
    pub(crate) kind: String,
    /// The start of its content on one line; empty if it has none.
    pub(crate) preview: String,
    /// Whether it is an error response.
    pub(crate) is_error: bool,
    /// The index of the other half: of a request's answer, or an answer's request.
    pub(crate) pair: Option<usize>,
}

/// Reads all lines.
pub(crate) fn read(transcript: &[WireLine]) -> Vec<Read<'_>> {
    let mut found: Vec<Read<'_>> = Vec::with_capacity(transcript.len());
    // Requests without an answer so far, by direction and id.
    let mut waiting: BTreeMap<(bool, String), usize> = BTreeMap::new();
    for (index, line) in transcript.iter().enumerate() {
        let mut read =
            Read { line, kind: String::new(), preview: String::new(), is_error: false, pair: None };
        let from_host = match line.lane {
            Lane::HostToServer => true,
            Lane::ServerToHost => false,
            Lane::Graph | Lane::Stderr | Lane::Event => {
                found.push(read);
                continue;
            }
        };
        if let Ok(message) = serde_json::from_str::<Value>(&line.text) {
            let id = message.get("id").map(Value::to_string);
            let error = message.get("error");
            if let Some(method) = message.get("method").and_then(Value::as_str) {
                let params = message.get("params");
                read.kind = request(method, params);
                // The kind already has the name of the tool.
                read.preview = preview(params.and_then(|params| params.get("arguments")).or(params));
                if let Some(id) = id {
                    waiting.insert((from_host, id), index);
                }
            } else if error.is_some() || message.get("result").is_some() {
                read.is_error = error.is_some();
                let told = error.map(|error| error.get("message").unwrap_or(error));
                read.preview = preview(told.or_else(|| message.get("result")));
                let request = id.and_then(|id| waiting.remove(&(!from_host, id)));
                read.kind = answer(error, request.map(|request| found[request].kind.as_str()));
                if let Some(request) = request {
                    found[request].pair = Some(index);
                    read.pair = Some(request);
                }
            }
        }
        found.push(read);
    }
    found
}

fn preview(value: Option<&Value>) -> String {
    let text = match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Object(members)) if members.is_empty() => String::new(),
        Some(value) => value.to_string(),
        None => String::new(),
    };
    let kept = cut(&text, PREVIEW_BYTES_MAX);
    if kept.left_out_bytes == 0 { text } else { format!("{}…", kept.head) }
}

fn request(method: &str, params: Option<&Value>) -> String {
    let member = |name| params.and_then(|params| params.get(name)).and_then(Value::as_str);
    match member("name").or_else(|| member("uri")) {
        Some(subject) => format!("{method} {subject}"),
        None => method.to_owned(),
    }
}

fn answer(error: Option<&Value>, request: Option<&str>) -> String {
    let word = match error.map(|error| error.get("code")) {
        Some(Some(code)) => format!("error {code}"),
        Some(None) => "error".to_owned(),
        None => "result".to_owned(),
    };
    match request {
        Some(request) => format!("{word} of {request}"),
        None => format!("{word} without a request"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(lane: Lane, text: &str) -> WireLine {
        WireLine { at_ms: 0, lane, text: text.to_owned() }
    }

    #[test]
    fn pairs_answers_with_requests_of_the_other_side() {
        let transcript = [
            line(
                Lane::HostToServer,
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"inbox_pull"}}"#,
            ),
            line(Lane::ServerToHost, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#),
            line(Lane::ServerToHost, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            line(Lane::HostToServer, r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}"#),
            line(Lane::ServerToHost, r#"{"jsonrpc":"2.0","id":"1","result":{}}"#),
        ];
        let found = read(&transcript);
        let pairs: Vec<_> = found.iter().map(|read| read.pair).collect();
        assert_eq!(pairs, [Some(2), Some(3), Some(0), Some(1), None]);
        assert_eq!(found[0].kind, "tools/call inbox_pull");
        assert_eq!(found[3].preview, "no");
        assert_eq!(found[2].kind, "result of tools/call inbox_pull");
        assert_eq!(found[3].kind, "error -32601 of ping");
        assert_eq!(found[4].kind, "result without a request");
    }

    #[test]
    fn broken_lines_are_only_lines() {
        for text in ["", "{", "[]", "null", r#"{"id":{}}"#, r#"{"method":7}"#, "\u{0}"] {
            let transcript = [line(Lane::ServerToHost, text)];
            assert_eq!(read(&transcript)[0].kind, "", "{text}");
        }
    }
}

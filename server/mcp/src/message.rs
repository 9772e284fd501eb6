//! JSON-RPC messages: what an incoming line is, and the form of an answer.
//!
//! It knows only the envelope, no method. It must never build an error without an id, as no version of the MCP schema
//! allows that.

use rmcp::model::ErrorCode;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The members of a JSON object.
pub type Object = Map<String, Value>;

/// The id of a request. MCP allows strings and integers, but not null or fractions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// An integer.
    Number(i64),
    /// A string.
    Text(String),
}

impl Id {
    /// Reads an id; `None` if the value can't be one.
    pub fn from_json(value: &Value) -> Option<Self> {
        Self::deserialize(value).ok()
    }
}

/// An error answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcError {
    /// The code of the protocol.
    pub code: ErrorCode,
    /// One sentence for the reader.
    pub message: String,
    /// Data, where the code demands it.
    pub data: Option<Value>,
}

impl RpcError {
    /// An error without data.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Code -32600: the request is not allowed here.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_REQUEST, message)
    }

    /// Code -32601, with the name of the method.
    pub fn unknown_method(method: &str) -> Self {
        // The name comes from the host; a long one is cut so that the answer stays small.
        let shown: String = method.chars().take(80).collect();
        Self::new(ErrorCode::METHOD_NOT_FOUND, format!("method not found: {shown}"))
    }

    /// Code -32602; the message names the field.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::INVALID_PARAMS, message)
    }

    /// A parameter of another kind than wanted.
    pub fn wrong_kind(field: &str, wanted: &str, got: &Value) -> Self {
        Self::invalid_params(format!("params.{field}: must be {wanted}, got {}", kind_of(got)))
    }
}

/// The kind of a line, or of an element of a batch.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// A message that gets exactly one answer.
    Request { id: Id, method: String, params: Result<Object, RpcError> },
    /// A message that gets no answer.
    Notification { method: String, params: Object },
    /// An answer to a request of this server, with its result if it is no error.
    Response { id: Option<Id>, result: Option<Value> },
    /// A broken message with a known id, which gets the error as its answer.
    Refused { id: Id, error: RpcError },
    /// A broken message without a known id; the reason is for the log.
    Unanswerable(&'static str),
}

impl Incoming {
    /// Finds the kind of one JSON value. Never fails.
    pub(crate) fn classify(value: Value) -> Self {
        let Value::Object(mut object) = value else {
            return Self::Unanswerable("a message must be a json object");
        };
        let raw_id = object.get("id");
        let id = raw_id.and_then(Id::from_json);
        let has_id = raw_id.is_some();
        let is_answer = object.contains_key("result") || object.contains_key("error");
        if is_answer && !object.contains_key("method") {
            return Self::Response { id, result: object.remove("result") };
        }
        let refuse = |message: &str| match &id {
            Some(id) => Self::Refused { id: id.clone(), error: RpcError::invalid_request(message) },
            None => Self::Unanswerable("a broken message without a usable id"),
        };
        if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return refuse("jsonrpc: must be the string \"2.0\"");
        }
        if is_answer {
            return refuse("method: stands beside result or error; a message is a request or a response");
        }
        let Some(Value::String(method)) = object.remove("method") else {
            return refuse("method: must be a string");
        };
        let params = match object.remove("params") {
            None | Some(Value::Null) => Ok(Object::new()),
            Some(Value::Object(params)) => Ok(params),
            Some(other) => {
                Err(RpcError::invalid_params(format!("params: must be an object, got {}", kind_of(&other))))
            }
        };
        match (id, has_id) {
            (Some(id), _) => Self::Request { id, method, params },
            (None, true) => Self::Unanswerable("id must be a string or an integer"),
            (None, false) => params
                .map_or(Self::Unanswerable("params of a notification must be an object"), |params| {
                    Self::Notification { method, params }
                }),
        }
    }
}

/// The type of a JSON value with its article, for error texts.
pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// The answer to request `id`.
pub fn response(id: &Id, outcome: Result<Value, RpcError>) -> Value {
    match outcome {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => {
            let mut body = json!({"code": error.code.0, "message": error.message});
            if let Some(data) = error.data {
                body["data"] = data;
            }
            json!({"jsonrpc": "2.0", "id": id, "error": body})
        }
    }
}

/// A message that gets no answer.
pub fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// Reads a required string parameter.
pub fn text<'a>(params: &'a Object, name: &str) -> Result<&'a str, RpcError> {
    required(params, name, "a string", Value::as_str)
}

/// Reads a required object parameter.
pub(crate) fn object<'a>(params: &'a Object, name: &str) -> Result<&'a Object, RpcError> {
    required(params, name, "an object", Value::as_object)
}

fn required<'a, T: ?Sized>(
    params: &'a Object,
    name: &str,
    what: &str,
    read: impl Fn(&'a Value) -> Option<&'a T>,
) -> Result<&'a T, RpcError> {
    let Some(value) = params.get(name) else {
        return Err(RpcError::invalid_params(format!("params.{name}: missing; it must be {what}")));
    };
    read(value).ok_or_else(|| RpcError::wrong_kind(name, what, value))
}

/// Takes the arguments of a call out of its parameters; absent ones are empty.
pub(crate) fn take_arguments(params: &mut Object) -> Result<Object, RpcError> {
    match params.remove("arguments") {
        None | Some(Value::Null) => Ok(Object::new()),
        Some(Value::Object(arguments)) => Ok(arguments),
        Some(other) => Err(RpcError::wrong_kind("arguments", "an object", &other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(line: &str, id: &str, message: &str) {
        match Incoming::classify(serde_json::from_str(line).unwrap()) {
            Incoming::Refused { id: found, error } => {
                assert_eq!(json!(found).to_string(), id);
                assert_eq!(error.code, ErrorCode::INVALID_REQUEST);
                assert!(error.message.starts_with(message), "{}", error.message);
            }
            other => panic!("{line} is {other:?}"),
        }
    }

    #[test]
    fn a_readable_id_is_always_kept() {
        refused(r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, "\"a\"", "jsonrpc:");
        refused(r#"{"id":3,"method":"ping"}"#, "3", "jsonrpc:");
        refused(r#"{"jsonrpc":"2.0","id":3}"#, "3", "method:");
        refused(r#"{"jsonrpc":"2.0","id":3,"method":7}"#, "3", "method:");
        refused(r#"{"jsonrpc":"2.0","id":3,"method":"m","result":{}}"#, "3", "method:");
    }

    #[test]
    fn a_message_without_an_id_is_never_answered() {
        for line in [
            "7",
            "[]",
            "null",
            "{}",
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        ] {
            let found = Incoming::classify(serde_json::from_str(line).unwrap());
            assert!(matches!(found, Incoming::Unanswerable(_)), "{line} is {found:?}");
        }
        let answer = Incoming::classify(json!({"jsonrpc": "2.0", "id": 1, "error": {}}));
        assert_eq!(answer, Incoming::Response { id: Some(Id::Number(1)), result: None });
    }
}

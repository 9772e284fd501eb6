//! Judges what a model asks for, before anything runs: whether the tool exists and its arguments are of the right form.
//!
//! It mends only what can be meant in one way. It must never guess an argument.

use entraclaw_models::{ToolRequest, ToolSchema};
use serde_json::{Map, Value};

use crate::task::CallResult;

/// The status of a call that was not of the right form.
const MALFORMED: &str = "malformed";

/// Mends arguments that came as a text that holds an object, or not at all.
pub(super) fn mended(mut request: ToolRequest) -> ToolRequest {
    let mended = match &request.arguments {
        Value::Null => Some(Value::Object(Map::new())),
        Value::String(text) => serde_json::from_str(text).ok().filter(Value::is_object),
        _ => None,
    };
    if let Some(arguments) = mended {
        request.arguments = arguments;
    }
    request
}

/// Why a request can't run, as the result that the model is shown; `None` if it can.
pub(super) fn refusal(request: &ToolRequest, tools: &[ToolSchema]) -> Option<CallResult> {
    let text = problem(request, tools)?;
    Some(refused(text))
}

/// A result that says why a request does not run.
pub(super) fn refused(text: String) -> CallResult {
    CallResult { text, status: MALFORMED.to_owned(), shown: Map::new() }
}

fn problem(request: &ToolRequest, tools: &[ToolSchema]) -> Option<String> {
    let name = &request.name;
    let Some(tool) = tools.iter().find(|tool| tool.name == *name) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let there_are = if names.is_empty() { "none now".to_owned() } else { names.join(", ") };
        return Some(format!("error: there is no tool `{name}`; the tools are: {there_are}"));
    };
    let Value::Object(arguments) = &request.arguments else {
        let shown = kind(&request.arguments);
        return Some(format!(
            "error: the arguments of {name} must be a JSON object, got {shown}; call it again"
        ));
    };
    let required = tool.parameters["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<&str> = required.filter(|one| arguments.get(*one).is_none_or(Value::is_null)).collect();
    if !missing.is_empty() {
        return Some(format!("error: {name} needs {}; call it again with all of them", missing.join(", ")));
    }
    for (argument, value) in arguments {
        let Some(wanted) = tool.parameters["properties"][argument]["type"].as_str() else { continue };
        if !value.is_null() && !is_of(value, wanted) {
            let shown = kind(value);
            return Some(format!(
                "error: {argument} of {name} must be of type {wanted}, got {shown}; call it again"
            ));
        }
    }
    None
}

fn is_of(value: &Value, wanted: &str) -> bool {
    match wanted {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|one| one.fract() == 0.0),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn says(name: &str, arguments: Value) -> Option<String> {
        let tool = ToolSchema {
            name: "read_file".to_owned(),
            description: String::new(),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}, "from": {"type": "integer"}}, "required": ["path"]}),
        };
        let request = mended(ToolRequest { id: "1".to_owned(), name: name.to_owned(), arguments });
        refusal(&request, &[tool]).map(|result| result.text)
    }

    #[test]
    fn what_is_wrong_is_said_and_what_is_meant_is_mended() {
        assert_eq!(says("read_file", json!({"path": "a", "from": 3.0, "more": 1})), None);
        assert_eq!(says("read_file", json!("{\"path\": \"a\"}")), None, "an object in a text is meant");
        assert!(says("read_fil", json!({})).unwrap().contains("the tools are: read_file"));
        assert!(says("read_file", json!(null)).unwrap().contains("needs path"));
        assert!(says("read_file", json!([1])).unwrap().contains("must be a JSON object, got an array"));
        assert!(says("read_file", json!("path=a")).unwrap().contains("got a string"));
        assert!(says("read_file", json!({"path": null})).unwrap().contains("needs path"));
        assert!(
            says("read_file", json!({"path": 7}))
                .unwrap()
                .contains("path of read_file must be of type string")
        );
        for from in [json!("3"), json!(3.5), json!(true)] {
            let said = says("read_file", json!({"path": "a", "from": from})).unwrap();
            assert!(said.contains("from of read_file must be of type integer"), "{said}");
        }
    }
}

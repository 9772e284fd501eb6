//! Ollama's own form: <https://github.com/ollama/ollama/blob/main/docs/api.md>.

use serde_json::{Value, json};

use super::{Cost, Why};
use crate::plan::{Arguments, Unit};

const CREATED: &str = "2026-11-26T00:00:00Z";
/// Nanoseconds of a millisecond.
const NANOSECONDS: u64 = 1_000_000;

pub(super) fn line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

pub(super) fn unit(model: &str, unit: &Unit) -> Vec<u8> {
    let message = match unit {
        Unit::Text(text) => json!({"role": "assistant", "content": text}),
        Unit::Thinking(text) => json!({"role": "assistant", "content": "", "thinking": text}),
        Unit::Tool { index, id, name, arguments } => {
            let arguments = match arguments {
                Arguments::Right(value) => value.clone(),
                Arguments::Text(text) => text.as_str().into(),
            };
            let mut call = json!({"function": {"index": index, "name": name, "arguments": arguments}});
            if let Some(id) = id {
                call["id"] = id.as_str().into();
            }
            json!({"role": "assistant", "content": "", "tool_calls": [call]})
        }
    };
    line(&json!({"model": model, "created_at": CREATED, "message": message, "done": false}))
}

pub(super) fn last(model: &str, why: Why, cost: Cost) -> Vec<u8> {
    let word = if why == Why::Length { "length" } else { "stop" };
    let took = cost.took_ms.max(1) * NANOSECONDS;
    line(&json!({"model": model, "created_at": CREATED, "message": {"role": "assistant", "content": ""},
        "done": true, "done_reason": word, "total_duration": took, "load_duration": 0,
        "prompt_eval_count": cost.prompt, "prompt_eval_duration": 0, "eval_count": cost.made, "eval_duration": took}))
}

/// What the template makes of a question.
pub(crate) fn rendered(model: &str, text: &str) -> Value {
    json!({"model": model, "created_at": CREATED, "message": {"role": "", "content": ""}, "done": false,
        "_debug_info": {"rendered_template": text}})
}

pub(super) fn error(message: &str) -> Value {
    json!({"error": message})
}

//! OpenAI's form: <https://platform.openai.com/docs/api-reference/chat-streaming>.

use serde_json::{Value, json};

use super::{Cost, Why};
use crate::plan::{Arguments, Unit};

pub(super) fn event(value: &Value) -> Vec<u8> {
    format!("data: {value}\n\n").into_bytes()
}

fn chunk(model: &str, delta: &Value, why: Option<&str>) -> Value {
    json!({"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1, "model": model,
        "choices": [{"index": 0, "delta": delta, "finish_reason": why}]})
}

pub(super) fn unit(model: &str, unit: &Unit) -> Vec<u8> {
    let delta = match unit {
        Unit::Text(text) => json!({"content": text}),
        Unit::Thinking(text) => json!({"reasoning_content": text}),
        Unit::Tool { index, id, name, arguments } => {
            let arguments = match arguments {
                Arguments::Right(value) => value.to_string(),
                Arguments::Text(text) => text.clone(),
            };
            let mut call = json!({"function": {"arguments": arguments}});
            if let Some(name) = name {
                call["function"]["name"] = name.as_str().into();
                call["type"] = "function".into();
            }
            if let Some(id) = id {
                call["id"] = id.as_str().into();
            }
            if id.is_some() || name.is_none() {
                call["index"] = (*index).into();
            }
            json!({"tool_calls": [call]})
        }
    };
    event(&chunk(model, &delta, None))
}

pub(super) fn last(model: &str, has_usage: bool, has_timings: bool, why: Why, cost: Cost) -> Vec<u8> {
    let word = match why {
        Why::Done => "stop",
        Why::Tools => "tool_calls",
        Why::Length => "length",
    };
    let mut bytes = event(&chunk(model, &json!({}), Some(word)));
    if has_usage || has_timings {
        let mut end = json!({"id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": 1, "model": model,
            "choices": []});
        if has_usage {
            end["usage"] = json!({"prompt_tokens": cost.prompt, "completion_tokens": cost.made,
                "total_tokens": cost.prompt + cost.made});
        }
        if has_timings {
            end["timings"] = json!({"cache_n": cost.cached, "prompt_n": cost.prompt - cost.cached,
                "predicted_n": cost.made, "predicted_ms": cost.took_ms,
                "predicted_per_second": cost.made * 1000 / cost.took_ms.max(1)});
        }
        bytes.extend(event(&end));
    }
    bytes.extend_from_slice(b"data: [DONE]\n\n");
    bytes
}

pub(super) fn error(status: u16, kind: &str, message: &str) -> Value {
    json!({"error": {"code": status, "message": message, "type": kind}})
}

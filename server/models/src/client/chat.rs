//! OpenAI's form of a question and of its streamed answer: <https://platform.openai.com/docs/api-reference/chat>.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::refusal;
use super::wire::Wire;
use crate::answer::{Answer, Piece, Stop};
use crate::answering::Answering;
use crate::model::ModelError;
use crate::question::{Question, Role, ToolChoice, ToolSchema, Turn};
use crate::stream::Events;
use crate::tools::Fragment;

/// The path of the question.
const PATH: &str = "/v1/chat/completions";
/// The data of the last event.
const DONE: &str = "[DONE]";

/// The question in OpenAI's form, with what this server takes beside it. What was said is the last message, as a string:
/// llama.cpp goes on from no other form (<https://github.com/ggml-org/llama.cpp/issues/14353>).
pub(crate) fn body(question: &Question, model: &str, beside: Map<String, Value>) -> Value {
    let mut messages: Vec<Value> = question.turns.iter().map(message).collect();
    if let Some(said) = question.said.as_deref().filter(|said| !said.is_empty()) {
        messages.push(json!({"role": "assistant", "content": said}));
    }
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), messages.into());
    if !question.tools.is_empty() {
        body.insert("tools".to_owned(), tools(&question.tools));
        if question.tool_choice == ToolChoice::Required {
            body.insert("tool_choice".to_owned(), "required".into());
        }
    }
    if let Some(tokens) = question.tokens_max {
        body.insert("max_tokens".to_owned(), tokens.into());
    }
    body.insert("stream".to_owned(), true.into());
    body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    body.extend(beside);
    body.into()
}

/// Tools in OpenAI's form, which Ollama has taken over.
pub(crate) fn tools(tools: &[ToolSchema]) -> Value {
    let one = |tool: &ToolSchema| {
        let ToolSchema { name, description, parameters } = tool;
        json!({"type": "function", "function": {"name": name, "description": description, "parameters": parameters}})
    };
    tools.iter().map(one).collect()
}

fn message(turn: &Turn) -> Value {
    let role = match turn.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut message = json!({"role": role, "content": turn.text});
    if !turn.tool_requests.is_empty() {
        let calls = turn.tool_requests.iter().map(|tool| {
            json!({"id": tool.id, "type": "function",
                "function": {"name": tool.name, "arguments": tool.arguments.to_string()}})
        });
        message["tool_calls"] = calls.collect();
    }
    if let Some(id) = &turn.answers {
        message["tool_call_id"] = id.as_str().into();
    }
    message
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
    #[serde(default)]
    usage: Option<Tokens>,
    #[serde(default)]
    timings: Option<Timings>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Option<Delta>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    content: Option<String>,
    /// The name of llama.cpp, LM Studio and older vLLM for thinking; newer vLLM says `reasoning`.
    #[serde(default)]
    reasoning_content: Option<String>,
    #[serde(default)]
    reasoning: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Fragment>>,
}

#[derive(Deserialize)]
struct Tokens {
    #[serde(default, rename = "prompt_tokens")]
    prompt: u64,
    #[serde(default, rename = "completion_tokens")]
    completion: u64,
    #[serde(default, rename = "prompt_tokens_details")]
    details: Option<TokensDetails>,
}

#[derive(Deserialize)]
struct TokensDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

/// What llama.cpp measured: <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md>.
#[derive(Deserialize)]
struct Timings {
    #[serde(default)]
    cache_n: Option<u64>,
    #[serde(default)]
    prompt_n: Option<u64>,
    #[serde(default)]
    predicted_n: Option<u64>,
    #[serde(default)]
    predicted_per_second: Option<f64>,
}

/// Asks, and reads the stream to its end.
pub(crate) async fn ask(
    wire: &Wire,
    model: &str,
    question: &Question,
    body: &Value,
    pieces: mpsc::Sender<Piece>,
) -> Result<Answer, ModelError> {
    let mut events = Events::new(wire.stream(PATH, body, model).await?);
    let mut answering = Answering::new(question, pieces);
    let mut has_ended = false;
    while let Some(data) = events.next().await.map_err(|error| wire.ended(&error))? {
        if data.trim() == DONE {
            return answering.finish().await;
        }
        let value: Value = serde_json::from_str(&data).map_err(|_| wire.unread(&data))?;
        if let Some(error) = refusal::told(&wire.refuser(), model, &value) {
            return Err(error);
        }
        let chunk: Chunk = serde_json::from_value(value).map_err(|_| wire.unread(&data))?;
        has_ended |= chunk.choices.iter().any(|choice| choice.finish_reason.is_some());
        take(&mut answering, chunk).await?;
    }
    // A server that said why it stopped has said all; some leave the last event out.
    if has_ended { answering.finish().await } else { Err(wire.cut()) }
}

async fn take(answering: &mut Answering<'_>, chunk: Chunk) -> Result<(), ModelError> {
    for choice in chunk.choices.into_iter().take(1) {
        if let Some(delta) = choice.delta {
            let thinking = delta.reasoning_content.or(delta.reasoning).unwrap_or_default();
            answering.thinking(&thinking).await?;
            answering.text(&delta.content.unwrap_or_default()).await?;
            for fragment in delta.tool_calls.unwrap_or_default() {
                answering.tool(fragment)?;
            }
        }
        match choice.finish_reason.as_deref() {
            Some("length") => answering.stop = Some(Stop::Length),
            Some(_) => answering.stop = Some(Stop::Done),
            None => {}
        }
    }
    if let Some(tokens) = chunk.usage {
        answering.usage.input = tokens.prompt;
        answering.usage.output = tokens.completion;
        let cached = tokens.details.and_then(|details| details.cached_tokens);
        answering.usage.cached = answering.usage.cached.or(cached);
    }
    if let Some(timings) = chunk.timings {
        if let (Some(cached), Some(read)) = (timings.cache_n, timings.prompt_n) {
            (answering.usage.cached, answering.usage.input) = (Some(cached), cached + read);
        }
        answering.usage.output = timings.predicted_n.unwrap_or(answering.usage.output);
        answering.usage.tokens_per_second = timings.predicted_per_second;
    }
    Ok(())
}

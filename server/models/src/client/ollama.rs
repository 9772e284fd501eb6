//! Ollama by its own form: <https://github.com/ollama/ollama/blob/main/docs/api.md>. Its copy of OpenAI's form takes no
//! length of the context and cuts a long question without a word, so it is not used.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::continuing::{Blanks, proven};
use super::wire::Wire;
use super::{chat, refusal};
use crate::answer::{Answer, Piece, Stop};
use crate::answering::Answering;
use crate::limits::FACTS_TIMEOUT;
use crate::model::{Facts, Model, ModelError};
use crate::question::{Question, Role, Turn};
use crate::stream::Lines;
use crate::tools::Fragment;
use crate::transport::Method;

/// The context that is asked for where the model is not loaded with more: Ollama's own 4,096 tokens are too few for work
/// with tools, and what a model could take at most may not fit into memory.
const CONTEXT_TOKENS: u64 = 16_384;
/// Nanoseconds of a second, in which Ollama gives times.
const NANOSECONDS: f64 = 1e9;

/// A model of Ollama.
pub(crate) struct Ollama {
    wire: Wire,
    model: String,
}

impl Ollama {
    pub(crate) fn new(wire: Wire, model: String) -> Self {
        Self { wire, model }
    }

    /// The context that questions are sent with. It is that of the loaded model where it has enough, so that Ollama does not
    /// load it again.
    async fn context(&self) -> Result<(Option<u64>, Value, bool), ModelError> {
        let body = json!({"model": self.model});
        let (status, text) = self.wire.whole(Method::Post, "/api/show", Some(&body), FACTS_TIMEOUT).await?;
        if status != 200 {
            return Err(refusal::refused(&self.wire.refuser(), &self.model, status, &text));
        }
        let shown: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let longest = shown.get("model_info").and_then(Value::as_object).and_then(|info| {
            info.iter()
                .find(|(key, _)| key.ends_with(".context_length"))
                .and_then(|(_, value)| value.as_u64())
        });
        let loaded = loaded(&self.wire).await?;
        let loaded = loaded.iter().find(|(name, _)| is_same(name, &self.model));
        let in_force = loaded.and_then(|(_, context)| *context).filter(|context| *context >= CONTEXT_TOKENS);
        let wanted = longest.map(|longest| longest.min(CONTEXT_TOKENS));
        Ok((in_force.or(wanted), shown, loaded.is_some()))
    }
}

/// The models that are there; nothing if another server answers. llama.cpp has a list at the same path, and no version.
pub(crate) async fn models(wire: &Wire) -> Result<Option<Vec<String>>, ModelError> {
    let version = wire.get("/api/version").await?;
    if version.and_then(|version| version.get("version").cloned()).is_none() {
        return Ok(None);
    }
    let list = wire.get("/api/tags").await?;
    let models = list.as_ref().and_then(|list| list.get("models")).and_then(Value::as_array);
    let name = |model: &Value| model.get("name")?.as_str().map(str::to_owned);
    Ok(models.map(|models| models.iter().filter_map(name).collect()))
}

/// The models that are loaded, each with its context in force.
pub(crate) async fn loaded(wire: &Wire) -> Result<Vec<(String, Option<u64>)>, ModelError> {
    let list = wire.get("/api/ps").await?;
    let models = list.as_ref().and_then(|list| list.get("models")).and_then(Value::as_array);
    let one = |model: &Value| {
        let name = model.get("name")?.as_str()?.to_owned();
        Some((name, model.get("context_length").and_then(Value::as_u64)))
    };
    Ok(models.map(|models| models.iter().filter_map(one).collect()).unwrap_or_default())
}

/// Whether two names are of one model: without a tag it is `latest`.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    let plain = |name: &str| name.strip_suffix(":latest").unwrap_or(name).to_owned();
    plain(one) == plain(other)
}

impl Model for Ollama {
    fn facts(&self) -> BoxFuture<'_, Result<Facts, ModelError>> {
        Box::pin(async move {
            let (context, shown, is_loaded) = self.context().await?;
            let tools = can(&shown, "tools");
            let thinks = can(&shown, "thinking") == Some(true);
            // To show what it makes of a question, Ollama loads the model.
            let continues = if is_loaded {
                let body = |question: &Question| body(question, &self.model, context, thinks);
                proven(&self.wire, tools == Some(true), body).await
            } else {
                None
            };
            Ok(Facts {
                model: self.model.clone(),
                context_tokens: context,
                tools,
                is_loaded: Some(is_loaded),
                continues,
                holds: Some(false),
            })
        })
    }

    fn ask<'a>(
        &'a self,
        question: &'a Question,
        pieces: mpsc::Sender<Piece>,
    ) -> BoxFuture<'a, Result<Answer, ModelError>> {
        Box::pin(async move {
            let (context, shown, _) = self.context().await?;
            let body = body(question, &self.model, context, can(&shown, "thinking") == Some(true));
            let (_, mut blanks) = Blanks::split(question.said.as_deref().unwrap_or_default());
            let mut lines = Lines::new(self.wire.stream("/api/chat", &body, &self.model).await?);
            let mut answering = Answering::new(question, pieces);
            while let Some(line) = lines.next().await.map_err(|error| self.wire.ended(&error))? {
                if line.trim().is_empty() {
                    continue;
                }
                let value: Value = serde_json::from_str(&line).map_err(|_| self.wire.unread(&line))?;
                if let Some(error) = refusal::told(&self.wire.refuser(), &self.model, &value) {
                    return Err(error);
                }
                let chunk: Chunk = serde_json::from_value(value).map_err(|_| self.wire.unread(&line))?;
                if let Some(message) = chunk.message {
                    answering.thinking(&message.thinking.unwrap_or_default()).await?;
                    let text = message.content.unwrap_or_default();
                    answering.text(blanks.leave_out(&text)).await?;
                    for fragment in message.tool_calls.unwrap_or_default() {
                        answering.tool(fragment)?;
                    }
                }
                if chunk.done {
                    answering.usage.input = chunk.prompt_eval_count.unwrap_or_default();
                    answering.usage.output = chunk.eval_count.unwrap_or_default();
                    answering.usage.tokens_per_second = speed(chunk.eval_count, chunk.eval_duration);
                    let is_length = chunk.done_reason.as_deref() == Some("length");
                    answering.stop = Some(if is_length { Stop::Length } else { Stop::Done });
                    return answering.finish().await;
                }
            }
            Err(self.wire.cut())
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "tokens and nanoseconds of one answer are far below 2^52")]
fn speed(tokens: Option<u64>, nanoseconds: Option<u64>) -> Option<f64> {
    let nanoseconds = nanoseconds.filter(|&nanoseconds| nanoseconds > 0)?;
    Some(tokens? as f64 * NANOSECONDS / nanoseconds as f64)
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    message: Option<Message>,
    #[serde(default)]
    done: bool,
    #[serde(default)]
    done_reason: Option<String>,
    #[serde(default)]
    prompt_eval_count: Option<u64>,
    #[serde(default)]
    eval_count: Option<u64>,
    #[serde(default)]
    eval_duration: Option<u64>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    thinking: Option<String>,
    #[serde(default)]
    tool_calls: Option<Vec<Fragment>>,
}

/// Whether a model has this ability, as far as it is told.
fn can(shown: &Value, ability: &str) -> Option<bool> {
    let abilities = shown.get("capabilities").and_then(Value::as_array)?;
    Some(abilities.iter().any(|one| one == ability))
}

/// `truncate` and `shift` are on unless they are refused, and drop the begin of the conversation without a word:
/// <https://github.com/ollama/ollama/pull/17944>.
fn body(question: &Question, model: &str, context: Option<u64>, thinks: bool) -> Value {
    let mut messages: Vec<Value> = question.turns.iter().map(|turn| message(turn, &question.turns)).collect();
    let (said, _) = Blanks::split(question.said.as_deref().unwrap_or_default());
    if !said.is_empty() {
        messages.push(json!({"role": "assistant", "content": said}));
    }
    let mut options = json!({});
    if let Some(context) = context {
        options["num_ctx"] = context.into();
    }
    if let Some(tokens) = question.tokens_max {
        options["num_predict"] = tokens.into();
    }
    let mut body = json!({"model": model, "messages": messages, "stream": true, "truncate": false, "shift": false, "options": options});
    if !question.tools.is_empty() {
        body["tools"] = chat::tools(&question.tools);
    }
    if thinks && !said.is_empty() {
        // What goes on has been thought about, and a parser that waits for the end of the thinking would take it for that.
        body["think"] = false.into();
    }
    body
}

fn message(turn: &Turn, turns: &[Turn]) -> Value {
    let role = match turn.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut message = json!({"role": role, "content": turn.text});
    if !turn.tool_requests.is_empty() {
        let calls = turn.tool_requests.iter();
        message["tool_calls"] = calls
            .map(|tool| json!({"id": tool.id, "function": {"name": tool.name, "arguments": tool.arguments}}))
            .collect();
    }
    if let Some(id) = &turn.answers {
        message["tool_call_id"] = id.as_str().into();
        let mut asked = turns.iter().flat_map(|turn| &turn.tool_requests);
        if let Some(tool) = asked.find(|tool| tool.id == *id) {
            message["tool_name"] = tool.name.as_str().into();
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_is_in_tokens_a_second() {
        assert_eq!(speed(Some(30), Some(1_500_000_000)), Some(20.0));
        assert_eq!(speed(Some(30), Some(0)), None);
        assert_eq!(speed(None, Some(1)), None);
    }
}

//! A fake server: a request in, a status and a stream out.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt as _};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::forms::{Form, lists, ollama, refusal};
use crate::generation::{Body, Generation};
use crate::plan::{self, Asked};
use crate::script::{Kind, ModelSpec, Script};
use crate::seen::{End, Seen};
use crate::state::State;

/// The context that Ollama's copy of OpenAI's form has, whatever the model can do.
const OLLAMA_V1_TOKENS: u64 = 4096;

/// A request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Request {
    /// Its method, in capitals.
    pub method: String,
    /// Its path, with the query.
    pub path: String,
    /// Its body.
    pub body: Vec<u8>,
}

/// An answer.
pub struct Response {
    /// Its status.
    pub status: u16,
    /// The type of its body.
    pub content_type: &'static str,
    /// Its body.
    pub body: Body,
}

/// A fake server. Its copies are one server.
#[derive(Clone)]
pub struct Server {
    state: Arc<State>,
}

impl Server {
    /// A server of this script. It must be made in the runtime whose time it follows.
    pub fn new(script: Script) -> Self {
        Self { state: Arc::new(State::new(script)) }
    }

    /// What it was asked so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.state.seen().clone()
    }

    /// The questions to the model among what it was asked.
    pub fn questions(&self) -> Vec<Seen> {
        let of_model = |seen: &Seen| matches!(seen.path.as_str(), "/v1/chat/completions" | "/api/chat");
        let is_question =
            |seen: &Seen| of_model(seen) && !(self.state.script.renders && is_rendered(&seen.body));
        self.seen().into_iter().filter(is_question).collect()
    }

    /// Whether Ollama has loaded a model by itself.
    fn has_loaded(&self, model: &str) -> bool {
        let asks = |seen: &Seen| seen.path == "/api/chat" && seen.body["model"] == model;
        self.state.seen().iter().any(asks)
    }

    /// Takes a request.
    pub async fn ask(&self, request: Request) -> Response {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or(Value::Null);
        let index = self.note(&request, &body);
        let script = &self.state.script;
        let path = request.path.as_str();
        let has_loaded = |model: &str| self.has_loaded(model);
        if let Some((status, found)) = lists::list(script, &request.method, path, &body, has_loaded) {
            return self.whole(index, status, &found);
        }
        let is_ollama = script.server == Kind::Ollama;
        match (request.method.as_str(), path) {
            ("POST", "/v1/chat/completions") => self.question(index, &body, false),
            ("POST", "/api/chat") if is_ollama => self.question(index, &body, true),
            ("POST", path) if script.server == Kind::LlamaCpp && path.starts_with("/slots/") => {
                let (status, answer) = self.slot(path, &body).await;
                self.whole(index, status, &answer)
            }
            // LM Studio says so with status 200.
            _ if matches!(script.server, Kind::LmStudio | Kind::LmStudio03) => {
                let error = format!("Unexpected endpoint or method. ({} {path})", request.method);
                self.whole(index, 200, &json!({"error": error}))
            }
            _ => self.whole(index, 404, &refusal(false, 404, "not_found_error", "File Not Found")),
        }
    }

    fn note(&self, request: &Request, body: &Value) -> usize {
        let at_ms = self.state.now_ms();
        let mut seen = self.state.seen();
        seen.push(Seen {
            at_ms,
            method: request.method.clone(),
            path: request.path.clone(),
            body: body.clone(),
            prompt_tokens: 0,
            cached_tokens: 0,
            cut_tokens: 0,
            sent_tokens: 0,
            wasted_tokens: 0,
            end: End::Open,
            ended_ms: None,
        });
        seen.len() - 1
    }

    fn whole(&self, index: usize, status: u16, body: &Value) -> Response {
        let end = if status < 300 { End::Whole } else { End::Refused };
        self.state.update(index, |seen| seen.end = end);
        let bytes = body.to_string().into_bytes();
        Response { status, content_type: "application/json", body: stream::iter([Ok(bytes)]).boxed() }
    }

    fn question(&self, index: usize, body: &Value, is_native: bool) -> Response {
        let script = &self.state.script;
        let name = body.get("model").and_then(Value::as_str).unwrap_or_default();
        let mut asked = plan::asked(body);
        let is_ollama = script.server == Kind::Ollama;
        if let Some((status, kind, words)) = self.refuses(name, &asked, body) {
            return self.whole(index, status, &refusal(is_ollama && is_native, status, kind, &words));
        }
        let Some(model) = self.model(name) else {
            return self.whole(index, 404, &refusal(is_native, 404, "not_found_error", "no model"));
        };
        let count = u64::try_from(asked.prompt.len()).unwrap_or(u64::MAX);
        let wanted = body.pointer("/options/num_ctx").and_then(Value::as_u64);
        let context = match (script.server, is_native) {
            (Kind::Ollama, false) => OLLAMA_V1_TOKENS.min(model.context_tokens),
            (Kind::Ollama, true) => wanted.unwrap_or(model.context_tokens).min(model.context_tokens_max),
            _ => model.context_tokens,
        };
        let refuses_long = body.get("truncate") == Some(&Value::Bool(false));
        if count > context {
            let cuts = match script.server {
                Kind::Ollama => !(is_native && refuses_long),
                Kind::LmStudio | Kind::LmStudio03 => true,
                Kind::LlamaCpp | Kind::Vllm | Kind::OpenAi => false,
            };
            if !cuts {
                self.state.update(index, |seen| seen.prompt_tokens = count);
                return self.whole(index, 400, &too_long(script.server, count, context));
            }
            let keep = usize::try_from(context).unwrap_or(usize::MAX);
            asked.prompt.drain(..asked.prompt.len() - keep);
        }
        self.state.update(index, |seen| {
            seen.prompt_tokens = count.min(context);
            seen.cut_tokens = count.saturating_sub(context);
        });
        if is_native && script.renders && is_rendered(body) {
            return self.whole(index, 200, &ollama::rendered(name, &plan::rendered(script, &asked)));
        }
        let answer = script.answer(&asked);
        if let Some(failure) = answer.error.as_ref().filter(|failure| failure.after_tokens.is_none()) {
            let kind = "server_error";
            return self.whole(
                index,
                failure.status,
                &refusal(is_native, failure.status, kind, &failure.message),
            );
        }
        let mut units = plan::units(script, &answer, &asked);
        let most = asked.tokens_max.unwrap_or(usize::MAX);
        let is_cut = units.len() > most;
        units.truncate(most);
        let model = model.name.clone();
        let form = if is_native {
            Form::Ollama { model }
        } else {
            let has_usage = body.pointer("/stream_options/include_usage") == Some(&Value::Bool(true));
            Form::OpenAi { model, has_usage, has_timings: script.server == Kind::LlamaCpp }
        };
        let wanted_slot = body.get("id_slot").and_then(Value::as_u64).and_then(|id| usize::try_from(id).ok());
        let content_type = form.content_type();
        let generation = Generation {
            server: Arc::clone(&self.state),
            seen: index,
            form,
            answer,
            prompt: asked.prompt,
            units,
            is_cut,
            wanted_slot,
            slot: None,
            cached: 0,
            sent: 0,
            began: Instant::now(),
            end: End::Open,
        };
        Response { status: 200, content_type, body: generation.body() }
    }

    fn model(&self, name: &str) -> Option<&ModelSpec> {
        let models = &self.state.script.models;
        let named = models.iter().find(|model| model.name == name);
        // llama.cpp has one model and takes every name for it.
        if self.state.script.server == Kind::LlamaCpp { named.or(models.first()) } else { named }
    }

    /// What the server refuses before it looks at the length.
    fn refuses(&self, name: &str, asked: &Asked, body: &Value) -> Option<(u16, &'static str, String)> {
        let script = &self.state.script;
        if script.loading && script.server == Kind::LlamaCpp {
            return Some((503, "unavailable_error", "Loading model".to_owned()));
        }
        let Some(model) = self.model(name) else {
            let words = match script.server {
                Kind::Ollama => format!("model '{name}' not found"),
                _ => format!("The model `{name}` does not exist."),
            };
            return Some((404, "NotFoundError", words));
        };
        if script.server == Kind::Ollama && asked.has_tools && !model.tools {
            return Some((400, "invalid_request_error", format!("{name} does not support tools")));
        }
        let thinks = body.pointer("/chat_template_kwargs/enable_thinking") != Some(&Value::Bool(false));
        if script.server == Kind::LlamaCpp && model.thinking && asked.said.is_some() && thinks {
            let words = "Assistant response prefill is incompatible with enable_thinking.";
            return Some((400, "invalid_request_error", words.to_owned()));
        }
        None
    }

    async fn slot(&self, path: &str, body: &Value) -> (u16, Value) {
        let script = &self.state.script;
        if !script.slots.can_save {
            let words = "This server does not support slots action. Start it with `--slot-save-path`";
            return (501, refusal(false, 501, "not_supported_error", words));
        }
        let invalid = |words: &str| (400, refusal(false, 400, "invalid_request_error", words));
        let rest = path.trim_start_matches("/slots/");
        let (id, query) = rest.split_once('?').unwrap_or((rest, ""));
        let Some(id) = id.parse::<usize>().ok().filter(|&id| self.state.slots.has(id)) else {
            return invalid("Invalid slot ID");
        };
        let file = body.get("filename").and_then(Value::as_str);
        match (query, file) {
            ("action=save", Some(file)) => {
                let saved = self.state.slots.save(id, file).await;
                let timings = json!({"save_ms": 1.0});
                (
                    200,
                    json!({"id_slot": id, "filename": file, "n_saved": saved, "n_written": saved, "timings": timings}),
                )
            }
            ("action=restore", Some(file)) => match self.state.slots.restore(id, file).await {
                Some(restored) => {
                    let timings = json!({"restore_ms": 1.0});
                    (
                        200,
                        json!({"id_slot": id, "filename": file, "n_restored": restored, "n_read": restored,
                        "timings": timings}),
                    )
                }
                None => invalid(
                    "Unable to restore slot, no available space in KV cache or invalid slot save file",
                ),
            },
            ("action=save" | "action=restore", None) => invalid("Invalid filename"),
            _ => invalid("Invalid action"),
        }
    }
}

/// Whether only what the template makes of a question is asked for.
fn is_rendered(body: &Value) -> bool {
    body["_debug_render_only"] == true
}

fn too_long(server: Kind, tokens: u64, context: u64) -> Value {
    let kind = "exceed_context_size_error";
    match server {
        Kind::Vllm => refusal(
            false,
            400,
            "BadRequestError",
            &format!(
                "This model's maximum context length is {context} tokens. However, your request has {tokens} input \
                 tokens. Please reduce the length of the input messages."
            ),
        ),
        Kind::OpenAi => {
            let words = format!(
                "This model's maximum context length is {context} tokens. However, your messages resulted in {tokens} \
                 tokens."
            );
            json!({"error": {"message": words, "type": "invalid_request_error", "code": "context_length_exceeded"}})
        }
        _ => {
            let words = format!(
                "request ({tokens} tokens) exceeds the available context size ({context} tokens), try increasing it"
            );
            let mut error = refusal(false, 400, kind, &words);
            error["error"]["n_prompt_tokens"] = tokens.into();
            error["error"]["n_ctx"] = context.into();
            error
        }
    }
}

//! llama.cpp's own server: <https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md>.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::chat;
use super::refusal;
use super::wire::Wire;
use crate::answer::{Answer, Piece};
use crate::limits::{FACTS_TIMEOUT, HOLD_TIMEOUT};
use crate::model::{Facts, Held, Model, ModelError};
use crate::question::Question;
use crate::transport::Method;

/// The slot in which all questions run where slots can be saved: without one, it is not known which state to save.
const SLOT: u64 = 0;
/// The longest name of a saved state.
const NAME_CHARS_MAX: usize = 80;

/// The model of such a server.
pub(crate) struct LlamaCpp {
    wire: Wire,
    model: String,
    holds: AtomicBool,
}

impl LlamaCpp {
    pub(crate) fn new(wire: Wire, model: String) -> Self {
        Self { wire, model, holds: AtomicBool::new(false) }
    }

    /// Asks for an action that does not exist. A server without a folder for slots says 501 before it looks at the action,
    /// any other one says 400.
    async fn saves_slots(&self) -> Option<bool> {
        let path = format!("/slots/{SLOT}?action=none");
        match self.wire.whole(Method::Post, &path, Some(&json!({})), FACTS_TIMEOUT).await {
            Ok((400, _)) => Some(true),
            Ok((501, _)) => Some(false),
            _ => None,
        }
    }

    async fn slot(&self, action: &str, name: &str) -> Option<Value> {
        let path = format!("/slots/{SLOT}?action={action}");
        let body = json!({"filename": name});
        let (status, text) = self.wire.whole(Method::Post, &path, Some(&body), HOLD_TIMEOUT).await.ok()?;
        if status == 200 { serde_json::from_str(&text).ok() } else { None }
    }
}

/// The properties of the server, if it is llama.cpp; an error if it is still loading.
pub(crate) async fn properties(wire: &Wire) -> Result<Option<Value>, ModelError> {
    let (status, text) = wire.whole(Method::Get, "/props", None, FACTS_TIMEOUT).await?;
    let body: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    if status == 503
        && let Some(error) = refusal::told(&wire.refuser(), "", &body)
    {
        return Err(error);
    }
    Ok(Some(body).filter(|body| body.get("default_generation_settings").is_some()))
}

/// The name of the one model that it has loaded.
pub(crate) async fn model(wire: &Wire) -> Result<Option<String>, ModelError> {
    let list = wire.get("/v1/models").await?;
    let name = list.as_ref().and_then(|list| list.pointer("/data/0/id")).and_then(Value::as_str);
    Ok(name.map(str::to_owned))
}

impl Model for LlamaCpp {
    fn facts(&self) -> BoxFuture<'_, Result<Facts, ModelError>> {
        Box::pin(async move {
            let Some(properties) = properties(&self.wire).await? else {
                let name = self.wire.name();
                return Err(ModelError::Refused(format!(
                    "{name} has no /props, so it is no llama.cpp; set the api to \"openai\""
                )));
            };
            let holds = self.saves_slots().await;
            self.holds.store(holds == Some(true), Ordering::Relaxed);
            Ok(Facts {
                model: self.model.clone(),
                context_tokens: properties
                    .pointer("/default_generation_settings/n_ctx")
                    .or_else(|| properties.pointer("/n_ctx"))
                    .and_then(Value::as_u64),
                tools: properties.pointer("/chat_template_caps/supports_tools").and_then(Value::as_bool),
                is_loaded: Some(true),
                // It does unless it was started with --no-prefill-assistant, which it does not tell.
                continues: Some(true),
                holds,
            })
        })
    }

    fn ask<'a>(
        &'a self,
        question: &'a Question,
        pieces: mpsc::Sender<Piece>,
    ) -> BoxFuture<'a, Result<Answer, ModelError>> {
        Box::pin(async move {
            let mut beside = Map::new();
            beside.insert("cache_prompt".to_owned(), true.into());
            if self.holds.load(Ordering::Relaxed) {
                beside.insert("id_slot".to_owned(), SLOT.into());
            }
            if question.said.is_some() {
                // "Assistant response prefill is incompatible with enable_thinking" (tools/server in its source).
                beside.insert("chat_template_kwargs".to_owned(), json!({"enable_thinking": false}));
            }
            let body = chat::body(question, &self.model, beside);
            chat::ask(&self.wire, &self.model, question, &body, pieces).await
        })
    }

    fn hold<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Option<Held>> {
        Box::pin(async move {
            if !self.holds.load(Ordering::Relaxed) {
                return None;
            }
            let name: String = name
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
                .take(NAME_CHARS_MAX)
                .collect();
            let name = format!("{name}.bin");
            let saved = self.slot("save", &name).await?;
            (saved.get("n_saved").and_then(Value::as_u64)? > 0).then_some(Held(name))
        })
    }

    fn bring_back<'a>(&'a self, held: &'a Held) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let restored = self.slot("restore", &held.0).await;
            restored
                .and_then(|restored| restored.get("n_restored").and_then(Value::as_u64))
                .is_some_and(|n| n > 0)
        })
    }
}

//! Any server of OpenAI's form: vLLM, LM Studio and others.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::wire::Wire;
use super::{chat, lm_studio};
use crate::answer::{Answer, Piece};
use crate::model::{Facts, Model, ModelError};
use crate::question::Question;

/// What is known of the server behind the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maker {
    /// vLLM says so in its list of models.
    Vllm,
    /// LM Studio has lists of its own.
    LmStudio,
    /// Another one.
    Unknown,
}

/// A model on such a server.
pub(crate) struct OpenAi {
    wire: Wire,
    model: String,
    maker: Maker,
}

impl OpenAi {
    pub(crate) fn new(wire: Wire, model: String, maker: Maker) -> Self {
        Self { wire, model, maker }
    }
}

/// Who made the server, and the models that it has, each as far as the server says.
pub(crate) async fn models(wire: &Wire) -> Result<(Maker, Vec<Facts>), ModelError> {
    if let Some(models) = lm_studio::models(wire).await? {
        return Ok((Maker::LmStudio, models));
    }
    let list = wire.get("/v1/models").await?;
    let Some(entries) = list.as_ref().and_then(|list| list.get("data")).and_then(Value::as_array) else {
        let name = wire.name();
        return Err(ModelError::Refused(format!(
            "{name} has no list of models at /v1/models; see whether the base URL is that of a model server"
        )));
    };
    let is_vllm = entries.iter().any(|entry| entry.get("owned_by").and_then(Value::as_str) == Some("vllm"));
    let maker = if is_vllm { Maker::Vllm } else { Maker::Unknown };
    let facts = |entry: &Value| {
        Some(Facts {
            model: entry.get("id")?.as_str()?.to_owned(),
            context_tokens: entry.get("max_model_len").and_then(Value::as_u64),
            // vLLM serves what it has loaded, and goes on from a last message where it is told to.
            is_loaded: is_vllm.then_some(true),
            continues: is_vllm.then_some(true),
            holds: Some(false),
            tools: None,
        })
    };
    Ok((maker, entries.iter().filter_map(facts).collect()))
}

impl Model for OpenAi {
    fn facts(&self) -> BoxFuture<'_, Result<Facts, ModelError>> {
        Box::pin(async move {
            let (_, models) = models(&self.wire).await?;
            let unknown = || Facts { model: self.model.clone(), ..Facts::default() };
            Ok(models.into_iter().find(|facts| facts.model == self.model).unwrap_or_else(unknown))
        })
    }

    fn ask<'a>(
        &'a self,
        question: &'a Question,
        pieces: mpsc::Sender<Piece>,
    ) -> BoxFuture<'a, Result<Answer, ModelError>> {
        Box::pin(async move {
            let mut beside = Map::new();
            if self.maker == Maker::Vllm && question.said.is_some() {
                // <https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html>, extra parameters of the chat.
                beside.insert("continue_final_message".to_owned(), true.into());
                beside.insert("add_generation_prompt".to_owned(), false.into());
            }
            let body = chat::body(question, &self.model, beside);
            chat::ask(&self.wire, &self.model, question, &body, pieces).await
        })
    }
}

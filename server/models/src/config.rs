//! Which server and which model, as a person sets it, and the way from there to a model that can be asked.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::api::Api;
use crate::client::{LlamaCpp, Ollama, OpenAi, Wire, llama_cpp, ollama, openai};
use crate::model::{Facts, Model, ModelError};
use crate::transport::Transport;

/// The server and the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The root of the server, with or without `/v1`.
    pub base_url: String,
    /// The name of the model; without one it is the loaded one, or the only one.
    #[serde(default)]
    pub model: Option<String>,
    /// The form; without one the server is asked what it is.
    #[serde(default)]
    pub api: Option<Api>,
}

/// A model that can be asked.
pub struct Connected {
    /// The model.
    pub model: Arc<dyn Model>,
    /// What its server says of it.
    pub facts: Facts,
    /// The form by which it is asked.
    pub api: Api,
    /// The root of its server.
    pub base_url: String,
}

/// Finds the model on the server and reads what the server says of it.
pub async fn connect(config: &Config, transport: Arc<dyn Transport>) -> Result<Connected, ModelError> {
    let asked = Wire::new(Arc::clone(&transport), &config.base_url, config.api.unwrap_or(Api::OpenAi));
    let api = match config.api {
        Some(Api::OpenAi) => {
            refuse_ollama(&asked).await?;
            Api::OpenAi
        }
        Some(api) => api,
        None => form(&asked).await?,
    };
    let wire = asked.of(api);
    let base_url = wire.base_url.clone();
    let model: Arc<dyn Model> = match api {
        Api::LlamaCpp => {
            let served = llama_cpp::model(&wire).await?;
            let name = config.model.clone().or(served).unwrap_or_else(|| "default".to_owned());
            Arc::new(LlamaCpp::new(wire, name))
        }
        Api::Ollama => {
            let name = ollama_model(&wire, config.model.as_deref()).await?;
            Arc::new(Ollama::new(wire, name))
        }
        Api::OpenAi => {
            let (maker, models) = openai::models(&wire).await?;
            let there: Vec<String> = models.iter().map(|facts| facts.model.clone()).collect();
            let is_loaded = |facts: &&Facts| facts.is_loaded == Some(true);
            let loaded = models.iter().filter(is_loaded).map(|facts| facts.model.clone()).collect();
            let name = choose(&wire, config.model.as_deref(), &there, loaded)?;
            Arc::new(OpenAi::new(wire, name, maker))
        }
    };
    let facts = model.facts().await?;
    Ok(Connected { model, facts, api, base_url })
}

/// What a server is, by what only it answers.
async fn form(wire: &Wire) -> Result<Api, ModelError> {
    if llama_cpp::properties(wire).await?.is_some() {
        return Ok(Api::LlamaCpp);
    }
    Ok(if ollama::models(wire).await?.is_some() { Api::Ollama } else { Api::OpenAi })
}

async fn refuse_ollama(wire: &Wire) -> Result<(), ModelError> {
    match ollama::models(wire).await? {
        None => Ok(()),
        Some(_) => Err(ModelError::Refused(format!(
            "the server at {} is Ollama, which cuts long questions without a word when it is asked in OpenAI's form; \
             set the api to \"ollama\"",
            wire.base_url
        ))),
    }
}

async fn ollama_model(wire: &Wire, wanted: Option<&str>) -> Result<String, ModelError> {
    let Some(there) = ollama::models(wire).await? else {
        return Err(ModelError::Refused(format!(
            "{} has no list of models at /api/tags; see whether the base URL is that of Ollama",
            wire.name()
        )));
    };
    if let Some(wanted) = wanted {
        return match there.iter().find(|name| ollama::is_same(name, wanted)) {
            Some(name) => Ok(name.clone()),
            None => Err(ModelError::Refused(format!(
                "{} has no model {wanted}; run `ollama pull {wanted}`, or choose one of: {}",
                wire.name(),
                listed(&there)
            ))),
        };
    }
    let loaded = ollama::loaded(wire).await?.into_iter().map(|(name, _)| name).collect();
    choose(wire, None, &there, loaded)
}

/// The model that is asked: the wanted one, else the loaded one, else the only one.
fn choose(
    wire: &Wire,
    wanted: Option<&str>,
    there: &[String],
    loaded: Vec<String>,
) -> Result<String, ModelError> {
    let name = wire.name();
    if let Some(wanted) = wanted {
        if there.iter().any(|name| name == wanted) {
            return Ok(wanted.to_owned());
        }
        let there = listed(there);
        return Err(ModelError::Refused(format!("{name} has no model {wanted}; choose one of: {there}")));
    }
    let mut loaded = loaded;
    match (loaded.pop(), loaded.is_empty(), there) {
        (Some(only), true, _) => Ok(only),
        (None, _, [only]) => Ok(only.clone()),
        (None, _, []) => Err(ModelError::Refused(match wire.api {
            Api::Ollama => format!("{name} has no model yet; run `ollama pull MODEL`"),
            Api::OpenAi | Api::LlamaCpp => format!("{name} has no model; load one"),
        })),
        _ => Err(ModelError::Refused(format!("{name} has several models; choose one of: {}", listed(there)))),
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none is there yet".to_owned() } else { names.join(", ") }
}

//! Looks for model servers on this machine, on the ports that they usually have.
//! It must never ask another machine, nor wait long.

use std::sync::Arc;

use futures_util::future::join3;

use crate::api::Api;
use crate::client::{Wire, llama_cpp, lm_studio, ollama};
use crate::config::Config;
use crate::limits::LOOK_TIMEOUT;
use crate::model::ModelError;
use crate::transport::Transport;

/// What was found at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The server, with the names of its models.
    Models(Vec<String>),
    /// Nothing listens there.
    Nothing,
    /// Something answers that is not this server, or it is not ready; in its words.
    Other(String),
}

/// One place that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The name of the server.
    pub server: &'static str,
    /// The root at which it usually listens.
    pub base_url: String,
    /// The form by which it is asked.
    pub api: Api,
    /// What is there.
    pub found: Found,
}

impl Place {
    /// How to connect to it, if it is there and has a model.
    pub fn config(&self) -> Option<Config> {
        match &self.found {
            Found::Models(models) if !models.is_empty() => {
                Some(Config { base_url: self.base_url.clone(), model: None, api: Some(self.api) })
            }
            _ => None,
        }
    }

    /// A sentence for a person.
    pub fn sentence(&self) -> String {
        let (server, url) = (self.server, &self.base_url);
        match &self.found {
            Found::Models(models) if models.is_empty() => format!("{server} is at {url}, without a model"),
            Found::Models(models) => format!("{server} is at {url}: {}", models.join(", ")),
            Found::Nothing => format!("{server} is not at {url}: nothing listens there"),
            Found::Other(words) => format!("{server} is not at {url}: {words}"),
        }
    }
}

/// Looks for Ollama, llama.cpp and LM Studio side by side.
pub async fn discover(transport: Arc<dyn Transport>) -> Vec<Place> {
    let wire = |url: &str, api| Wire::new(Arc::clone(&transport), url, api);
    let ollama = wire("http://127.0.0.1:11434", Api::Ollama);
    let llama = wire("http://127.0.0.1:8080", Api::LlamaCpp);
    let studio = wire("http://127.0.0.1:1234", Api::OpenAi);
    let (at_ollama, at_llama, at_studio) = join3(
        within(async { ollama::models(&ollama).await }),
        within(async {
            Ok(match llama_cpp::properties(&llama).await? {
                None => None,
                Some(_) => Some(llama_cpp::model(&llama).await?.into_iter().collect()),
            })
        }),
        within(async {
            let models = lm_studio::models(&studio).await?;
            Ok(models.map(|models| models.into_iter().map(|facts| facts.model).collect()))
        }),
    )
    .await;
    let place = |server, wire: Wire, found| Place { server, base_url: wire.base_url, api: wire.api, found };
    vec![
        place("Ollama", ollama, at_ollama),
        place("llama.cpp", llama, at_llama),
        place("LM Studio", studio, at_studio),
    ]
}

async fn within(look: impl Future<Output = Result<Option<Vec<String>>, ModelError>>) -> Found {
    match tokio::time::timeout(LOOK_TIMEOUT, look).await {
        Err(_) => Found::Other("what listens there did not answer in time".to_owned()),
        Ok(Ok(Some(models))) => Found::Models(models),
        Ok(Ok(None)) => Found::Other("another program answers there".to_owned()),
        Ok(Err(ModelError::Unreachable(words))) if words.contains("can't be reached") => Found::Nothing,
        Ok(Err(error)) => Found::Other(error.to_string()),
    }
}

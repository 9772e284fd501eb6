//! A model whose server may come later, or go and come back with another model.
//!
//! It must never ask a server that was not found, and never hold on to one that went away.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::answer::{Answer, Piece};
use crate::config::{Config, connect};
use crate::discover::discover;
use crate::model::{Facts, Held, Model, ModelError};
use crate::question::Question;
use crate::transport::Transport;

/// Which server is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// The one that the operator names.
    Named(Config),
    /// The first one that is found at its usual place on this machine and has a model; by this name, if one is given.
    Found(Option<String>),
}

/// A model that is connected to when it is asked.
pub struct Late {
    choice: Choice,
    transport: Arc<dyn Transport>,
    current: Mutex<Option<Arc<dyn Model>>>,
}

impl Late {
    /// A model of this server, which is looked for at the first question.
    pub fn new(choice: Choice, transport: Arc<dyn Transport>) -> Self {
        Self { choice, transport, current: Mutex::new(None) }
    }

    fn set(&self, model: Option<Arc<dyn Model>>) {
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = model;
    }

    async fn model(&self) -> Result<Arc<dyn Model>, ModelError> {
        let known = self.current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(model) = known {
            return Ok(model);
        }
        let config = match &self.choice {
            Choice::Named(config) => config.clone(),
            Choice::Found(model) => Config { model: model.clone(), ..self.look().await? },
        };
        let model = connect(&config, Arc::clone(&self.transport)).await?.model;
        self.set(Some(Arc::clone(&model)));
        Ok(model)
    }

    /// The first server that is there with a model.
    async fn look(&self) -> Result<Config, ModelError> {
        let places = discover(Arc::clone(&self.transport)).await;
        places.iter().find_map(crate::discover::Place::config).ok_or_else(|| {
            let found: Vec<String> = places.iter().map(crate::discover::Place::sentence).collect();
            ModelError::Unreachable(format!(
                "no model server was found on this machine: {}; start one, or set `delegate.base_url`",
                found.join("; ")
            ))
        })
    }

    /// A server that went away is looked for anew: another one may be there by then.
    fn seen<T>(&self, outcome: Result<T, ModelError>) -> Result<T, ModelError> {
        if matches!(outcome, Err(ModelError::Unreachable(_))) {
            self.set(None);
        }
        outcome
    }
}

impl Model for Late {
    fn facts(&self) -> BoxFuture<'_, Result<Facts, ModelError>> {
        async { self.seen(self.model().await?.facts().await) }.boxed()
    }

    fn ask<'a>(
        &'a self,
        question: &'a Question,
        pieces: mpsc::Sender<Piece>,
    ) -> BoxFuture<'a, Result<Answer, ModelError>> {
        async move { self.seen(self.model().await?.ask(question, pieces).await) }.boxed()
    }

    fn hold<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Option<Held>> {
        async move { self.model().await.ok()?.hold(name).await }.boxed()
    }

    fn bring_back<'a>(&'a self, held: &'a Held) -> BoxFuture<'a, bool> {
        async move {
            match self.model().await {
                Ok(model) => model.bring_back(held).await,
                Err(_) => false,
            }
        }
        .boxed()
    }
}

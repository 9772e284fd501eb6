//! The seam between the engine and a model server.

use futures_util::future::BoxFuture;
use thiserror::Error;
use tokio::sync::mpsc;

use crate::answer::{Answer, Piece};
use crate::question::Question;

/// What a server says of its model. What it does not say is unknown and never guessed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Facts {
    /// The name by which the server knows the model.
    pub model: String,
    /// The context in force, in tokens.
    pub context_tokens: Option<u64>,
    /// Whether the model can ask for tools.
    pub tools: Option<bool>,
    /// Whether it is loaded.
    pub is_loaded: Option<bool>,
    /// Whether an answer can be continued from a text that the model said.
    pub continues: Option<bool>,
    /// Whether the state of a conversation can be held on the server.
    pub holds: Option<bool>,
}

/// The state of a conversation that a server keeps, by the name that it was saved under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held(pub String);

/// Why a model did not answer. Each is a sentence of what, where and how to go on.
#[derive(Debug, Error, Clone, PartialEq, Eq)]
pub enum ModelError {
    /// No server listens, or it went away in the middle.
    #[error("{0}")]
    Unreachable(String),
    /// The question is longer than the context in force.
    #[error(
        "the question takes {tokens:?} tokens of the {context:?} that {model} has; shorten it or raise the context"
    )]
    TooLong {
        /// The name of the model.
        model: String,
        /// Tokens of the question, if the server says them.
        tokens: Option<u64>,
        /// The context in force, if the server says it.
        context: Option<u64>,
    },
    /// The server refuses, in its own words.
    #[error("{0}")]
    Refused(String),
    /// What the server sent is not of its form.
    #[error("{0}")]
    Malformed(String),
    /// Nothing came for as long as the engine waits.
    #[error("{0}")]
    Stalled(String),
}

/// A model on a server. One question at a time; a dropped future closes its stream at once.
pub trait Model: Send + Sync {
    /// Reads what the server says of the model.
    fn facts(&self) -> BoxFuture<'_, Result<Facts, ModelError>>;

    /// Asks. The pieces are sent as they come; their reader must keep up, or the server waits for it.
    fn ask<'a>(
        &'a self,
        question: &'a Question,
        pieces: mpsc::Sender<Piece>,
    ) -> BoxFuture<'a, Result<Answer, ModelError>>;

    /// Keeps the state of the last question on the server under this name, where the server can.
    fn hold<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, Option<Held>> {
        Box::pin(async { None })
    }

    /// Brings a kept state back before the question that goes on from it. Whether it was used, only `Usage::cached` tells.
    fn bring_back<'a>(&'a self, _held: &'a Held) -> BoxFuture<'a, bool> {
        Box::pin(async { false })
    }
}

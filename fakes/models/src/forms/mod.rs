//! The forms in which an answer is written.

pub(crate) mod lists;
pub(crate) mod ollama;
mod openai;

use serde_json::Value;

use crate::plan::Unit;
use crate::script::Failure;

/// The cost of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) prompt: u64,
    pub(crate) cached: u64,
    pub(crate) made: u64,
    pub(crate) took_ms: u64,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    Done,
    Tools,
    Length,
}

/// A form of streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// Server-sent events.
    OpenAi { model: String, has_usage: bool, has_timings: bool },
    /// Lines of JSON.
    Ollama { model: String },
}

impl Form {
    pub(crate) fn content_type(&self) -> &'static str {
        match self {
            Self::OpenAi { .. } => "text/event-stream",
            Self::Ollama { .. } => "application/x-ndjson",
        }
    }

    /// One token.
    pub(crate) fn unit(&self, unit: &Unit) -> Vec<u8> {
        match self {
            Self::OpenAi { model, .. } => openai::unit(model, unit),
            Self::Ollama { model } => ollama::unit(model, unit),
        }
    }

    /// What comes after the last token.
    pub(crate) fn last(&self, why: Why, cost: Cost) -> Vec<u8> {
        match self {
            Self::OpenAi { model, has_usage, has_timings } => {
                openai::last(model, *has_usage, *has_timings, why, cost)
            }
            Self::Ollama { model } => ollama::last(model, why, cost),
        }
    }

    /// A refusal in the middle.
    pub(crate) fn failure(&self, failure: &Failure) -> Vec<u8> {
        match self {
            Self::OpenAi { .. } => {
                openai::event(&openai::error(failure.status, "server_error", &failure.message))
            }
            Self::Ollama { .. } => ollama::line(&ollama::error(&failure.message)),
        }
    }

    /// A message that is none.
    pub(crate) fn broken(&self) -> Vec<u8> {
        match self {
            Self::OpenAi { .. } => b"data: {\"choices\": [\n\n".to_vec(),
            Self::Ollama { .. } => b"{\"message\": \n".to_vec(),
        }
    }
}

/// The body of a refusal.
pub(crate) fn refusal(is_ollama: bool, status: u16, kind: &str, message: &str) -> Value {
    if is_ollama { ollama::error(message) } else { openai::error(status, kind, message) }
}

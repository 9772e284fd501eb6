//! What was said in the conversation of a project, by whom.
//!
//! It must never hold a model's thinking.

use serde::{Deserialize, Serialize};

use crate::source::Source;
use crate::task::TaskId;

/// The name of the model in the conversation.
const MODEL: &str = "entraclaw";

/// Who says a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Speaker {
    /// Who asks.
    Asker(Source),
    /// The model.
    Model,
}

impl Speaker {
    /// The name, as it is stored and told.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Asker(source) => source.as_str(),
            Self::Model => MODEL,
        }
    }

    /// The speaker with this stored name.
    pub(crate) fn named(name: String) -> Self {
        if name == MODEL { Self::Model } else { Self::Asker(name.into()) }
    }

    /// `user` or `assistant`.
    pub fn role(&self) -> &'static str {
        match self {
            Self::Asker(_) => "user",
            Self::Model => "assistant",
        }
    }
}

/// A message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its place in the conversation, which grows.
    pub number: i64,
    /// Who says it.
    pub speaker: Speaker,
    /// The task that it belongs to.
    pub task: TaskId,
    /// What is said.
    pub text: String,
    /// The model that says it, if it is one's answer.
    pub model: Option<String>,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

//! The forms of model servers, by which a client speaks to one.

use serde::{Deserialize, Serialize};

/// The form of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Api {
    /// OpenAI's, as LM Studio and vLLM have it.
    #[serde(rename = "openai")]
    OpenAi,
    /// Ollama's own.
    #[serde(rename = "ollama")]
    Ollama,
    /// llama.cpp's own.
    #[serde(rename = "llama.cpp")]
    LlamaCpp,
}

impl Api {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::OpenAi => "the model server",
            Self::Ollama => "Ollama",
            Self::LlamaCpp => "llama.cpp",
        }
    }

    pub(crate) fn how_to_start(self) -> &'static str {
        match self {
            Self::OpenAi => "start it, for LM Studio by `lms server start`, or correct the base URL",
            Self::Ollama => "start it by `ollama serve`, or correct the base URL",
            Self::LlamaCpp => "start it by `llama-server -m MODEL.gguf`, or correct the base URL",
        }
    }
}

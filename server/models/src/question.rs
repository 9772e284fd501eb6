//! What a model is asked.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::ToolRequest;

/// Who speaks in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The rules of the conversation.
    System,
    /// Who asks.
    User,
    /// The model.
    Assistant,
    /// The result of a tool.
    Tool,
}

/// One turn of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub text: String,
    /// The tools that the model asks for, in the model's turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_requests: Vec<ToolRequest>,
    /// Which request this is the result of, in the turn of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<String>,
}

/// A tool as a model is shown it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchema {
    /// Its name.
    pub name: String,
    /// What it is for, in a sentence.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// Whether a model has to ask for a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// It decides.
    #[default]
    Auto,
    /// It has to. llama.cpp and vLLM hold it to the tools' schemas by a grammar; Ollama's own form can't say it.
    Required,
}

/// A question to a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Question {
    /// The conversation; the last turn is what the model answers.
    pub turns: Vec<Turn>,
    /// The tools that it may ask for.
    pub tools: Vec<ToolSchema>,
    /// Whether it has to ask for one.
    pub tool_choice: ToolChoice,
    /// The text that the model has already said in the answer that it is to go on with.
    pub said: Option<String>,
    /// The longest answer in tokens.
    pub tokens_max: Option<u32>,
}

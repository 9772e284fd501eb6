//! What a model says.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A tool that a model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRequest {
    /// The id by which its result is returned.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments, unchecked.
    pub arguments: Value,
}

/// A part of an answer, as it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text for the asker.
    Text(String),
    /// Thinking, which no answer shows.
    Thinking(String),
    /// A tool that it asks for, whole.
    Tool(ToolRequest),
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The model was done.
    Done,
    /// It asks for tools.
    Tools,
    /// The limit of tokens was met.
    Length,
}

/// The cost of an answer, as far as the server says it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the question.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Tokens of the question that the server had already computed: llama.cpp's `timings.cache_n`.
    pub cached: Option<u64>,
    /// Tokens a second of the answer, as the server measured them.
    pub tokens_per_second: Option<f64>,
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Its text, without thinking; without what was already said.
    pub text: String,
    /// The tools that it asks for.
    pub tools: Vec<ToolRequest>,
    /// Why it ended.
    pub stop: Stop,
    /// Its cost.
    pub usage: Usage,
}

//! What a script says: which server, which models, what they answer. It holds data only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A scripted model server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The server that it stands for.
    pub server: Kind,
    /// Its models.
    #[serde(default = "one_model")]
    pub models: Vec<ModelSpec>,
    /// Its slots, in which the state of conversations is kept.
    #[serde(default)]
    pub slots: Slots,
    /// Whether it stops when the client closes the connection. One that does not goes on to the end, and what is asked
    /// next waits for it.
    #[serde(default = "yes")]
    pub notices_close: bool,
    /// Whether a last message of the assistant is gone on with. Otherwise the answer begins again.
    #[serde(default = "yes")]
    pub continues: bool,
    /// Whether Ollama shows what it makes of a question when it is asked to. One before 0.11.5 answers the question instead.
    #[serde(default = "yes")]
    pub renders: bool,
    /// It is still loading its model, and refuses all questions.
    #[serde(default)]
    pub loading: bool,
    /// What the model answers; the first that fits. Without any it says "The answer.".
    #[serde(default)]
    pub answers: Vec<Answer>,
}

impl Script {
    /// A server with one model, which notices a closed connection, goes on with a text and gives these answers.
    pub fn new(server: Kind, answers: Vec<Answer>) -> Self {
        Self {
            server,
            models: one_model(),
            slots: Slots::default(),
            notices_close: true,
            continues: true,
            renders: true,
            loading: false,
            answers,
        }
    }
}

fn yes() -> bool {
    true
}

fn one_model() -> Vec<ModelSpec> {
    vec![ModelSpec::default()]
}

/// The server that is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Kind {
    /// Ollama, with its own form and that of OpenAI.
    #[serde(rename = "ollama")]
    Ollama,
    /// llama.cpp's server.
    #[serde(rename = "llama.cpp")]
    LlamaCpp,
    /// LM Studio since 0.4.0.
    #[serde(rename = "lm-studio")]
    LmStudio,
    /// LM Studio before 0.4.0.
    #[serde(rename = "lm-studio-0.3")]
    LmStudio03,
    /// vLLM.
    #[serde(rename = "vllm")]
    Vllm,
    /// Another server of OpenAI's form, which says as little as it may.
    #[serde(rename = "openai")]
    OpenAi,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSpec {
    /// Its name.
    pub name: String,
    /// The context with which it is loaded.
    pub context_tokens: u64,
    /// The longest context that it was made for.
    pub context_tokens_max: u64,
    /// Whether it can use tools.
    pub tools: bool,
    /// Whether it thinks.
    pub thinking: bool,
    /// Whether it is loaded. Ollama loads it with the first question.
    pub loaded: bool,
}

impl Default for ModelSpec {
    fn default() -> Self {
        Self {
            name: "tiny:1b".to_owned(),
            context_tokens: 4096,
            context_tokens_max: 32768,
            tools: true,
            thinking: false,
            loaded: true,
        }
    }
}

/// The slots of llama.cpp. Other servers use their number only: how many questions run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Slots {
    /// How many there are.
    pub count: u8,
    /// Whether they can be saved: the server was started with `--slot-save-path`.
    pub can_save: bool,
    /// What restoring one does.
    pub restore: Restore,
}

impl Default for Slots {
    fn default() -> Self {
        Self { count: 1, can_save: false, restore: Restore::True }
    }
}

/// What restoring a slot does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Restore {
    /// The state is back.
    #[default]
    True,
    /// It says so, and nothing is reused.
    Lies,
}

/// What the model does for one question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Answer {
    /// Which questions it is for; without it, all.
    pub when: Option<When>,
    /// The words.
    pub says: String,
    /// What it thinks before.
    pub thinks: String,
    /// How thinking comes.
    pub thinks_as: ThinksAs,
    /// The tools that it asks for, after its words.
    pub tools: Vec<Tool>,
    /// How long the first token takes.
    pub first_token_ms: u64,
    /// How long each further token takes.
    pub token_ms: u64,
    /// After so many tokens nothing more comes, and the connection stays open.
    pub stalls_after_tokens: Option<u64>,
    /// After so many tokens the connection breaks.
    pub drops_after_tokens: Option<u64>,
    /// After so many tokens comes a message that is none.
    pub breaks_form_after_tokens: Option<u64>,
    /// The server refuses.
    pub error: Option<Failure>,
    /// The stream has its words and not its last message.
    pub ends_without_last: bool,
}

impl Default for Answer {
    fn default() -> Self {
        Self {
            when: None,
            says: "The answer.".to_owned(),
            thinks: String::new(),
            thinks_as: ThinksAs::default(),
            tools: Vec::new(),
            first_token_ms: 0,
            token_ms: 0,
            stalls_after_tokens: None,
            drops_after_tokens: None,
            breaks_form_after_tokens: None,
            error: None,
            ends_without_last: false,
        }
    }
}

/// Which questions an answer is for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct When {
    /// The last message of the user holds this text.
    pub contains: Option<String>,
    /// So many results of tools came since that message; with `last`, since the task was asked for.
    pub results: Option<u32>,
    /// What the user asks for holds this text, and none of the others that the answers of the script have here comes after it.
    /// A task ends with an answer that asks for no tool: what is said between the results of tools is no new one.
    pub last: Option<String>,
}

/// How thinking comes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ThinksAs {
    /// In a field of its own.
    #[default]
    Field,
    /// In the text, between tags.
    Tags,
    /// In the text; the tag that opens it is part of the question.
    HiddenBegin,
}

/// A tool that the model asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Value,
    /// How it is written.
    #[serde(default)]
    pub form: ToolForm,
}

/// How a tool is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ToolForm {
    /// In one message.
    #[default]
    Whole,
    /// The arguments come in pieces of three characters.
    Fragments,
    /// Without an id and an index.
    Bare,
    /// The arguments are a string of JSON in a string.
    TwiceEncoded,
    /// With a comma before the last brace.
    TrailingComma,
    /// With quotes as Python writes them.
    SingleQuotes,
    /// Between code fences.
    Fence,
    /// Cut off in the middle.
    Cut,
    /// As the text of the answer.
    Text,
    /// In the text, between `<tool_call>` tags.
    Tagged,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The status of the answer. With `after_tokens` it is a message of the stream.
    pub status: u16,
    /// The words.
    pub message: String,
    /// After so many tokens.
    #[serde(default)]
    pub after_tokens: Option<u64>,
}

//! What a script says: which CLI, and what it answers to which prompt. It holds data only.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;

/// A scripted agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The CLI that it stands for.
    pub agent: Agent,
    /// The version that it says it is. Without one it is the version whose behaviour the fake has.
    #[serde(default)]
    pub version: Option<String>,
    /// The models that it lists and takes. Empty: it takes every name.
    #[serde(default)]
    pub models: Vec<String>,
    /// Whether it is signed in. A token or a provider in the environment counts too.
    #[serde(default = "yes")]
    pub signed_in: bool,
    /// It is started as npm starts it: a launcher that starts the program itself as a second process of its group. If it
    /// alone gets a signal, that of Gemini CLI goes on without passing it on, and any other one dies alone.
    #[serde(default)]
    pub launcher: bool,
    /// What `-i` does where there is no terminal.
    #[serde(default)]
    pub interactive: Interactive,
    /// How long it takes before it does anything.
    #[serde(default)]
    pub start_ms: u64,
    /// What it answers; the first that fits the prompt. Without any it says the prompt again.
    #[serde(default)]
    pub answers: Vec<Answer>,
}

fn yes() -> bool {
    true
}

/// What an agent does that is told to open its terminal interface and has no terminal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Interactive {
    /// It opens the interface and waits for keys, as with a terminal.
    #[default]
    Hangs,
    /// It answers like a headless run.
    Answers,
}

/// What the agent does for one prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Answer {
    /// Which prompts it is for; without it, all.
    pub when: Option<When>,
    /// The words of the answer.
    pub says: Says,
    /// How long the model thinks before anything comes.
    pub after_ms: u64,
    /// The tools that run before the answer.
    pub tools: Vec<Tool>,
    /// The pause after each word, which then comes by itself. Without it the words come at once.
    pub stream_every_ms: Option<u64>,
    /// The answer is filled up to this many bytes.
    pub stdout_bytes: Option<u64>,
    /// So many bytes come on stderr before the answer.
    pub stderr_bytes: Option<u64>,
    /// This comes on stderr before the answer.
    pub stderr: Option<String>,
    /// The exit code, in place of the one that the CLI would have.
    pub exit: Option<u8>,
    /// The model's provider refuses.
    pub error: Option<Failure>,
    /// It dies in the middle, after its words.
    pub crash: Option<Crash>,
    /// It hangs in the middle, after its words.
    pub hangs: bool,
    /// SIGTERM does nothing to it.
    pub ignores_term: bool,
    /// It starts so many processes, which hang and hold its pipes open.
    pub children: u32,
    /// These processes lead sessions of their own.
    pub children_leave_group: bool,
    /// SIGTERM does nothing to these processes.
    pub children_ignore_term: bool,
    /// The value of this environment variable is part of the answer, of the error and of the text on stderr.
    pub leaks: Option<String>,
    /// Over ACP it asks for a permission before each tool. A headless run can't ask: the tool is refused unless the
    /// command line allows it.
    pub asks_permission: bool,
    /// What the answer is said to have cost.
    pub usage: Usage,
    /// The files that it is said to have changed.
    pub changed_files: Vec<String>,
    /// The answer has colours, whatever the command line says.
    pub ansi: bool,
    /// The output ends in the middle of a character.
    pub half_a_character: bool,
    /// A line that is no JSON comes before the end, where the output is JSON lines.
    pub invalid_json_line: bool,
    /// Nothing comes at all.
    pub silent: bool,
    /// A file that it writes, if its permissions allow it.
    pub writes: Option<Writes>,
}

/// Which prompts an answer is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The prompt holds this text.
    pub contains: String,
}

/// The words of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "`says` is a text, in quotes if it looks like anything else, or `{ echo: true }`"
)]
pub enum Says {
    /// This text.
    Text(String),
    /// The prompt, and what the agent was given.
    Echo(Echo),
}

impl Default for Says {
    fn default() -> Self {
        Self::Text("The answer.".to_owned())
    }
}

/// An answer that repeats the prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Echo {
    /// Whether it does. `false` says nothing.
    pub echo: bool,
}

/// A tool that the agent runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Its name, as the CLI has it.
    pub name: String,
    /// How long it runs.
    #[serde(default)]
    pub takes_ms: u64,
    /// What it prints.
    #[serde(default = "tool_output")]
    pub prints: String,
}

fn tool_output() -> String {
    "hi".to_owned()
}

/// A refusal of the model's provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// The status of the provider's answer: 401, 402, 404, 429, 500 and so on; 0 if it can't be reached.
    pub status: u16,
    /// The provider's own words.
    #[serde(default)]
    pub message: String,
    /// The pause before each retry, in place of the CLI's own.
    #[serde(default)]
    pub retry_ms: Option<u64>,
}

/// How an agent dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Crash {
    /// It is killed.
    #[serde(rename = "SIGKILL")]
    Kill,
    /// It reads memory that it does not have.
    #[serde(rename = "SIGSEGV")]
    Segfault,
}

/// What an answer cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// Tokens that the model read.
    pub input_tokens: u64,
    /// Tokens that the model wrote.
    pub output_tokens: u64,
    /// Premium requests of GitHub Copilot.
    pub premium_requests: u64,
    /// Lines that were added to files.
    pub lines_added: u64,
    /// Lines that were removed from files.
    pub lines_removed: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self { input_tokens: 10, output_tokens: 3, premium_requests: 0, lines_added: 0, lines_removed: 0 }
    }
}

/// A file that the agent writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Writes {
    /// Where; a relative path is below the folder that it works in.
    pub path: PathBuf,
    /// What the file holds then.
    pub text: String,
}

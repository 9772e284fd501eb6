//! The closed choices that profile facts are made of.
//! A choice names a behaviour that the machine implements; it never holds code or free text to interpret.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the ids of a kind of request are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdRule {
    /// From the one counter of the connection, starting at 0.
    Counter,
    /// Always this string.
    Fixed(String),
    /// This string and an own counter from 0.
    Prefix(String),
}

/// Which requests carry a `progressToken`, and which one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgressTokens {
    /// None at all.
    None,
    /// `tools/call` only; the token is the request's id.
    CallsById,
    /// `tools/call` only; a UUID of its own, as text.
    CallsByUuid,
    /// Every request after the handshake; an own counter from 0.
    AllByCounter,
}

/// What follows when the probe gets no answer in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnSilence {
    /// `initialize` on the same process.
    Initialize,
    /// The server is given up.
    Fail,
}

/// What follows when the server exits on the probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnProbeExit {
    /// A new process, asked `initialize` at once.
    RespawnWithoutProbe,
    /// The server is given up.
    Fail,
}

/// How a server that could not be opened is let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GiveUp {
    /// Its stdin is closed, nothing else.
    CloseStdin,
    /// As at a normal end.
    Shutdown,
}

/// From when the time limit of the handshake counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartClock {
    /// From the start of the process.
    Spawn,
    /// From `initialize`, less the probe's share.
    Initialize,
}

/// A list that a server may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListKind {
    /// `tools/list`.
    Tools,
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    ResourceTemplates,
}

impl ListKind {
    /// The request's method.
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::ResourceTemplates => "resources/templates/list",
        }
    }

    /// The capability that announces the list.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::ResourceTemplates => "resources",
        }
    }

    /// The member of the result that holds the items.
    pub fn member(self) -> &'static str {
        match self {
            Self::ResourceTemplates => "resourceTemplates",
            other => other.capability(),
        }
    }

    /// The member of a `subscriptions/listen` filter that asks for its changes.
    pub fn filter(self) -> &'static str {
        match self {
            Self::Tools => "toolsListChanged",
            Self::Prompts => "promptsListChanged",
            Self::Resources | Self::ResourceTemplates => "resourcesListChanged",
        }
    }
}

/// Which calls of one model step run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Parallel {
    /// All of them.
    All,
    /// Neighbours whose tools say `readOnlyHint: true`; any other runs alone.
    ReadOnly,
    /// One after another.
    Serial,
}

/// What a `list_changed` notification leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListChanged {
    /// Nothing.
    Drop,
    /// The list is asked again at once.
    Now,
    /// The list is asked again before the next model request of a turn.
    NextStep,
}

/// Whether a dead server is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    /// Not by the host itself.
    Never,
    /// By the next tool call, which is all that the new process is asked.
    NextCall,
    /// By the next tool call, after the lists were asked anew.
    NextCallAndLists,
}

/// One step of the end of a server process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopStep {
    /// After the end was decided, in milliseconds.
    pub after_ms: u64,
    /// What is done to a process that still runs.
    pub how: Stop,
}

/// What can be done to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// Its stdin is closed.
    CloseStdin,
    /// SIGINT.
    Int,
    /// SIGTERM.
    Term,
    /// SIGKILL.
    Kill,
}

/// What a closed stdout of a living process means to the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnStdoutClosed {
    /// It is not noticed.
    Unnoticed,
    /// The server counts as gone.
    Gone,
}

/// What becomes of `structuredContent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Structured {
    /// Its JSON replaces the content.
    Replaces,
    /// Its JSON follows the text.
    Appended,
    /// Its JSON is shown where there is no content.
    WhenAlone,
    /// It is not shown.
    Ignored,
}

/// The unit in which a result's size is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SizeUnit {
    /// Unicode scalar values.
    Characters,
    /// UTF-8 bytes.
    Bytes,
}

/// The answer to `roots/list`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnRoots {
    /// The working directory as the one root.
    WorkingDirectory,
    /// The same, with its last part as the root's name.
    NamedWorkingDirectory,
    /// No roots.
    Empty,
    /// The answer to an unknown method.
    NoSuchMethod,
}

/// The answer to a request that a person or the model must decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnAsk {
    /// The answer to an unknown method.
    NoSuchMethod,
    /// No answer at all.
    Silent,
    /// The person or the model is asked, and answers by an action.
    Ask,
    /// This answer at once: the `action` of an elicitation result.
    Answer(String),
}

/// An error in answer to a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Refusal {
    /// The JSON-RPC code.
    pub code: i64,
    /// The message.
    pub message: String,
}

/// The message of the error for an unknown method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnknownMessage {
    /// Always this text.
    Text(String),
    /// The method's name.
    Method,
}

/// What becomes of a tool, or of a server, for something that it declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The model can call it.
    Taken,
    /// It is left out.
    Dropped,
    /// The whole answer is refused in which it was: of tools every one is left out, and a server is given up.
    Refused,
}

/// What becomes of a tool whose name is too long for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overlong {
    /// The tool is left out.
    Drop,
    /// The name is cut at its end.
    Cut,
    /// Its middle gives way to three dots.
    CutMiddle,
}

/// Which tools' descriptions the model has from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolsShown {
    /// All, with their descriptions.
    Whole,
    /// Names only, but for tools that ask to be always loaded.
    NamesOnly,
}

//! The closed choices of which profile facts are made. Each names a behaviour that the machine implements;
//! none holds code or free text to interpret.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the ids of one kind of request are made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdRule {
    /// From the one counter of the connection, starting at 0.
    Counter,
    /// Always this string.
    Fixed(String),
    /// This string and a counter of its own from 0.
    Prefix(String),
}

/// The requests that carry a `progressToken`, and its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProgressTokens {
    /// No request.
    None,
    /// `tools/call` only; the token is the request's id.
    CallsById,
    /// `tools/call` only; a UUID of its own, as text.
    CallsByUuid,
    /// Every request after the handshake, with a counter of its own from 0.
    AllByCounter,
}

/// The reaction to a probe without an answer in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnSilence {
    /// `initialize` on the same process.
    Initialize,
    /// The server is given up.
    Fail,
}

/// The reaction to a server that exits on the probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnProbeExit {
    /// A new process, which gets `initialize` at once.
    RespawnWithoutProbe,
    /// The server is given up.
    Fail,
}

/// How the host leaves a server that could not be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GiveUp {
    /// Its stdin is closed, nothing else.
    CloseStdin,
    /// As at a normal end.
    Shutdown,
}

/// When the time limit of the handshake begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartClock {
    /// At the start of the process.
    Spawn,
    /// At `initialize`, less the probe's share.
    Initialize,
}

/// A list of a server.
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
    /// Method, capability, member of the result, member of a filter.
    fn names(self) -> [&'static str; 4] {
        match self {
            Self::Tools => ["tools/list", "tools", "tools", "toolsListChanged"],
            Self::Prompts => ["prompts/list", "prompts", "prompts", "promptsListChanged"],
            Self::Resources => ["resources/list", "resources", "resources", "resourcesListChanged"],
            Self::ResourceTemplates => {
                ["resources/templates/list", "resources", "resourceTemplates", "resourcesListChanged"]
            }
        }
    }

    /// The request's method.
    pub fn method(self) -> &'static str {
        self.names()[0]
    }

    /// The capability that declares the list.
    pub fn capability(self) -> &'static str {
        self.names()[1]
    }

    /// The member of the result with the items.
    pub fn member(self) -> &'static str {
        self.names()[2]
    }

    /// The member of a `subscriptions/listen` filter that requests changes of this list.
    pub fn filter(self) -> &'static str {
        self.names()[3]
    }
}

/// The calls of one model step that run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Parallel {
    /// All of them.
    All,
    /// Consecutive calls of tools with `readOnlyHint: true`; any other call runs alone.
    ReadOnly,
    /// One after another.
    Serial,
}

/// The effect of a `list_changed` notification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListChanged {
    /// Nothing.
    Drop,
    /// The list is requested again at once.
    Now,
    /// The list is requested again before the next model request of a turn.
    NextStep,
}

/// Whether a server that has exited is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    /// Not by the host itself.
    Never,
    /// By the next tool call, which is the only request to the new process.
    NextCall,
    /// By the next tool call, after the lists were requested again.
    NextCallAndLists,
}

/// One step of the end of a server process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopStep {
    /// The time after the decision to end the server, in milliseconds.
    pub after_ms: u64,
    /// The action on a process that is still running.
    pub how: Stop,
}

/// An action on a process.
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

/// The host's reaction to a closed stdout of a running process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnStdoutClosed {
    /// It is not noticed.
    Unnoticed,
    /// The server counts as exited.
    Gone,
}

/// The fate of `structuredContent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Structured {
    /// Its JSON replaces the content.
    Replaces,
    /// Its JSON follows the text.
    Appended,
    /// Its JSON is shown if there is no content.
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
    /// The working directory as the only root.
    WorkingDirectory,
    /// The same, with its last part as the root's name.
    NamedWorkingDirectory,
    /// No roots.
    Empty,
    /// The error for an unknown method.
    NoSuchMethod,
}

/// The answer to a request that the user or the model must decide.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnAsk {
    /// The error for an unknown method.
    NoSuchMethod,
    /// No answer at all.
    Silent,
    /// The user or the model is asked, and answers by an action.
    Ask,
    /// This answer at once: the `action` of an elicitation result.
    Answer(String),
}

/// An error response.
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

/// The fate of a tool, or of a server, because of something that it declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// The model can call it.
    Taken,
    /// It is left out.
    Dropped,
    /// The whole answer that contains it is refused: all tools of the list are left out, or a server is given
    /// up.
    Refused,
}

/// The fate of a tool whose name is too long for the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overlong {
    /// The tool is left out.
    Drop,
    /// The name is cut at its end.
    Cut,
    /// Its middle is replaced by three dots.
    CutMiddle,
}

/// The tools whose descriptions the model has from the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolsShown {
    /// All, with their descriptions.
    Whole,
    /// Only names, except for tools that ask to be always loaded.
    NamesOnly,
}

//! The actions that go into a fake host from its model and its user, and the effects that come out. These are
//! plain data without any rule.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::log::WireEvent;

/// One tool call of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool, by the server's name for it or by the model's.
    pub tool: String,
    /// The arguments, an object.
    pub arguments: Value,
    /// A name by which the caller recognises the outcome.
    pub label: String,
    /// The id that the model gives the call; the host makes one up if it is `None`.
    pub tool_use_id: Option<String>,
}

impl ToolCall {
    /// A call without an id from the model.
    pub fn new(tool: impl Into<String>, arguments: Value, label: impl Into<String>) -> Self {
        Self { tool: tool.into(), arguments, label: label.into(), tool_use_id: None }
    }
}

/// A permission dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionAsk {
    /// Five letters a to z without l.
    pub request_id: String,
    /// The tool.
    pub tool_name: String,
    /// What the tool is about to do.
    pub description: String,
    /// The beginning of its arguments.
    pub input_preview: String,
}

/// An action of the model or of the user.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// The model calls one tool.
    Call(ToolCall),
    /// The model calls several tools in one step; the host's parallel rule applies.
    Calls(Vec<ToolCall>),
    /// The user types a prompt. While a turn runs, the prompt waits as the profile says.
    BeginTurn {
        /// The prompt.
        prompt: String,
    },
    /// The model ends its turn.
    EndTurn,
    /// The user interrupts (Esc, Ctrl+C).
    Interrupt,
    /// The user begins another conversation in this session, or returns to the one before.
    ChangeSession {
        /// Whether the user returns.
        back: bool,
    },
    /// The user puts the session into plan mode.
    OnlyPlan,
    /// The model or the user reads a resource, if the host has this feature.
    ReadResource {
        /// The resource.
        uri: String,
        /// A name by which the caller recognises the outcome.
        label: String,
    },
    /// The user uses a prompt of the server, if the host has this feature.
    GetPrompt {
        /// The prompt's name.
        name: String,
        /// String arguments.
        arguments: Value,
        /// A name by which the caller recognises the outcome.
        label: String,
    },
    /// The answer to the oldest open sampling request, given after the user agreed.
    AnswerSampling {
        /// The model that answered.
        model: String,
        /// The text of the answer.
        text: String,
    },
    /// The user's answer to the oldest open elicitation.
    AnswerElicitation {
        /// `accept`, `decline` or `cancel`.
        action: String,
        /// The form's content, on `accept`.
        content: Option<Value>,
    },
    /// The user answers the oldest dialog that asks whether a tool may run.
    AnswerDialog {
        /// Whether it may run.
        allow: bool,
    },
    /// The host asks its user for a permission, and tells the server if it relays that.
    AskPermission(PermissionAsk),
    /// The model uses one of the host's own tools; its end is a boundary of the turn.
    Work,
    /// The model starts the program under test in its background shell, if the host has one.
    StartShell {
        /// The program's arguments.
        arguments: Vec<String>,
        /// The model's description of the command.
        description: String,
        /// A name by which the caller recognises the outcome.
        label: String,
    },
    /// The model reads the output of the shell that ended last.
    ReadShell {
        /// A name by which the caller recognises the outcome.
        label: String,
    },
    /// The user has the server restarted.
    Reconnect,
    /// The host exits in the normal way.
    Exit,
    /// The host is killed; it can do nothing more.
    Kill,
}

/// The end of a background shell, or of a hook beside the session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellEnd {
    /// Its whole output: stdout of a shell, stderr of a hook.
    pub output: String,
    /// Its exit code.
    pub code: i32,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A result that is no error.
    Result,
    /// An error: of the tool, of the protocol, of the connection, or of the host itself.
    Error,
    /// The host's limit was over.
    TimedOut,
    /// The user or the end of the host cancelled it.
    Cancelled,
    /// It goes on in the background; its result comes later by itself.
    Backgrounded,
}

/// A signal to the server process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// SIGINT.
    Int,
    /// SIGTERM.
    Term,
    /// SIGKILL.
    Kill,
    /// SIGSTOP: the process stops wherever it is.
    Stop,
    /// SIGCONT: the process continues.
    Continue,
}

impl Signal {
    /// The name in recordings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int => "SIGINT",
            Self::Term => "SIGTERM",
            Self::Kill => "SIGKILL",
            Self::Stop => "SIGSTOP",
            Self::Continue => "SIGCONT",
        }
    }
}

/// The way by which a text reached the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// The result of a tool call.
    ToolResult,
    /// A channel notification.
    Channel,
    /// The delayed result of a call that went to the background.
    TaskNotification,
    /// The list of tools.
    Tools,
    /// The server's instructions.
    Instructions,
    /// A prompt of the user.
    Prompt,
    /// A resource that was read.
    Resource,
    /// A prompt of the server that was used.
    ServerPrompt,
    /// The end of a background shell, or its output.
    BackgroundShell,
    /// The answer of a hook.
    Hook,
    /// The stderr of a hook beside the session.
    WakingHook,
    /// The host's wake-up.
    WakeUp,
    /// The end of a call that became a task.
    Task,
}

/// One text that the model of the host was shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// The time on the host's clock, in milliseconds.
    pub at_ms: u64,
    /// The carrier of the text.
    pub carrier: Carrier,
    /// The tool, by the server's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The label of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The exact text that the model is shown.
    pub text: String,
    /// Whether the host marks it as an error.
    pub is_error: bool,
    /// Whether the text started a turn without the user.
    pub woke: bool,
}

/// Every text that the model of a fake host was shown, in order.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct ModelView {
    entries: Vec<ModelEntry>,
}

impl ModelView {
    /// Adds one entry.
    pub fn push(&mut self, entry: ModelEntry) {
        self.entries.push(entry);
    }

    /// All entries, oldest first.
    pub fn entries(&self) -> &[ModelEntry] {
        &self.entries
    }

    /// The entries that came by one carrier.
    pub fn by(&self, carrier: Carrier) -> impl Iterator<Item = &ModelEntry> {
        self.entries.iter().filter(move |entry| entry.carrier == carrier)
    }
}

/// The kinds of events of a driven host.
#[derive(Debug, Clone, PartialEq)]
pub enum HostEventKind {
    /// A line went over a pipe, or something happened to the process.
    Wire(WireEvent),
    /// The model was shown a text.
    Model(ModelEntry),
    /// A call has an outcome.
    CallDone {
        /// The call's label.
        label: String,
        /// The outcome.
        outcome: Outcome,
        /// The server's `result` or `error` member, if there is one.
        raw: Option<Value>,
    },
    /// The server is open, and its tools are known or can't be had.
    Ready,
    /// The host gave the server up; the session goes on without it.
    Failed(String),
    /// A turn of the model has begun or ended.
    Turn {
        /// Whether a turn is running.
        running: bool,
        /// Whether it began, or goes on, without the user.
        by_itself: bool,
    },
    /// The tools of the calls with an open dialog, the oldest first.
    Dialogs(Vec<String>),
    /// What the server has asked the user for, in forms that are open, the oldest first.
    Forms(Vec<String>),
    /// A text arrived by the host's wake-up, or by a hook beside the session; the model may be shown it
    /// later.
    WokenWith(String),
    /// The program under test, in a background shell or as a hook, has printed this; the model may be shown
    /// it later.
    Printed(String),
    /// The server has broken the protocol, or done what hosts read differently.
    Fault {
        /// The fact about it, `section.field`.
        fact: &'static str,
        /// Whether the fact is known of this version of the host.
        known: bool,
        /// Whether nothing is lost by it on this host.
        harmless: bool,
    },
    /// A note for the log: something was dropped, ignored or decided.
    Note(String),
}

/// An instruction of a machine for its driver.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Write this line to the server's stdin; the driver adds the newline.
    Send(Vec<u8>),
    /// Signal the server process.
    Signal(Signal),
    /// Close the server's stdin.
    CloseStdin,
    /// Start a new server process, then call `start`.
    Respawn,
    /// Run the program under test in the background, then call `on_shell_end`.
    Shell {
        /// The number of the shell.
        id: u64,
        /// The program's arguments.
        arguments: Vec<String>,
    },
    /// Run the program under test as a hook, then call `on_hook_answer`.
    Hook {
        /// The number of the run.
        id: u64,
        /// The host's name of the event.
        event: String,
        /// The JSON object for its stdin.
        input: String,
    },
    /// Run the program under test as a hook beside the session, then call `on_waking_end`.
    Waking {
        /// The number of the run.
        id: u64,
        /// The host's name of the event.
        event: String,
        /// The JSON object for its stdin.
        input: String,
        /// Variables that the host gives it.
        environment: BTreeMap<String, String>,
    },
    /// End a running hook of [`Effect::Waking`].
    EndWaking(u64),
    /// Tell the watcher something.
    Tell(HostEventKind),
}

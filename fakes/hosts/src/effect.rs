//! What goes into a fake host from its agent and person, and what comes out of it.
//! These are plain data; nothing here decides anything.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One tool call of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool, by the server's name or by the model's.
    pub tool: String,
    /// The arguments, an object.
    pub arguments: Value,
    /// How the caller recognises the outcome.
    pub label: String,
    /// The id that the model gives the call; made up where none is given.
    pub tool_use_id: Option<String>,
}

impl ToolCall {
    /// A call with a label.
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
    /// What it is about to do.
    pub description: String,
    /// The beginning of its arguments.
    pub input_preview: String,
}

/// What the model or the person does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// The model calls one tool.
    Call(ToolCall),
    /// The model calls several tools in one step; the host's parallel rule applies.
    Calls(Vec<ToolCall>),
    /// The person types a prompt. While a turn runs it waits as the host lets it wait.
    BeginTurn {
        /// The prompt.
        prompt: String,
    },
    /// The model is done with its turn.
    EndTurn,
    /// The person interrupts (Esc, Ctrl+C).
    Interrupt,
    /// The person begins another conversation in this session, or goes back to the one before.
    ChangeSession {
        /// Whether they go back.
        back: bool,
    },
    /// The person lets the model only plan.
    OnlyPlan,
    /// The model or the person reads a resource, where the host can.
    ReadResource {
        /// The resource.
        uri: String,
        /// How the caller recognises the outcome.
        label: String,
    },
    /// The person uses a prompt of the server, where the host can.
    GetPrompt {
        /// The prompt's name.
        name: String,
        /// String arguments.
        arguments: Value,
        /// How the caller recognises the outcome.
        label: String,
    },
    /// The answer to the oldest open sampling request, given after the person agreed.
    AnswerSampling {
        /// The model that answered.
        model: String,
        /// Its text.
        text: String,
    },
    /// The answer of the person to the oldest open elicitation.
    AnswerElicitation {
        /// `accept`, `decline` or `cancel`.
        action: String,
        /// The form's content, on `accept`.
        content: Option<Value>,
    },
    /// The person answers the oldest dialog that asks whether a tool may run.
    AnswerDialog {
        /// Whether it may.
        allow: bool,
    },
    /// The host asks its person for a permission, and tells the server where it relays that.
    AskPermission(PermissionAsk),
    /// The model uses a tool of the host's own; its end is a boundary of the turn.
    Work,
    /// The model leaves a command of ours running in its background shell, where the host has one.
    StartShell {
        /// The program's arguments.
        arguments: Vec<String>,
        /// What the model says that it is for.
        description: String,
        /// How the caller recognises the outcome.
        label: String,
    },
    /// The model reads the output of the shell that ended last.
    ReadShell {
        /// How the caller recognises the outcome.
        label: String,
    },
    /// The person has the server started anew.
    Reconnect,
    /// The host ends in the normal way.
    Exit,
    /// The host is killed; it can do nothing more.
    Kill,
}

/// How a background shell, or a hook beside the session, ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShellEnd {
    /// All that it wrote: a shell to its stdout, a hook to its stderr.
    pub output: String,
    /// Its exit code.
    pub code: i32,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With a result that is no error.
    Result,
    /// With an error: of the tool, of the protocol, of the connection, or of the host itself.
    Error,
    /// The host's limit was over.
    TimedOut,
    /// The person or the end of the host cancelled it.
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
    /// SIGSTOP: it stands still, wherever it is.
    Stop,
    /// SIGCONT: it goes on.
    Continue,
}

impl Signal {
    /// The name as recordings write it.
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

/// By what a text came to the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Carrier {
    /// The result of a tool call.
    ToolResult,
    /// A channel notification.
    Channel,
    /// The later result of a call that went to the background.
    TaskNotification,
    /// The tools the model is told of.
    Tools,
    /// The server's instructions.
    Instructions,
    /// A prompt of the person.
    Prompt,
    /// A resource that was read.
    Resource,
    /// A prompt of the server that was used.
    ServerPrompt,
    /// The end of a background shell, or its output.
    BackgroundShell,
    /// What a hook added.
    Hook,
    /// What a hook beside the session told at its end.
    WakingHook,
    /// What came by the host's wake-up.
    WakeUp,
    /// The end of a call that became a task.
    Task,
}

/// One text that the host's model was shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelEntry {
    /// When, on the host's clock, in milliseconds.
    pub at_ms: u64,
    /// By what.
    pub carrier: Carrier,
    /// The tool, by the server's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The label of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Exactly what the model is shown.
    pub text: String,
    /// Whether the host marks it as an error.
    pub is_error: bool,
    /// Whether it started a turn by itself, with nobody at the keyboard.
    pub woke: bool,
}

/// Everything that a fake host's model was shown, in order.
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

/// What a machine asks its driver to do, or tells its watcher, in order.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Write this line to the server's stdin; the newline is the driver's.
    Send(Vec<u8>),
    /// The model is shown a text.
    Model(ModelEntry),
    /// A call has an outcome.
    CallDone {
        /// The call's label.
        label: String,
        /// How it ended.
        outcome: Outcome,
        /// The server's `result` or `error` member, where one came.
        raw: Option<Value>,
    },
    /// The server is open and its tools are known (or will not come).
    Ready,
    /// The server is given up; the session goes on without it.
    Failed(String),
    /// Signal the server process.
    Signal(Signal),
    /// Close the server's stdin.
    CloseStdin,
    /// Start a new server process, then call `start`.
    Respawn,
    /// Run our program in the background, then call `on_shell_end`.
    Shell {
        /// The shell.
        id: u64,
        /// The program's arguments.
        arguments: Vec<String>,
    },
    /// Run our program as a hook, then call `on_hook_answer`.
    Hook {
        /// The run.
        id: u64,
        /// The event as the host names it.
        event: String,
        /// What goes to its stdin: one JSON object.
        input: String,
    },
    /// Run our program as a hook beside the session, then call `on_waking_end`.
    Waking {
        /// The run.
        id: u64,
        /// The event as the host names it.
        event: String,
        /// What goes to its stdin: one JSON object.
        input: String,
        /// Variables that the host gives it.
        environment: BTreeMap<String, String>,
    },
    /// End a hook of [`Effect::Waking`] that runs.
    EndWaking(u64),
    /// A turn of the model begins or is over.
    Turn {
        /// Whether one runs now.
        running: bool,
        /// Whether it began, or goes on, with nobody at the keyboard.
        by_itself: bool,
    },
    /// The tools about whose calls dialogs are open now, the oldest first.
    Dialogs(Vec<String>),
    /// For the log: something that was dropped, ignored or decided.
    Note(String),
}

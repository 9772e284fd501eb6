//! Everything that wakes a host's model besides its server's answers: background shells, hooks, waking hooks,
//! wake-ups, tasks. Nothing here acts; a fact that no machine reads must not be declared.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fact::{Evidence, Fact, PerMode, facts};

/// The text that the model is shown when its background shell ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShellShown {
    /// The path of a file with the output, which the model must read.
    Path,
    /// The id of the shell, with which the model must request the output.
    Id,
    /// The output itself.
    Output,
}

/// When a text that arrives during a turn reaches the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhileBusy {
    /// With the next tool result of the running turn.
    Boundary,
    /// In a turn of its own after the running one.
    TurnEnd,
    /// Never.
    Lost,
}

/// The form of a hook's answer that the host obeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookAnswer {
    /// `{"decision":"block","reason":R}`: the turn goes on with R.
    Block,
    /// `{"decision":"deny","reason":R}`: the turn goes on with R.
    Deny,
    /// `{"additionalContext":T}`: T is added.
    Context,
    /// `{"hookSpecificOutput":{"additionalContext":T}}`: T is added.
    SpecificContext,
}

/// A hook that the host runs at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// The event as the host names it.
    pub event: String,
    /// The answers that it obeys.
    pub answer: HookAnswer,
    /// The text for the model; `{text}` is that of the answer, `{tool}` the name of the tool after which the
    /// hook ran.
    pub text: String,
}

/// The members of the JSON object on a hook's stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookInput {
    /// `session_id`, `cwd`, `hook_event_name`, and the members of the event.
    SnakeCase,
    /// `sessionId`, `timestamp` in milliseconds, `cwd`, and the members of the event, whose name is not among
    /// them.
    CamelCase,
}

/// A host's own way to start a turn in a running session from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WakeUpKind {
    /// There is none.
    None,
    /// A command of the host that takes the id of a thread and a message.
    QueueCommand,
    /// HTTP on loopback: a client lists the sessions and posts a prompt.
    HttpPort,
    /// A file to which prompts are appended, each as a JSON line.
    InputFile,
    /// A socket for the programs that the host starts: a line with a token, then one with a prompt.
    InboxSocket,
    /// A socket of the session that takes messages and reports the fate of each on another socket. The host
    /// has the input file besides.
    PeerProtocol,
    /// A module that the host loads and that sends a prompt.
    Extension,
}

facts! {
    /// The background shell of the model.
    Shell, ShellPatch {
        /// Whether the model can leave a command running and go on.
        available: bool,
        /// Whether its end starts a turn in an idle session.
        wakes: PerMode<bool>,
        /// When its end reaches the model while a turn is running.
        busy: WhileBusy,
        /// What the model is shown at its end.
        shown: ShellShown,
        /// The text of that. `{id}`, `{description}`, `{status}`, `{code}`, `{path}`, `{command}`, `{label}`
        /// (the command, cut to eighty characters), `{cwd}`, `{pid}`, `{output}` and `{tail}` (the output
        /// without white space at its end) are filled in.
        text: String,
        /// Whether the values are escaped as in XML, quotes and apostrophes too.
        escaped: bool,
        /// The setting that the user needs for that; nothing if it works by default.
        setting: Option<String>,
    }
}

facts! {
    /// The user's commands that the host runs at certain moments. Each gets a JSON object and may answer with
    /// one.
    Hooks, HooksPatch {
        /// Whether they run.
        run: PerMode<bool>,
        /// The session begins.
        session_start: Option<Hook>,
        /// Whether that hook runs again with every prompt, and with every turn that a hook makes go on.
        session_start_repeats: bool,
        /// The user has typed a prompt, which the model has not seen.
        prompt: Option<Hook>,
        /// A tool has finished.
        after_tool: Option<Hook>,
        /// The model ends its turn.
        turn_end: Option<Hook>,
        /// A background shell has ended.
        shell_end: Option<Hook>,
        /// The members of the input.
        input: HookInput,
        /// Member of the turn end's input that tells that a hook began this turn.
        again_key: Option<String>,
        /// Most times in a row that hooks can block the end of a turn; none if no limit is known.
        blocks_max: Option<u64>,
        /// Time limit of a hook, in milliseconds; after it the host goes on without an answer.
        timeout_ms: u64,
        /// The setting that the user needs for that.
        setting: Option<String>,
    }
}

facts! {
    /// A hook at the end of a turn that runs beside the session. If it ends with exit code 2, the model is
    /// shown its stderr.
    Waking, WakingPatch {
        /// Whether it runs beside the session; otherwise the end of the turn waits for it.
        beside: bool,
        /// Whether its end starts a turn in an idle session.
        wakes: PerMode<bool>,
        /// When its end reaches the model while a turn is running.
        busy: WhileBusy,
        /// The text for an idle model, or for one whose turn waits for the hook to end. `{text}` is filled
        /// in.
        text: String,
        /// The text for the model while a turn is running.
        busy_text: String,
        /// The prompt in the input of the hook of prompts, if that runs for it. `{text}` is filled in.
        prompt: Option<String>,
        /// Time limit of a hook whose entry has none, in milliseconds; after it the hook is ended.
        timeout_ms: u64,
        /// Whether running ones are ended with the host.
        ended_with_host: bool,
        /// Whether a host that has nothing more to do waits for running ones.
        holds_exit: PerMode<bool>,
        /// Variables that it gets from the host.
        environment: PerMode<BTreeMap<String, String>>,
    }
}

facts! {
    /// The host's own way to start a turn in a running session from outside.
    WakeUp, WakeUpPatch {
        /// The kind of wake-up.
        kind: WakeUpKind,
        /// Whether a text starts a turn in an idle session.
        wakes: PerMode<bool>,
        /// When a text reaches the model while a turn is running.
        busy: WhileBusy,
        /// The text for the model. `{text}` is filled in.
        text: String,
        /// The prompt in the input of the hook of prompts, if that runs for it. `{text}` is filled in.
        prompt: Option<String>,
        /// The setting that the user needs for it; nothing if it is open by default.
        setting: Option<String>,
        /// Messages that it takes at once; nothing if no limit is known.
        burst: Option<u64>,
        /// After that it takes one message in this many milliseconds.
        refill_ms: u64,
        /// A message that equals the one before it within this time is dropped, in milliseconds; 0 if none
        /// is.
        same_ms: u64,
        /// Messages that wait are dropped after this time, in milliseconds; nothing if they are kept.
        held_ms: Option<u64>,
        /// Longest line that it takes, in characters; nothing if no limit is known.
        chars_max: Option<u64>,
        /// Time from a message to its receipt, in milliseconds.
        receipt_ms: u64,
        /// Whether a text with a wrong token is kept from the model, if a token is required.
        checks_token: bool,
    }
}

facts! {
    /// Calls that a server of the newer era answers with a task.
    Tasks, TasksPatch {
        /// Whether the host requests the state of a task until it ends.
        followed: PerMode<bool>,
        /// `clientCapabilities` with the experimental setting on; nothing if the setting does not change
        /// them.
        capabilities: PerMode<Option<Value>>,
        /// Whether following needs the experimental setting.
        experimental: bool,
        /// Time between two requests if the server states none, in milliseconds.
        poll_interval_ms: u64,
        /// Whether its end starts a turn in an idle session.
        wakes: PerMode<bool>,
        /// When its end reaches the model while a turn is running.
        busy: WhileBusy,
        /// The result of the call that became a task. `{server}`, `{tool}` and `{task}` are filled in.
        started: String,
        /// The text for the model at its end. `{server}`, `{tool}`, `{task}`, `{status}` and `{result}` are
        /// filled in.
        done: String,
        /// The setting that the user needs.
        setting: Option<String>,
    }
}

//! What wakes or feeds a host's model besides its server's answers: background shells, hooks, waking hooks, wake-ups, tasks.
//! Nothing here acts; a fact that no machine reads must not be declared.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fact::{Evidence, Fact, PerMode, facts};

/// What the model is shown when its background shell ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShellShown {
    /// The path of a file with the output, which it must read.
    Path,
    /// The shell's id, which it must ask for the output.
    Id,
    /// The output itself.
    Output,
}

/// When a text that comes while a turn runs reaches the model.
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
    /// What it obeys.
    pub answer: HookAnswer,
    /// What the model is shown; `{text}` is the answer's, `{tool}` the tool's name after a tool.
    pub text: String,
}

/// The members of the JSON object on a hook's stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HookInput {
    /// `session_id`, `cwd`, `hook_event_name`, and those of the event.
    SnakeCase,
    /// `sessionId`, `timestamp` in milliseconds, `cwd`, and those of the event, whose name is not among them.
    CamelCase,
}

/// A way from outside into a running session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WakeUpKind {
    /// There is none.
    None,
    /// A command of the host that takes a thread's id and a message.
    QueueCommand,
    /// HTTP on loopback: sessions are listed, a prompt is posted.
    HttpPort,
    /// A file to which a JSON line a prompt is appended.
    InputFile,
    /// A socket that the host gives to the programs that it starts: a line with a token, then one with a prompt.
    InboxSocket,
    /// A socket of the session that takes messages and says by another one what became of each. The host has the input
    /// file besides.
    PeerProtocol,
    /// Code of ours that the host loads and that sends a prompt.
    Extension,
}

facts! {
    /// The background shell of the model.
    Shell, ShellPatch {
        /// Whether the model can leave a command running and go on.
        available: bool,
        /// Whether its end starts a turn in an idle session.
        wakes: PerMode<bool>,
        /// Its end while a turn runs.
        busy: WhileBusy,
        /// What the model is shown at its end.
        shown: ShellShown,
        /// That text. `{id}`, `{description}`, `{status}`, `{code}`, `{path}`, `{command}`, `{label}` (the command, cut to eighty
        /// characters), `{cwd}`, `{pid}`, `{output}` and `{tail}` (the output without the white space at its end) are filled in.
        text: String,
        /// Whether what is filled in is escaped as in XML, quotes and apostrophes too.
        escaped: bool,
        /// What the person must set for that; nothing when the host does it by itself.
        setting: Option<String>,
    }
}

facts! {
    /// Commands of the person that the host runs at its own moments. Each gets a JSON object and may answer with one.
    Hooks, HooksPatch {
        /// Whether they run.
        run: PerMode<bool>,
        /// The session begins.
        session_start: Option<Hook>,
        /// Whether that hook runs again with every prompt, and with every turn that a hook makes go on.
        session_start_repeats: bool,
        /// The person has typed a prompt; the model has not seen it.
        prompt: Option<Hook>,
        /// A tool is done.
        after_tool: Option<Hook>,
        /// The model is done with its turn.
        turn_end: Option<Hook>,
        /// A background shell has ended.
        shell_end: Option<Hook>,
        /// The members of the input.
        input: HookInput,
        /// Member of the turn end's input that tells that a hook began this turn.
        again_key: Option<String>,
        /// Most times in a row that the end of a turn can be blocked; none where no limit is known.
        blocks_max: Option<u64>,
        /// How long one may take, in milliseconds; then the host goes on as if it had said nothing.
        timeout_ms: u64,
        /// What the person must set.
        setting: Option<String>,
    }
}

facts! {
    /// A hook at the end of a turn that runs on beside the session, and whose end with the exit code 2 tells the model what it
    /// wrote to stderr.
    Waking, WakingPatch {
        /// Whether it runs beside the session; else the turn's end waits for it.
        beside: bool,
        /// Whether its end starts a turn in an idle session.
        wakes: PerMode<bool>,
        /// Its end while a turn runs.
        busy: WhileBusy,
        /// What an idle model is shown, or one whose turn's end waits. `{text}` is filled in.
        text: String,
        /// What the model is shown while a turn runs.
        busy_text: String,
        /// What the hook of prompts is told of it, where it runs for it. `{text}` is filled in.
        prompt: Option<String>,
        /// How long one may take where its entry says nothing, in milliseconds; then it is ended.
        timeout_ms: u64,
        /// Whether those that run are ended with the host.
        ended_with_host: bool,
        /// Whether a host that has nothing more to do waits for those that run.
        holds_exit: PerMode<bool>,
        /// Variables that it gets of the host's own.
        environment: PerMode<BTreeMap<String, String>>,
    }
}

facts! {
    /// The way from outside into a running session.
    WakeUp, WakeUpPatch {
        /// Which one.
        kind: WakeUpKind,
        /// Whether a text starts a turn in an idle session.
        wakes: PerMode<bool>,
        /// A text while a turn runs.
        busy: WhileBusy,
        /// What the model is shown. `{text}` is filled in.
        text: String,
        /// What the hook of prompts is told of it, where it runs for it. `{text}` is filled in.
        prompt: Option<String>,
        /// What the person must set; nothing when it is open by itself.
        setting: Option<String>,
        /// Messages that it takes at once; nothing where no limit is known.
        burst: Option<u64>,
        /// Then it takes one in so many milliseconds.
        refill_ms: u64,
        /// A message that is the same as the one before within this time is dropped, in milliseconds; 0 where none is.
        same_ms: u64,
        /// What is held is dropped after so long, in milliseconds; nothing where it is kept.
        held_ms: Option<u64>,
        /// Longest line that it takes, in characters; nothing where no limit is known.
        chars_max: Option<u64>,
        /// From a message to the receipt for it, in milliseconds.
        receipt_ms: u64,
        /// Whether a text behind a wrong token is kept from the model, where a token is asked for.
        checks_token: bool,
    }
}

facts! {
    /// Calls that a server of the newer era answers with a task.
    Tasks, TasksPatch {
        /// Whether a task's state is asked until it is over.
        followed: PerMode<bool>,
        /// `clientCapabilities` while the experimental setting is on; nothing when the setting changes none.
        capabilities: PerMode<Option<Value>>,
        /// Whether following needs the experimental setting.
        experimental: bool,
        /// Time between two questions where the server states none, in milliseconds.
        poll_interval_ms: u64,
        /// Whether its end starts a turn in an idle session.
        wakes: PerMode<bool>,
        /// Its end while a turn runs.
        busy: WhileBusy,
        /// The call's result when it became a task. `{server}`, `{tool}` and `{task}` are filled in.
        started: String,
        /// What the model is shown at its end. `{server}`, `{tool}`, `{task}`, `{status}` and `{result}` are filled in.
        done: String,
        /// What the person must set.
        setting: Option<String>,
    }
}

//! The closed set of steps.

use fakes::graph::{FaultSpec, MessageSpec};
use serde::Deserialize;
use serde_json::Value;

use super::{BotStep, Expect, Span};

/// One step; each ends before the next begins.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "steps live in one list that is built once")]
pub enum Step {
    /// A person writes to a chat.
    Write(Write),
    /// A person changes a message.
    Edit(Edit),
    /// A person takes a message back.
    Delete(MessageRef),
    /// Time passes.
    Advance(Span),
    /// The model calls a tool and the step goes on at once; see `expect: {result: …}`.
    Call(Call),
    /// The model calls several tools in one turn.
    Calls(Vec<Call>),
    /// What the agent does of its own accord from now on.
    Agent(AgentPolicy),
    /// The person at the terminal starts or ends a turn of work without tool calls: the session is busy between.
    Turn(TurnStep),
    /// What happens to the host program.
    Host(HostStep),
    /// What happens to the server process.
    Server(ServerStep),
    /// Graph misbehaves from now on.
    Fault(FaultSpec),
    /// All Graph faults end.
    Heal,
    /// Something happens at the bot's channel.
    Bot(BotStep),
    /// The disk misbehaves from now on.
    Disk(DiskStep),
    /// The host writes this line to the server, past its own manners.
    Raw(Raw),
    /// The host pings at a steady beat; each answer must come within a time.
    Heartbeat(Heartbeat),
    /// What must hold now, or within a time.
    Expect(Expect),
}

/// A message from a person.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Write {
    /// Chat handle; `dm` when left out.
    pub chat: Option<String>,
    /// Person handle; the first person of the chat when left out.
    pub from: Option<String>,
    /// Plain text. `{n}` is the number of the message when `count` is more than 1.
    pub text: Option<String>,
    /// Teams HTML.
    pub html: Option<String>,
    /// The input of a sanitiser vector by id; one message per vector with `all`, or with the start of ids and a `*`.
    pub vector: Option<String>,
    /// Name to refer to it by; with `count`, the first is `NAME-1`.
    #[serde(rename = "as")]
    pub label: Option<String>,
    /// How many messages. Default 1.
    pub count: Option<u32>,
    /// Time between them. Default none: the same instant.
    pub every: Option<Span>,
    /// Everything else about it: quotes (by label), attachments, mentions, events, malformed members.
    pub message: Option<MessageSpec>,
}

/// A change of a message.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// The message's label.
    pub message: String,
    /// New plain text.
    pub text: String,
}

/// Names a message.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageRef {
    /// The message's label.
    pub message: String,
}

/// A tool call by the model.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Its arguments. `$chat:HANDLE`, `$conversation:HANDLE`, `$person:HANDLE` and `$id:LABEL` strings are replaced by ids.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    pub args: Option<Value>,
    /// Name for `expect: {result: …}`.
    #[serde(default, rename = "as")]
    pub label: Option<String>,
    /// The session; the main one when left out.
    #[serde(default)]
    pub on: Option<String>,
}

/// What an agent does of its own accord.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentPolicy {
    /// Nothing but the steps; still woken by what wakes a model, and then says nothing.
    #[default]
    Scripted,
    /// Calls `wait_for_inbound_message` again and again.
    Listens,
    /// Calls `inbox_pull` once at the start of each turn until nothing is left; a turn comes every 30 s.
    Pulls,
    /// Works and never asks.
    Forgets,
    /// Listens, and answers each message in its chat.
    Replies,
}

/// A turn of plain work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TurnStep {
    /// The person types; the model works.
    Begin,
    /// The model is done; the session is idle.
    End,
}

/// What happens to a host.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostStep {
    /// Starts the named session and waits until its host has the tools.
    Start(String),
    /// Starts the named session and goes on at once.
    Launch(String),
    /// The person leaves the named session properly.
    Exit(String),
    /// The host of the named session dies; its server sees the end of its input.
    Kill(String),
    /// The person presses Esc in the named session while a call runs.
    Interrupt(String),
    /// The named session's next tool result is held up on its way until the host has given up on the call.
    LoseReply(String),
}

/// What happens to a server process.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerStep {
    /// `kill -9`; what was written stays. The host starts it again by its manners, or a new session does.
    Crash(String),
    /// Power is cut: what was not synced may be gone.
    PowerCut(String),
}

/// What happens to the disk (sim only).
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiskStep {
    /// No space is left after this many more bytes.
    Full {
        /// Bytes that still fit.
        after_bytes: u64,
    },
    /// Syncs fail until it heals.
    FailSync,
    /// The disk works again.
    Heal,
}

/// A line on the pipe that the profile would not send.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// The line as JSON.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    pub json: Option<Value>,
    /// The line as text, for lines that are no JSON.
    #[serde(default)]
    pub text: Option<String>,
    /// Repeats the text to this many bytes.
    #[serde(default)]
    pub fill_to_bytes: Option<usize>,
    /// The session; the main one when left out.
    #[serde(default)]
    pub on: Option<String>,
}

/// Pings at a steady beat.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Heartbeat {
    /// Time between two pings.
    pub every: Span,
    /// For how long.
    pub lasting: Span,
    /// Each answer comes within this.
    pub answered_within: Span,
}

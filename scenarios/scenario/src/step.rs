//! The closed set of steps.

use fake_microsoft::entra::{Credential, EntraFault};
use fake_microsoft::graph::{DeltaLoss, FaultSpec, MailSpec, MessageSpec};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BotStep, DelegateStep, Expect, Kills, Random, SetupStep, Span};

/// One step; each ends before the next begins.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A person writes to a chat.
    Write(Write),
    /// A person mails the agent.
    Mail(MailWrite),
    /// Something happens in the agent's mailbox.
    Mailbox(MailboxStep),
    /// A person changes a message.
    Edit(Edit),
    /// A person takes a message back.
    Delete(MessageRef),
    /// People join a group chat or leave it.
    Members(Members),
    /// Time passes.
    Advance(Span),
    /// The model calls a tool and the step goes on at once; see `expect: {result: …}`.
    Call(Call),
    /// The model calls several tools in one turn.
    Calls(Vec<Call>),
    /// Sets what the agent does without further steps, from now on.
    Agent(AgentPolicy),
    /// The person at the terminal starts or ends a turn of work without tool calls: the session is busy between.
    Turn(TurnStep),
    /// The model leaves `entraclaw wait` running in its background shell.
    Shell(ShellStep),
    /// The host asks its person for a permission, and its server where it relays that.
    Permission(PermissionStep),
    /// A dialog of the host asks whether a tool may run; the person may answer it.
    Dialog(DialogStep),
    /// A form by which the server asks the person for something stands open; they may answer it.
    Form(FormStep),
    /// The operator changes who may speak, in the terminal.
    Operator(OperatorStep),
    /// The person runs `entraclaw setup` for the cell's host.
    Setup(SetupStep),
    /// Starts, stops or disturbs the host program.
    Host(HostStep),
    /// Kills, stops or disturbs the server process.
    Server(ServerStep),
    /// Graph has this fault from now on.
    Fault(FaultSpec),
    /// All Graph faults end.
    Heal,
    /// Something happens at the bot's channel.
    Bot(BotStep),
    /// A change in Entra, where the agent signs in.
    Entra(EntraStep),
    /// The person at the terminal of the main session decides what its inbox does with messages (sim only).
    Peer(PeerStep),
    /// Changes work that outlives its call (sim only). The tool `run_scripted_work` begins it, with `label`,
    /// `takes_ms`, `says`, `fails` and `count`; `$id:LABEL` is its id.
    Work(WorkStep),
    /// Something happens at the engine of the local model.
    Delegate(DelegateStep),
    /// The disk has this fault from now on.
    Disk(DiskStep),
    /// A person or another program writes a file of the person's machine (sim only).
    File(FileStep),
    /// The host writes this line to the server, although its profile would not.
    Raw(Raw),
    /// The host pings at a steady beat; each answer must come within a time.
    Heartbeat(Heartbeat),
    /// A stretch of traffic and troubles drawn from the seed.
    Random(Random),
    /// Kills under traffic, at moments drawn from the seed.
    Kills(Kills),
    /// Demands that something holds now, or within a time.
    Expect(Expect),
}

/// The tool of the simulation that begins work which may outlive its call.
pub const WORK_TOOL: &str = "run_scripted_work";

/// A change of a job.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkStep {
    /// The labelled job is told to stop.
    Cancel(String),
    /// The process of the labelled job is killed.
    Kill(String),
}

/// A change of a session's inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeerStep {
    /// The person's setting for messages that come from now on.
    Inbound(Inbound),
    /// True: the inbox's receipts are lost from now on.
    LoseReceipts(bool),
    /// Lets the model see everything that is held.
    Release,
    /// Throws away everything that is held.
    Deny,
    /// A dialog or a menu of the host is open from now on, or closes.
    Dialog(bool),
    /// Another program deletes the socket's file.
    Gone,
    /// Another program puts this in the place of the socket's file.
    Replaced(Replacement),
    /// The socket's file is again where it was.
    Back,
    /// From now on the session's token is another than the server has.
    OtherToken,
}

/// The file in the place of the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Replacement {
    /// A symlink to it.
    Symlink,
    /// A plain file.
    File,
    /// A socket of another user.
    OtherUser,
}

/// A setting of the host: what becomes of messages that come in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Inbound {
    /// They are shown to the model.
    #[default]
    Accept,
    /// They wait for the person.
    Hold,
    /// Neither the model nor the person sees them.
    Refuse,
}

/// A message from a person.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Write {
    /// Chat handle, with `{n}` as in the text; `dm` when left out.
    pub chat: Option<String>,
    /// Person handle, with `{n}` as in the text; the first person of the chat when left out.
    pub from: Option<String>,
    /// Plain text. `{n}` is the number of the message when `count` is more than 1. With ` $fill:8000` at its end it goes
    /// on in numbered words up to so many characters.
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
    /// The model must never be shown it, although its author may speak: it does not mention the agent, or answers the
    /// server itself.
    pub unheard: bool,
    /// Everything else about it: quotes (by label), attachments, mentions, events, malformed members.
    pub message: Option<MessageSpec>,
}

/// A mail from a person.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MailWrite {
    /// Person handle, with `{n}` as in the subject; the first person of the world when left out.
    pub from: Option<String>,
    /// The subject. `{n}` is the number of the mail when `count` is more than 1.
    pub subject: Option<String>,
    /// Plain text, with `{n}` as in the subject and ` $fill:8000` as in a message.
    pub text: Option<String>,
    /// HTML, with `{n}` as in the subject.
    pub html: Option<String>,
    /// The input of a sanitiser vector by id; one mail per vector with `all`, or with the start of ids and a `*`.
    pub vector: Option<String>,
    /// Name to refer to it by; with `count`, the first is `NAME-1`.
    #[serde(rename = "as")]
    pub label: Option<String>,
    /// How many mails. Default 1.
    pub count: Option<u32>,
    /// Time between them. Default none: the same instant.
    pub every: Option<Span>,
    /// It must not reach the model, whatever sender it names.
    pub unheard: bool,
    /// Everything else about it: what the mail system found out, headers, quotes, attachments, malformed members.
    pub message: Option<MailSpec>,
}

/// A change in the mailbox.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MailboxStep {
    /// The labelled mail is marked as read.
    Read(String),
    /// The labelled mail is marked as unread.
    Unread(String),
    /// The labelled mail is moved to another folder.
    Move(String),
    /// The labelled mail is deleted.
    Remove(String),
    /// The service forgets every delta link that it has given out.
    Forget(DeltaLoss),
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

/// A change of a chat's members. The chat shows it as system messages, as Teams does.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Members {
    /// The chat's handle.
    pub chat: String,
    /// People who come in.
    pub add: Vec<String>,
    /// People who leave.
    pub remove: Vec<String>,
}

/// Names a message.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageRef {
    /// The message's label.
    pub message: String,
    /// The step is skipped while the model was not shown the message, because a loss could not be told from a deletion.
    #[serde(default)]
    pub if_read: bool,
}

/// A tool call by the model.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Its arguments. `$chat:HANDLE`, `$conversation:HANDLE`, `$person:HANDLE` and `$id:LABEL` strings are replaced by ids, `$task:LABEL` by that of the task that
    /// the call handed over.
    #[schemars(with = "Option<Value>")]
    pub args: Option<Value>,
    /// Name for `expect: {result: …}`.
    #[serde(rename = "as")]
    pub label: Option<String>,
    /// The session; the main one when left out.
    pub on: Option<String>,
}

/// How an agent behaves without further steps.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentPolicy {
    /// Does only the steps. A carrier can still wake it, and then it says nothing.
    #[default]
    Scripted,
    /// Calls `wait_for_inbound_message` again and again.
    Listens,
    /// Calls `inbox_pull` once at the start of each turn until nothing is left; a turn comes every 30 s.
    Pulls,
    /// Works and never asks.
    Forgets,
    /// Listens, and answers each message in its chat, or by mail where it came by mail.
    Replies,
    /// Keeps one `wait_for_inbound_message` open that waits until something arrives, and ends its turn where the host
    /// lets the call run on.
    Parks,
    /// Keeps `entraclaw wait` running in its background shell and ends its turn. When that wakes it, it reads what came
    /// and starts the command again.
    Arms,
    /// Works without a user: rests until a carrier wakes it, reads its inbox, answers each message once where it was
    /// written, works for a while, listens again by the command in its shell where that is set up, and ends its turn.
    Attends,
    /// Works for a minute, uses a tool of the host's own every ten seconds, rests for a minute, and never asks.
    Works,
}

/// A turn of plain work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TurnStep {
    /// The person types; the model works.
    Begin,
    /// The model uses a tool of the host's own.
    Work,
    /// The model is done; the session is idle.
    End,
}

/// A command in the background.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ShellStep {
    /// Name for `expect: {result: …}`.
    #[serde(rename = "as")]
    pub label: Option<String>,
    /// The session; the main one when left out.
    pub on: Option<String>,
}

/// A permission dialog of the host.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PermissionStep {
    /// The host's id of it: five letters a to z without l.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The description of the action.
    #[serde(default)]
    pub description: String,
    /// The beginning of its arguments.
    #[serde(default)]
    pub preview: String,
    /// The session; the main one when left out.
    pub on: Option<String>,
}

/// A dialog that stands open about a call of a tool.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DialogStep {
    /// The tool that the oldest dialog is about.
    pub tool: String,
    /// True: the person lets it run. Left out: no person is there to answer.
    pub allow: Option<bool>,
    /// The session; the main one when left out.
    pub on: Option<String>,
}

/// A form of the server that stands open.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FormStep {
    /// A part of what the oldest form asks for.
    pub says: String,
    /// What the person does: `accept`, `decline` or `cancel`. Left out: no person is there to answer.
    pub action: Option<String>,
    /// What they fill in.
    pub content: Option<serde_json::Map<String, Value>>,
    /// The session; the main one when left out.
    pub on: Option<String>,
}

/// An action of the operator in the terminal.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OperatorStep {
    /// Types the code that a person was told in their 1:1 chat.
    Pair(PairStep),
    /// Types a code that the server did not give.
    PairCode(PairCodeStep),
    /// Lets a person in.
    Allow(PersonRef),
    /// Shuts a person out.
    Deny(PersonRef),
    /// Gives a chat a rule.
    Chat(ChatStep),
    /// Writes a file of the home folder with an editor.
    Overwrite(OverwriteStep),
}

/// Pairing.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairStep {
    /// The person who reads the code to the operator.
    pub person: String,
    /// The chat in which they were told it; `dm` when left out. `$conversation:HANDLE` is one of the bot's.
    pub chat: Option<String>,
    /// It is refused, with these words.
    pub refused: Option<String>,
}

/// A wrong code.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairCodeStep {
    /// The code.
    pub code: String,
    /// The words with which it is refused.
    pub refused: String,
}

/// Names a person.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PersonRef {
    /// The person's handle.
    pub person: String,
    /// Their earlier messages that the model has not seen may be heard or not, because the server may have read them.
    #[serde(default)]
    pub unsettled: bool,
}

/// A chat's rule.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChatStep {
    /// The chat's handle, or `$conversation:HANDLE` for one of the bot's.
    pub chat: String,
    /// `all`, `mentioned`, `off` or `default`.
    pub messages: ChatMessages,
}

/// The rule for messages of a chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChatMessages {
    /// Every one.
    All,
    /// Those that mention the agent.
    Mentioned,
    /// None.
    Off,
    /// As the configuration says.
    Default,
}

/// A file and its new text.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OverwriteStep {
    /// The file, below the home folder.
    pub file: String,
    /// All of its text.
    pub text: String,
}

/// A change of a host.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostStep {
    /// Starts the named session and waits until its host has the tools.
    Start(String),
    /// Starts the named session and goes on at once.
    Launch(String),
    /// The person leaves the named session properly.
    Exit(String),
    /// The host of the named session is killed; its server sees the end of its input.
    Kill(String),
    /// The person presses Esc in the named session while a call runs.
    Interrupt(String),
    /// The person clears the conversation of the named session, which has another id from then on.
    Clear(String),
    /// The person goes back to the conversation before, with its id.
    Resume(String),
    /// From now on the named session only plans: the host asks about each tool that does more than read.
    Plan(String),
    /// The named session's next tool result is held up on its way until the host has given up on the call.
    LoseReply(String),
}

/// A change of a server process.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ServerStep {
    /// `kill -9`; written bytes stay. The host starts it again if its profile says so, or a new session does.
    Crash(String),
    /// `kill -STOP`, as by Ctrl-Z on its host: it stands still, and keeps its locks, pipes and port.
    Stop(String),
    /// `kill -CONT`: it goes on where it stood.
    Wake(String),
    /// Power is cut: bytes that were not synced may be lost.
    PowerCut(String),
    /// The machine's wall clock jumps by so many milliseconds, back when negative (sim only).
    ClockStep(i64),
}

/// A change in Entra, where the agent signs in.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntraStep {
    /// Entra misbehaves from now on.
    Fault(EntraFault),
    /// All Entra faults end.
    Heal,
    /// From now on the blueprint has this certificate.
    Register(Credential),
    /// An administrator consents to the agent's permissions.
    Consent,
    /// From now on Graph wants these claims in every access token, and answers others with a claims challenge.
    DemandClaims(Value),
    /// Every access token that was given so far ends.
    EndTokens,
    /// Every refresh token that was given so far is revoked.
    RevokeRefreshTokens,
}

/// A file that is written beside the server.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FileStep {
    /// Its absolute path. The person's folder is `/home/alice`, and the host works in `/home/alice/project`.
    pub path: String,
    /// All of its text from now on.
    pub text: Option<String>,
    /// Text behind what is there.
    pub append: Option<String>,
    /// JSON documents behind what is there, one a line.
    #[schemars(with = "Vec<Value>")]
    pub lines: Vec<Value>,
    /// So many times, with this between. Default once.
    pub times: Option<u32>,
    /// Time between two of them. Default none: the same instant.
    pub every: Option<Span>,
}

/// A change of the disk (sim only).
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
    /// Every file of the home folder whose path begins so is deleted.
    Delete(String),
    /// Some lines of a file can't be read any more; the file stays as long as it was.
    Damage(Damage),
    /// The disk works again.
    Heal,
}

/// Lines of a file that go bad.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Damage {
    /// The last file of the home folder whose path begins so.
    pub file: String,
    /// The first line, from 1.
    pub line: usize,
    /// How many lines.
    #[serde(default = "one_line")]
    pub lines: usize,
    /// True: all their bytes are zero, newlines too, which breaks the next line as well. Else one bit of each line is
    /// flipped.
    #[serde(default)]
    pub zeros: bool,
}

fn one_line() -> usize {
    1
}

/// A line on the pipe that the profile would not send.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// The line as JSON.
    #[schemars(with = "Option<Value>")]
    pub json: Option<Value>,
    /// The line as text, for lines that are no JSON.
    pub text: Option<String>,
    /// Repeats the text to this many bytes.
    pub fill_to_bytes: Option<usize>,
    /// The session; the main one when left out.
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

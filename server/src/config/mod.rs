//! What the user decided: one typed [`Config`] out of flags, environment and file, in that order of strength.
//! It must never read anything itself: text comes in, values or explained errors go out.

mod auth;
mod bot;
mod doors;
pub mod duration;
mod error;
mod file;
pub mod key;
mod load;
mod secret;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use url::Url;

pub use auth::{
    AgentUser, AgentUserName, Algorithm, Auth, Delegated, KeyStoreKind, LoginBy, SignIn, Thumbprint,
};
pub use error::{ConfigError, ConfigErrors, Origin};
pub use key::Key;
pub use secret::Secret;

use crate::gate::Guid;
use crate::graph;
use crate::journal::ConsumerName;
use crate::tool::ToolSet;

/// The most entries of the allowlist.
pub const ALLOW_ENTRIES_MAX: usize = 1_000;
/// The shortest poll interval against a Graph that is not on this machine.
pub const POLL_INTERVAL_REMOTE_MIN: Duration = Duration::from_secs(1);
/// The most mails an hour that can be allowed in one conversation.
pub const MAIL_MESSAGES_PER_HOUR_MAX: u32 = 100;
/// Graph's own limit for `$top` of chats and messages.
pub const PAGE_SIZE_MAX: u32 = 50;

/// Everything that can be decided from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// `[auth]`: how.
    pub auth: Auth,
    /// `[bot]`
    pub bot: Bot,
    /// `[doors]`
    pub doors: Doors,
    /// `[gate]`
    pub gate: Gate,
    /// `[auth]`: where.
    pub sign_in: SignIn,
    /// `[graph]`
    pub graph: Graph,
    /// `[identity]`
    pub identity: Identity,
    /// `[inbox]`
    pub inbox: Inbox,
    /// `[log]`
    pub log: Log,
    /// `[mail]`
    pub mail: Mail,
    /// `[mcp]`
    pub mcp: Mcp,
    /// `[retention]`
    pub retention: Retention,
    /// `[teams]`
    pub teams: Teams,
    /// `tools.sets`: which tools the model gets.
    pub tools: BTreeSet<ToolSet>,
    /// `wake.whole_text`: whose messages go whole through a wake-up.
    pub whole_text: WholeText,
    /// `[[allow]]`
    pub allow: Vec<Allow>,
}

impl Default for Config {
    fn default() -> Self {
        load::load(&Sources::default())
            .unwrap_or_else(|errors| unreachable!("the defaults are tested: {errors}"))
    }
}

/// What is offered to hosts beside the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mcp {
    /// Whether the draft of MCP Events is offered.
    pub events: bool,
}

/// Who may speak, beside the allowlist and the policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gate {
    /// Whether the sponsors of the agent identity may speak; Graph is asked who they are.
    pub sponsors: bool,
    /// Whether a stranger who writes in a 1:1 chat is told a code for `entraclaw pair`.
    pub pairing: bool,
    /// Whether the host's permission requests are sent to the operator's 1:1 chat.
    pub permission_relay: bool,
    /// Who answers them, as tenant and object id; without it the first allowed person with a known 1:1 chat.
    pub operator: Option<(Guid, Guid)>,
}

/// The bot endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bot {
    /// Whether it is wanted at all.
    pub enabled: bool,
    /// Where it listens; always on this machine.
    pub listen: SocketAddr,
    /// The application id of the bot's registration.
    pub app_id: Option<Guid>,
    /// The tenant of the registration; the agent's own where nothing else is said.
    pub tenant_id: Option<Guid>,
    /// The registration's secret, from the environment.
    pub secret: Option<Secret>,
    /// Where the channel says which keys it signs with: Microsoft's, or one on this machine.
    pub openid_url: Url,
    /// Root of the login service: Microsoft's, or one on this machine.
    pub login_url: Url,
}

/// Whose messages go whole through a host's own wake-up, which may ask its model to act on them. Of the others the
/// model is told that they wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WholeText {
    /// The operator's alone, known by ids.
    #[default]
    Operator,
    /// Everybody's who may speak.
    Allowed,
    /// None.
    Nobody,
}

/// A host's own wake-ups that may be used. Each is off unless it is named, but for the inboxes of Claude Code and Qwen
/// Code, which a host gives to the servers of its own session, and the hook that only `entraclaw setup` writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Doors {
    /// Whether the inbox socket that Claude Code gives to its servers is written to.
    pub inbox_socket: bool,
    /// Whether the hook that Claude Code runs beside an idle session may wake it.
    pub waking_hook: bool,
    /// Whether `codex queue` is run.
    pub codex_queue: bool,
    /// The program for it: a name in `PATH`, or an absolute path.
    pub codex_command: String,
    /// The port that opencode was started with.
    pub opencode_port: Option<u16>,
    /// What opencode's port asks for, from the environment.
    pub opencode_password: Option<Secret>,
    /// Whether messages are handed in at the inbox of a Qwen Code session that has one.
    pub qwen_peer: bool,
    /// The file that Qwen Code was started with, as an absolute path.
    pub qwen_input_file: Option<String>,
    /// Least time between two uses of a door; what comes in between goes together.
    pub min_interval: Duration,
    /// Messages that may go through a door in an hour; the others wait for a pull.
    pub messages_per_hour: u32,
}

/// Where Graph is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// Root without a version.
    pub origin: graph::Origin,
    /// How long one request may take.
    pub request_timeout: Duration,
}

/// Who the agent is, where that can't be read from its token.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// The agent's own tenant; senders without a tenant id belong to it.
    pub tenant_id: Option<Guid>,
    /// The agent's own object id; its messages are not news.
    pub object_id: Option<Guid>,
    /// The object id of the agent identity, which the agent's user belongs to; its sponsors are asked for by it.
    pub agent_id: Option<Guid>,
}

/// Who reads the inbox.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inbox {
    /// The consumer's name; without it the host's name decides.
    pub consumer: Option<ConsumerName>,
}

/// What is logged, and where beside stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// `off`, `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
    /// Whether `log/entraclaw.log` in the home folder is written.
    pub file: bool,
    /// A file that has grown to so many megabytes is put aside and a new one begun.
    pub file_mb: u32,
    /// Files kept, the current one among them.
    pub files: u32,
}

/// How long things are kept, and how much of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Messages. What an active consumer has not seen stays whatever the limits say.
    pub journal: Limits,
    /// The audit log.
    pub interactions: Limits,
    /// Files that people sent and the agent fetched.
    pub attachments: Limits,
    /// Days that log files put aside are kept; `None` is for ever.
    pub log_days: Option<u32>,
    /// A consumer that was not seen for so many days holds nothing back.
    pub consumer_idle_days: u32,
}

/// Limits of one kind of thing; `None` is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Days kept before today.
    pub days: Option<u32>,
    /// Megabytes kept, of 1,000,000 bytes.
    pub mb: Option<u32>,
}

impl Limits {
    /// The size limit in bytes.
    pub fn bytes(&self) -> Option<u64> {
        self.mb.map(|mb| u64::from(mb) * 1_000_000)
    }
}

/// The mail source and the tools for mail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// Whether the inbox is polled and mail can be read and sent.
    pub enabled: bool,
    /// Time between two looks at the inbox.
    pub poll_interval: Duration,
    /// How far back a first start looks; what is older is history.
    pub look_back: Duration,
    /// The name under which the organisation's own mail gateway writes `Authentication-Results`; Exchange Online
    /// gives none.
    pub authserv_id: Option<String>,
    /// Mails that may be sent in one conversation, or to one address, in an hour.
    pub messages_per_hour: u32,
}

/// The Teams source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Teams {
    /// Whether Teams is polled at all.
    pub enabled: bool,
    /// Time between two looks at the list of chats.
    pub poll_interval: Duration,
    /// How far behind its cursor a chat is read again, for messages that become visible late.
    pub overlap: Duration,
    /// Items per page, 1 to 50.
    pub page_size: u32,
    /// How far back a first start looks; what is older is history.
    pub look_back: Duration,
    /// Time between two looks into an active chat for what the list does not show.
    pub sweep_interval: Duration,
    /// How long a chat counts as active after its last message.
    pub hot_for: Duration,
    /// Which messages of chats with more than two people are news.
    pub group_messages: GroupMessages,
    /// Chats that the agent may watch and unwatch by itself, by id.
    pub watchable: Watchable,
    /// Time between two looks when nothing has happened for `hot_for`; the same as `poll_interval` unless it is set.
    pub idle_poll_interval: Duration,
}

/// Chats of which the agent may choose to hear every message of allowed people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watchable {
    /// Any that an allowed person is in.
    All,
    /// These.
    Only(BTreeSet<String>),
}

impl Watchable {
    /// Whether this chat is one of them.
    pub fn contains(&self, chat_id: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(chats) => chats.contains(chat_id),
        }
    }
}

/// Which messages of an allowed person in a group or meeting chat reach the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupMessages {
    /// Every one.
    All,
    /// Those that mention the agent.
    Mentioned,
}

/// Somebody who may speak to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Allow {
    /// The person's home tenant.
    pub tenant_id: Option<Guid>,
    /// The person's object id there.
    pub object_id: Option<Guid>,
    /// The person's mail address, lower case.
    pub mail: Option<String>,
    /// For the reader of the file only; never an identity.
    pub name: Option<String>,
}

/// Text from outside, not yet understood.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Values of flags, with the flag's name.
    pub flags: Vec<(&'static Key, &'static str, String)>,
    /// The whole environment, or the part that starts with `ENTRACLAW_` or `ENTRABOT_`.
    pub environment: BTreeMap<String, String>,
    /// Name and text of the configuration file.
    pub file: Option<(String, String)>,
}

impl Config {
    /// Merges and checks; every mistake is reported, not only the first.
    pub fn load(sources: &Sources) -> Result<Self, ConfigErrors> {
        load::load(sources)
    }
}

#[cfg(test)]
mod tests;

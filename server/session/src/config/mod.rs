//! The user's decisions: one typed [`Config`] from flags, environment and file, in that order of strength.
//! It must never read anything itself: text comes in, values or explained mistakes go out.

mod ask;
mod auth;
mod bot;
mod context;
mod delegate;
pub mod duration;
mod error;
mod file;
pub mod key;
mod load;
mod wake_ups;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use ask::Ask;
pub use context::Context;
pub use delegate::{Delegate, External};
pub use error::{ConfigError, ConfigErrors, Origin};
pub use key::Key;

use entraclaw_inbox::gate::{Guid, Person};
use entraclaw_inbox::journal::ConsumerName;
use entraclaw_inbox::tool::ToolSet;
pub use entraclaw_inbox::upkeep::Retention;
pub use entraclaw_inbox::wake_up::{WakeUpSettings, WholeText};
pub use entraclaw_microsoft::entra::{Auth, Delegated, SignIn};
use entraclaw_microsoft::{bot as bot_source, graph, mail, teams};
pub use entraclaw_seams::secret::Secret;

/// Most entries of the allowlist.
pub const ALLOW_ENTRIES_MAX: usize = 1_000;
/// Shortest poll interval for a Graph that is not on this machine.
pub const POLL_INTERVAL_REMOTE_MIN: Duration = Duration::from_secs(1);

/// The whole configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// `[ask]`
    pub ask: Ask,
    /// `[auth]`: the way to sign in.
    pub auth: Auth,
    /// `[bot]`
    pub bot: bot_source::Settings,
    /// `[context]`
    pub context: Context,
    /// `[delegate]` and `[mcp.external]`
    pub delegate: Delegate,
    /// `[wake]`
    pub wake_ups: WakeUpSettings,
    /// `[gate]`
    pub gate: Gate,
    /// `[auth]`: the place of the sign-in.
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
    pub mail: mail::Settings,
    /// `[mcp]`
    pub mcp: Mcp,
    /// `[retention]`
    pub retention: Retention,
    /// `[teams]`
    pub teams: teams::Settings,
    /// `tools.sets`: the tools that the model gets.
    pub tools: BTreeSet<ToolSet>,
    /// `wake.whole_text`: the senders whose messages go whole through a wake-up.
    pub whole_text: WholeText,
    /// `[[allow]]`
    pub allow: Vec<Person>,
}

impl Default for Config {
    fn default() -> Self {
        load::load(&Sources::default())
            .unwrap_or_else(|errors| unreachable!("the defaults are tested: {errors}"))
    }
}

/// Offers to hosts beside the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mcp {
    /// Whether the draft of MCP Events is offered.
    pub events: bool,
}

/// The people who may speak, beside the allowlist and the policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gate {
    /// Whether the sponsors of the agent identity may speak, whom Graph names.
    pub sponsors: bool,
    /// Whether a stranger who writes in a 1:1 chat gets a code for `entraclaw pair`.
    pub pairing: bool,
    /// Whether the host's permission requests are sent to the operator's 1:1 chat.
    pub permission_relay: bool,
    /// The person who answers them, as tenant and object id; without it the first allowed person with a known 1:1 chat.
    pub operator: Option<(Guid, Guid)>,
}

/// The address of Graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Graph {
    /// The root, without a version.
    pub origin: graph::Origin,
    /// How long one request may take.
    pub request_timeout: Duration,
}

/// The identity of the agent, if it can't be read from its token.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// The agent's own tenant; senders without a tenant id belong to it.
    pub tenant_id: Option<Guid>,
    /// The agent's own object id; its own messages are not delivered.
    pub object_id: Option<Guid>,
    /// The object id of the agent identity, which the agent's user belongs to and which its sponsors are asked for by.
    pub agent_id: Option<Guid>,
}

/// The reader of the inbox.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inbox {
    /// The consumer's name; without it the host's name decides.
    pub consumer: Option<ConsumerName>,
}

/// The level of the log, and its places beside stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// `off`, `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
    /// Whether `log/entraclaw.log` in the home folder is written.
    pub file: bool,
    /// Megabytes after which the log file is renamed and a new one begun.
    pub file_mb: u32,
    /// Log files that are kept, the current one included.
    pub files: u32,
}

/// The texts from outside, before they are read.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// The values of flags, with the flag's name.
    pub flags: Vec<(&'static Key, &'static str, String)>,
    /// The whole environment, or the part that starts with `ENTRACLAW_` or `ENTRABOT_`.
    pub environment: BTreeMap<String, String>,
    /// The name and text of the configuration file.
    pub file: Option<(String, String)>,
}

impl Config {
    /// Merges and checks all sources. Reports every mistake, not only the first.
    pub fn load(sources: &Sources) -> Result<Self, ConfigErrors> {
        load::load(sources)
    }
}

#[cfg(test)]
mod tests;

//! What the user decided: one typed [`Config`] out of flags, environment and file, in that order of strength.
//! It must never read anything itself: text comes in, values or explained errors go out.

mod auth;
mod bot;
pub mod duration;
mod error;
mod file;
pub mod key;
mod load;
mod wake_ups;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use error::{ConfigError, ConfigErrors, Origin};
pub use key::Key;

use entraclaw_inbox::gate::Guid;
use entraclaw_inbox::journal::ConsumerName;
use entraclaw_inbox::tool::ToolSet;
pub use entraclaw_inbox::upkeep::Retention;
pub use entraclaw_inbox::wake_up::{WakeUpSettings, WholeText};
pub use entraclaw_microsoft::entra::{Auth, Delegated, SignIn};
use entraclaw_microsoft::{bot as bot_source, graph, mail, teams};
pub use entraclaw_seams::secret::Secret;

/// The most entries of the allowlist.
pub const ALLOW_ENTRIES_MAX: usize = 1_000;
/// The shortest poll interval against a Graph that is not on this machine.
pub const POLL_INTERVAL_REMOTE_MIN: Duration = Duration::from_secs(1);

/// Everything that can be decided from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// `[auth]`: how.
    pub auth: Auth,
    /// `[bot]`
    pub bot: bot_source::Settings,
    /// `[wake]`
    pub wake_ups: WakeUpSettings,
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
    pub mail: mail::Settings,
    /// `[mcp]`
    pub mcp: Mcp,
    /// `[retention]`
    pub retention: Retention,
    /// `[teams]`
    pub teams: teams::Settings,
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

//! The facts that the doctor judges: plain data, gathered without a decision.
//! They must never contain a token, only its claims.

use jiff::{SignedDuration, Timestamp};

use entraclaw_agents::{Agent, Found, Missing};
use entraclaw_memory::stores::Surveyed;
use entraclaw_microsoft::entra::{Claims, Validity};
use entraclaw_session::status::Report;

/// All gathered facts.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// The time of this machine.
    pub now: Timestamp,
    /// The home folder.
    pub home: HomeFacts,
    /// The configuration.
    pub config: ConfigFacts,
    /// The outcome of the sign-in.
    pub sign_in: SignIn,
    /// The certificate that an agent user signs in with, if it can be read.
    pub certificate: Option<CertificateFacts>,
    /// The answers of Graph; `None` if there was no token to ask with.
    pub graph: Option<GraphFacts>,
    /// The hosts' wake-ups that are on, by name, and whether they can be used.
    pub wake_ups: Vec<(&'static str, Answered)>,
    /// The agents that can be asked; `None` if nothing offers that.
    pub ask: Option<AskFacts>,
    /// The local model of the project that the command runs in; `None` if nothing offers it.
    pub delegate: Option<DelegateFacts>,
    /// What stops the hosts that were set up while no person is at the keyboard, each with the fix.
    pub unattended: Vec<String>,
    /// The stores of all agents' sessions; `None` where nothing was indexed.
    pub memory: Option<MemoryFacts>,
    /// The report of `entraclaw status`.
    pub report: Report,
}

/// The local model of a project.
#[derive(Debug, Clone)]
pub struct DelegateFacts {
    /// The project's folder.
    pub project: String,
    /// The place of the engine's socket, if an engine works there; or why that can't be told.
    pub engine: Result<Option<String>, String>,
    /// The model server that was found, or why none was.
    pub model: Result<String, String>,
}

/// The home folder.
#[derive(Debug, Clone, Default)]
pub struct HomeFacts {
    /// The path of the folder.
    pub path: String,
    /// Why it can't be used, with the fix.
    pub trouble: Option<String>,
    /// Whether it exists.
    pub exists: bool,
    /// Why it can't be written, if so.
    pub read_only: Option<String>,
    /// Folders in it that can't be used, each with the fix.
    pub folders: Vec<String>,
    /// Files and folders in it that others may read or write.
    pub open_to_others: Vec<String>,
    /// Bytes free on its disk.
    pub free_bytes: Option<u64>,
}

/// The configuration.
#[derive(Debug, Clone, Default)]
pub struct ConfigFacts {
    /// Whether there is a file.
    pub has_file: bool,
    /// The mistakes in it, each with the fix.
    pub mistakes: Vec<String>,
    /// The number of people who may write, by configuration and policy.
    pub allowed_people: usize,
    /// Whether the sponsors of the agent identity may write too, whom a session asks Graph for.
    pub sponsors: bool,
    /// Whether strangers get a pairing code.
    pub pairing: bool,
    /// Why the policy file is not used.
    pub policy_trouble: Option<String>,
    /// A broken policy file that was kept aside.
    pub policy_kept_aside: Option<&'static str>,
    /// Whether Teams is read.
    pub teams: bool,
    /// Whether the inbox is read.
    pub mail: bool,
    /// Whether the bot endpoint listens.
    pub bot: bool,
    /// What the bot lacks, with the fix.
    pub bot_trouble: Option<String>,
    /// The value of `auth.mode`.
    pub auth: &'static str,
    /// The agent's tenant, as configured.
    pub tenant_id: Option<String>,
    /// The agent's own object id, as configured.
    pub object_id: Option<String>,
    /// The host and port of Graph.
    pub graph_authority: String,
    /// Whether Graph is on this machine.
    pub graph_is_local: bool,
}

/// The outcome of the sign-in.
#[derive(Debug, Clone, Default)]
pub enum SignIn {
    /// No sign-in is configured.
    #[default]
    None,
    /// It gave no token.
    Failed {
        /// The problem.
        problem: String,
        /// The fix.
        fix: String,
    },
    /// It gave a token.
    Token(Claims),
}

/// The dates of a certificate.
#[derive(Debug, Clone, Default)]
pub struct CertificateFacts {
    /// The place where it is kept.
    pub place: String,
    /// Its dates; `None` if they can't be read.
    pub validity: Option<Validity>,
}

/// The answers of Graph.
#[derive(Debug, Clone, Default)]
pub struct GraphFacts {
    /// `GET /me`: the object id.
    pub me: Answered,
    /// `GET /me/chats`: how many came; `None` when it was not asked.
    pub chats: Option<Answered>,
    /// Whether the inbox can be read; `None` when it was not asked.
    pub mail: Option<Answered>,
    /// How far Graph's clock is ahead of this machine's.
    pub skew: Option<SignedDuration>,
}

/// Other coding agents as tools.
#[derive(Debug, Clone, Default)]
pub struct AskFacts {
    /// The most that `ask` may permit, as the configuration writes it.
    pub permissions: &'static str,
    /// The agents, the default first.
    pub agents: Vec<AgentFacts>,
}

/// The stores of all agents' sessions.
#[derive(Debug, Clone, Default)]
pub struct MemoryFacts {
    /// Most sessions of each agent that were read.
    pub files_max: usize,
    /// The stores.
    pub stores: Vec<Surveyed>,
    /// Why the table of meanings can't be used, with the fix, if there is to be one.
    pub meanings: Option<String>,
}

/// One agent on this machine.
#[derive(Debug, Clone)]
pub struct AgentFacts {
    /// The agent.
    pub agent: &'static Agent,
    /// Its program, or why there is none.
    pub found: Result<Found, Missing>,
}

/// The answer to one question.
#[derive(Debug, Clone)]
pub enum Answered {
    /// Success, with the answer in a few words.
    Yes(String),
    /// Failure.
    No {
        /// The problem in one line.
        error: String,
        /// The fix.
        fix: String,
    },
}

impl Default for Answered {
    fn default() -> Self {
        Self::Yes(String::new())
    }
}

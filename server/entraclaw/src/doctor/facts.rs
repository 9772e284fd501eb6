//! What the doctor looks at. Plain data: whoever gathers it decides nothing.
//! It must never hold a token, only what its claims say.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::status::Report;
use entraclaw_microsoft::entra::Validity;

/// Everything that was gathered.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// This machine's time.
    pub now: Timestamp,
    /// The home folder.
    pub home: HomeFacts,
    /// The configuration.
    pub config: ConfigFacts,
    /// How the sign-in went.
    pub sign_in: SignIn,
    /// The certificate that an agent user signs in with, where it can be had.
    pub certificate: Option<CertificateFacts>,
    /// What Graph said; `None` when there was no token to ask with.
    pub graph: Option<GraphFacts>,
    /// The hosts' wake-ups that are on, by name, and whether they are there.
    pub wake_ups: Vec<(&'static str, Answered)>,
    /// What stops the hosts that were set up while nobody is at the keyboard, each with the fix.
    pub unattended: Vec<String>,
    /// What `entraclaw status` says.
    pub report: Report,
}

/// The home folder.
#[derive(Debug, Clone, Default)]
pub struct HomeFacts {
    /// Where it is.
    pub path: String,
    /// Why it can't be used, with the fix.
    pub trouble: Option<String>,
    /// Whether it is there.
    pub exists: bool,
    /// Why it can't be written.
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
    /// Mistakes, each with the fix.
    pub mistakes: Vec<String>,
    /// People who may speak, by configuration and policy.
    pub allowed_people: usize,
    /// Whether the sponsors of the agent identity may speak too; who they are is asked of Graph by a session.
    pub sponsors: bool,
    /// Whether strangers are told a code to be let in by.
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
    /// What it lacks, with the fix.
    pub bot_trouble: Option<String>,
    /// `auth.mode`.
    pub auth: &'static str,
    /// The agent's tenant, as configured.
    pub tenant_id: Option<String>,
    /// The agent's own object id, as configured.
    pub object_id: Option<String>,
    /// Host and port of Graph.
    pub graph_authority: String,
    /// Whether that is on this machine.
    pub graph_is_local: bool,
}

/// How the sign-in went.
#[derive(Debug, Clone, Default)]
pub enum SignIn {
    /// None is configured.
    #[default]
    None,
    /// It gave no token; the problem and the fix.
    Failed {
        /// What is wrong.
        problem: String,
        /// What helps.
        fix: String,
    },
    /// It gave one.
    Token(TokenFacts),
}

/// A certificate.
#[derive(Debug, Clone, Default)]
pub struct CertificateFacts {
    /// Where it is kept.
    pub place: String,
    /// Its dates; `None` where they can't be read.
    pub validity: Option<Validity>,
}

/// What a token says about itself; everything may be missing, for tokens are opaque to clients.
#[derive(Debug, Clone, Default)]
pub struct TokenFacts {
    /// Its tenant.
    pub tenant_id: Option<String>,
    /// For whom it is.
    pub audience: Option<String>,
    /// When it ends.
    pub expires_at: Option<Timestamp>,
    /// What a person's token allows.
    pub scopes: Option<BTreeSet<String>>,
    /// It stands for a program and not for a person.
    pub is_application: bool,
}

/// What Graph said.
#[derive(Debug, Clone, Default)]
pub struct GraphFacts {
    /// `GET /me`: the object id.
    pub me: Answered,
    /// `GET /me/chats`: how many came; `None` when it was not asked.
    pub chats: Option<Answered>,
    /// Whether the inbox can be read; `None` when it was not asked.
    pub mail: Option<Answered>,
    /// How far Graph's clock is ahead of ours.
    pub skew: Option<SignedDuration>,
}

/// One answer.
#[derive(Debug, Clone)]
pub enum Answered {
    /// What it said, in short.
    Yes(String),
    /// What went wrong, and what helps.
    No {
        /// In one line.
        error: String,
        /// What helps.
        fix: String,
    },
}

impl Default for Answered {
    fn default() -> Self {
        Self::Yes(String::new())
    }
}

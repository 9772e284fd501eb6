//! The format of a scenario: YAML with the messages, the agent's behaviour, and the demands.
//!
//! The step set is closed and unknown keys are refused; nothing here runs anything.

mod bot;
mod check;
mod delegate;
mod duration;
mod error;
mod expect;
pub mod faults;
mod kills;
mod load;
mod names;
mod random;
mod sense;
mod set_up;
mod setup;
mod step;
mod trouble;

use std::collections::BTreeMap;

use fake_microsoft::entra::EntraSpec;
use fake_microsoft::graph::{ChatSpec, PersonSpec, WorldSpec};
use serde::{Deserialize, Serialize};
use yaml::Spanned;

pub use bot::{BOT_CONVERSATION, BotAgain, BotExpect, BotSay, BotStep};
pub use delegate::{Delegate, DelegateExpect, DelegateStep, EngineStep, EverywhereStep, ModelStep, SayStep};
pub use duration::Span;
pub use error::ScenarioError;
pub use expect::{
    About, AgentsExpect, EntraExpect, Expect, GraphExpect, InteractionExpect, JournalExpect,
    MachineFileExpect, ModelExpect, ReplyExpect, ResultExpect, SentExpect, SentMailExpect, StatusExpect,
    WakingExpect, WireExpect,
};
pub use kills::Kills;
pub use load::{Loaded, load_builtin, load_path, parse};
pub use random::Random;
pub use set_up::SetUp;
pub use setup::{FileExpect, Ours, SetupExpect, SetupStep};
pub use step::{
    AgentPolicy, Call, ChatMessages, ChatStep, DialogStep, DiskStep, Edit, EntraStep, FileStep, FormStep,
    Heartbeat, HostStep, Inbound, MailWrite, MailboxStep, Members, MessageRef, OperatorStep, OverwriteStep,
    PairCodeStep, PairStep, PeerStep, PermissionStep, PersonRef, Raw, Replacement, ServerStep, ShellStep,
    Step, TurnStep, WORK_TOOL, WorkStep, Write,
};
pub use trouble::Trouble;

/// One scenario file.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "hostcheck scenario")]
pub struct Scenario {
    /// Stable name, `area.what-it-shows`.
    #[schemars(with = "String")]
    pub id: Spanned<String>,
    /// One line for people.
    pub title: String,
    /// The requirement that it proves.
    pub requirement: Requirement,
    /// Hosts it makes sense for: `all`, families (`claude-code`) or profiles (`claude-code@seed`); on others it is
    /// `not-applicable`.
    #[serde(default)]
    #[schemars(with = "Hosts")]
    pub hosts: Hosts,
    /// Features that the host needs. A host without one is `unsupported`; one of which it is not known is `unknown`,
    /// and neither is failed.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// Where it runs; sim when left out.
    #[serde(default = "only_sim")]
    pub mode: Vec<Mode>,
    /// It takes long, so one seed is played, once, and `cargo test` leaves it to `simulation run`.
    #[serde(default)]
    pub long: bool,
    /// On how many hosts a first look plays it in sim mode, where not on all of them; of what is `long` it is one host.
    #[serde(default)]
    pub first_look: FirstLook,
    /// It takes more than six seconds with real processes, so that a first look leaves those out.
    #[serde(default)]
    pub slow_process: bool,
    /// Known failures; a listed host that passes is a failure too.
    #[serde(default)]
    pub known_issues: Vec<KnownIssue>,
    /// Configuration of the server, `section.key: value`, as in its config file. `$person:HANDLE` is the person's ids.
    #[serde(default)]
    pub server: BTreeMap<String, String>,
    /// The people, chats and mails at the start. Without it: Alice, and `dm`, her chat with the agent.
    #[serde(default = "alice_alone")]
    pub world: WorldSpec,
    /// How the agent signs in, and Entra as it is then. Without it: by a token that is simply accepted.
    #[serde(default)]
    pub entra: EntraSpec,
    /// How far the server's clock is ahead of everybody else's, in milliseconds (sim only).
    #[serde(default)]
    pub server_clock_ahead_ms: i64,
    /// The other coding agents on the machine, by their scripts, whose times are twenty times shorter with real processes. Their
    /// tools are offered by `tools.sets`.
    #[serde(default)]
    pub agents: Vec<fake_agents::Script>,
    /// The local model of the project, where the host's server is the bridge to its engine.
    #[serde(default)]
    pub delegate: Option<Delegate>,
    /// People that the server's allowlist does not have; everybody else may speak.
    #[serde(default)]
    pub strangers: Vec<String>,
    /// So many further people who may speak, `p1`, `p2` and so on, each with a chat of the same name, to see that lists
    /// are read to their end and in their order.
    #[serde(default)]
    pub crowd: u32,
    /// Further chats without an allowed person, to see that cost does not grow.
    #[serde(default)]
    pub idle_chats: u32,
    /// Carriers that the person has set up in the hosts: `channel` when left out.
    #[serde(default = "channel_alone")]
    pub set_up: Vec<SetUp>,
    /// Files that the person has before anything runs, by family of the host and path below the home folder. With the step
    /// `setup` alone.
    #[serde(default)]
    pub host_files: BTreeMap<String, BTreeMap<String, String>>,
    /// How the agent of the main session behaves without further steps.
    #[serde(default)]
    pub agent: AgentPolicy,
    /// Further host sessions on the same machine, started by a step.
    #[serde(default)]
    pub sessions: BTreeMap<String, Session>,
    /// Whether the oracle demands that every allowed message reaches the model by the end. Default: yes.
    #[serde(default = "yes")]
    pub all_delivered: bool,
    /// The first session starts before the first step. Default: yes.
    #[serde(default = "yes")]
    pub autostart: bool,
    /// The steps, in order.
    #[schemars(with = "Vec<Step>")]
    pub steps: Vec<Spanned<Step>>,
}

impl Scenario {
    /// Adds the people of the crowd and their chats to the world.
    fn add_crowd(&mut self) {
        for handle in (1..=self.crowd).map(|n| format!("p{n}")) {
            let chat = ChatSpec { members: vec![handle.clone()], ..ChatSpec::default() };
            self.world.chats.entry(handle.clone()).or_insert(chat);
            self.world.people.entry(handle).or_default();
        }
    }

    /// Whether `entraclaw setup` is really run, so that hosts know of the server by their files alone.
    pub fn runs_setup(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.value, Step::Setup(_)))
    }

    /// Whether a model begins work that may outlive its call.
    pub fn begins_work(&self) -> bool {
        let begins = |call: &Call| call.tool == WORK_TOOL;
        self.steps.iter().any(|step| match &step.value {
            Step::Call(call) => begins(call),
            Step::Calls(calls) => calls.iter().any(begins),
            _ => false,
        })
    }

    /// Whether the seed decides what happens, also where the clock is real.
    pub fn draws(&self) -> bool {
        self.steps.iter().any(|step| matches!(step.value, Step::Random(_) | Step::Kills(_)))
    }
}

/// The requirement behind a scenario.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Group in the report.
    pub area: String,
    /// How much it matters.
    pub level: Level,
    /// The requirement in a sentence.
    pub says: String,
    /// Who asks for it.
    pub source: String,
}

/// The word of a choice, in scenarios as in reports and on a command line.
pub fn word(choice: impl Serialize) -> String {
    let word = serde_json::to_value(choice).unwrap_or_default();
    word.as_str().unwrap_or_default().to_owned()
}

/// RFC 2119 in three words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Without it the product does not keep its promise.
    Must,
    /// Expected by users.
    Should,
    /// A courtesy.
    May,
}

/// Which hosts a scenario is for.
#[derive(Debug, Clone, Default, PartialEq, Eq, schemars::JsonSchema)]
#[schemars(untagged)]
pub enum Hosts {
    /// Every profile.
    #[default]
    All,
    /// These families or profiles.
    Named(Vec<String>),
}

impl<'de> Deserialize<'de> for Hosts {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Hosts;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("`all` or a list of families and profiles")
            }
            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Hosts, E> {
                if word == "all" { Ok(Hosts::All) } else { Ok(Hosts::Named(vec![word.to_owned()])) }
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Hosts, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = seq.next_element()? {
                    names.push(name);
                }
                Ok(Hosts::Named(names))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Something a host can or can't do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// A channel push reaches the model.
    Channel,
    /// A channel push is dropped without a word.
    NoChannel,
    /// The host tells the server of its permission dialogs.
    Permission,
    /// A call is cut off by the host after 60 s.
    HardLimit60,
    /// The host has a time limit for calls that a test can wait out.
    CallLimit,
    /// The host starts with `server/discover`.
    Probe,
    /// The host opens a session by `initialize`, so that it can be told what it did not ask for.
    Session,
    /// The host tells the server that the person has interrupted a call.
    InterruptTold,
    /// An interrupt is not told; the call goes on and its answer is dropped.
    InterruptUntold,
    /// Read-only calls of one turn run side by side.
    ParallelCalls,
    /// A call that lasts goes to the background, and its result wakes the session.
    Background,
    /// A call that lasts holds the turn, or the host ends it.
    NoBackground,
    /// A call may last for as long as there is progress, or has no limit that matters.
    EndlessCall,
    /// A call ends before long, whatever is done.
    NoEndlessCall,
    /// The end of the model's background shell wakes an idle session.
    Shell,
    /// It does not, or there is none.
    NoShell,
    /// The end of a turn can be held up by a hook.
    TurnEndHook,
    /// A hook can add to a tool's result.
    AfterToolHook,
    /// A hook can add to a prompt.
    PromptHook,
    /// A hook beside the idle session can wake it.
    WakingHook,
    /// The host has a wake-up of its own that the server can use.
    WakeUp,
    /// A call can become an MCP task whose end wakes the session.
    Task,
    /// A dialog asks the person before a tool runs that nothing lets run.
    Dialog,
}

/// Where a scenario runs.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    schemars::JsonSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One thread, virtual time, in-memory pipes and disk.
    Sim,
    /// The shipped binary, real pipes, files and clock.
    Process,
}

/// On how many hosts a first look plays a scenario in sim mode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FirstLook {
    /// Every host.
    #[default]
    AllHosts,
    /// One host, as it takes much of the time of a first look.
    OneHost,
    /// None, as it alone takes seconds.
    LeftOut,
}

/// A failure that is known and linked.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownIssue {
    /// Family or profile.
    pub host: String,
    /// Where it is tracked.
    pub link: String,
    /// Why it can't pass yet.
    pub why: String,
}

/// A further host session.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Session {
    /// Profile; the cell's own when left out; `bare` for a pipe on which nothing is sent but `raw` lines.
    pub host: Option<String>,
    /// The server's `--consumer`.
    pub consumer: Option<String>,
    /// Carriers that the person has set up in its host; as in the main session when left out.
    pub set_up: Option<Vec<SetUp>>,
    /// It works in another project than the main session, with a local model of its own (process only).
    pub beside: bool,
    /// How its agent behaves.
    pub agent: AgentPolicy,
}

fn yes() -> bool {
    true
}

/// The world of a scenario that does not describe one.
fn alice_alone() -> WorldSpec {
    let mut world = WorldSpec::default();
    world.people.insert("alice".to_owned(), PersonSpec::default());
    world
        .chats
        .insert("dm".to_owned(), ChatSpec { members: vec!["alice".to_owned()], ..ChatSpec::default() });
    world
}

fn channel_alone() -> Vec<SetUp> {
    vec![SetUp::Channel]
}

fn only_sim() -> Vec<Mode> {
    vec![Mode::Sim]
}

//! The local model of a project: its server, and what happens to its engine. It runs nothing.

use serde::Deserialize;
use serde_json::Value;

use super::Span;

/// A local model in the folder that the host works in. The host's server is then the bridge to its engine.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delegate {
    /// The model server. Its times are twenty times shorter with real processes.
    pub model: fake_models::Script,
    /// Whether an engine runs at the start. Default: yes.
    #[serde(default = "yes")]
    pub engine: bool,
    /// The bridge that a host starts is to start an engine where none runs (process only).
    #[serde(default)]
    pub spawn: bool,
    /// How long it takes to write a file, in milliseconds (sim only).
    #[serde(default)]
    pub write_ms: u64,
}

fn yes() -> bool {
    true
}

/// Something happens at the engine.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelegateStep {
    /// The person types this into the terminal of the engine (sim only).
    Say(SayStep),
    /// The process of the engine.
    Engine(EngineStep),
    /// The model server goes away, or comes back (sim only).
    Model(ModelStep),
    /// From now on the process of the engine dies before it has written so many changes more (sim only).
    DiesAfterWrites(u64),
    /// A host hands the same task over again and again, and each time the person interrupts it a bit later, until it has
    /// ended before they do (sim only).
    InterruptEverywhere(EverywhereStep),
    /// A host hands the same task over again and again, and each time the engine dies one write later, until it has
    /// ended before that (sim only).
    CrashEverywhere(EverywhereStep),
}

/// A message of the person.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SayStep {
    /// What they type.
    pub text: String,
    /// Name to refer to its task by.
    #[serde(rename = "as")]
    pub label: String,
}

/// A change of the engine's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngineStep {
    /// It is started.
    Start,
    /// It is killed: `kill -9`.
    Kill,
    /// It is asked to end, as by Ctrl-C.
    End,
}

/// A change of the model server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelStep {
    /// Nothing listens there any more.
    Away,
    /// It listens again.
    Back,
}

/// One task that is disturbed everywhere.
#[derive(Debug, Clone, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EverywhereStep {
    /// The message with which the main host hands it over. `{n}` is the number of the round.
    pub message: String,
    /// What the person types, with `{n}` as in the message.
    #[serde(default)]
    pub says: Option<String>,
    /// How much later each time. Default: 10 ms.
    #[serde(default)]
    pub every: Option<Span>,
    /// At least so many rounds were needed.
    pub rounds_at_least: u32,
}

/// Where tasks, the model server and the project stand.
#[derive(Debug, Clone, Default, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DelegateExpect {
    /// The task of this call, or of this message of the person (sim only).
    pub of: Option<String>,
    /// It is `queued`, `in_progress`, `preempted`, `completed`, `cancelled` or `failed`.
    pub state: Option<String>,
    /// How it went on after an interruption: `exact`, `continued` or `started_again`; `never` if it was not interrupted.
    pub resumed: Option<String>,
    /// Its whole answer.
    pub response: Option<String>,
    /// The tasks of these calls and messages have ended, in this order (sim only).
    pub ended: Vec<String>,
    /// The model was asked exactly so many questions since the beginning.
    pub questions: Option<u32>,
    /// The last question to the model holds these words.
    pub asked_last: Option<String>,
    /// From the last message of the person until the model was asked for it.
    pub person_asked_within: Option<Span>,
    /// What `entraclaw delegate stats --json` prints in the project, or a part of it (process only).
    pub stats: Option<Value>,
    /// A file of the project, by its path in it.
    pub file: Option<String>,
    /// The file's text; not there when left out.
    pub text: Option<String>,
    /// Time from now until it must hold; now when left out.
    pub within: Option<Span>,
}

impl DelegateExpect {
    /// Why it can't mean what it says, and how to mend it.
    pub(super) fn misused(&self) -> Option<(&'static str, Option<&'static str>)> {
        let of_task = self.state.is_some() || self.resumed.is_some() || self.response.is_some();
        let of_all = !self.ended.is_empty()
            || self.questions.is_some()
            || self.asked_last.is_some()
            || self.person_asked_within.is_some()
            || self.stats.is_some()
            || self.file.is_some();
        match (self.of.is_some(), of_task) {
            (false, true) => Some(("it does not say whose task is meant", Some("add `of`"))),
            (true, false) => Some(("this demand can't fail", Some("add `state`, `resumed` or `response`"))),
            (false, false) if !of_all => {
                Some(("this demand can't fail", Some("add `ended`, `questions`, `asked_last` or `file`")))
            }
            _ if self.text.is_some() && self.file.is_none() => {
                Some(("it does not say whose text is meant", Some("add `file`")))
            }
            _ => None,
        }
    }

    /// Whether it looks into the engine.
    pub(super) fn is_only_simulated(&self) -> bool {
        self.of.is_some() || !self.ended.is_empty() || self.person_asked_within.is_some()
    }
}

//! What the engine tells, as the screen shows it: plain data whose texts are safe for a terminal.
//!
//! `told` makes it. It must never hold a text that was not cleaned.

use entraclaw_delegate::{Resumption, TaskState};

/// Who says something, or asks for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// The person.
    You,
    /// A host, by its name.
    Host(String),
    /// The model, by its name if it is known.
    Model(Option<String>),
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// What is shown of it, in a line.
    pub says: String,
    /// Whether it has ended.
    pub is_done: bool,
}

/// A message of the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Who says it.
    pub who: Who,
    /// What.
    pub text: String,
    /// The task that it belongs to.
    pub task: String,
    /// The tools that were used for it.
    pub tools: Vec<Tool>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Its id.
    pub id: String,
    /// Its number, by which a person names it.
    pub number: i64,
    /// Who asks for it.
    pub who: Who,
    /// What is asked.
    pub asks: String,
    /// Where it stands.
    pub state: TaskState,
    /// What is done for it now.
    pub doing: String,
    /// The model that works on it.
    pub model: Option<String>,
    /// What the model has said in this step.
    pub partial: String,
    /// Its tool calls.
    pub tools: Vec<Tool>,
    /// How it went on after it was last interrupted.
    pub resumed: Option<Resumption>,
    /// The answer, or why there is none.
    pub result: Option<String>,
    /// What must be known of the answer.
    pub notes: Vec<String>,
    /// How long it was worked on.
    pub elapsed_ms: u64,
}

/// A tool call that waits for the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// The number to decide by.
    pub number: i64,
    /// Who asked for the task.
    pub who: Who,
    /// The task that asks.
    pub task: String,
    /// What is to run: the tool and what matters most, and then all other arguments, each a line or more.
    pub runs: String,
    /// Why it must be approved.
    pub why: String,
}

/// How a model has done with one kind of task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quality {
    /// The model.
    pub model: String,
    /// The kind of task.
    pub kind: String,
    /// Tasks with an answer.
    pub completed: u64,
    /// Tasks that failed.
    pub failed: u64,
    /// Tasks that a caller reported an issue with.
    pub with_issues: u64,
    /// Reports by kind of issue.
    pub issues: Vec<(String, u64)>,
}

/// The model, as its server describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Its name.
    pub name: String,
    /// The context in force, in tokens.
    pub context_tokens: Option<u64>,
}

/// Everything at once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Everything {
    /// The last part of the conversation.
    pub said: Vec<Said>,
    /// How many messages there are in all.
    pub total: u64,
    /// All tasks that have not ended, in their order.
    pub tasks: Vec<Task>,
    /// The tool calls that wait for the person.
    pub approvals: Vec<Approval>,
    /// The model, if it was reached.
    pub model: Option<Model>,
    /// Why it can't be asked now.
    pub trouble: Option<String>,
    /// Tokens a second, as last known.
    pub tokens_per_second: Option<f64>,
    /// Tasks a minute that a host may hand over.
    pub rate_limit: u32,
}

/// What the screen is told.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// Everything; what was known before is void.
    Everything(Box<Everything>),
    /// A task was handed over.
    Queued(Task),
    /// Work on a task has begun.
    Started(Task),
    /// A task was paused for the person.
    Paused(Task),
    /// A task goes on.
    Resumed(Task),
    /// A task has ended.
    Ended(Task),
    /// A task has come further.
    Changed(Task),
    /// The model says a part of an answer.
    Piece {
        /// The task.
        task: String,
        /// The text.
        text: String,
    },
    /// The model thinks.
    Thinks {
        /// The task.
        task: String,
    },
    /// What is done for a task.
    Doing {
        /// The task.
        task: String,
        /// What.
        says: String,
    },
    /// The text of this step is void.
    StartsAgain {
        /// The task.
        task: String,
    },
    /// A tool call waits for the person.
    Asks(Approval),
    /// It does not wait any more.
    Decided {
        /// Its number.
        number: i64,
        /// Whether it may run.
        may_run: bool,
    },
    /// The model can't be asked now.
    Away {
        /// Why, and how to mend it.
        why: String,
    },
    /// The model was reached.
    Found(Model),
    /// The model was looked at, and can't be reached.
    NotFound {
        /// Why, and how to mend it.
        why: String,
    },
    /// An empty conversation has begun.
    SessionBegan,
    /// The older part of the conversation, as it was asked for.
    History {
        /// The messages.
        said: Vec<Said>,
        /// How many there are in all.
        total: u64,
    },
    /// How the models have done, as it was asked for.
    Qualities(Vec<Quality>),
    /// The engine did not do what it was told.
    Refused(String),
    /// The engine has ended.
    EngineEnded,
}

//! The delegation engine: people and hosts hand tasks to one local model, in one conversation a project, and the person
//! always goes first.
//!
//! From the ground up: `source`, `hint`, `call`, `task`, `message` and `issue` are what is kept, `sentences` what is said of a task, `store` keeps it, `queue` says whose turn
//! it is, `limits` how often a client may ask, `tool` is the seam to what a model may do in the project, `engine` does
//! the work, `outbox` brings results to the inbox of hosts that have gone or sleep, `provider` offers it to hosts.
//!
//! It must never let a task out of its sandbox, and never tell of a state that is not written.

mod call;
mod engine;
mod hint;
mod issue;
mod limits;
mod message;
mod outbox;
pub mod provider;
mod queue;
pub mod sentences;
mod source;
pub mod store;
mod task;
mod tool;
pub mod tools;

pub use engine::{
    Active, Approval, Bounds, Capabilities, Engine, EngineError, EngineParts, Entry, Event, History,
    Snapshot, Submission, TaskView, Work,
};
pub use issue::{Issue, IssueKind};
pub use limits::{RATE_LIMIT, RATE_LIMIT_MAX, RateLimit};
pub use message::{Message, Speaker};
pub use outbox::Outbox;
pub use queue::{Lane, Queue};
pub use source::Source;
pub use task::{
    CallResult, CallState, ContextFile, Hint, Resumption, Step, Task, TaskId, TaskState, Tokens, ToolCall,
};
pub use tool::{Patience, ToolOutcome, Toolbox};

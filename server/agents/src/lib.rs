//! Other coding agents as tools: a host asks one, and an answer that comes late reaches the inbox.
//!
//! A call becomes one argument vector for the agent's program and one job of `entraclaw-work`, so an answer survives the
//! host's limit, the host and this server. From the ground up: `permissions` orders what an agent may do, `agent` is the
//! table of agents, `question` a checked call, `command_line` its arguments, `root` its folder, `find` the programs of the
//! machine, `models` what they list, `failure` the classes of errors, `report` reads what a program writes, `scribe` writes
//! the answer, `kind` asks in the job's own process, `task` is its document, `stored` what agents keep of their sessions,
//! `warm` a program that stands by, `job` the kind of work, `answered`, `wait`, `ticket` and `tasks` are the caller's side,
//! `tools` and `provider` what the host sees.
//!
//! It must never show a shell a string, nor widen what the operator permits.

mod agent;
mod answered;
mod command_line;
mod failure;
mod find;
mod job;
mod kind;
mod models;
mod permissions;
mod provider;
mod question;
mod report;
mod root;
mod scribe;
mod stored;
mod task;
mod tasks;
mod ticket;
mod tools;
mod wait;
mod warm;

pub use agent::{AGENTS, Agent, DefaultModel, Dialect, Flag, PromptBy, SignedInBy, Warm, any_takes, by_name};
pub use command_line::{Choices, CommandLine};
pub use failure::Class;
pub use find::{Finder, Found, Missing, Place, SystemFinder};
pub use kind::AgentKind;
pub use models::IfListed;
pub use permissions::Permissions;
pub use provider::{AskParts, AskProvider, Settings};
pub use question::{Asking, Bounds, PROMPT_BYTES_MAX, Question};
pub use stored::{Stored, SystemStored};
pub use task::{KIND, Task};
pub use tools::SET;

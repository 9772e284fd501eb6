//! Fake coding CLIs: what GitHub Copilot CLI and its like do when another program runs them for one question. A script
//! says what the agent answers; the command line says in which form. It shares no code with the server that it is for,
//! and starts no model.
//!
//! [`plan`] turns a script and a command line into [`Act`]s, without a clock, a disk or a process. The program
//! `fake-agent` plays them; a driver in virtual time can play them too.

mod acp;
mod act;
mod agent;
mod claude_code;
mod codex;
mod common;
mod copilot;
mod file;
mod flags;
mod gemini_cli;
mod invocation;
mod opencode;
mod pen;
mod plan;
mod qwen_code;
mod rules;
mod script;
mod tool_kind;
mod turn;

pub use acp::Acp;
pub use act::{Act, Phase, Signal};
pub use agent::Agent;
pub use file::ScriptError;
pub use invocation::{Invocation, Nothing, Outside, PathKind};
pub use plan::{interrupted, plan};
pub use rules::{Mark, Rule, RuleId, rules};
pub use script::{Answer, Crash, Echo, Failure, Interactive, Says, Script, Tool, Usage, When, Writes};

//! Fake model servers: what Ollama, llama.cpp, LM Studio, vLLM and their like do when a client asks for an answer. A script
//! says what the model answers and what goes wrong; the request's path says in which form. It shares no code with the
//! clients that it is for, and has no model.
//!
//! [`Server::ask`] takes a request and returns a stream, without a socket, on tokio's clock; [`listen`] puts it on a
//! loopback port. [`Server::seen`] tells what was asked, and how each stream ended.

mod file;
mod forms;
mod generation;
mod http;
mod plan;
mod rules;
mod script;
mod seen;
mod server;
mod slots;
mod state;
mod tokens;

pub use file::ScriptError;
pub use generation::{Body, Dropped};
pub use http::{Listening, listen, listen_at};
pub use rules::{Mark, Rule, RuleId, rules};
pub use script::{Answer, Failure, Kind, ModelSpec, Restore, Script, Slots, ThinksAs, Tool, ToolForm, When};
pub use seen::{End, Seen};
pub use server::{Request, Response, Server};

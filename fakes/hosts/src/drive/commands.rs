//! The program under test as a host runs it: in the model's background shell, or as a hook. It must never start a
//! program by itself; a caller brings the way to start one.

use std::collections::BTreeMap;
use std::future::ready;

use futures_util::future::LocalBoxFuture;

use crate::effect::ShellEnd;

/// Runs the program under test as a host would: in the model's background shell, or as a hook.
pub trait Commands {
    /// Runs the program with these arguments to its end.
    fn shell(&self, arguments: Vec<String>) -> LocalBoxFuture<'static, ShellEnd>;

    /// Runs the hook of an event with one JSON object on its stdin, and gives its stdout; empty if it failed.
    fn hook(&self, host: &str, event: &str, input: String) -> LocalBoxFuture<'static, String>;

    /// Starts a hook that runs beside the session, with one JSON object on its stdin and these variables.
    fn waking(&self, host: &str, event: &str, input: String, environment: BTreeMap<String, String>)
    -> Beside;
}

/// A program that runs beside the session. If this is dropped, it runs on.
pub struct Beside {
    /// Resolves at its end, with its stderr.
    pub ended: LocalBoxFuture<'static, ShellEnd>,
    /// Ends it, as SIGTERM does.
    pub end: Box<dyn FnOnce()>,
}

/// Runs nothing: every shell fails at once and every hook gives an empty answer.
#[derive(Debug, Clone, Copy)]
pub struct NoCommands;

impl Commands for NoCommands {
    fn shell(&self, _arguments: Vec<String>) -> LocalBoxFuture<'static, ShellEnd> {
        Box::pin(ready(ShellEnd { output: String::new(), code: 127 }))
    }

    fn hook(&self, _host: &str, _event: &str, _input: String) -> LocalBoxFuture<'static, String> {
        Box::pin(ready(String::new()))
    }

    fn waking(
        &self,
        _host: &str,
        _event: &str,
        _input: String,
        _environment: BTreeMap<String, String>,
    ) -> Beside {
        Beside { ended: Box::pin(ready(ShellEnd::default())), end: Box::new(|| {}) }
    }
}

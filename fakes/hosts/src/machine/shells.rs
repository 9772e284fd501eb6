//! The background shells of the model: the program under test, running while the turn goes on or ends. It
//! only says what is to be run; the driver reports the end.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::HostMachine;
use super::turn::Notice;
use crate::effect::{Carrier, Effect, Outcome, ShellEnd};
use crate::wire::fill;

/// Most shells that run at once.
const SHELLS_MAX: usize = 16;
/// Longest command in a label, in characters.
const LABEL_CHARS_MAX: usize = 80;
/// The process id of the first shell.
const FIRST_PID: u64 = 4_000;

/// The running shells, and the one that ended last.
#[derive(Debug, Default)]
pub(super) struct Shells {
    begun: u64,
    running: BTreeMap<u64, Running>,
    last: Option<ShellEnd>,
}

/// A running shell.
#[derive(Debug)]
struct Running {
    /// The model's description of the command.
    description: String,
    command: String,
}

impl HostMachine {
    pub(super) fn start_shell(&mut self, arguments: Vec<String>, description: String, label: String) {
        self.ensure_turn();
        let refusal = if !*self.profile.shell.available {
            Some("this host's model has no background shell")
        } else if !self.options.shell {
            Some("the user has not allowed the command")
        } else if self.shells.running.len() >= SHELLS_MAX {
            Some("too many commands run already")
        } else {
            None
        };
        if let Some(reason) = refusal {
            self.show(Carrier::ToolResult, None, Some(label.clone()), reason.to_owned(), true, false);
            return self.own_tool_done("shell", label, Outcome::Error);
        }
        self.shells.begun += 1;
        let id = self.shells.begun;
        self.shells.running.insert(id, Running { description, command: arguments.join(" ") });
        let text = format!("The command runs in the background as {}.", shell_name(id));
        self.show(Carrier::ToolResult, None, Some(label.clone()), text, false, false);
        self.effects.push(Effect::Shell { id, arguments });
        self.own_tool_done("shell", label, Outcome::Result);
    }

    pub(super) fn read_shell(&mut self, label: String) {
        self.ensure_turn();
        let (text, outcome) = match &self.shells.last {
            Some(end) => (end.output.clone(), Outcome::Result),
            None => ("No background command has ended.".to_owned(), Outcome::Error),
        };
        let bad = outcome == Outcome::Error;
        self.show(Carrier::BackgroundShell, None, Some(label.clone()), text, bad, false);
        self.own_tool_done("read", label, outcome);
    }

    pub(super) fn shell_end(&mut self, id: u64, end: ShellEnd) {
        let Some(Running { description, command }) = self.shells.running.remove(&id) else {
            return self.note(format!("dropped the end of {}", shell_name(id)));
        };
        self.note(format!("{} ended with code {}", shell_name(id), end.code));
        let profile = Arc::clone(&self.profile);
        let facts = &profile.shell;
        let name = shell_name(id);
        let values = [
            ("id", name.clone()),
            ("description", description.clone()),
            ("status", (if end.code == 0 { "completed" } else { "failed" }).to_owned()),
            ("code", end.code.to_string()),
            ("path", format!("/tmp/{name}.output")),
            ("label", label(&command)),
            ("command", command),
            ("cwd", self.options.working_directory.clone()),
            ("pid", (FIRST_PID + id).to_string()),
            ("tail", end.output.trim_end().to_owned()),
            ("output", end.output.clone()),
        ];
        let values = values.map(|(key, value)| (key, if *facts.escaped { escaped(&value) } else { value }));
        let values: Vec<(&str, &str)> = values.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let text = fill(&facts.text, &values);
        self.shells.last = Some(end);
        let notice = Notice::new(Carrier::BackgroundShell, text);
        self.comes_by_itself(notice, self.mode(&facts.wakes), *facts.busy);
        self.ask_shell_end_hook(&description);
    }

    /// The host ends, so it drops everything that could wake it.
    pub(super) fn forget_wakers(&mut self) {
        self.shells.running.clear();
        self.hooks = super::Hooks::default();
        self.tasks.clear();
        self.timers.retain(|timer, _| !matches!(timer, super::Timer::Hook(_) | super::Timer::Task(_)));
    }
}

fn shell_name(id: u64) -> String {
    format!("shell-{id}")
}

/// A command, shortened for display.
fn label(command: &str) -> String {
    if command.chars().count() <= LABEL_CHARS_MAX {
        return command.to_owned();
    }
    command.chars().take(LABEL_CHARS_MAX - 3).chain("...".chars()).collect()
}

/// A text, escaped for XML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            c => escaped.push(c),
        }
    }
    escaped
}

//! The settings of a host from its files and launch line, and how it starts a server with them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use host_profiles::Environment;

use super::document::SettingsError;
use crate::options::HostOptions;
use crate::process::ServerCommand;

/// A server in a host's files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerEntry {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its own variables.
    pub environment: BTreeMap<String, String>,
    /// Names of the host's own variables that it also gets.
    pub passed: Vec<String>,
    /// The limit of a call, in milliseconds, if one is set.
    pub tool_timeout_ms: Option<u64>,
    /// The limit of the handshake, in milliseconds, if one is set.
    pub start_timeout_ms: Option<u64>,
}

/// A command of the user that the host runs through a shell at one of its events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookCommand {
    /// The text for the shell.
    pub command: String,
    /// Its time limit, in milliseconds, if one is set.
    pub timeout_ms: Option<u64>,
}

/// The decision of a host before its model runs a command in the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellRule {
    /// The user is asked in the terminal at the first time, and allows it.
    Asks,
    /// This command, also with more words, runs without a question.
    Prefix(String),
    /// Exactly this command runs without a question.
    Exactly(String),
}

/// Tools that run without a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolRule {
    /// The server's name.
    pub server: String,
    /// One of its tools, by the server's name for it; `None` for all of them.
    pub tool: Option<String>,
}

/// An open wake-up of a running session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenWakeUp {
    /// A command of the host's own program.
    QueueCommand,
    /// HTTP on loopback.
    Port(u16),
    /// A file that the session reads as it grows.
    InputFile(String),
    /// The text of a module that the host loads into the session.
    Extension(String),
}

/// All settings of a host from its files and launch line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSettings {
    /// Every server that the host starts, by name.
    pub servers: BTreeMap<String, ServerEntry>,
    /// Whether `$NAME` in an entry of a server stands for the host's own variable.
    pub resolves_names: bool,
    /// Commands by event, in the order of the files.
    pub hooks: BTreeMap<String, Vec<HookCommand>>,
    /// Commands at the end of a turn that run beside the session and wake it.
    pub waking: Vec<HookCommand>,
    /// Servers whose channel notifications the session accepts.
    pub channels: BTreeSet<String>,
    /// Rules for the model's shell.
    pub shell: Vec<ShellRule>,
    /// Rules for tools.
    pub tools: Vec<ToolRule>,
    /// Whether the model is told of the end of a background shell.
    pub shell_end_told: bool,
    /// The wake-up, if one is open.
    pub wake_up: Option<OpenWakeUp>,
    /// Whether the host's experimental setting is on.
    pub experimental: bool,
    /// The text that the model is shown at the start of every session.
    pub instructions: String,
}

impl HostSettings {
    pub(super) fn new() -> Self {
        Self { shell_end_told: true, ..Self::default() }
    }

    /// Whether the model may run a command in its shell, by the user's rules or after a question.
    pub fn may_run(&self, command: &str) -> bool {
        self.shell.iter().any(|rule| rule.lets(command))
    }

    /// The command by which the host starts a server. `person` is the host's own environment, `handed` says
    /// which of its variables the host hands down, and `folder` is the session's working directory.
    ///
    /// # Errors
    /// If the files name no such server.
    pub fn command_of(
        &self,
        server: &str,
        person: &BTreeMap<String, String>,
        handed: &Environment,
        folder: PathBuf,
    ) -> Result<ServerCommand, SettingsError> {
        let entry = self.servers.get(server).ok_or_else(|| {
            let known: Vec<&str> = self.servers.keys().map(String::as_str).collect();
            SettingsError::new(format!(
                "no server is named `{server}` in this host's files; it finds {}",
                if known.is_empty() { "none".to_owned() } else { known.join(", ") }
            ))
        })?;
        let is_named = |name: &String| entry.passed.contains(name);
        let mut environment: BTreeMap<String, String> = person
            .iter()
            .filter(|(name, _)| handed.hands_down(name) || is_named(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let resolved = entry.environment.iter().map(|(name, value)| {
            let named = value.strip_prefix('$').filter(|_| self.resolves_names);
            (
                name.clone(),
                named.map_or(value.clone(), |named| person.get(named).cloned().unwrap_or_default()),
            )
        });
        environment.extend(resolved);
        Ok(ServerCommand {
            program: entry.program.clone(),
            arguments: entry.arguments.clone(),
            working_directory: Some(folder),
            environment,
            bare_environment: true,
        })
    }

    /// The options of a session with this server; `command` is the one that its model would run in the
    /// background shell.
    pub fn options(&self, server: &str, command: Option<&str>) -> HostOptions {
        let entry = self.servers.get(server);
        let rules = self.tools.iter().filter(|rule| rule.server == server);
        let unasked = rules.map(|rule| rule.tool.clone().unwrap_or_else(|| "*".to_owned())).collect();
        HostOptions {
            unasked: Some(unasked),
            server_name: server.to_owned(),
            tool_timeout_ms: entry.and_then(|entry| entry.tool_timeout_ms),
            start_timeout_ms: entry.and_then(|entry| entry.start_timeout_ms),
            channels: self.channels.contains(server),
            hooks: self.hooks.values().any(|commands| !commands.is_empty()),
            waking_hook: !self.waking.is_empty(),
            waking_timeout_ms: self.waking.iter().find_map(|hook| hook.timeout_ms),
            shell: self.shell_end_told && command.is_some_and(|command| self.may_run(command)),
            wake_up: self.wake_up.is_some(),
            experimental: self.experimental,
            ..HostOptions::default()
        }
    }
}

impl ShellRule {
    fn lets(&self, command: &str) -> bool {
        // A rule for one command does not allow commands that are chained to it.
        let is_plain = !command.contains([';', '&', '|', '<', '>', '`', '\n']) && !command.contains("$(");
        match self {
            Self::Asks => true,
            Self::Prefix(prefix) => {
                let rest = command.strip_prefix(prefix.as_str());
                is_plain && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            }
            Self::Exactly(whole) => is_plain && command == whole,
        }
    }
}

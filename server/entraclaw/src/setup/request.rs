//! The request for a setup: the host, the place, the carriers and the machine.
//!
//! It must never have a default that differs from the host's own documentation.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::ValueEnum;

use super::kept::kept_from_agents;
use entraclaw_inbox::rules::{Shell, WaitCommand};
use entraclaw_inbox::tool::ToolSet;
use entraclaw_mcp::hosts::{HOSTS, HandsDown};
use entraclaw_mcp::nearest::nearest;
use entraclaw_session::config::key::{self, ACCESS_TOKEN_VARIABLE, BOT_SECRET_VARIABLE, HOME_VARIABLE};

/// The default port of opencode's server, which is also opencode's own.
const OPENCODE_PORT: u16 = 4096;
/// The variables for a proxy to Graph; programs read either spelling.
const PROXIES: [&str; 4] = ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"];
/// Variables with secrets, with more certificates, and with the address of the system's key store.
const PASSED: [&str; 6] = [
    ACCESS_TOKEN_VARIABLE,
    BOT_SECRET_VARIABLE,
    "DBUS_SESSION_BUS_ADDRESS",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "XDG_RUNTIME_DIR",
];

/// A program that can be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Host {
    /// Claude Code
    ClaudeCode,
    /// GitHub Copilot CLI
    CopilotCli,
    /// Codex CLI
    Codex,
    /// Gemini CLI
    GeminiCli,
    /// opencode
    Opencode,
    /// Qwen Code
    QwenCode,
    /// VS Code, by configuration only
    Vscode,
    /// Cursor, by configuration only
    Cursor,
}

/// Each host's name on the command line and its name for people, in the order of [`Host`].
const NAMES: [(&str, &str); 8] = [
    ("claude-code", "Claude Code"),
    ("copilot-cli", "GitHub Copilot CLI"),
    ("codex", "Codex CLI"),
    ("gemini-cli", "Gemini CLI"),
    ("opencode", "opencode"),
    ("qwen-code", "Qwen Code"),
    ("vscode", "VS Code"),
    ("cursor", "Cursor"),
];

impl Host {
    /// All hosts.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::value_variants().iter().copied()
    }

    /// The name on the command line; of the hosts that were run, also the family of `mcp::hosts`.
    pub fn name(self) -> &'static str {
        NAMES[self as usize].0
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        NAMES[self as usize].1
    }

    /// The host with this name on the command line.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|host| host.name() == name)
    }
}

/// Whose files are changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Scope {
    /// Yours, for every project
    User,
    /// Those of the folder you are in
    Project,
}

impl Scope {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A carrier that is off until it is asked for, because it needs a flag or lets more in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Carrier {
    /// Claude Code's channel, by a launch flag.
    Channel,
    /// Copilot CLI's extension, with `--experimental`.
    Extension,
    /// Codex's queue.
    Queue,
    /// opencode's HTTP port.
    Port(u16),
    /// Qwen Code's input file; `None` means the one in the home folder.
    InputFile(Option<String>),
}

impl Carrier {
    /// Reads `NAME` or `NAME=VALUE`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        match (name, value) {
            ("channel", None) => Ok(Self::Channel),
            ("extension", None) => Ok(Self::Extension),
            ("queue", None) => Ok(Self::Queue),
            ("port", None) => Ok(Self::Port(OPENCODE_PORT)),
            ("port", Some(port)) => match port.parse() {
                Ok(port) if port >= 1024 => Ok(Self::Port(port)),
                _ => Err(format!("port={port}: give a port from 1024 to 65535")),
            },
            ("input-file", None) => Ok(Self::InputFile(None)),
            ("input-file", Some(path)) if std::path::Path::new(path).is_absolute() => {
                Ok(Self::InputFile(Some(path.to_owned())))
            }
            ("input-file", Some(_)) => Err("input-file: give an absolute path".to_owned()),
            ("channel" | "extension" | "queue", Some(_)) => Err(format!("{name} takes no value")),
            _ => Err(format!(
                "{name:?} is none of ask, context, delegate, channel, extension, queue, port[=N], input-file[=PATH]{}",
                meant(
                    name,
                    &["ask", "context", "delegate", "channel", "extension", "queue", "port", "input-file"]
                )
            )),
        }
    }

    /// The name on the command line, without the value.
    pub fn name(&self) -> &'static str {
        self.row().0
    }

    /// The only host that has it.
    pub fn host(&self) -> Host {
        self.row().1
    }

    fn row(&self) -> (&'static str, Host) {
        match self {
            Self::Channel => ("channel", Host::ClaudeCode),
            Self::Extension => ("extension", Host::CopilotCli),
            Self::Queue => ("queue", Host::Codex),
            Self::Port(_) => ("port", Host::Opencode),
            Self::InputFile(_) => ("input-file", Host::QwenCode),
        }
    }
}

/// A carrier that is on by default and can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// Claude Code's inbox socket.
    InboxSocket,
    /// Claude Code's hook that wakes it.
    WakingHook,
    /// Qwen Code's cross-session protocol.
    PeerProtocol,
}

/// Each carrier with its name on the command line, its only host, and the variable that switches it, in the order of
/// [`LeftOut`].
const LEFT_OUT: [(LeftOut, &str, Host, &str); 3] = [
    (LeftOut::InboxSocket, "inbox-socket", Host::ClaudeCode, "ENTRACLAW_WAKE_INBOX_SOCKET"),
    (LeftOut::WakingHook, "waking-hook", Host::ClaudeCode, "ENTRACLAW_WAKE_WAKING_HOOK"),
    (LeftOut::PeerProtocol, "peer-protocol", Host::QwenCode, "ENTRACLAW_WAKE_QWEN_PEER"),
];

impl LeftOut {
    /// Reads the name on the command line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let names = LEFT_OUT.map(|(_, name, ..)| name);
        let found = LEFT_OUT.iter().find(|(_, name, ..)| *name == text);
        found.map(|(left_out, ..)| *left_out).ok_or_else(|| {
            format!(
                "{text:?} is none of inbox-socket, waking-hook and peer-protocol, which can be left out{}",
                meant(text, &names)
            )
        })
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        LEFT_OUT[self as usize].1
    }

    /// The only host that has it.
    pub fn host(self) -> Host {
        LEFT_OUT[self as usize].2
    }
}

fn meant(word: &str, known: &[&str]) -> String {
    nearest(word, known).map(|close| format!("; did you mean {close}?")).unwrap_or_default()
}

/// The system, which decides about folders and the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Os {
    /// Linux and other Unix.
    Linux,
    /// macOS.
    Mac,
    /// Windows.
    Windows,
}

/// The folders of a machine.
#[derive(Debug, Clone)]
pub struct Places {
    /// The system.
    pub os: Os,
    /// The user's home folder.
    pub user: PathBuf,
    /// The project's folder.
    pub project: PathBuf,
    /// `CLAUDE_CONFIG_DIR`, if set.
    pub claude: Option<PathBuf>,
    /// `COPILOT_HOME`, if set.
    pub copilot: Option<PathBuf>,
    /// `CODEX_HOME`, if set.
    pub codex: Option<PathBuf>,
    /// `XDG_CONFIG_HOME` of Unix or `APPDATA` of Windows, if set.
    pub config: Option<PathBuf>,
}

/// The request for a setup.
#[derive(Debug, Clone)]
pub struct Request {
    /// The host.
    pub host: Host,
    /// The owner of the changed files: the user or the project.
    pub scope: Scope,
    /// The carriers that are asked for by flag.
    pub carriers: Vec<Carrier>,
    /// The carriers that are on by default and not wanted.
    pub left_out: Vec<LeftOut>,
    /// The version of the host's last session, if it is known.
    pub host_version: Option<[u64; 3]>,
    /// The consumer of the configuration, if it names one.
    pub consumer: Option<String>,
    /// Names of variables that the server reads and that are set where setup runs, sorted; never their values.
    pub given: Vec<String>,
    /// The sets of tools that `--with` adds.
    pub added: BTreeSet<ToolSet>,
    /// The sets of tools that the entry names; `None` leaves them to the configuration.
    pub sets: Option<String>,
    /// Names of variables that the added sets read, for other coding agents or for their stores, and that are set where setup
    /// runs, sorted; never their values.
    pub for_agents: Vec<String>,
    /// The absolute path of Codex's program, which its queue needs; `None` if it is not found.
    pub codex: Option<String>,
    /// Whether the answering tools may run without a question too.
    pub allow_answers: bool,
    /// The absolute path of this program.
    pub binary: String,
    /// The absolute path of the program that can only wait; `None` if it is not beside this one.
    pub waiter: Option<String>,
    /// The absolute path of this program's home folder.
    pub home: String,
    /// Whether that is the default home folder.
    pub home_is_default: bool,
    /// The machine.
    pub places: Places,
}

impl Request {
    /// The folders that a symlink may not lead out of: the project's for its files, or else the user's.
    pub fn roots(&self) -> Vec<PathBuf> {
        let Places { user, project, claude, copilot, codex, config, .. } = &self.places;
        if self.scope == Scope::Project {
            return vec![project.clone()];
        }
        let given = [claude, copilot, codex, config].into_iter().flatten();
        std::iter::once(user).chain(given).cloned().collect()
    }

    /// The name of the owner in a receipt.
    pub fn owner(&self) -> String {
        match self.scope {
            Scope::User => format!("{}/user", self.host.name()),
            Scope::Project => format!("{}/project:{}", self.host.name(), self.places.project.display()),
        }
    }

    /// The variables that the server needs.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let own = self.settings().into_iter();
        let resolved = match self.handed_down() {
            // The host resolves such references in its own file, even to variables that it withholds as secrets.
            HandsDown::AllBut(_) => self.kept_from_servers(),
            _ => Vec::new(),
        };
        own.chain(resolved.into_iter().map(|name| (name.clone(), format!("${name}")))).collect()
    }

    /// The variables of its environment that the host passes on to its servers.
    pub(super) fn handed_down(&self) -> HandsDown {
        let row = HOSTS.iter().find(|row| row.family == self.host.name());
        row.map_or(HandsDown::Everything, |row| row.environment)
    }

    /// The variables that are set and would not reach the server.
    fn kept_from_servers(&self) -> Vec<String> {
        let handed = self.handed_down();
        let is_ours = |name: &&String| *name != HOME_VARIABLE && handed.keeps(name, "");
        let ours = self.given.iter().filter(is_ours).cloned();
        let for_agents = if self.sets.is_some() { self.for_agents.as_slice() } else { &[] };
        let mut names: Vec<String> = ours.chain(kept_from_agents(handed, for_agents)).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The names of variables to pass on, for a host that passes on few and takes names.
    pub(super) fn names_to_pass(&self) -> Vec<String> {
        let mut names = self.kept_from_servers();
        names.extend(PASSED.map(str::to_owned));
        // Hooks have the whole environment: without this they could use another home than the server.
        names.extend(self.home_is_default.then(|| HOME_VARIABLE.to_owned()));
        names.extend(PROXIES.iter().flat_map(|name| [(*name).to_owned(), name.to_ascii_lowercase()]));
        names.sort();
        names.dedup();
        let stated = self.settings();
        names.retain(|name| stated.iter().all(|(known, _)| known != name));
        names
    }

    /// The variables that stand for the request.
    fn settings(&self) -> Vec<(String, String)> {
        let mut variables = Vec::new();
        if !self.home_is_default {
            variables.push((HOME_VARIABLE, self.home.clone()));
        }
        for carrier in &self.carriers {
            match carrier {
                Carrier::Queue => {
                    variables.push(("ENTRACLAW_WAKE_CODEX_QUEUE", "true".to_owned()));
                    // The host gives its servers another PATH.
                    variables.extend(self.codex.clone().map(|path| ("ENTRACLAW_WAKE_CODEX_COMMAND", path)));
                }
                Carrier::Port(port) => variables.push(("ENTRACLAW_WAKE_OPENCODE_PORT", port.to_string())),
                Carrier::InputFile(_) => {
                    variables.push(("ENTRACLAW_WAKE_QWEN_INPUT_FILE", self.input_file()));
                }
                Carrier::Channel | Carrier::Extension => {}
            }
        }
        let off = self.left_out.iter().map(|left_out| (LEFT_OUT[*left_out as usize].3, "false".to_owned()));
        variables.extend(off);
        let mut variables: Vec<_> =
            variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        variables.extend(self.sets.clone().map(|sets| (key::TOOLS_SETS.variable(), sets)));
        variables
    }

    /// The path of the file from which Qwen Code reads lines.
    pub(super) fn input_file(&self) -> String {
        let given = self.carriers.iter().find_map(|carrier| match carrier {
            Carrier::InputFile(path) => path.clone(),
            _ => None,
        });
        let folder = std::path::Path::new(&self.home);
        given.unwrap_or_else(|| folder.join("qwen-input.jsonl").display().to_string())
    }

    /// The shell that the host runs commands in.
    pub(super) fn shell(&self) -> Shell {
        if self.places.os == Os::Windows { Shell::Windows } else { Shell::Posix }
    }

    /// A command of this program for the host's shell.
    pub(super) fn command(&self, words: &[&str]) -> String {
        let shell = self.shell();
        let mut all = vec![shell.quoted(&self.binary)];
        all.extend(words.iter().map(|word| (*word).to_owned()));
        if !self.home_is_default {
            all.extend(["--home".to_owned(), shell.quoted(&self.home)]);
        }
        all.join(" ")
    }

    /// The command that the model leaves running in that shell.
    pub(super) fn wait(&self) -> WaitCommand {
        let home = (!self.home_is_default).then_some(self.home.as_str());
        let command = match &self.waiter {
            Some(waiter) => WaitCommand::of_waiter(waiter, home, self.shell()),
            None => WaitCommand::of_whole(&self.binary, home, self.shell()),
        };
        command.reading_as(self.consumer.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carriers_are_read_with_their_values() {
        assert_eq!(Carrier::parse("port=5000"), Ok(Carrier::Port(5000)));
        assert_eq!(Carrier::parse("port"), Ok(Carrier::Port(4096)));
        assert_eq!(Carrier::parse("input-file"), Ok(Carrier::InputFile(None)));
        for wrong in ["port=80", "port=x", "port=", "input-file=rel", "channel=1", "", "radio", "=", "queue="]
        {
            assert!(Carrier::parse(wrong).is_err(), "{wrong}");
        }
        assert!(Carrier::parse("quue").unwrap_err().ends_with("; did you mean queue?"));
        assert!(!Carrier::parse("radio").unwrap_err().contains("did you mean"));
        assert!(LeftOut::parse("waking-hok").unwrap_err().ends_with("; did you mean waking-hook?"));
    }

    #[test]
    fn names_are_what_the_command_line_takes() {
        for host in Host::all() {
            assert_eq!(host.to_possible_value().unwrap().get_name(), host.name());
            assert_eq!(Host::named(host.name()), Some(host));
        }
        for (at, (left_out, name, ..)) in LEFT_OUT.iter().enumerate() {
            assert_eq!((*left_out as usize, LeftOut::parse(name)), (at, Ok(*left_out)));
        }
    }
}

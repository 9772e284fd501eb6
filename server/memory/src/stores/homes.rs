//! Where each agent keeps its sessions, by the system and by the agent's own variables.
//!
//! It must never read the environment: the caller hands it down.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::session::Agent;

/// The family of an operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux and its like.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl System {
    /// The system that this program was built for.
    pub const fn here() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }
}

/// What says where the stores are.
#[derive(Debug, Clone)]
pub struct Homes {
    /// The person's home folder.
    pub home: PathBuf,
    /// The environment.
    pub variables: BTreeMap<String, String>,
    /// The system.
    pub system: System,
}

/// The names of Visual Studio Code's folders: stable, early, and its build without Microsoft's parts.
const EDITIONS: [&str; 4] = ["Code", "Code - Insiders", "Code - OSS", "VSCodium"];
/// The folders of its servers, below the home folder.
const SERVERS: [&str; 3] = [".vscode-server", ".vscode-server-insiders", ".vscode-remote"];

impl Homes {
    /// The variables that are asked for.
    pub const VARIABLES: [&'static str; 9] = [
        "APPDATA",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "COPILOT_HOME",
        "GEMINI_CLI_HOME",
        "QWEN_HOME",
        "QWEN_RUNTIME_DIR",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
    ];

    /// The folders of an agent. They need not exist.
    pub fn of(&self, agent: Agent) -> Vec<PathBuf> {
        match agent {
            Agent::Vscode => self.editors(),
            Agent::Copilot => vec![self.own("COPILOT_HOME", ".copilot")],
            Agent::Claude => vec![self.own("CLAUDE_CONFIG_DIR", ".claude")],
            Agent::Codex => vec![self.own("CODEX_HOME", ".codex")],
            // Its variable names the folder that stands for the home folder.
            Agent::Gemini => {
                vec![self.variable("GEMINI_CLI_HOME").unwrap_or_else(|| self.home.clone()).join(".gemini")]
            }
            Agent::Qwen => {
                let home = self.own("QWEN_HOME", ".qwen");
                let runtime = self.variable("QWEN_RUNTIME_DIR").filter(|runtime| *runtime != home);
                runtime.into_iter().chain([home]).collect()
            }
            // It keeps to this folder on every system.
            Agent::Opencode => vec![self.own("XDG_DATA_HOME", ".local/share").join("opencode")],
        }
    }

    fn variable(&self, name: &str) -> Option<PathBuf> {
        self.variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    }

    fn own(&self, variable: &str, folder: &str) -> PathBuf {
        self.variable(variable).unwrap_or_else(|| self.home.join(folder))
    }

    /// The folders `User` of all editions.
    fn editors(&self) -> Vec<PathBuf> {
        let base = match self.system {
            System::Linux => self.own("XDG_CONFIG_HOME", ".config"),
            System::MacOs => self.home.join("Library/Application Support"),
            System::Windows => self.own("APPDATA", "AppData/Roaming"),
        };
        let user = |folder: PathBuf| folder.join("User");
        let editions = EDITIONS.iter().map(|edition| user(base.join(edition)));
        let servers = SERVERS.iter().map(|server| user(self.home.join(server).join("data")));
        editions.chain(servers).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn homes(system: System, variables: &[(&str, &str)]) -> Homes {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Homes { home: PathBuf::from("/home/alice"), variables: variables.collect(), system }
    }

    #[test]
    fn an_agents_own_variable_comes_first() {
        let plain = homes(System::Linux, &[("CODEX_HOME", "")]);
        assert_eq!(plain.of(Agent::Codex), [Path::new("/home/alice/.codex")]);
        assert_eq!(plain.of(Agent::Gemini), [Path::new("/home/alice/.gemini")]);
        let set = homes(
            System::Linux,
            &[("CODEX_HOME", "/c"), ("GEMINI_CLI_HOME", "/g"), ("QWEN_RUNTIME_DIR", "/r")],
        );
        assert_eq!(set.of(Agent::Codex), [Path::new("/c")]);
        assert_eq!(set.of(Agent::Gemini), [Path::new("/g/.gemini")]);
        assert_eq!(set.of(Agent::Qwen), [Path::new("/r"), Path::new("/home/alice/.qwen")]);
    }

    #[test]
    fn the_editors_folder_is_the_systems() {
        let first = |system, variables: &[(&str, &str)]| homes(system, variables).of(Agent::Vscode).remove(0);
        assert_eq!(first(System::Linux, &[]), Path::new("/home/alice/.config/Code/User"));
        assert_eq!(first(System::MacOs, &[]), Path::new("/home/alice/Library/Application Support/Code/User"));
        let windows = first(System::Windows, &[("APPDATA", "/roaming")]);
        assert_eq!(windows, Path::new("/roaming/Code/User"));
    }
    #[test]
    fn each_agent_has_its_folders() {
        let all = ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "QWEN_HOME", "XDG_DATA_HOME"];
        let variables = all.map(|name| (name, "/own"));
        let (plain, set) = (homes(System::Linux, &[]), homes(System::Linux, &variables));
        for (agent, folder, own) in [
            (Agent::Copilot, "/home/alice/.copilot", "/own"),
            (Agent::Claude, "/home/alice/.claude", "/own"),
            (Agent::Codex, "/home/alice/.codex", "/own"),
            (Agent::Qwen, "/home/alice/.qwen", "/own"),
            (Agent::Opencode, "/home/alice/.local/share/opencode", "/own/opencode"),
        ] {
            assert_eq!(
                (plain.of(agent), set.of(agent)),
                (vec![folder.into()], vec![own.into()]),
                "{agent:?}"
            );
        }
        let same = homes(System::Linux, &[("QWEN_HOME", "/q"), ("QWEN_RUNTIME_DIR", "/q")]);
        assert_eq!(same.of(Agent::Qwen), [Path::new("/q")], "the same folder is read once");
    }

    #[test]
    fn the_editor_has_editions_and_servers() {
        let found = homes(System::Linux, &[("XDG_CONFIG_HOME", "/c")]).of(Agent::Vscode);
        let expected = [
            "/c/Code/User",
            "/c/Code - Insiders/User",
            "/c/Code - OSS/User",
            "/c/VSCodium/User",
            "/home/alice/.vscode-server/data/User",
            "/home/alice/.vscode-server-insiders/data/User",
            "/home/alice/.vscode-remote/data/User",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
    }
}

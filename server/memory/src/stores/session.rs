//! One model for the sessions of all agents.
//!
//! It must never hold a member that only one agent's store has.

use std::path::PathBuf;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An agent whose sessions can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    /// Copilot Chat in Visual Studio Code.
    Vscode,
    /// The GitHub Copilot CLI.
    Copilot,
    /// Claude Code.
    Claude,
    /// The Codex CLI.
    Codex,
    /// The Gemini CLI.
    Gemini,
    /// Qwen Code.
    Qwen,
    /// opencode.
    Opencode,
}

impl Agent {
    /// All agents.
    pub const ALL: [Self; 7] =
        [Self::Vscode, Self::Copilot, Self::Claude, Self::Codex, Self::Gemini, Self::Qwen, Self::Opencode];

    /// The agents that are programs for a terminal.
    pub const CLIS: [Self; 6] =
        [Self::Copilot, Self::Claude, Self::Codex, Self::Gemini, Self::Qwen, Self::Opencode];

    /// The agents of terminals.
    pub fn in_terminals() -> Vec<Self> {
        Self::ALL.into_iter().filter(|agent| *agent != Self::Vscode).collect()
    }

    /// The name of the agent in arguments and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Vscode => "vscode",
            Self::Copilot => "copilot",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Opencode => "opencode",
        }
    }

    /// The agent of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|agent| agent.as_str() == name)
    }
}

/// Who says a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The person.
    User,
    /// The agent.
    Assistant,
    /// A tool that the agent called, or the call.
    Tool,
    /// The agent about the session itself, when it shortens what it remembers.
    Summary,
}

/// What was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who says it.
    pub role: Role,
    /// The text, without secrets and invisible characters.
    pub text: String,
    /// When.
    pub at: Option<Timestamp>,
    /// The name of the tool.
    pub tool: Option<String>,
    /// Whether it belongs to an agent that the session's agent has started.
    pub is_side: bool,
    /// Where it stands in its file.
    pub place: Place,
}

/// Where a message stands in its file: its line, and which one of the line. A file that is read as a whole is one line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    /// Where the line begins.
    pub line: u64,
    /// The messages of the line before it.
    pub nth: u64,
}

/// A session of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Whose it is.
    pub agent: Agent,
    /// Its id, by which the agent resumes it.
    pub id: String,
    /// The folder it works in.
    pub folder: Option<String>,
    /// What it is about.
    pub title: Option<String>,
    /// The version of the agent's program that wrote last.
    pub version: Option<String>,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When it last grew.
    pub last: Option<Timestamp>,
    /// The file that holds it.
    pub file: PathBuf,
}

impl Session {
    /// Whether its file holds nothing: Gemini CLI 0.61.0 leaves such a file, with the old id, when a session is resumed, and
    /// goes on in the older one.
    pub(super) fn is_begun_again(&self) -> bool {
        self.agent == Agent::Gemini && self.title.is_none()
    }

    pub(super) fn new(agent: Agent, id: &str, file: PathBuf) -> Self {
        Self {
            agent,
            id: id.to_owned(),
            folder: None,
            title: None,
            version: None,
            started: None,
            last: None,
            file,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_known_by_its_name_alone() {
        for agent in Agent::ALL {
            assert_eq!(Agent::by_name(agent.as_str()), Some(agent));
            assert_eq!(serde_json::to_value(agent).unwrap(), agent.as_str());
        }
        assert_eq!([Agent::by_name("Claude"), Agent::by_name(""), Agent::by_name("cursor")], [None; 3]);
        assert_eq!(Agent::in_terminals(), Agent::CLIS);
    }

    #[test]
    fn only_a_session_of_gemini_without_a_word_is_begun_again() {
        let session = |agent, title: Option<&str>| Session {
            title: title.map(str::to_owned),
            ..Session::new(agent, "one", "/one".into())
        };
        assert!(session(Agent::Gemini, None).is_begun_again());
        assert!(!session(Agent::Gemini, Some("why")).is_begun_again());
        assert!(!session(Agent::Claude, None).is_begun_again());
    }
}

//! Which coding CLI a script stands for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A coding CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    /// GitHub Copilot CLI, `copilot`.
    Copilot,
    /// Claude Code, `claude`.
    ClaudeCode,
    /// Codex, `codex`.
    Codex,
    /// Gemini CLI, `gemini`.
    GeminiCli,
    /// opencode, `opencode`.
    Opencode,
    /// Qwen Code, `qwen`.
    QwenCode,
}

impl Agent {
    /// The name of its program.
    pub fn program(self) -> &'static str {
        match self {
            Self::Copilot => "copilot",
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini",
            Self::Opencode => "opencode",
            Self::QwenCode => "qwen",
        }
    }

    /// The version that a script without one stands for.
    pub fn version(self) -> &'static str {
        match self {
            Self::Copilot => "1.0.102",
            Self::ClaudeCode => "2.1.330",
            Self::Codex => "0.169.0",
            Self::GeminiCli => "0.61.0",
            Self::Opencode => "1.18.33",
            Self::QwenCode => "0.24.4",
        }
    }

    /// Whether its launcher keeps a signal to itself and goes on.
    pub fn launcher_keeps_signals(self) -> bool {
        self == Self::GeminiCli
    }

    /// The environment variable that moves its store.
    pub fn store_variable(self) -> &'static str {
        match self {
            Self::Copilot => "COPILOT_HOME",
            Self::ClaudeCode => "CLAUDE_CONFIG_DIR",
            Self::Codex => "CODEX_HOME",
            Self::GeminiCli => "GEMINI_CLI_HOME",
            Self::Opencode => "XDG_DATA_HOME",
            Self::QwenCode => "QWEN_HOME",
        }
    }
}

//! The hosts that can be started, and how each is found and installed.
//! It must never start a program that is not the host's own.

use std::path::{Path, PathBuf};

use entraclaw::setup::Host;

/// A host that can be started for the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PlayHost {
    /// Claude Code
    #[value(alias = "claude")]
    ClaudeCode,
    /// GitHub Copilot CLI
    #[value(alias = "copilot")]
    CopilotCli,
    /// Codex CLI
    Codex,
    /// Gemini CLI
    #[value(alias = "gemini")]
    GeminiCli,
    /// opencode
    Opencode,
    /// Qwen Code
    #[value(alias = "qwen")]
    QwenCode,
}

impl PlayHost {
    /// The name for people.
    pub(crate) fn title(self) -> &'static str {
        self.of_setup().title()
    }

    /// The same of `entraclaw setup`.
    pub(super) fn of_setup(self) -> Host {
        match self {
            Self::ClaudeCode => Host::ClaudeCode,
            Self::CopilotCli => Host::CopilotCli,
            Self::Codex => Host::Codex,
            Self::GeminiCli => Host::GeminiCli,
            Self::Opencode => Host::Opencode,
            Self::QwenCode => Host::QwenCode,
        }
    }

    /// Its program, and the package that brings it.
    fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::ClaudeCode => ("claude", "@anthropic-ai/claude-code"),
            Self::CopilotCli => ("copilot", "@github/copilot"),
            Self::Codex => ("codex", "@openai/codex"),
            Self::GeminiCli => ("gemini", "@google/gemini-cli"),
            Self::Opencode => ("opencode", "opencode-ai"),
            Self::QwenCode => ("qwen", "@qwen-code/qwen-code"),
        }
    }

    /// Its program in one of the folders of a `PATH`.
    pub(crate) fn find(self, path: &str) -> anyhow::Result<PathBuf> {
        let (program, package) = self.program();
        let found = std::env::split_paths(path)
            .flat_map(|folder| endings().map(move |ending| folder.join(format!("{program}{ending}"))))
            .find(|candidate| is_program(candidate));
        found.ok_or_else(|| {
            anyhow::anyhow!(
                "{} is not installed: no `{program}` in the folders of PATH; install it with `npm install -g {package}`, or play \
                 without a host",
                self.title()
            )
        })
    }
}

/// The endings that a program's file may have.
fn endings() -> impl Iterator<Item = &'static str> {
    let all: &[&str] = if cfg!(windows) { &[".exe", ".cmd", ".bat"] } else { &[""] };
    all.iter().copied()
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

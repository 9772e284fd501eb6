//! `[delegate]` and `[mcp.external]`: the local model, and how hosts reach its engine.

use std::path::PathBuf;

use entraclaw_models::{Api, Choice, Config as Server};

use super::key;
use super::load::Loader;

/// Settings for the delegation engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegate {
    /// The model server.
    pub server: Choice,
    /// Whether each task of a host works in a git worktree of its own.
    pub worktree: bool,
    /// How hosts reach the engine.
    pub external: External,
}

/// How hosts reach the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct External {
    /// Whether they do.
    pub is_enabled: bool,
    /// The socket, if the operator names one.
    pub socket_path: Option<PathBuf>,
    /// Tasks a minute that a host may hand over.
    pub rate_limit: u32,
}

impl Default for Delegate {
    fn default() -> Self {
        let external =
            External { is_enabled: true, socket_path: None, rate_limit: entraclaw_delegate::RATE_LIMIT };
        Self { server: Choice::Found(None), worktree: false, external }
    }
}

impl Loader {
    pub(super) fn delegate(&mut self) -> Delegate {
        let api =
            match self.word(&key::DELEGATE_API, "write \"auto\", \"openai\", \"ollama\" or \"llama.cpp\"") {
                "openai" => Some(Api::OpenAi),
                "ollama" => Some(Api::Ollama),
                "llama.cpp" => Some(Api::LlamaCpp),
                _ => None,
            };
        let model = self.value(&key::DELEGATE_MODEL).map(|(text, _)| text);
        let server = match self.value(&key::DELEGATE_BASE_URL).map(|(text, _)| text) {
            Some(base_url) => Choice::Named(Server { base_url, model, api }),
            None => Choice::Found(model),
        };
        Delegate {
            server,
            worktree: self.truth(&key::DELEGATE_WORKTREE),
            external: External {
                is_enabled: self.truth(&key::MCP_EXTERNAL_ENABLED),
                socket_path: self.socket_path(),
                rate_limit: self.number(&key::MCP_EXTERNAL_RATE_LIMIT),
            },
        }
    }

    fn socket_path(&mut self) -> Option<PathBuf> {
        let (text, at) = self.value(&key::MCP_EXTERNAL_SOCKET_PATH)?;
        let path = PathBuf::from(&text);
        if path.is_absolute() {
            return Some(path);
        }
        let problem = format!("`mcp.external.socket_path` is `{text}`, which is not an absolute path");
        self.error(&at, problem, "write it out from the root");
        None
    }
}

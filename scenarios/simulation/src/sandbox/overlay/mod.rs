//! Connects one real host to the sandbox for one session, by files of its own, and by the host's flags and variables that
//! point to them. The contents are those that `entraclaw setup` writes.
//!
//! It must never write outside its folder, and never give a host a home or a login of ours.

mod base;
mod copilot_cli;
mod gemini_cli;
mod host;
mod inline;
mod opencode;
mod plain;

use std::collections::BTreeMap;

pub(crate) use base::{Overlay, Wanted};
pub(crate) use host::PlayHost;

use super::home;

impl Overlay {
    /// Writes the files.
    pub(crate) fn new(wanted: &Wanted<'_>) -> anyhow::Result<Self> {
        let mut overlay = Self {
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            notes: Vec::new(),
            folder: home::private_folder("hostcheck-play-host-")?,
        };
        match wanted.host {
            PlayHost::ClaudeCode => plain::claude_code(&mut overlay, wanted)?,
            PlayHost::CopilotCli => copilot_cli::fill(&mut overlay, wanted)?,
            PlayHost::Codex => plain::codex(&mut overlay, wanted)?,
            PlayHost::GeminiCli => gemini_cli::gemini_cli(&mut overlay, wanted)?,
            PlayHost::Opencode => opencode::fill(&mut overlay, wanted)?,
            PlayHost::QwenCode => gemini_cli::qwen_code(&mut overlay, wanted)?,
        }
        Ok(overlay)
    }
}

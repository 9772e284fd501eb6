//! Codex CLI 0.169: servers in `~/.codex/config.toml`, hooks in `hooks.json` beside it, instructions in
//! `AGENTS.md`.
//!
//! It must never run a hook that the user has not trusted; here the user has trusted all.

use super::document::{Document, Form, HostFiles, SettingsError};
use super::found::{HostSettings, OpenWakeUp, ServerEntry, ToolRule};
use super::groups;
use super::launch::{no_more, words};

pub(super) fn read(files: &HostFiles, launch: &[String]) -> Result<HostSettings, SettingsError> {
    let mut settings = HostSettings::new();
    if let Some(document) = Document::find(files, ".codex/config.toml", Form::Toml)? {
        for (name, entry) in document.members(&["mcp_servers"])? {
            let of = format!("mcp_servers.{name}");
            let is_off = entry.get("enabled").and_then(serde_json::Value::as_bool) == Some(false);
            if is_off || (entry.get("command").is_none() && entry.get("url").is_some()) {
                continue;
            }
            // Observed: `tool_timeout_sec`; read in the program: `startup_timeout_sec`.
            let limit_ms = |name| Ok(document.number(&of, entry, name)?.map(|s| s.saturating_mul(1_000)));
            let server = ServerEntry {
                program: document.text(&of, entry, "command")?,
                arguments: document.texts(&of, entry, "args")?,
                environment: document.variables(&of, entry, "env")?,
                passed: document.texts(&of, entry, "env_vars")?,
                tool_timeout_ms: limit_ms("tool_timeout_sec")?,
                start_timeout_ms: limit_ms("startup_timeout_sec")?,
            };
            settings.servers.insert(name.to_owned(), server);
            let tools = entry.get("tools").and_then(serde_json::Value::as_object);
            for (tool, rule) in tools.into_iter().flatten() {
                if document.text(&format!("{of}.tools.{tool}"), rule, "approval_mode")? == "approve" {
                    settings.tools.push(ToolRule { server: name.to_owned(), tool: Some(tool.clone()) });
                }
            }
        }
    }
    // Observed: hooks in the format of Claude Code. Documented: the timeout is in seconds, and a name at the
    // top besides `hooks` and `description` makes the host refuse the file.
    if let Some(document) = Document::find(files, ".codex/hooks.json", Form::Json)? {
        if let Some(name) = document.names().find(|name| !["hooks", "description"].contains(name)) {
            return Err(document.wrong(format!("`{name}` is not known at the top")));
        }
        settings.hooks = groups::hooks(&document, Some(1_000))?;
    }
    // Documented: an override beside it replaces AGENTS.md.
    let memory = [".codex/AGENTS.override.md", ".codex/AGENTS.md"].iter().find_map(|file| files.get(*file));
    settings.instructions = memory.cloned().unwrap_or_default();
    // Observed: the end of a background terminal starts no turn.
    settings.shell_end_told = false;
    // Observed: `codex queue` needs no flag.
    settings.wake_up = Some(OpenWakeUp::QueueCommand);
    no_more(&words(launch))?;
    Ok(settings)
}

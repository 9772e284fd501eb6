//! opencode 1.18: a settings file in `~/.config/opencode`, and a port that the launch line opens.
//!
//! It must never listen without that argument.

use super::document::{Document, Form, HostFiles, SettingsError};
use super::found::{HostSettings, OpenWakeUp, ServerEntry};
use super::launch::{no_more, words};

/// Documented: both files are read, and the second one wins.
const FILES: [&str; 2] = [".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"];

pub(super) fn read(files: &HostFiles, launch: &[String]) -> Result<HostSettings, SettingsError> {
    let mut settings = HostSettings::new();
    for file in FILES {
        let Some(document) = Document::find(files, file, Form::Jsonc)? else { continue };
        for (name, entry) in document.members(&["mcp"])? {
            let of = format!("mcp.{name}");
            // Observed: `{type: "local", command: [program, arguments…], environment, timeout}`, the timeout in milliseconds.
            let is_off = entry.get("enabled").and_then(serde_json::Value::as_bool) == Some(false);
            if is_off || document.text(&of, entry, "type")? != "local" {
                continue;
            }
            let mut words = document.texts(&of, entry, "command")?.into_iter();
            let program = words.next().ok_or_else(|| document.wrong(format!("`{of}.command` is empty")))?;
            let timeout_ms = document.number(&of, entry, "timeout")?;
            let server = ServerEntry {
                program,
                arguments: words.collect(),
                environment: document.variables(&of, entry, "environment")?,
                passed: Vec::new(),
                tool_timeout_ms: timeout_ms,
                start_timeout_ms: timeout_ms,
            };
            settings.servers.insert(name.to_owned(), server);
        }
    }
    settings.instructions = files.get(".config/opencode/AGENTS.md").cloned().unwrap_or_default();
    // Observed: the model has no background shell, and the host runs no command at an event.
    settings.shell_end_told = false;
    let words = words(launch);
    let rest = match &words[..] {
        // Observed: without the argument the host does not listen.
        ["--port", port, rest @ ..] => {
            let port = port.parse().map_err(|_| SettingsError::new(format!("`{port}` is no port")))?;
            settings.wake_up = Some(OpenWakeUp::Port(port));
            rest
        }
        rest => rest,
    };
    no_more(rest)?;
    Ok(settings)
}

//! GitHub Copilot CLI 1.0.x: all files below `~/.copilot`, hooks and extensions in files of their own.
//!
//! It must never read `settings.json`, which the host keeps for itself.

use std::path::Path;

use super::document::{Document, Form, HostFiles, SettingsError};
use super::found::{HookCommand, HostSettings, OpenWakeUp, ShellRule};
use super::groups;
use super::launch::{no_more, words};

pub(super) fn read(files: &HostFiles, launch: &[String]) -> Result<HostSettings, SettingsError> {
    let mut settings = HostSettings::new();
    // Observed: the user's file is always read, `local` and `stdio` are the same, and `timeout` is in milliseconds.
    if let Some(document) = Document::find(files, ".copilot/mcp-config.json", Form::Json)? {
        settings.servers = groups::servers(&document)?;
        for (name, entry) in document.members(&["mcpServers"])? {
            // Observed: a missing list or `["*"]` means all tools, an empty list none.
            if document.texts(&format!("mcpServers.{name}"), entry, "tools")?.is_empty()
                && entry.get("tools").is_some()
            {
                settings.servers.remove(name);
            }
        }
    }
    for (file, text) in below(files, ".copilot/hooks/") {
        // Observed: every JSON file there is read.
        if file.contains('/') || Path::new(file).extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        hooks(&Document::parse(&format!(".copilot/hooks/{file}"), Form::Json, text)?, &mut settings)?;
    }
    settings.instructions = files.get(".copilot/copilot-instructions.md").cloned().unwrap_or_default();
    // The host asks the user before a command runs for the first time, and the user allows it.
    settings.shell.push(ShellRule::Asks);
    let words = words(launch);
    let rest = words.strip_prefix(&["--experimental"]).unwrap_or(&words);
    settings.experimental = rest.len() < words.len();
    no_more(rest)?;
    // Observed: the experimental setting alone makes the host load `extensions/NAME/extension.mjs`.
    let mut extensions = below(files, ".copilot/extensions/")
        .filter(|(file, _)| file.split_once('/').is_some_and(|(_, name)| name == "extension.mjs"));
    if settings.experimental {
        settings.wake_up = extensions.next().map(|(_, text)| OpenWakeUp::Extension(text.to_owned()));
    }
    Ok(settings)
}

/// Documented: `{version: 1, hooks: {EVENT: [{type: "command", bash, powershell, timeoutSec}]}}`; on this
/// system `bash` is used.
fn hooks(document: &Document, settings: &mut HostSettings) -> Result<(), SettingsError> {
    if document.at(&["version"]).and_then(serde_json::Value::as_u64) != Some(1) {
        return Err(document.wrong("`version` is not 1"));
    }
    for (event, entries) in document.members(&["hooks"])? {
        let of = format!("hooks.{event}");
        for entry in document.elements(&of, Some(entries))? {
            if document.text(&of, entry, "type")? != "command" {
                continue;
            }
            let command = document.text(&of, entry, "bash")?;
            let timeout_ms = document.number(&of, entry, "timeoutSec")?.map(|s| s.saturating_mul(1_000));
            settings.hooks.entry(event.to_owned()).or_default().push(HookCommand { command, timeout_ms });
        }
    }
    Ok(())
}

/// The files of a folder, with their paths below it.
fn below<'f>(files: &'f HostFiles, folder: &'static str) -> impl Iterator<Item = (&'f str, &'f str)> {
    files.iter().filter_map(move |(path, text)| Some((path.strip_prefix(folder)?, text.as_str())))
}

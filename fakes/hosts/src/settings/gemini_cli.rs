//! Gemini CLI 0.61: `~/.gemini/settings.json` has servers and hooks, `policies/*.toml` what may run, `GEMINI.md` the instructions.
//!
//! It must never tell the model of a shell's end without the two settings that this takes.

use std::path::Path;

use serde_json::Value;

use super::document::{Document, Form, HostFiles, SettingsError};
use super::found::{HostSettings, ShellRule, ToolRule};
use super::groups;
use super::launch::{no_more, words};

pub(super) fn read(files: &HostFiles, launch: &[String]) -> Result<HostSettings, SettingsError> {
    let mut settings = HostSettings::new();
    settings.shell_end_told = false;
    // Observed: also what it hides comes by its name in an entry; one that is not set is empty.
    settings.resolves_names = true;
    // Documented: comments are taken out before the JSON is read. The entry's `timeout` is in milliseconds (observed).
    if let Some(document) = Document::find(files, ".gemini/settings.json", Form::JsonWithComments)? {
        settings.servers = groups::servers(&document)?;
        // Observed form; documented: the timeout is in milliseconds.
        settings.hooks = groups::hooks(&document, Some(1))?;
        // Observed: only with both of them does the end of a background shell start a turn.
        let behaviour = document.at(&["tools", "shell", "backgroundCompletionBehavior"]);
        let steering = document.at(&["experimental", "modelSteering"]);
        settings.shell_end_told = behaviour == Some(&Value::from("inject")) && steering == Some(&true.into());
    }
    let policies = files.iter().filter(|(path, _)| {
        let name = path.strip_prefix(".gemini/policies/").unwrap_or_default();
        !name.contains('/') && Path::new(name).extension().is_some_and(|ending| ending == "toml")
    });
    for (file, text) in policies {
        rules(&Document::parse(file, Form::Toml, text)?, &mut settings)?;
    }
    settings.instructions = files.get(".gemini/GEMINI.md").cloned().unwrap_or_default();
    no_more(&words(launch))?;
    Ok(settings)
}

/// Documented: `[[rule]] mcpName, toolName, commandPrefix, decision, priority`, each name a text or a list; observed for tools
/// of a server.
fn rules(document: &Document, settings: &mut HostSettings) -> Result<(), SettingsError> {
    for rule in document.list(&["rule"])? {
        document.text("rule", rule, "decision")?;
        let priority = document.number("rule", rule, "priority")?;
        if priority.is_none_or(|priority| priority > 999) {
            return Err(document.wrong("`rule.priority` is no number from 1 to 999"));
        }
        let allows = rule.get("decision") == Some(&Value::from("allow"));
        let texts = |name: &str| match rule.get(name) {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(list)) => list.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect(),
            _ => Vec::new(),
        };
        let servers = texts("mcpName");
        if allows && !servers.is_empty() {
            let named: Vec<Option<String>> = texts("toolName").into_iter().map(Some).collect();
            let tools = if named.is_empty() { vec![None] } else { named };
            let of_all = servers.iter().flat_map(|server| tools.iter().map(move |tool| (server, tool)));
            settings
                .tools
                .extend(of_all.map(|(server, tool)| ToolRule { server: server.clone(), tool: tool.clone() }));
        } else if allows && texts("toolName").iter().any(|tool| tool == "run_shell_command") {
            settings.shell.extend(texts("commandPrefix").into_iter().map(ShellRule::Prefix));
        }
    }
    Ok(())
}

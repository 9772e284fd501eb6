//! Formats that more than one host has: entries of servers, and hooks as lists of groups of commands.
//!
//! It must never decide the file or the unit of a value; each host has its own.

use std::collections::BTreeMap;

use serde_json::Value;

use super::document::{Document, SettingsError};
use super::found::{HookCommand, ServerEntry, ShellRule, ToolRule};

/// `mcpServers.NAME {command, args, env, timeout}`, the timeout in milliseconds. Entries of other transports
/// are skipped.
pub(super) fn servers(document: &Document) -> Result<BTreeMap<String, ServerEntry>, SettingsError> {
    let mut servers = BTreeMap::new();
    for (name, entry) in document.members(&["mcpServers"])? {
        let of = format!("mcpServers.{name}");
        let is_ours = |kind: &str| ["stdio", "local"].contains(&kind);
        if entry.get("type").and_then(Value::as_str).is_some_and(|kind| !is_ours(kind)) {
            continue;
        }
        if entry.get("command").is_none() && (entry.get("url").is_some() || entry.get("httpUrl").is_some()) {
            continue;
        }
        let entry = ServerEntry {
            program: document.text(&of, entry, "command")?,
            arguments: document.texts(&of, entry, "args")?,
            environment: document.variables(&of, entry, "env")?,
            tool_timeout_ms: document.number(&of, entry, "timeout")?,
            ..ServerEntry::default()
        };
        servers.insert(name.to_owned(), entry);
    }
    Ok(servers)
}

/// `hooks.EVENT[].hooks[] {type: "command", command, timeout}`, first used by Claude Code. A group with a
/// `matcher` is for some tools only and is run here for all. `unit_ms` is the unit of the timeout; `None` if
/// versions differ in it.
pub(super) fn hooks(
    document: &Document,
    unit_ms: Option<u64>,
) -> Result<BTreeMap<String, Vec<HookCommand>>, SettingsError> {
    let mut hooks: BTreeMap<String, Vec<HookCommand>> = BTreeMap::new();
    for (event, groups) in document.members(&["hooks"])? {
        let of = format!("hooks.{event}");
        for group in document.elements(&of, Some(groups))? {
            if !group.is_object() {
                return Err(document.wrong(format!("`{of}` holds a group that is no object")));
            }
            for hook in document.elements(&format!("{of}[].hooks"), group.get("hooks"))? {
                if document.text(&of, hook, "type")? != "command" {
                    continue;
                }
                let timeout = document.number(&of, hook, "timeout")?;
                let timeout_ms = match (timeout, unit_ms) {
                    (Some(_), None) => {
                        return Err(document.wrong(format!(
                            "`{of}` has a `timeout`, which versions of this host read in different units"
                        )));
                    }
                    (timeout, unit) => timeout.zip(unit).map(|(timeout, unit)| timeout.saturating_mul(unit)),
                };
                let command = document.text(&of, hook, "command")?;
                hooks.entry(event.to_owned()).or_default().push(HookCommand { command, timeout_ms });
            }
        }
    }
    Ok(hooks)
}

/// Takes the hooks of one event that run beside the session out of the others.
pub(super) fn take_waking(
    document: &Document,
    hooks: &mut BTreeMap<String, Vec<HookCommand>>,
    event: &str,
    unit_ms: u64,
) -> Result<Vec<HookCommand>, SettingsError> {
    let of = format!("hooks.{event}");
    let mut waking = Vec::new();
    for group in document.elements(&of, document.at(&["hooks", event]))? {
        for hook in document.elements(&format!("{of}[].hooks"), group.get("hooks"))? {
            if hook.get("asyncRewake").and_then(Value::as_bool) == Some(true) {
                let timeout = document.number(&of, hook, "timeout")?;
                let timeout_ms = timeout.map(|timeout| timeout.saturating_mul(unit_ms));
                waking.push(HookCommand { command: document.text(&of, hook, "command")?, timeout_ms });
            }
        }
    }
    if let Some(others) = hooks.get_mut(event) {
        others.retain(|hook| !waking.contains(hook));
    }
    Ok(waking)
}

/// The rules of `permissions.allow` for the shell: `Bash(TEXT)`, where an ending stands for more words.
pub(super) fn bash_rules(document: &Document, endings: &[&str]) -> Result<Vec<ShellRule>, SettingsError> {
    let mut rules = Vec::new();
    for rule in document.list(&["permissions", "allow"])? {
        let Some(rule) = rule.as_str() else {
            return Err(document.wrong("`permissions.allow` holds something that is no text"));
        };
        let Some(inner) = rule.strip_prefix("Bash(").and_then(|rest| rest.strip_suffix(')')) else {
            continue;
        };
        let prefix = endings.iter().find_map(|ending| inner.strip_suffix(ending));
        rules.push(match prefix {
            Some(prefix) => ShellRule::Prefix(prefix.to_owned()),
            None => ShellRule::Exactly(inner.to_owned()),
        });
    }
    Ok(rules)
}

/// The rules of `permissions.allow` for tools of servers: `mcp__SERVER` for all of a server,
/// `mcp__SERVER__TOOL` for one.
pub(super) fn tool_rules(document: &Document) -> Result<Vec<ToolRule>, SettingsError> {
    let rules = document.list(&["permissions", "allow"])?.iter().filter_map(Value::as_str);
    let of_tools = rules.filter_map(|rule| rule.strip_prefix("mcp__"));
    Ok(of_tools
        .map(|rule| match rule.split_once("__") {
            Some((server, tool)) if tool != "*" => {
                ToolRule { server: server.to_owned(), tool: Some(tool.to_owned()) }
            }
            Some((server, _)) => ToolRule { server: server.to_owned(), tool: None },
            None => ToolRule { server: rule.to_owned(), tool: None },
        })
        .collect())
}

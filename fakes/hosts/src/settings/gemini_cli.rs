//! Gemini CLI 0.61: servers and hooks in `~/.gemini/settings.json`, permissions in `policies/*.toml`,
//! instructions in `GEMINI.md`.
//!
//! It must never tell the model of a shell's end without the two settings that this needs.

use std::path::Path;

use serde_json::Value;

use super::document::{Document, Form, HostFiles, SettingsError};
use super::found::{HostSettings, ShellRule, ToolRule};
use super::groups;
use super::launch::{no_more, words};

pub(super) fn read(files: &HostFiles, launch: &[String]) -> Result<HostSettings, SettingsError> {
    let mut settings = HostSettings::new();
    settings.shell_end_told = false;
    // Observed: an entry can name a hidden variable too, and an unset variable becomes empty.
    settings.resolves_names = true;
    // Documented: comments are removed before the JSON is read. Observed: an entry's `timeout` is in
    // milliseconds.
    let mut left_out = LeftOut::default();
    if let Some(document) = Document::find(files, ".gemini/settings.json", Form::JsonWithComments)? {
        left_out = LeftOut::of(&document);
        settings.servers = groups::servers(&document)?;
        // The form is observed. Documented: the timeout is in milliseconds.
        settings.hooks = groups::hooks(&document, Some(1))?;
        // Observed: the end of a background shell starts a turn only with both settings.
        let behaviour = document.at(&["tools", "shell", "backgroundCompletionBehavior"]);
        let steering = document.at(&["experimental", "modelSteering"]);
        settings.shell_end_told = behaviour == Some(&Value::from("inject")) && steering == Some(&true.into());
    }
    let policies = files.iter().filter(|(path, _)| {
        let name = path.strip_prefix(".gemini/policies/").unwrap_or_default();
        !name.contains('/') && Path::new(name).extension().is_some_and(|ending| ending == "toml")
    });
    for (file, text) in policies {
        rules(&Document::parse(file, Form::Toml, text)?, left_out, &mut settings)?;
    }
    settings.instructions = files.get(".gemini/GEMINI.md").cloned().unwrap_or_default();
    no_more(&words(launch))?;
    Ok(settings)
}

/// The priorities with which two settings deny what they do not name. A rule of a file counts only above
/// them.
#[derive(Clone, Copy, Default)]
struct LeftOut {
    tools: u64,
    shell: u64,
}

impl LeftOut {
    /// Observed: a shell command in `tools.allowed` denies all others, and a list in `tools.core` hides
    /// everything else, also the tools of servers. The numbers are the program's own.
    fn of(document: &Document) -> Self {
        let list = |name: &str| {
            let texts = document.at(&["tools", name]).and_then(Value::as_array)?;
            Some(texts.iter().filter_map(Value::as_str).collect::<Vec<&str>>())
        };
        let core = list("core");
        let has_shell = |core: &Vec<&str>| core.iter().any(|tool| tool.starts_with("run_shell_command"));
        let narrows = |tool: &&str| tool.starts_with("run_shell_command(");
        let shell = match (list("allowed"), &core) {
            (Some(allowed), _) if allowed.iter().any(narrows) => 290,
            (_, Some(core)) if !has_shell(core) => 240,
            _ => 0,
        };
        Self { tools: if core.is_some() { 240 } else { 0 }, shell }
    }
}

/// Documented: `[[rule]] mcpName, toolName, commandPrefix, decision, priority`, each name a text or a list.
/// Observed for the tools of a server.
fn rules(document: &Document, left_out: LeftOut, settings: &mut HostSettings) -> Result<(), SettingsError> {
    for rule in document.list(&["rule"])? {
        document.text("rule", rule, "decision")?;
        let priority = document.number("rule", rule, "priority")?;
        let Some(priority) = priority.filter(|priority| *priority <= 999) else {
            return Err(document.wrong("`rule.priority` is no number from 1 to 999"));
        };
        let allows = rule.get("decision") == Some(&Value::from("allow"));
        let texts = |name: &str| match rule.get(name) {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(list)) => list.iter().filter_map(|v| v.as_str().map(str::to_owned)).collect(),
            _ => Vec::new(),
        };
        let servers = texts("mcpName");
        if allows && priority > left_out.tools && !servers.is_empty() {
            let named: Vec<Option<String>> = texts("toolName").into_iter().map(Some).collect();
            let tools = if named.is_empty() { vec![None] } else { named };
            let of_all = servers.iter().flat_map(|server| tools.iter().map(move |tool| (server, tool)));
            settings
                .tools
                .extend(of_all.map(|(server, tool)| ToolRule { server: server.clone(), tool: tool.clone() }));
        } else if allows
            && priority > left_out.shell
            && texts("toolName").iter().any(|tool| tool == "run_shell_command")
        {
            settings.shell.extend(texts("commandPrefix").into_iter().map(ShellRule::Prefix));
        }
    }
    Ok(())
}

//! The files of each host and their content, one module for each host.
//!
//! Places and formats come from the hosts' documentation and from runs; a recipe's notes say what was not tried.
//! It must never allow a host to run more without a question than waiting and reading, and answering if the user asked for it.

mod claude_code;
mod codex;
mod copilot_cli;
mod editors;
mod gemini_cli;
mod opencode;
mod qwen_code;

use std::path::PathBuf;

use serde_json::{Value, json};

pub(super) use super::names::{
    ANSWERING_TOOLS, CONTEXT_READING_TOOLS, DELEGATE_READING_TOOLS, READING_TOOLS, SERVER,
};

use super::asked;
use super::content::{Content, Edit};
use super::request::{Host, Os, Request, Scope};
use super::skill;
use entraclaw_inbox::rules::{self, WAIT_PROGRAM};
use entraclaw_inbox::tool::ToolSet;
use entraclaw_mcp::hosts::HandsDown;

/// Longest time that a hook may take before its host goes on, in seconds; it takes some milliseconds.
const HOOK_TIMEOUT_S: u64 = 10;

/// One file of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct FileRecipe {
    /// The places where it may be: the first that exists, or else the first.
    pub paths: Vec<PathBuf>,
    /// The purpose, for people.
    pub purpose: &'static str,
    /// Our content in it.
    pub content: Content,
}

/// Everything that connects a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// The files of the host.
    pub files: Vec<FileRecipe>,
    /// The command that starts the host.
    pub launch: String,
    /// How a message reaches the model, the best way first.
    pub hears: Vec<&'static str>,
    /// What the user must know or do.
    pub notes: Vec<String>,
}

/// The recipe for the host of a request.
pub fn recipe(request: &Request) -> Recipe {
    let mut recipe = match request.host {
        Host::ClaudeCode => claude_code::recipe(request),
        Host::CopilotCli => copilot_cli::recipe(request),
        Host::Codex => codex::recipe(request),
        Host::GeminiCli => gemini_cli::recipe(request),
        Host::Opencode => opencode::recipe(request),
        Host::QwenCode => qwen_code::recipe(request),
        Host::Vscode | Host::Cursor => editors::recipe(request),
    };
    if request.scope == Scope::Project {
        recipe.notes.push(format!(
            "The files name this machine's {}; leave them out of a repository that others use.",
            request.binary
        ));
    }
    if !request.home_is_default {
        recipe
            .notes
            .push(format!("The home folder is {}; every command that was written names it.", request.home));
    }
    match request.handed_down() {
        HandsDown::EverythingSince([a, b, c]) => recipe.notes.push(format!(
            "Versions before {a}.{b}.{c} were seen to hand a server little of their environment: settings belong into config.toml \
             there, and a token into a file that `auth.token_file` names."
        )),
        HandsDown::AllBut(_) => recipe.notes.push(
            "The host keeps variables from the server whose names look like a secret. Those of ours that are set in this shell \
             are passed on by name, without their values; run setup again when you have set another."
                .to_owned(),
        ),
        HandsDown::Few => recipe.notes.push(
            "The host hands the server few variables; `env_vars` names those that are passed on (the token, proxies, the key \
             store's bus), without their values. Run setup again when you have set another one of ours."
                .to_owned(),
        ),
        HandsDown::Everything => {}
    }
    recipe.notes.extend(asked::notes(request));
    if request.added.contains(&ToolSet::Context) {
        match skill::file(request) {
            Some((path, content)) => recipe.files.push(FileRecipe {
                paths: vec![path],
                purpose: "how to use shared context, for the model",
                content,
            }),
            None => recipe.notes.push(skill::NOT_WRITTEN.to_owned()),
        }
    }
    if request.waiter.is_none() {
        recipe.notes.push(format!(
            "There is no {WAIT_PROGRAM} beside {}, so the model is told to run `entraclaw wait`, and a host that lets a program \
             run by its name lets the whole of it run. Install both programs into one folder, then run setup again.",
            request.binary
        ));
    }
    recipe
}

/// The tools that the host may run without a question.
fn unasked_tools(request: &Request) -> Vec<&'static str> {
    let answering = ANSWERING_TOOLS.iter().filter(|_| request.allow_answers);
    let is_added = |set: ToolSet| request.added.contains(&set);
    let of_context = CONTEXT_READING_TOOLS.iter().filter(|_| is_added(ToolSet::Context));
    let of_model = DELEGATE_READING_TOOLS.iter().filter(|_| is_added(ToolSet::Delegate));
    READING_TOOLS.iter().chain(of_context).chain(of_model).chain(answering).copied().collect()
}

fn file(path: PathBuf, purpose: &'static str, content: Content) -> FileRecipe {
    FileRecipe { paths: vec![path], purpose, content }
}

fn path(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn member(names: &[&str], value: Value) -> Edit {
    Edit::Member { path: path(names), value }
}

fn element(names: &[&str], value: Value) -> Edit {
    Edit::Element { path: path(names), value }
}

fn setting(names: &[&str], value: Value) -> Edit {
    Edit::Setting { path: path(names), value }
}

/// The entry of a server for most hosts: the host's own members, command, arguments and, if there are any, variables.
fn server(request: &Request, own: &[(&str, Value)]) -> Value {
    let mut entry: Value = own.iter().map(|(name, value)| (*name, value.clone())).collect();
    entry["command"] = json!(request.binary);
    entry["args"] = json!(["serve"]);
    let variables = request.environment();
    if !variables.is_empty() {
        entry["env"] = environment(&variables);
    }
    entry
}

fn environment(variables: &[(String, String)]) -> Value {
    variables.iter().map(|(name, value)| (name.as_str(), json!(value))).collect()
}

/// The hook command for an event.
fn hook(request: &Request, event: &str) -> String {
    request.command(&["hook", request.host.name(), event])
}

/// Hooks in Claude Code's format: for each event a list of groups with commands. `timeout` is in the host's unit.
fn hook_groups(request: &Request, events: &[&str], timeout: Option<u64>, name: bool) -> Vec<Edit> {
    let group = |event: &str| {
        let mut command = if name { json!({"name": SERVER}) } else { json!({}) };
        command["type"] = json!("command");
        command["command"] = json!(hook(request, event));
        if let Some(timeout) = timeout {
            command["timeout"] = json!(timeout);
        }
        json!({"hooks": [command]})
    };
    events.iter().map(|event| element(&["hooks", event], group(event))).collect()
}

/// The file with the section of instructions for the model. Several hosts read a project's file, so it has no host's own rule.
fn instructions(path: PathBuf, request: &Request) -> FileRecipe {
    let family = (request.scope == Scope::User).then(|| request.host.name());
    let section = rules::section(family, &request.wait());
    file(path, "when to listen, for the model", Content::Section(section))
}

/// The notes that apply, in order.
fn notes<const N: usize>(notes: [Option<&str>; N]) -> Vec<String> {
    notes.into_iter().flatten().map(str::to_owned).collect()
}

/// The system's folder for the user's configuration.
fn config_folder(request: &Request) -> PathBuf {
    let places = &request.places;
    match places.os {
        Os::Mac => places.user.join("Library/Application Support"),
        Os::Windows => places.config.clone().unwrap_or_else(|| places.user.join("AppData/Roaming")),
        Os::Linux => places.config.clone().unwrap_or_else(|| places.user.join(".config")),
    }
}

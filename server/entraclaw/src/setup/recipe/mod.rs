//! Which files of a host hold what, a module for each.
//!
//! Places and forms are from the hosts' documentation and from runs; what was not tried is said in the recipe's notes.
//! It must never allow a host to run more without asking than waiting and reading, and answering where that was asked for.

mod claude_code;
mod codex;
mod copilot_cli;
mod editors;
mod gemini_cli;
mod opencode;
mod qwen_code;

use std::path::PathBuf;

use serde_json::{Map, Value, json};

pub(super) use super::names::{ANSWERING_TOOLS, READING_TOOLS, SERVER};

use super::content::{Content, Edit};
use super::request::{Host, Os, Request, Scope};
use entraclaw_inbox::rules::{self, WAIT_PROGRAM};
use entraclaw_mcp::hosts::HandsDown;

/// Longest time that a hook may take before its host goes on without it, in seconds; it takes some milliseconds.
const HOOK_TIMEOUT_S: u64 = 10;

/// One file of a host.
#[derive(Debug, Clone, PartialEq)]
pub struct FileRecipe {
    /// Where it may be: the first that is there, else the first.
    pub paths: Vec<PathBuf>,
    /// What it is for.
    pub purpose: &'static str,
    /// What it holds.
    pub content: Content,
}

/// What connects a host.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    /// Its files.
    pub files: Vec<FileRecipe>,
    /// How the host is started.
    pub launch: String,
    /// How a message reaches the model, in the order of what is best.
    pub hears: Vec<&'static str>,
    /// What a person must know or do.
    pub notes: Vec<String>,
}

/// What connects the host of the request.
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
    if request.waiter.is_none() {
        recipe.notes.push(format!(
            "There is no {WAIT_PROGRAM} beside {}, so the model is told to run `entraclaw wait`, and a host that lets a program \
             run by its name lets the whole of it run. Install both programs into one folder, then run setup again.",
            request.binary
        ));
    }
    recipe
}

/// The tools that the host is to run without asking.
fn unasked_tools(request: &Request) -> Vec<&'static str> {
    let answering = ANSWERING_TOOLS.iter().filter(|_| request.allow_answers);
    READING_TOOLS.iter().chain(answering).copied().collect()
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

/// The entry most hosts want: command, arguments and, where there are any, variables; behind the host's own members.
fn server(request: &Request, own: &[(&str, Value)]) -> Value {
    let mut entry = Map::new();
    for (name, value) in own {
        entry.insert((*name).to_owned(), value.clone());
    }
    entry.insert("command".to_owned(), json!(request.binary));
    entry.insert("args".to_owned(), json!(["serve"]));
    let variables = request.environment();
    if !variables.is_empty() {
        entry.insert("env".to_owned(), environment(&variables));
    }
    Value::Object(entry)
}

fn environment(variables: &[(String, String)]) -> Value {
    Value::Object(variables.iter().map(|(name, value)| (name.clone(), json!(value))).collect())
}

/// The hook command for an event.
fn hook(request: &Request, event: &str) -> String {
    request.command(&["hook", request.host.name(), event])
}

/// Hooks in the form that Claude Code began: a list of groups an event, each with its commands. `timeout` in the host's unit.
fn hook_groups(request: &Request, events: &[&str], timeout: Option<u64>, name: bool) -> Vec<Edit> {
    let group = |event: &str| {
        let mut command = Map::new();
        if name {
            command.insert("name".to_owned(), json!(SERVER));
        }
        command.insert("type".to_owned(), json!("command"));
        command.insert("command".to_owned(), json!(hook(request, event)));
        if let Some(timeout) = timeout {
            command.insert("timeout".to_owned(), json!(timeout));
        }
        json!({"hooks": [command]})
    };
    events.iter().map(|event| element(&["hooks", event], group(event))).collect()
}

/// The section of a file of instructions. Files in a project are read by several hosts, so they get no rule of one.
fn instructions(request: &Request) -> Content {
    let family = (request.scope == Scope::User).then(|| request.host.name());
    Content::Section(rules::section(family, &request.wait()))
}

/// A folder of the user's configuration, as the system has it.
fn config_folder(request: &Request) -> PathBuf {
    let places = &request.places;
    match places.os {
        Os::Mac => places.user.join("Library/Application Support"),
        Os::Windows => places.config.clone().unwrap_or_else(|| places.user.join("AppData/Roaming")),
        Os::Linux => places.config.clone().unwrap_or_else(|| places.user.join(".config")),
    }
}

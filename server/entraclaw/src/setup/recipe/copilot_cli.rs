//! GitHub Copilot CLI: the server, hooks in a file of their own, and the extension as an optional wake-up.
//!
//! It must never write into the host's own settings.json, which the host rewrites.

use serde_json::{Value, json};

use super::{
    HOOK_TIMEOUT_S, Recipe, SERVER, element, file, hook, instructions, member, notes, server, setting,
    unasked_tools,
};
use crate::setup::approval::{ALLOW_ANSWERS, APPROVAL_EVENT};
use crate::setup::content::Content;
use crate::setup::request::{Carrier, Os, Request, Scope};

const EVENTS: [&str; 5] = ["sessionStart", "userPromptSubmitted", "postToolUse", "agentStop", "notification"];
/// Events that older versions report as unknown at every start (seen on 0.0.423 and 1.0.11), each with the first version
/// that knows it, by the changelog.
const KNOWN_SINCE: [(&str, [u64; 3]); 2] = [("notification", [1, 0, 18]), (APPROVAL_EVENT, [1, 0, 16])];
const EXTENSION: &str = include_str!("extension.mjs");

pub(super) fn recipe(request: &Request) -> Recipe {
    let places = &request.places;
    let (servers, folder, own) = match request.scope {
        Scope::User => {
            let folder = places.copilot.clone().unwrap_or_else(|| places.user.join(".copilot"));
            let own = [("type", json!("local")), ("tools", json!(["*"]))];
            (folder.join("mcp-config.json"), folder, own.to_vec())
        }
        // The other host that reads this file accepts this format too.
        Scope::Project => {
            let folder = places.project.join(".github");
            let own = [("type", json!("stdio"))];
            (places.project.join(".mcp.json"), folder, own.to_vec())
        }
    };
    let mut hooks = vec![setting(&["version"], json!(1))];
    let is_known = |event: &&str| {
        let since = KNOWN_SINCE.iter().find(|(known, _)| known == event).map(|(_, since)| *since);
        request.host_version.zip(since).is_none_or(|(version, since)| version >= since)
    };
    let events = EVENTS.iter().filter(|event| is_known(event));
    hooks.extend(events.map(|event| element(&["hooks", event], hook_entry(request, event))));
    if is_known(&APPROVAL_EVENT) {
        hooks.push(element(&["hooks", APPROVAL_EVENT], approval_entry(request)));
    }
    let entry = member(&["mcpServers", SERVER], server(request, &own));
    let mut files = vec![
        file(servers, "the server", Content::Json(vec![entry])),
        file(
            folder.join("hooks/entraclaw.json"),
            "hooks, one of which says what it may do without asking",
            Content::Json(hooks),
        ),
        instructions(folder.join("copilot-instructions.md"), request),
    ];
    let has_extension = request.carriers.contains(&Carrier::Extension);
    if has_extension {
        let path = folder.join("extensions/entraclaw/extension.mjs");
        files.push(file(path, "wakes the session when a message comes", Content::Whole(extension(request))));
    }
    let launch = if has_extension { "copilot --experimental" } else { "copilot" };
    let allow = unasked_tools(request)
        .iter()
        .map(|tool| format!(" --allow-tool '{SERVER}({tool})'"))
        .collect::<Vec<_>>()
        .concat();
    let may = if request.allow_answers { "wait, read and answer" } else { "wait and read" };
    let approval = format!(
        "From 1.0.16 on a hook answers the host's question whether it may {may}; a wait by this command to the letter: \
         `{}`. Where hooks are switched off, and before 1.0.16, the host asks at every wait, and without a person it \
         wakes no second time; there `{launch}{allow}` at least lets it do the rest.",
        request.wait().for_family(request.host.name())
    );
    let notes = notes([
        Some(&approval),
        Some(
            "Hooks in ~/.copilot/hooks need 1.0.11 or newer, the notification hook 1.0.18; added text after a tool needs 1.0.50 \
             and with a prompt 1.0.65.",
        ),
        (request.scope == Scope::Project)
            .then_some("The files of a project count only where its folder is trusted."),
        has_extension.then_some(
            "Extensions need `--experimental` at every start. Not confirmed: that their interface stays; it is marked as \
             experimental by its makers. With it, do not also run `entraclaw-wait` in the shell.",
        ),
    ]);
    Recipe {
        files,
        launch: launch.to_owned(),
        hears: vec![
            "idle: `entraclaw-wait` in an async background shell; its end wakes the session (from 0.0.422 on, with -p from \
             1.0.33 on), from 1.0.92 on with the message itself",
            "busy: hooks hand over what came at the next prompt, after a tool, or at the end of the turn",
            "with `--with extension`: a message wakes the idle session at once; a busy one gets it as its next turn",
        ],
        notes,
    }
}

fn hook_entry(request: &Request, event: &str) -> Value {
    command_entry(request, &hook(request, event))
}

/// The hook that answers the host's permission questions.
fn approval_entry(request: &Request) -> Value {
    let hook = hook(request, APPROVAL_EVENT);
    command_entry(request, &if request.allow_answers { format!("{hook} {ALLOW_ANSWERS}") } else { hook })
}

fn command_entry(request: &Request, command: &str) -> Value {
    let powershell =
        if request.places.os == Os::Windows { format!("& {command}") } else { command.to_owned() };
    json!({"type": "command", "bash": command, "powershell": powershell, "timeoutSec": HOOK_TIMEOUT_S})
}

/// The extension with the path of this machine's program, as JSON text, which is valid JavaScript too.
fn extension(request: &Request) -> String {
    let consumer = request.consumer.as_deref().unwrap_or_else(|| request.host.name());
    let mut arguments = vec!["wait", "--format", "json", "--consumer", consumer];
    if !request.home_is_default {
        arguments.extend(["--home", &request.home]);
    }
    EXTENSION
        .replace("\"@BINARY@\"", &json!(request.binary).to_string())
        .replace("[\"@ARGUMENTS@\"]", &json!(arguments).to_string())
}

//! Codex CLI: the server in config.toml, hooks beside it, and the queue as an optional wake-up.
//!
//! It must never lower Codex's own approvals or its sandbox, except for the answering tools if the user asked for it.

use serde_json::{Value, json};

use super::{
    ANSWERING_TOOLS, HOOK_TIMEOUT_S, Recipe, SERVER, file, hook_groups, instructions, notes, path, server,
};
use crate::setup::content::Content;
use crate::setup::request::{Carrier, Request, Scope};

const EVENTS: [&str; 4] = ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"];

pub(super) fn recipe(request: &Request) -> Recipe {
    let places = &request.places;
    let (folder, memory) = match request.scope {
        Scope::User => {
            let folder = places.codex.clone().unwrap_or_else(|| places.user.join(".codex"));
            (folder.clone(), folder.join("AGENTS.md"))
        }
        Scope::Project => (places.project.join(".codex"), places.project.join("AGENTS.md")),
    };
    let mut entry = server(request, &[]);
    entry["env_vars"] = json!(request.names_to_pass());
    if request.allow_answers {
        // Codex runs reading tools without a question.
        let approved = ANSWERING_TOOLS.map(|tool| (tool.to_owned(), json!({"approval_mode": "approve"})));
        entry["tools"] = Value::Object(approved.into_iter().collect());
    }
    let table = Content::Table { path: path(&["mcp_servers", SERVER]), entry };
    let hooks = Content::Json(hook_groups(request, &EVENTS, Some(HOOK_TIMEOUT_S), false));
    let has_queue = request.carriers.contains(&Carrier::Queue);
    let notes = notes([
        Some(
            "Codex asks at its next start whether it may trust the hooks; until you agree they do not run. Versions in which hooks \
             are behind a feature flag need `[features] codex_hooks = true` in config.toml.",
        ),
        Some("A file AGENTS.override.md beside AGENTS.md hides the section that was written there."),
        (request.scope == Scope::Project)
            .then_some("The files of a project count only where Codex trusts the project."),
        (has_queue && request.codex.is_none()).then_some(
            "No program `codex` was found on this terminal's PATH, so the server looks for it on the PATH that Codex gives it; \
             `wake.codex_command` in config.toml takes its absolute path.",
        ),
        has_queue.then_some(
            "The queue reaches the thread that last called a tool of the server, so a thread hears from its first call on. A \
             message comes as a prompt, also after you have left the terminal: its turn then runs without a person watching, under \
             that thread's approvals.",
        ),
    ]);
    Recipe {
        files: vec![
            file(folder.join("config.toml"), "the server", table),
            file(folder.join("hooks.json"), "hooks", hooks),
            instructions(memory, request),
        ],
        launch: "codex".to_owned(),
        hears: vec![
            "listening: the model calls wait_for_inbound_message again and again; nothing else wakes an idle session without \
             the queue",
            "busy: hooks hand over what came at the next prompt, after a tool, or at the end of the turn",
            "with `--with queue`: the server runs `codex queue`, which wakes an idle thread at once and waits for a busy one",
        ],
        notes,
    }
}

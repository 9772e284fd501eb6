//! Gemini CLI: the server, hooks, and the two settings that report the end of a background shell to the model.
//!
//! It must never allow more of the shell than the wait command.

use serde_json::{Value, json};

use super::{
    HOOK_TIMEOUT_S, Recipe, SERVER, file, hook_groups, instructions, member, notes, server, setting,
    unasked_tools,
};
use crate::setup::content::Content;
use crate::setup::request::{Request, Scope};

const EVENTS: [&str; 4] = ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent"];
/// The priority among the user's own rules, of 999. The host denies what `tools.core` (240) and `tools.allowed` (290) leave
/// out, which would include the wait; what the user forbids or wants to be asked about by name (350 and more) stays so.
const PRIORITY: u16 = 295;

pub(super) fn recipe(request: &Request) -> Recipe {
    let places = &request.places;
    let (folder, memory) = match request.scope {
        Scope::User => (places.user.join(".gemini"), places.user.join(".gemini/GEMINI.md")),
        Scope::Project => (places.project.join(".gemini"), places.project.join("GEMINI.md")),
    };
    let mut edits = vec![
        member(&["mcpServers", SERVER], server(request, &[])),
        setting(&["tools", "shell", "backgroundCompletionBehavior"], json!("inject")),
        setting(&["experimental", "modelSteering"], json!(true)),
    ];
    edits.extend(hook_groups(request, &EVENTS, Some(HOOK_TIMEOUT_S * 1000), true));
    let notes = notes([
        Some(
            "The two settings are the host's, for every background shell: its end is told to the model. One of them is marked as \
             experimental by its makers.",
        ),
        Some(
            "With the file of policies 0.61.0 starts the wait without asking; where a version asks, approve that command only.",
        ),
        (request.scope == Scope::Project)
            .then_some("The files of a project count only where its folder is trusted; its hooks ask once."),
    ]);
    Recipe {
        files: vec![
            file(
                folder.join("settings.json"),
                "the server, hooks, and the two settings that a background shell needs",
                Content::Json(edits),
            ),
            file(
                folder.join("policies/entraclaw.toml"),
                "rules for what it may do without asking",
                Content::Whole(policy(request)),
            ),
            instructions(memory, request),
        ],
        launch: "gemini".to_owned(),
        hears: vec![
            "idle: `entraclaw-wait` in a background shell; its end starts a turn with the message, by the two settings",
            "busy: the same at the next tool; hooks hand over what came at the next prompt, after a tool, or at the end of the \
             turn",
            "headless (-p): only what hooks hand over; the run ends at its last answer",
        ],
        notes,
    }
}

fn policy(request: &Request) -> String {
    // Texts and lists of JSON are valid TOML too.
    let list = |texts: Vec<String>| Value::from(texts).to_string().replace("\",\"", "\", \"");
    let tools = list(unasked_tools(request).into_iter().map(str::to_owned).collect());
    let prefixes = list(vec![request.wait().start().to_owned()]);
    format!(
        "# Written by `entraclaw setup gemini-cli`: what may run without asking.\n\
         \n\
         [[rule]]\n\
         mcpName = \"{SERVER}\"\n\
         toolName = {tools}\n\
         decision = \"allow\"\n\
         priority = {PRIORITY}\n\
         \n\
         [[rule]]\n\
         toolName = \"run_shell_command\"\n\
         commandPrefix = {prefixes}\n\
         decision = \"allow\"\n\
         priority = {PRIORITY}\n"
    )
}

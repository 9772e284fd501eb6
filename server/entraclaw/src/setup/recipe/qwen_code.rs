//! Qwen Code: the server, hooks, and the input file as an optional wake-up.
//!
//! It must never place the input file where other users can write.

use serde_json::json;

use super::{Recipe, SERVER, element, file, hook_groups, instructions, member, notes, server, unasked_tools};
use crate::setup::content::Content;
use crate::setup::request::{Carrier, LeftOut, Os, Request, Scope};

const EVENTS: [&str; 4] = ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"];

pub(super) fn recipe(request: &Request) -> Recipe {
    let places = &request.places;
    let (folder, memory) = match request.scope {
        Scope::User => (places.user.join(".qwen"), places.user.join(".qwen/QWEN.md")),
        Scope::Project => (places.project.join(".qwen"), places.project.join("QWEN.md")),
    };
    let mut edits = vec![member(&["mcpServers", SERVER], server(request, &[]))];
    // There is no timeout, as versions differ in whether it counts seconds or milliseconds.
    edits.extend(hook_groups(request, &EVENTS, None, true));
    let wait = request.wait();
    let shell = [format!("Bash({})", wait.start()), format!("Bash({} *)", wait.start())];
    let tools = unasked_tools(request).into_iter().map(|tool| format!("mcp__{SERVER}__{tool}"));
    edits.extend(shell.into_iter().chain(tools).map(|rule| element(&["permissions", "allow"], json!(rule))));
    let is_out = request.left_out.contains(&LeftOut::PeerProtocol);
    let has_file = request.carriers.iter().any(|carrier| matches!(carrier, Carrier::InputFile(_)));
    let notes = notes([
        Some(
            "With the rules under permissions.allow 0.24.4 starts the wait without asking; where a version asks, approve that \
             command only.",
        ),
        (request.scope == Scope::Project)
            .then_some("The files of a project count only where its folder is trusted."),
        (!is_out).then_some(
            "Where agents.crossSessionInbound is hold, release messages with /peers; where it is refuse, or \
             agents.crossSessionMessaging is false, they come by the other ways. `entraclaw status` says so.",
        ),
        has_file.then_some(
            "Any program that can write the input file can type into the session; keep it in a folder of yours alone. One session a \
             file.",
        ),
    ]);
    let path = request.shell().quoted(&request.input_file());
    // A user who can write this file types into the session, so it is created empty and for its owner alone.
    let launch = match (has_file, request.places.os) {
        (false, _) => "qwen".to_owned(),
        (true, Os::Windows) => format!("qwen --input-file {path}"),
        (true, _) => format!("install -m 600 /dev/null {path} && qwen --input-file {path}"),
    };
    let own_inbox = (!is_out).then_some(
        "from 0.24.4 on by the session's own inbox (cross-session messaging, on by default there): idle at once, busy in a \
         turn of its own after the running one; the session says what became of each message",
    );
    let others = [
        "idle: `entraclaw-wait` in a background shell; its end starts a turn with the message, without any setting",
        "busy: the same after the running turn; hooks hand over what came at the next prompt, after a tool, or at the end \
         of the turn",
        "with `--with input-file`: the server writes a prompt into the file that the session reads, idle or busy",
    ];
    Recipe {
        files: vec![
            file(
                folder.join("settings.json"),
                "the server, hooks, and rules for what it may do without asking",
                Content::Json(edits),
            ),
            instructions(memory, request),
        ],
        launch,
        hears: own_inbox.into_iter().chain(others).collect(),
        notes,
    }
}

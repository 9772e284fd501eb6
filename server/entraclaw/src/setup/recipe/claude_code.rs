//! Claude Code: the server, hooks, and rules that let it wait without a question.
//!
//! It must never allow a sending tool unless the user asked for it.

use serde_json::json;

use super::{
    HOOK_TIMEOUT_S, Recipe, SERVER, element, file, hook_groups, instructions, member, notes, server,
    unasked_tools,
};
use crate::setup::content::{Content, Edit};
use crate::setup::request::{Carrier, LeftOut, Os, Request, Scope};

const EVENTS: [&str; 4] = ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"];

/// How long the hook may wait beside an idle session, in seconds: a day of work and two hours.
const WAKING_TIMEOUT_S: u64 = 36_000;

pub(super) fn recipe(request: &Request) -> Recipe {
    let places = &request.places;
    let folder = places.claude.clone().unwrap_or_else(|| places.user.join(".claude"));
    let (servers, settings, memory) = match request.scope {
        Scope::User => (
            places.claude.as_ref().unwrap_or(&places.user).join(".claude.json"),
            folder.join("settings.json"),
            folder.join("CLAUDE.md"),
        ),
        // The file beside settings.json that is not shared, because hooks name this machine's program.
        Scope::Project => (
            places.project.join(".mcp.json"),
            places.project.join(".claude/settings.local.json"),
            places.project.join("CLAUDE.md"),
        ),
    };
    let entry = member(&["mcpServers", SERVER], server(request, &[("type", json!("stdio"))]));
    let mut edits = hook_groups(request, &EVENTS, Some(HOOK_TIMEOUT_S), false);
    edits.extend(waking_hook(request));
    let shell = std::iter::once(format!("Bash({}:*)", request.wait().start()));
    let tools = unasked_tools(request).into_iter().map(|tool| format!("mcp__{SERVER}__{tool}"));
    edits.extend(shell.chain(tools).map(|rule| element(&["permissions", "allow"], json!(rule))));
    let has_channel = request.carriers.contains(&Carrier::Channel);
    let launch = if has_channel {
        "claude --dangerously-load-development-channels server:entraclaw"
    } else {
        "claude"
    };
    let notes = notes([
        Some("With several sessions at once each of them may hear a message; give one of them the listening."),
        (request.scope == Scope::Project)
            .then_some("Claude Code asks once whether it may use the servers of .mcp.json."),
        has_channel.then_some(
            "Not confirmed: whether channels are on is decided by the vendor for each account; where they are off, the \
             screen says so at the start, and everything else works. The flag switches a safety off: name this server only.",
        ),
        Some(
            "Your screen shows what a hook hands over at the end of a turn, before 2.1.163 under the words Stop hook error, and \
             later as Stop hook feedback or Stop hook says; it is no error.",
        ),
        (request.places.os == Os::Windows).then_some(
            "The hook that wakes versions without an inbox socket was not tried on Windows, and is not written there.",
        ),
    ]);
    Recipe {
        files: vec![
            file(servers, "the server", Content::Json(vec![entry])),
            file(settings, "hooks, and rules for what it may do without asking", Content::Json(edits)),
            instructions(memory, request),
        ],
        launch: launch.to_owned(),
        hears: vec![
            "idle, from 2.1.248 on: the session's own inbox socket starts a turn at once; before that, from 2.1.69 on, a hook that \
             waits beside the session does, once a turn has ended",
            "idle: a call of wait_for_inbound_message goes to the background after two minutes and its result wakes the session \
             (from 2.1.212 on); before that, `entraclaw-wait` in a background shell",
            "busy: hooks hand over what came at the next prompt, after a tool, or at the end of the turn",
            "with `--with channel`: messages appear by themselves, where the vendor has channels on",
        ],
        notes,
    }
}

/// The hook that waits beside the idle session. It exits at once if the inbox socket wakes the session, if no person is at a
/// terminal, and on a version that would wait for its end.
fn waking_hook(request: &Request) -> Option<Edit> {
    let is_out = |one: LeftOut| request.left_out.contains(&one);
    if is_out(LeftOut::WakingHook) || request.places.os == Os::Windows {
        return None;
    }
    let mut words = vec!["hook", request.host.name(), "Stop", "--wake"];
    if is_out(LeftOut::InboxSocket) {
        words.push("--without-socket");
    }
    // It replaces the shell, so that it sees when the host has ended.
    let command = format!("exec {}", request.command(&words));
    let hook = json!({
        "type": "command",
        "command": command,
        "async": true,
        "asyncRewake": true,
        "timeout": WAKING_TIMEOUT_S,
    });
    Some(element(&["hooks", "Stop"], json!({"hooks": [hook]})))
}

//! The long answers of `copilot --acp`, as a run of 1.0.102 gave them. The paths in them are left out.

use serde_json::{Value, json};

use crate::script::Script;

const AGENT: &str = "https://agentclientprotocol.com/protocol/session-modes#agent";
const PLAN: &str = "https://agentclientprotocol.com/protocol/session-modes#plan";
const AUTOPILOT: &str = "https://agentclientprotocol.com/protocol/session-modes#autopilot";

/// The three modes: id, name, what it is.
const MODES: [(&str, &str, &str); 3] = [
    (AGENT, "Agent", "Default agent mode for conversational interactions"),
    (PLAN, "Plan", "Plan mode for creating and executing multi-step plans"),
    (
        AUTOPILOT,
        "Autopilot",
        "Autonomous mode that enables allow-all and runs until task completion without user interaction (experimental)",
    ),
];

/// The answer to `initialize`. It is the same for every version that a client asks for.
pub(super) fn initialize(script: &Script) -> Value {
    json!({
        "protocolVersion": 1,
        "agentCapabilities": {
            "auth": {"logout": {}},
            "loadSession": true,
            "mcpCapabilities": {"http": true, "sse": true},
            "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
            "sessionCapabilities": {"close": {}, "list": {}},
        },
        "agentInfo": {"name": "Copilot", "title": "Copilot", "version": script.version()},
        "authMethods": [{
            "id": "copilot-login",
            "name": "Log in with Copilot CLI",
            "description": "Run `copilot login` in the terminal",
        }],
    })
}

/// The answer that opens a session, without its id.
pub(super) fn session(allows_all: bool) -> Value {
    let modes = MODES.map(|(id, name, text)| json!({"id": id, "name": name, "description": text}));
    json!({
        "configOptions": options(allows_all),
        "modes": {"availableModes": modes, "currentModeId": AGENT},
    })
}

/// What can be set in a session.
pub(super) fn options(allows_all: bool) -> Value {
    let modes = MODES.map(|(id, name, text)| json!({"value": id, "name": name, "description": text}));
    json!([
        {
            "type": "select", "id": "mode", "name": "Mode", "category": "mode",
            "description": "Controls how Copilot responds: a conversational agent, planning multi-step work, or autonomous autopilot.",
            "currentValue": AGENT, "options": modes,
        },
        {
            "type": "select", "id": "allow_all", "name": "Allow All", "category": "permissions",
            "description": "Controls whether Copilot prompts for approval before using tools, accessing paths, or fetching URLs.",
            "currentValue": if allows_all { "on" } else { "off" },
            "options": [
                {"value": "on", "name": "On", "description": "Automatically approve all tool, path, and URL requests"},
                {"value": "off", "name": "Off", "description": "Require approval for tool, path, and URL requests"},
            ],
        },
    ])
}

//! opencode: the server, and its HTTP port as an optional wake-up.
//!
//! It must never open a port unless the user asked for it.

use serde_json::json;

use super::{FileRecipe, Recipe, SERVER, environment, instructions, member, notes, setting, unasked_tools};
use crate::setup::content::Content;
use crate::setup::request::{Carrier, Request, Scope};

pub(super) fn recipe(request: &Request) -> Recipe {
    let places = &request.places;
    let folder = match request.scope {
        Scope::User => {
            // The same folder on every system.
            let set = places.config.clone().filter(|_| places.os == crate::setup::request::Os::Linux);
            set.unwrap_or_else(|| places.user.join(".config")).join("opencode")
        }
        Scope::Project => places.project.clone(),
    };
    let mut entry = json!({"type": "local", "command": [request.binary, "serve"], "enabled": true});
    let variables = request.environment();
    if !variables.is_empty() {
        entry["environment"] = environment(&variables);
    }
    let port = request.carriers.iter().find_map(|carrier| match carrier {
        Carrier::Port(port) => Some(*port),
        _ => None,
    });
    let notes = notes([
        Some(
            "There are no hooks that a command can answer and no background shell: without the port the model hears while it \
             listens, and at each call of a tool of the server.",
        ),
        port.is_some().then_some(
            "Any program that can reach the port on this machine can write to the session. Set OPENCODE_SERVER_PASSWORD for the host \
             and the server alike, or leave the port out where others use this machine.",
        ),
        port.is_some().then_some(
            "One session a port; a second opencode takes another one, and messages go to the first.",
        ),
    ]);
    let mut edits = vec![member(&["mcp", SERVER], entry)];
    if request.allow_answers {
        let allowed = |tool: &&str| setting(&["permission", &format!("{SERVER}_{tool}")], json!("allow"));
        // The last matching rule counts there, so these come after the user's own.
        edits.extend(unasked_tools(request).iter().map(allowed));
    }
    Recipe {
        files: vec![
            FileRecipe {
                paths: vec![folder.join("opencode.json"), folder.join("opencode.jsonc")],
                purpose: if request.allow_answers {
                    "the server, and rules for what it may do without asking"
                } else {
                    "the server"
                },
                content: Content::Json(edits),
            },
            instructions(folder.join("AGENTS.md"), request),
        ],
        launch: port.map_or_else(|| "opencode".to_owned(), |port| format!("opencode --port {port}")),
        hears: vec![
            "listening: the model calls wait_for_inbound_message again and again",
            "with `--with port`: the server sends a prompt to the session's port, idle or busy",
        ],
        notes,
    }
}

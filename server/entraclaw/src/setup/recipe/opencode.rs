//! opencode: the server, and its HTTP port for who wants to be woken.
//!
//! It must never open a port without being asked to.

use serde_json::{Map, Value, json};

use super::{FileRecipe, Recipe, SERVER, environment, file, instructions, member, setting, unasked_tools};
use crate::setup::content::Content;
use crate::setup::request::{Carrier, Request, Scope};

pub(super) fn recipe(request: &Request) -> Recipe {
    let places = &request.places;
    let folder = match request.scope {
        // The same folder on every system.
        Scope::User => places.config.clone().filter(|_| places.os == crate::setup::request::Os::Linux),
        Scope::Project => Some(places.project.clone()),
    };
    let folder = match (request.scope, folder) {
        (Scope::User, found) => found.unwrap_or_else(|| places.user.join(".config")).join("opencode"),
        (Scope::Project, found) => found.unwrap_or_default(),
    };
    let mut entry = Map::new();
    entry.insert("type".to_owned(), json!("local"));
    entry.insert("command".to_owned(), json!([request.binary, "serve"]));
    entry.insert("enabled".to_owned(), json!(true));
    let variables = request.environment();
    if !variables.is_empty() {
        entry.insert("environment".to_owned(), environment(&variables));
    }
    let port = request.carriers.iter().find_map(|carrier| match carrier {
        Carrier::Port(port) => Some(*port),
        _ => None,
    });
    let mut notes = vec![
        "There are no hooks that a command can answer and no background shell: without the port the model hears while it \
         listens, and at each call of a tool of the server."
            .to_owned(),
    ];
    if port.is_some() {
        notes.push(
            "Whoever can reach the port on this machine can write to the session. Set OPENCODE_SERVER_PASSWORD for the host \
             and the server alike, or leave the port away where others use this machine."
                .to_owned(),
        );
        notes.push(
            "One session a port; a second opencode takes another one, and messages go to the first."
                .to_owned(),
        );
    }
    let mut edits = vec![member(&["mcp", SERVER], Value::Object(entry))];
    if request.allow_answers {
        let allowed = |tool: &&str| setting(&["permission", &format!("{SERVER}_{tool}")], json!("allow"));
        // The last rule that fits counts there, so these stand behind the person's own.
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
            file(folder.join("AGENTS.md"), "when to listen, for the model", instructions(request)),
        ],
        launch: port.map_or_else(|| "opencode".to_owned(), |port| format!("opencode --port {port}")),
        hears: vec![
            "listening: the model calls wait_for_inbound_message again and again",
            "with `--with port`: the server sends a prompt to the session's port, idle or busy",
        ],
        notes,
    }
}

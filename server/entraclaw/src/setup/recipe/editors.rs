//! VS Code and Cursor: only the server, as no wake-up or hook of theirs was tried.
//!
//! It must never touch an editor's settings.json.

use serde_json::json;

use super::{Recipe, SERVER, config_folder, file, member, server};
use crate::setup::content::Content;
use crate::setup::request::{Host, Request, Scope};

pub(super) fn recipe(request: &Request) -> Recipe {
    let places = &request.places;
    let is_cursor = request.host == Host::Cursor;
    let (path, servers) = match (is_cursor, request.scope) {
        (true, Scope::User) => (places.user.join(".cursor/mcp.json"), "mcpServers"),
        (true, Scope::Project) => (places.project.join(".cursor/mcp.json"), "mcpServers"),
        (false, Scope::User) => (config_folder(request).join("Code/User/mcp.json"), "servers"),
        (false, Scope::Project) => (places.project.join(".vscode/mcp.json"), "servers"),
    };
    let own = if is_cursor { vec![] } else { vec![("type", json!("stdio"))] };
    let entry = member(&[servers, SERVER], server(request, &own));
    let profile = "Not confirmed by a run: written by the documentation. A profile of its own in VS Code has its own mcp.json; \
                   open it with the command \"MCP: Open User Configuration\" and add the block that --print shows.";
    let plain = "Not confirmed by a run: written by the documentation.";
    Recipe {
        files: vec![file(path, "the server", Content::Json(vec![entry]))],
        launch: if is_cursor { "cursor" } else { "code" }.to_owned(),
        hears: vec![
            "listening: ask the agent to call wait_for_inbound_message when it has finished, and again after each answer; \
             nothing wakes it",
        ],
        notes: vec![if is_cursor { plain } else { profile }.to_owned()],
    }
}

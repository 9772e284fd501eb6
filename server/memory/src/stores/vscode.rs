//! Sessions of Copilot Chat in Visual Studio Code, version 3 of their form and its predecessors.
//!
//! The form is read in microsoft/vscode, `src/vs/workbench/contrib/chat/common/model`. Of the editor's database only the
//! index of sessions is read: it has the titles that the editor made, and keeps 400; files of older sessions stay.
//! It must never read another entry of the database, which holds what extensions keep.

use std::path::Path;

use serde_json::Value;

use super::gather::{Gather, time, word};
use super::session::Role;
use crate::files::{Files, read_whole};

/// Longest `workspace.json`.
const WORKSPACE_BYTES_MAX: u64 = 64 * 1024;
/// Longest index of sessions.
const INDEX_BYTES_MAX: i64 = 16 * 1024 * 1024;
/// What stands in place of a text that was too long for the editor.
const TRUNCATED: &str = "value truncated for persistence";
/// Kinds of parts of an answer that hold no words of the session.
const SILENT: [&str; 26] = [
    "thinking",
    "elicitationSerialized",
    "progressTaskSerialized",
    "textEditGroup",
    "notebookEditGroup",
    "multiDiffData",
    "mcpServersStarting",
    "codeblockUri",
    "command",
    "confirmation",
    "extensions",
    "hook",
    "progressMessage",
    "pullRequest",
    "questionCarousel",
    "undoStop",
    "treeData",
    "workspaceEdit",
    "clearToPreviousToolInvocation",
    "disabledClaudeHooks",
    "references",
    "usedContext",
    "codeCitation",
    "prepareToolInvocation",
    "progressTask",
    "move",
];

/// Reads the state of a session.
pub(super) fn state(state: &Value, gather: &mut Gather) {
    gather.id(word(state, "sessionId"));
    gather.title(word(state, "customTitle"));
    gather.saw(time(state, "creationDate"));
    gather.saw(time(state, "lastMessageDate"));
    for request in state.get("requests").and_then(Value::as_array).into_iter().flatten() {
        let at = time(request, "timestamp");
        if let Some(message) = request.get("message") {
            gather.add(Role::User, &asked(message), at);
        }
        answer(request.get("response").unwrap_or(&Value::Null), at, gather);
    }
}

/// The text of a request. Old ones are a text alone.
fn asked(message: &Value) -> String {
    match message {
        Value::String(text) => text.clone(),
        _ => word(message, "text").map_or_else(
            || super::parts::text_of(message.get("parts").unwrap_or(&Value::Null)),
            str::to_owned,
        ),
    }
}

fn answer(response: &Value, at: Option<jiff::Timestamp>, gather: &mut Gather) {
    let mut said = String::new();
    for part in response.as_array().into_iter().flatten() {
        match word(part, "kind") {
            None => said.push_str(markdown(part)),
            Some("markdownContent" | "markdownVuln") => {
                said.push_str(part.get("content").map(markdown).unwrap_or_default());
            }
            Some("warning") => said.push_str(part.get("content").map(markdown).unwrap_or_default()),
            Some("inlineReference") => said.push_str(reference(part)),
            Some("toolInvocationSerialized") => {
                gather.add(Role::Assistant, &std::mem::take(&mut said), at);
                tool(part, at, gather);
            }
            Some(kind) if SILENT.contains(&kind) => {}
            Some(kind) => gather.tally.count_unknown(kind),
        }
    }
    gather.add(Role::Assistant, &said, at);
}

/// A text of Markdown, which may stand bare or as `{"value": …}`.
fn markdown(part: &Value) -> &str {
    let text = part.as_str().or_else(|| part.get("value")?.as_str()).unwrap_or_default();
    if text.len() < 200 && text.contains(TRUNCATED) { "" } else { text }
}

/// The name under which a file or a symbol is shown within a sentence.
fn reference(part: &Value) -> &str {
    let target = part.get("inlineReference");
    let path =
        || target?.get("path").or_else(|| target?.get("uri")?.get("path"))?.as_str()?.rsplit('/').next();
    word(part, "name")
        .or_else(|| target.and_then(|target| word(target, "name")))
        .or_else(path)
        .unwrap_or_default()
}

fn tool(part: &Value, at: Option<jiff::Timestamp>, gather: &mut Gather) {
    let line = part.get("toolSpecificData").and_then(|data| data.get("commandLine"));
    let command = line.and_then(|line| word(line, "edited").or_else(|| word(line, "original")));
    let old_command = part.get("toolSpecificData").and_then(|data| word(data, "command"));
    let messages = ["invocationMessage", "pastTenseMessage"].map(|name| part.get(name).map(markdown));
    let texts = messages.into_iter().flatten().chain(command.or(old_command));
    let text = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
    gather.add_tool(word(part, "toolId"), &text, at);
}

/// The folder of the window stands in a file above the sessions, their titles in a database.
pub(super) fn surroundings(files: &dyn Files, path: &Path, gather: &mut Gather) {
    let Some(storage) = path.parent().and_then(Path::parent) else { return };
    if !gather.has_own_title
        && let Some(title) = title(files, &storage.join("state.vscdb"), &gather.session.id)
    {
        gather.title(Some(&title));
    }
    folder(files, storage, gather);
}

/// The title of a session in the editor's index. A database that can't be read costs the title alone.
fn title(files: &dyn Files, path: &Path, id: &str) -> Option<String> {
    let database = files.database(path).ok()??;
    let query =
        "SELECT value FROM ItemTable WHERE key = 'chat.ChatSessionStore.index' AND length(value) <= ?1";
    let value = database.connection().query_row(query, [INDEX_BYTES_MAX], |row| {
        Ok(row.get_ref(0)?.as_bytes().ok().and_then(|bytes| serde_json::from_slice::<Value>(bytes).ok()))
    });
    let title = word(value.ok()??.get("entries")?.get(id)?, "title")?.to_owned();
    // What the editor shows before it has made a title.
    (title != "New Chat").then_some(title)
}

fn folder(files: &dyn Files, storage: &Path, gather: &mut Gather) {
    let Ok(Some((bytes, _))) = read_whole(files, &storage.join("workspace.json"), WORKSPACE_BYTES_MAX) else {
        return;
    };
    let Ok(workspace) = serde_json::from_slice::<Value>(&bytes) else {
        gather.tally.malformed += 1;
        return;
    };
    let address = word(&workspace, "folder").or_else(|| word(&workspace, "workspace"));
    let Some(address) = address.and_then(|address| url::Url::parse(address).ok()) else { return };
    match address.to_file_path() {
        Ok(folder) => gather.folder(folder.to_str()),
        // The folder of another machine.
        Err(()) => gather.folder(Some(address.as_str())),
    }
}

//! Sessions of Copilot Chat in Visual Studio Code, version 3 of their form and its predecessors.
//!
//! The form is read in microsoft/vscode, `src/vs/workbench/contrib/chat/common/model`. Of the editor's database only the
//! index of sessions is read: it has the titles that the editor made, and keeps 400; files of older sessions stay.
//! It must never read another entry of the database, which holds what extensions keep.

use std::ops::ControlFlow;
use std::path::Path;

use serde_json::Value;

use super::gather::{Gather, time, word};
use super::json::json;
use super::session::Role;
use crate::files::{Files, Row, ask, read_whole};

/// Longest `workspace.json`.
const WORKSPACE_BYTES_MAX: u64 = 64 * 1024;
/// Longest name of an entry, and longest index of sessions.
const KEY_BYTES_MAX: u64 = 1024;
const INDEX_BYTES_MAX: u64 = 16 * 1024 * 1024;
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

/// The title of a session in the editor's index. A database that can't be read costs the title alone, also one in the middle
/// of a transaction: an editor that has ended there leaves it so.
fn title(files: &dyn Files, path: &Path, id: &str) -> Option<String> {
    let index = ask(files, path, |database| {
        let mut found = None;
        database.table("ItemTable", ["key"])?.each(
            KEY_BYTES_MAX,
            |Row { number, values: [key], .. }| {
                let is_it = key.into_text().is_some_and(|key| key == "chat.ChatSessionStore.index");
                found = is_it.then_some(number);
                Ok(if is_it { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            },
        )?;
        let Some(row) = found else { return Ok(None) };
        let values = database.table("ItemTable", ["value"])?;
        Ok(values.row(row, INDEX_BYTES_MAX)?.and_then(|[value]| value.into_bytes()))
    });
    let index = json(&index.ok()???)?;
    let title = word(index.get("entries")?.get(id)?, "title")?.to_owned();
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

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::session::{Agent, Session};
    use super::*;

    fn read(value: &Value) -> Gather {
        let mut gather = Gather::new(Session::new(Agent::Vscode, "guess", "/one.json".into()));
        state(value, &mut gather);
        gather
    }

    fn answered(parts: &Value) -> (Vec<(Role, Option<String>, String)>, u64) {
        let gather = read(&json!({"requests": [{"response": parts}]}));
        let found = gather.messages.into_iter().map(|one| (one.role, one.tool, one.text));
        (found.collect(), gather.tally.unknown.values().sum())
    }

    #[rstest]
    #[case::bare(json!([{"value": "a "}, {"value": "b"}]), "a b", 0)]
    #[case::a_text(json!(["a"]), "a", 0)]
    #[case::with_a_kind(json!([{"kind": "markdownContent", "content": {"value": "a"}}]), "a", 0)]
    #[case::with_a_weakness(json!([{"kind": "markdownVuln", "content": {"value": "a"}}]), "a", 0)]
    #[case::a_warning(json!([{"kind": "warning", "content": {"value": "a"}}]), "a", 0)]
    #[case::a_named_reference(json!([{"value": "see "}, {"kind": "inlineReference", "name": "a.rs"}]), "see a.rs", 0)]
    #[case::a_symbol(json!([{"kind": "inlineReference", "inlineReference": {"name": "main"}}]), "main", 0)]
    #[case::a_file(json!([{"kind": "inlineReference", "inlineReference": {"path": "/p/a.rs"}}]), "a.rs", 0)]
    #[case::a_place(json!([{"kind": "inlineReference", "inlineReference": {"uri": {"path": "/p/a.rs"}}}]), "a.rs", 0)]
    #[case::silent(json!([{"kind": "thinking", "value": "a"}, {"kind": "undoStop"}]), "", 0)]
    #[case::unknown(json!([{"kind": "ofTomorrow"}, {"value": "a"}]), "a", 1)]
    #[case::too_long_for_the_editor(json!([{"value": "[value truncated for persistence]"}]), "", 0)]
    fn an_answer_is_the_text_of_its_parts(#[case] parts: Value, #[case] text: &str, #[case] unknown: u64) {
        let expected = [(Role::Assistant, None, text.to_owned())];
        let expected = expected.into_iter().filter(|(_, _, text)| !text.is_empty()).collect();
        assert_eq!(answered(&parts), (expected, unknown));
    }

    #[test]
    fn a_long_text_may_speak_of_what_is_left_out() {
        for (length, is_said) in [(199, false), (200, true)] {
            let text = format!("{TRUNCATED}{}", "x".repeat(length - TRUNCATED.len()));
            assert_eq!(answered(&json!([{"value": text}])).0.len(), usize::from(is_said), "{length}");
        }
    }

    #[rstest]
    #[case::edited(json!({"commandLine": {"original": "ls", "edited": "ls -l"}}), "Running\nRan\nls -l")]
    #[case::original(json!({"commandLine": {"original": "ls"}}), "Running\nRan\nls")]
    #[case::old(json!({"command": "ls"}), "Running\nRan\nls")]
    #[case::none(json!({}), "Running\nRan")]
    fn a_call_stands_between_what_was_said_before_and_after(#[case] data: Value, #[case] call: &str) {
        let (found, _) = answered(&json!([
            {"value": "before"},
            {"kind": "toolInvocationSerialized", "toolId": "run", "invocationMessage": "Running",
             "pastTenseMessage": {"value": "Ran"}, "toolSpecificData": data},
            {"value": "after"},
        ]));
        let said = |text: &str| (Role::Assistant, None, text.to_owned());
        assert_eq!(
            found,
            [said("before"), (Role::Tool, Some("run".to_owned()), call.to_owned()), said("after")]
        );
    }

    #[test]
    fn a_state_says_which_session_it_is_and_what_was_asked() {
        let gather = read(&json!({
            "sessionId": "one", "customTitle": "The plan", "creationDate": 1_000, "lastMessageDate": 9_000,
            "requests": [
                {"message": "old", "timestamp": 2_000},
                {"message": {"text": "new", "parts": [{"text": "other"}]}},
                {"message": {"parts": [{"text": "in"}, {"text": "parts"}]}},
                {"response": []},
            ],
        }));
        let texts: Vec<&str> = gather.messages.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["old", "new", "in\nparts"]);
        let session = &gather.session;
        assert_eq!((session.id.as_str(), session.title.as_deref()), ("one", Some("The plan")));
        let seconds = [session.started, session.last].map(|at| at.unwrap().as_second());
        assert_eq!((seconds, gather.messages[0].at.unwrap().as_second()), ([1, 9], 2));
    }
}

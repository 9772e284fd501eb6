//! Claude Code and Codex: everything by flags.

use entraclaw::setup::{Carrier, Content, Edit};
use serde_json::Value;

use super::inline::inline;
use super::{Overlay, Wanted, documents, files, rules};

/// Claude Code takes servers, settings and rules beside the person's own.
pub(super) fn claude_code(overlay: &mut Overlay, wanted: &Wanted<'_>) -> anyhow::Result<()> {
    let files = files(wanted, Vec::new())?;
    for (flag, (name, text)) in ["--mcp-config", "--settings"]
        .into_iter()
        .zip(["servers.json", "settings.json"].into_iter().zip(documents(&files)))
    {
        let path = overlay.write(name, &text)?;
        overlay.argue([flag, &path]);
    }
    overlay.argue(["--append-system-prompt", &rules(&files)]);
    overlay.ask(None, wanted.prompt);
    Ok(())
}

/// Codex takes each value of its settings as a flag; the rules come with the server's instructions.
pub(super) fn codex(overlay: &mut Overlay, wanted: &Wanted<'_>) -> anyhow::Result<()> {
    // A thread of the shared daemon would go on after the sandbox has ended.
    overlay.argue(["--no-daemon"]);
    for file in files(wanted, vec![Carrier::Queue])? {
        match &file.content {
            Content::Table { path, entry } => set(overlay, path, entry),
            Content::Json(edits) => {
                for edit in edits {
                    if let Edit::Element { path, value } = edit {
                        set(overlay, path, &Value::Array(vec![value.clone()]));
                    }
                }
            }
            Content::Section(_) | Content::Whole(_) => {}
        }
    }
    overlay.notes.push(
        "Codex asks whether it may trust the hooks; without them a message wakes it all the same. It hears from its first call \
         of a tool of the server on."
            .to_owned(),
    );
    overlay.ask(None, wanted.prompt);
    Ok(())
}

fn set(overlay: &mut Overlay, path: &[String], value: &Value) {
    overlay.argue(["-c", &format!("{}={}", path.join("."), inline(value))]);
}

//! GitHub Copilot CLI: the server by a flag, hooks as a plugin, rules in a folder of instructions.

use serde_json::json;

use super::base::{Overlay, Wanted, documents, files, rules};

/// Folders of instructions beside the repository's own.
const INSTRUCTIONS: &str = "COPILOT_CUSTOM_INSTRUCTIONS_DIRS";

pub(super) fn fill(overlay: &mut Overlay, wanted: &Wanted<'_>) -> anyhow::Result<()> {
    let files = files(wanted, Vec::new())?;
    let mut documents = documents(&files);
    let servers = overlay.write("servers.json", &documents.next().unwrap_or_default())?;
    overlay.argue(["--additional-mcp-config", &format!("@{servers}")]);

    let plugin = overlay.folder("plugin")?;
    let manifest = json!({
        "name": "entraclaw-play",
        "description": "Hooks of a sandbox; they end with it.",
        "version": env!("CARGO_PKG_VERSION"),
        "hooks": "hooks.json",
    });
    overlay.write("plugin/plugin.json", &format!("{manifest:#}\n"))?;
    overlay.write("plugin/hooks.json", &documents.next().unwrap_or_default())?;
    overlay.argue(["--plugin-dir", &plugin]);

    // 1.0.102 only names an AGENTS.md of such a folder to the model, and shows a file that applies to everything whole.
    let folder = overlay.folder("instructions")?;
    overlay.folder("instructions/.github/instructions")?;
    let text = format!("---\napplyTo: '**'\n---\n\n{}\n", rules(&files));
    overlay.write("instructions/.github/instructions/entraclaw.instructions.md", &text)?;
    let theirs = wanted.variables.get(INSTRUCTIONS).filter(|theirs| !theirs.is_empty());
    let folders = theirs.map_or_else(|| folder.clone(), |theirs| format!("{theirs},{folder}"));
    overlay.environment.insert(INSTRUCTIONS, folders);
    overlay.ask(Some("-i"), wanted.prompt);
    Ok(())
}

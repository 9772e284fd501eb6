//! Claude Code and Codex: everything by flags.

use entraclaw::setup::{Carrier, Content};

use super::base::{Overlay, Wanted, documents, files, rules};
use super::inline::inline;

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

/// Codex takes its settings as flags; the rules come with the server's instructions. It would ask for trust in hooks at every
/// start and keep the answer in the person's own settings, so there are none.
pub(super) fn codex(overlay: &mut Overlay, wanted: &Wanted<'_>) -> anyhow::Result<()> {
    // A thread of the shared daemon would go on after the sandbox has ended.
    overlay.argue(["--no-daemon"]);
    for file in files(wanted, vec![Carrier::Queue])? {
        if let Content::Table { path, entry } = &file.content {
            overlay.argue(["-c", &format!("{}={}", path.join("."), inline(entry))]);
        }
    }
    overlay.notes.push(
        "Without hooks: Codex would keep your trust in them in its own config.toml. From its first call of a tool of the server \
         on a message wakes it when it is idle, or follows the running turn."
            .to_owned(),
    );
    overlay.ask(None, wanted.prompt);
    Ok(())
}

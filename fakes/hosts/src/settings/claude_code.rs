//! Claude Code 2.x: servers in `~/.claude.json`, hooks and permissions in `~/.claude/settings.json`,
//! instructions in `CLAUDE.md`.
//!
//! It must never read the settings of a project; the host applies them only after the user has trusted the
//! project.

use super::document::{Document, Form, HostFiles, SettingsError};
use super::found::HostSettings;
use super::groups;
use super::launch::{no_more, words};

/// Names servers whose channel notifications a session accepts without the list of known servers (read in the
/// program, not observed to open anything offline).
const CHANNEL_FLAG: &str = "--dangerously-load-development-channels";

pub(super) fn read(files: &HostFiles, launch: &[String]) -> Result<HostSettings, SettingsError> {
    let mut settings = HostSettings::new();
    // Documented: `claude mcp add --scope user` writes this file; it is plain JSON.
    if let Some(document) = Document::find(files, ".claude.json", Form::Json)? {
        // Observed: `timeout` in the entry is in milliseconds.
        settings.servers = groups::servers(&document)?;
    }
    if let Some(document) = Document::find(files, ".claude/settings.json", Form::Json)? {
        // Observed for Stop. Documented: the timeout is in seconds, and `disableAllHooks` switches all hooks
        // off.
        if document.at(&["disableAllHooks"]) != Some(&true.into()) {
            settings.hooks = groups::hooks(&document, Some(1_000))?;
            // Observed for Stop: a hook with `asyncRewake` runs beside the session.
            settings.waking = groups::take_waking(&document, &mut settings.hooks, "Stop", 1_000)?;
        }
        // Observed: with an allow rule `Bash(COMMAND:*)` the command runs without a question. Documented: the
        // ending stands for more words, ` *` does so too, and a rule without one is for the whole command.
        settings.shell = groups::bash_rules(&document, &[":*", " *"])?;
        // Observed for one tool; documented for all tools of a server.
        settings.tools = groups::tool_rules(&document)?;
    }
    // Documented: the host reads the user's memory at the start of every session.
    settings.instructions = files.get(".claude/CLAUDE.md").cloned().unwrap_or_default();
    let words = words(launch);
    let rest = match &words[..] {
        [CHANNEL_FLAG, rest @ ..] => {
            let named: Vec<&str> = rest.iter().map_while(|word| word.strip_prefix("server:")).collect();
            if named.is_empty() {
                return Err(SettingsError::new(format!("{CHANNEL_FLAG} names no `server:NAME`")));
            }
            settings.channels = named.iter().map(|name| (*name).to_owned()).collect();
            &rest[named.len()..]
        }
        rest => rest,
    };
    no_more(rest)?;
    Ok(settings)
}

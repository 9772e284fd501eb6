//! Qwen Code 0.24: `~/.qwen/settings.json` has servers, hooks and permissions, `QWEN.md` the instructions.
//!
//! It must never read an input file that the launch line does not name.

use super::document::{Document, Form, HostFiles, SettingsError};
use super::found::{HostSettings, OpenWakeUp};
use super::groups;
use super::launch::{no_more, words};

pub(super) fn read(files: &HostFiles, launch: &[String]) -> Result<HostSettings, SettingsError> {
    let mut settings = HostSettings::new();
    // Documented: comments are taken out before the JSON is read, as in the host that it began as.
    if let Some(document) = Document::find(files, ".qwen/settings.json", Form::JsonWithComments)? {
        // Observed: `timeout` of an entry is in milliseconds.
        settings.servers = groups::servers(&document)?;
        // Observed form. Documented: seconds in one version and milliseconds in another.
        settings.hooks = groups::hooks(&document, None)?;
        // Documented: `Bash(TEXT *)` is for more words, anything else is the whole command.
        settings.shell = groups::bash_rules(&document, &[" *", ":*"])?;
        // Observed for one tool.
        settings.tools = groups::tool_rules(&document)?;
    }
    settings.instructions = files.get(".qwen/QWEN.md").cloned().unwrap_or_default();
    let words = words(launch);
    let rest = match &words[..] {
        // Observed: lines that are appended are prompts.
        ["--input-file", path, rest @ ..] => {
            settings.wake_up = Some(OpenWakeUp::InputFile((*path).to_owned()));
            rest
        }
        rest => rest,
    };
    no_more(rest)?;
    Ok(settings)
}

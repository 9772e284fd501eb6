//! Qwen Code 0.24: servers, hooks and permissions in `~/.qwen/settings.json`, instructions in `QWEN.md`.
//!
//! It must never read an input file that the launch line does not name.

use super::document::{Document, Form, HostFiles, SettingsError};
use super::found::{HostSettings, OpenWakeUp};
use super::groups;
use super::launch::{no_more, words};

pub(super) fn read(files: &HostFiles, launch: &[String]) -> Result<HostSettings, SettingsError> {
    let mut settings = HostSettings::new();
    // Documented: comments are removed before the JSON is read.
    if let Some(document) = Document::find(files, ".qwen/settings.json", Form::JsonWithComments)? {
        // Observed: `timeout` of an entry is in milliseconds.
        settings.servers = groups::servers(&document)?;
        // The form is observed. Documented: seconds in one version and milliseconds in another.
        settings.hooks = groups::hooks(&document, None)?;
        // Documented: `Bash(TEXT *)` is for more words, and a rule without an ending is for the whole
        // command.
        settings.shell = groups::bash_rules(&document, &[" *", ":*"])?;
        // Observed for one tool.
        settings.tools = groups::tool_rules(&document)?;
    }
    settings.instructions = files.get(".qwen/QWEN.md").cloned().unwrap_or_default();
    let words = words(launch);
    let rest = match &words[..] {
        // Observed: appended lines are prompts.
        ["--input-file", path, rest @ ..] => {
            settings.wake_up = Some(OpenWakeUp::InputFile((*path).to_owned()));
            rest
        }
        rest => rest,
    };
    no_more(rest)?;
    Ok(settings)
}

//! Reads a user's files and launch line as a host does: the servers to start, the commands to run as hooks,
//! the open wake-up.
//!
//! It is pure: texts in, settings out, by each host's own rules with their sources. It must never know which
//! program wrote a file.

mod claude_code;
mod codex;
mod copilot_cli;
mod document;
mod found;
mod gemini_cli;
mod groups;
mod launch;
mod opencode;
mod qwen_code;

pub use document::{Form, HostFiles, SettingsError, parse};
pub use found::{HookCommand, HostSettings, OpenWakeUp, ServerEntry, ShellRule, ToolRule};

#[cfg(test)]
mod tests;

/// Families whose files can be read.
pub const SETTINGS_FAMILIES: [&str; 6] =
    ["claude-code", "copilot-cli", "codex", "gemini-cli", "opencode", "qwen-code"];

/// Reads the settings of a host of this family. `launch` are the arguments after the host's name, as the user
/// typed them.
///
/// # Errors
/// If the family is not known, or the host would refuse a file or an argument; the error names the file and
/// the line.
pub fn read(family: &str, files: &HostFiles, launch: &[String]) -> Result<HostSettings, SettingsError> {
    match family {
        "claude-code" => claude_code::read(files, launch),
        "copilot-cli" => copilot_cli::read(files, launch),
        "codex" => codex::read(files, launch),
        "gemini-cli" => gemini_cli::read(files, launch),
        "opencode" => opencode::read(files, launch),
        "qwen-code" => qwen_code::read(files, launch),
        _ => Err(SettingsError::new(format!(
            "nothing is known of the files of `{family}`; known are {}",
            SETTINGS_FAMILIES.join(", ")
        ))),
    }
}

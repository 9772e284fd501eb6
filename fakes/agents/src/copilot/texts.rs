//! What `copilot` says in words, letter for letter where a run of it showed them.

use std::fmt::Write as _;

use crate::flags;
use crate::script::Script;

use super::known_flags::FLAGS;
use super::version::Version;

pub(super) const INVALID_FORMAT: &str = "error: Invalid command format.\n\nIt looks like your prompt was not quoted, so the extra words were treated as separate arguments.\nWrap the prompt in quotes, for example: copilot -p \"your prompt here\"\n\nTry 'copilot --help' for more information.";
pub(super) const TWO_PROMPTS: &str =
    "Cannot specify prompt both with --interactive and --prompt flags. Please use only one.";
pub(super) const NO_PROMPT: &str =
    "No prompt provided. Run in an interactive terminal or provide a prompt with -p or via standard in.";
pub(super) const NOT_SIGNED_IN: &str = "Error: No authentication information found.\n\nCopilot can be authenticated with GitHub using an OAuth Token or a Fine-Grained Personal Access Token.\n\nTo authenticate, you can use any of the following methods:\n  • Start 'copilot' and run the '/login' command\n  • Set the COPILOT_GITHUB_TOKEN, GH_TOKEN, or GITHUB_TOKEN environment variable\n  • Run 'gh auth login' to authenticate with the GitHub CLI";
pub(super) const OFFLINE: &str =
    "Offline mode requires a local model provider. Set COPILOT_PROVIDER_BASE_URL to configure one.";
pub(super) const PICKER: &str = "Error: Multiple sessions are available and bare --resume needs an interactive session picker, which cannot be shown in the current non-interactive mode.\n\nTo resume a specific session:      copilot --resume=<id>\nTo resume the most recent session: copilot --continue";
pub(super) const NOBODY_TO_ASK: &str = "Permission denied because no interactive user response was available. Retry in an interactive session so the user can approve it, or try an alternative that does not require this permission.";
pub(super) const EXITING: &str = "\n\nExiting…\n";
pub(super) const DISPOSED: &str =
    "Error executing prompt: Error: Cannot invoke native session after disposal has started\n";
pub(super) const NO_MODEL: &str =
    "BYOK providers require an explicit model. Run `copilot help providers` for configuration details.";

/// A prompt that the model does not take.
pub(super) fn too_long(tokens: usize) -> String {
    format!(
        "\nRequest exceeds the model's prompt budget after reserving output ({tokens} tokens; limit 128000). Reduce context or compact before continuing."
    )
}

pub(super) const USAGE: &str =
    "copilot [OPTIONS] [COMMAND]\n\nGitHub Copilot CLI - An AI-powered coding assistant.";

/// A flag that an older version does not have.
pub(super) fn unknown_option(argument: &str) -> String {
    format!("error: unknown option '{argument}'\n\nTry 'copilot --help' for more information.")
}

/// A tool that plan mode does not let run.
pub(crate) fn blocked(tool: &str) -> String {
    format!(
        "`{tool}` was blocked. Plan mode does not permit changes outside the session folder. Do not implement yet — finish the plan and call `exit_plan_mode` to request approval before making any changes."
    )
}

/// A classic token in a variable.
pub(super) fn classic_token(variable: &str) -> String {
    format!(
        "Error: Classic Personal Access Tokens (ghp_) are not supported by Copilot.\n\nThe {variable} environment variable contains a classic PAT.\nPlease use a Fine-Grained Personal Access Token or another authentication method.\n\nTo fix this, you can:\n  • Replace the token in {variable} with a fine-grained PAT\n  • Unset {variable} and run 'gh auth login' to authenticate\n  • Unset {variable} and start 'copilot', then use the '/login' command"
    )
}

/// No session has this id, and it can't become one.
pub(super) fn no_id(id: &str) -> String {
    format!(
        "Error: No session or task matched '{id}'.\nThe value is not a valid UUID, so a new session cannot be created.\n\nTo resume an existing session or task:  copilot --session-id=<id>\nTo start a new session with ID:        copilot --session-id=<valid-uuid>\nTo resume by name or ID prefix:        copilot --resume=<name-or-prefix>"
    )
}

/// No session has this id or name.
pub(super) fn no_session(value: &str) -> String {
    format!(
        "Error: No session, task, or name matched '{value}'.\n\nTo resume by session or task ID:  copilot --resume=<id>\nTo resume by name:                copilot --resume=<name>\nTo name a new session:            copilot --name=<name>\nTo pick from existing sessions:   copilot --resume\nTo start a new session with ID:   copilot --session-id=<valid-uuid>"
    )
}

/// What `--version` prints.
pub(super) fn version(script: &Script) -> String {
    if !Version::of(script).has_version_sentence() {
        return format!("{}\nCommit: 0b21260\n", script.version());
    }
    format!("GitHub Copilot CLI {}.\nRun 'copilot update' to check for updates.\n", script.version())
}

/// What `help TOPIC` prints.
pub(super) fn topic(script: &Script, topic: Option<&str>) -> Result<String, String> {
    match topic {
        None => Ok(flags::help(USAGE, FLAGS)),
        Some("config") => {
            let mut text = "Configuration Settings:\n\n  `model`: AI model to use for Copilot CLI; can be changed with /model command or --model flag option.\n".to_owned();
            for model in &script.models {
                let _ = writeln!(text, "    - \"{model}\"");
            }
            text.push('\n');
            Ok(text)
        }
        Some(other) => Err(format!(
            "Unknown help topic: {other}\nAvailable topics:\n  config\n  commands\n  limits\n  environment\n  logging\n  monitoring\n  permissions\n  providers\n  billing\n  sandbox"
        )),
    }
}

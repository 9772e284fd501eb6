//! Gemini CLI and Qwen Code, which grew out of it: the machine's own settings, which a variable names, with ours added.

use std::path::{Path, PathBuf};

use entraclaw::setup::{Content, Found, with};

use super::base::{Overlay, Wanted, files, plain_path, rules};

/// The places of a program's settings for every user of a machine.
struct Machine {
    settings_variable: &'static str,
    defaults_variable: &'static str,
    linux: &'static str,
    mac: &'static str,
    windows: &'static str,
}

const GEMINI: Machine = Machine {
    settings_variable: "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
    defaults_variable: "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
    linux: "/etc/gemini-cli",
    mac: "/Library/Application Support/GeminiCli",
    windows: r"C:\ProgramData\gemini-cli",
};

const QWEN: Machine = Machine {
    settings_variable: "QWEN_CODE_SYSTEM_SETTINGS_PATH",
    defaults_variable: "QWEN_CODE_SYSTEM_DEFAULTS_PATH",
    linux: "/etc/qwen-code",
    mac: "/Library/Application Support/QwenCode",
    windows: r"C:\ProgramData\qwen-code",
};

/// Gemini CLI has the rules from the server's instructions.
pub(super) fn gemini_cli(overlay: &mut Overlay, wanted: &Wanted<'_>) -> anyhow::Result<()> {
    for file in files(wanted, Vec::new())? {
        match &file.content {
            Content::Json(_) => settings(overlay, wanted, &GEMINI, &file.content)?,
            Content::Whole(policy) => {
                let path = overlay.write("policy.toml", policy)?;
                overlay.argue(["--policy", &path]);
            }
            Content::Section(_) | Content::Table { .. } => {}
        }
    }
    overlay.ask(Some("-i"), wanted.prompt);
    Ok(())
}

/// Qwen Code takes the rules by a flag.
pub(super) fn qwen_code(overlay: &mut Overlay, wanted: &Wanted<'_>) -> anyhow::Result<()> {
    let files = files(wanted, Vec::new())?;
    for file in &files {
        if matches!(file.content, Content::Json(_)) {
            settings(overlay, wanted, &QWEN, &file.content)?;
        }
    }
    overlay.argue(["--append-system-prompt", &rules(&files)]);
    overlay.ask(Some("-i"), wanted.prompt);
    Ok(())
}

/// Points the variable to the machine's settings with ours in them. The file of defaults, which is looked for beside it, stays
/// where it is.
fn settings(
    overlay: &mut Overlay,
    wanted: &Wanted<'_>,
    machine: &Machine,
    ours: &Content,
) -> anyhow::Result<()> {
    let told = |name: &str| wanted.variables.get(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let usual = || {
        let folder = if cfg!(windows) {
            machine.windows
        } else if cfg!(target_os = "macos") {
            machine.mac
        } else {
            machine.linux
        };
        Path::new(folder).join("settings.json")
    };
    let theirs = told(machine.settings_variable).unwrap_or_else(usual);
    let name = theirs.display().to_string();
    let text = read(&theirs).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    let found = Found { text: text.as_deref(), ..Found::default() };
    let outcome = with(&name, found, "play", ours).map_err(|problem| anyhow::anyhow!("{name}: {problem}"))?;
    let path = overlay.write("settings.json", &outcome.text.unwrap_or_default())?;
    overlay.environment.insert(machine.settings_variable, path);
    let defaults =
        told(machine.defaults_variable).unwrap_or_else(|| theirs.with_file_name("system-defaults.json"));
    overlay.environment.insert(machine.defaults_variable, plain_path(&defaults)?);
    Ok(())
}

/// The text of a file; none where there is no file.
#[expect(clippy::disallowed_methods, reason = "the host's own settings stand outside the server's storage")]
fn read(path: &Path) -> std::io::Result<Option<String>> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

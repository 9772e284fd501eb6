//! `entraclaw init`: writes a starter configuration with comments on each setting.
//! It must never replace an existing configuration, in any form.

use std::process::ExitCode;

use super::environment::Environment;
use super::output;
use super::place::{CONFIG_FILE, Entry, Home, open_home};
use entraclaw_seams::storage::Storage as _;

/// The starter file. A test checks every line of it against the configuration.
const STARTER: &str = include_str!("starter.toml");

const EXAMPLE: &str = "\
Example: entraclaw init && $EDITOR ~/.entraclaw/config.toml
Exit codes: 0 written or printed, 1 not written, and why, 2 wrong usage.";

/// Flags of `init`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Flags {
    #[command(flatten)]
    home: Home,
    /// Only print it
    #[arg(long)]
    print: bool,
}

pub(super) fn run(flags: Flags) -> ExitCode {
    if flags.print {
        return output::text(STARTER, ExitCode::SUCCESS);
    }
    match write(flags.home) {
        Ok(text) => output::text(&text, ExitCode::SUCCESS),
        Err(problem) => output::complain(&problem, ExitCode::FAILURE),
    }
}

fn write(home: Home) -> Result<String, String> {
    let Some(disk) = open_home(Entry::Take, home, &Environment::read())? else {
        return Err("there is no home folder; set ENTRACLAW_HOME or give --home".to_owned());
    };
    let path = disk.root().join(CONFIG_FILE);
    let shown = path.display();
    // A dangling link or a folder counts as existing too.
    if path.symlink_metadata().is_ok() {
        return Err(format!(
            "{shown} is there already and stays as it is; see what a new one would hold with `entraclaw init --print`"
        ));
    }
    disk.replace(CONFIG_FILE, STARTER.as_bytes()).map_err(|error| {
        format!("{shown} can't be written: {error}; see that there is room and that the folder is yours")
    })?;
    Ok(format!(
        "{shown} is written. Fill in the ids below [identity] and [auth], then run `entraclaw login` and `entraclaw doctor`.\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_session::config::{Auth, Config, Sources};

    fn load(text: String) -> Config {
        Config::load(&Sources { file: Some(("config.toml".to_owned(), text)), ..Sources::default() }).unwrap()
    }

    /// The setting in a line that is commented out, as an operator would switch it on.
    fn switched_on(line: &str) -> &str {
        let setting = line.strip_prefix("# ").filter(|rest| rest.contains(" = ") || rest.starts_with('['));
        setting.unwrap_or(line)
    }

    #[test]
    fn the_starter_file_changes_nothing_but_pairing() {
        let config = load(STARTER.to_owned());
        assert!(config.gate.pairing && config.auth == Auth::None && config.allow.is_empty());
        let plain = Config { gate: Config::default().gate, ..config };
        assert_eq!(plain, Config::default());
    }

    #[test]
    fn every_commented_setting_is_understood() {
        let text: Vec<&str> = STARTER.lines().map(switched_on).collect();
        let config = load(text.join("\n"));
        assert!(matches!(config.auth, Auth::Delegated(_)) && config.mail.enabled && config.allow.len() == 2);
        assert!(STARTER.lines().filter(|line| switched_on(line) != *line).count() > 20);
    }
}

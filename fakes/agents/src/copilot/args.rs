//! The command line of GitHub Copilot CLI.

use std::path::PathBuf;

use crate::flags::{self, Flag, FlagError, Parsed, Takes};
use crate::invocation::{Invocation, Outside, PathKind};
use crate::script::Script;

use super::known_flags::FLAGS;
use super::texts;
use super::version::Version;

/// What the command line asks for.
pub(super) enum Command {
    /// A run, or a server.
    Ask(Args),
    /// A text that the program has ready.
    Prints(String),
}

/// A command line that was understood.
#[derive(Default)]
pub(super) struct Args {
    /// The headless prompt.
    pub prompt: Option<String>,
    /// The prompt that opens the terminal interface.
    pub interactive: Option<String>,
    /// Only the answer comes.
    pub silent: bool,
    /// The output is JSON lines.
    pub json: bool,
    /// It is a server of the Agent Client Protocol.
    pub speaks_acp: bool,
    /// The model that was asked for.
    pub model: Option<String>,
    /// Which session it goes on with.
    pub session: SessionArg,
    /// The folders that it may read and write besides its own.
    pub folders: Vec<PathBuf>,
    /// All the flags.
    pub flags: Parsed,
}

/// Which session a run goes on with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum SessionArg {
    /// A new one.
    #[default]
    New,
    /// `--session-id`: this one, or a new one of that id.
    Id(String),
    /// `--resume=…`: an id, the begin of one, or a name.
    Resume(String),
    /// `--resume` alone: the user is to choose.
    Pick,
    /// `--continue`: the latest.
    Latest,
}

/// Reads the command line; the error is the text on stderr.
pub(super) fn read(
    script: &Script,
    invocation: &Invocation,
    outside: &dyn Outside,
) -> Result<Command, String> {
    let version = Version::of(script);
    let known: Vec<Flag> = FLAGS.iter().filter(|flag| version.has_flag(flag.name)).copied().collect();
    let flags = flags::parse_like_clap(&known, &invocation.argv).map_err(|error| message(&error, script))?;
    if flags.has("--help") {
        return Ok(Command::Prints(flags::help(texts::USAGE, &known)));
    }
    if flags.has("--version") {
        return Ok(Command::Prints(texts::version(script)));
    }
    match flags.words.first().map(String::as_str) {
        Some("help") => {
            return texts::topic(script, flags.words.get(1).map(String::as_str)).map(Command::Prints);
        }
        Some("version") => return Ok(Command::Prints(texts::version(script))),
        Some(_) => return Err(texts::INVALID_FORMAT.to_owned()),
        None => {}
    }
    if let Some(folder) = flags.last("-C")
        && outside.kind(&invocation.folder.join(folder)) != PathKind::Folder
    {
        return Err(format!(
            "error: cannot change working directory to '{folder}': Error: ENOENT: no such file or directory, chdir '{}' -> '{folder}'",
            invocation.folder.display()
        ));
    }
    let args = Args {
        prompt: flags.last("--prompt").map(str::to_owned),
        interactive: flags.last("--interactive").map(str::to_owned),
        silent: flags.has("--silent"),
        json: flags.last("--output-format") == Some("json"),
        speaks_acp: flags.has("--acp"),
        model: flags.last("--model").or_else(|| invocation.variable("COPILOT_MODEL")).map(str::to_owned),
        session: session(&flags),
        folders: folders(&flags, invocation, outside)?,
        flags,
    };
    if args.prompt.is_some() && args.interactive.is_some() {
        return Err(texts::TWO_PROMPTS.to_owned());
    }
    Ok(Command::Ask(args))
}

fn session(flags: &Parsed) -> SessionArg {
    if let Some(id) = flags.last("--session-id") {
        SessionArg::Id(id.to_owned())
    } else if let Some(value) = flags.last("--resume") {
        SessionArg::Resume(value.to_owned())
    } else if flags.has("--resume") {
        SessionArg::Pick
    } else if flags.has("--continue") {
        SessionArg::Latest
    } else {
        SessionArg::New
    }
}

fn folders(flags: &Parsed, invocation: &Invocation, outside: &dyn Outside) -> Result<Vec<PathBuf>, String> {
    let work = invocation.folder.join(flags.last("-C").unwrap_or_default());
    let mut found = Vec::new();
    for value in flags.all("--add-dir") {
        let path = work.join(value);
        let problem = match outside.kind(&path) {
            PathKind::Folder => {
                found.push(path);
                continue;
            }
            PathKind::File => "Not a directory",
            PathKind::Missing => "Directory does not exist or cannot be accessed",
        };
        return Err(format!(
            "error: option '--add-dir <directory>' argument '{value}' is invalid. {problem}: {}",
            path.display()
        ));
    }
    Ok(found)
}

fn message(error: &FlagError, script: &Script) -> String {
    let possible = |flag: &Flag| match flag.takes {
        Takes::Of(values) => format!("\n  [possible values: {}]", values.join(", ")),
        _ if flag.name == "--model" => {
            let models: Vec<_> =
                std::iter::once("auto").chain(script.models.iter().map(String::as_str)).collect();
            format!("\n  [possible values: {}]", models.join(", "))
        }
        _ => String::new(),
    };
    match error {
        FlagError::Unknown(argument) => {
            let name = argument.split('=').next().unwrap_or(argument);
            let is_new = FLAGS.iter().any(|flag| flag.name == name);
            if is_new { texts::unknown_option(argument) } else { texts::INVALID_FORMAT.to_owned() }
        }
        FlagError::NoValue(flag) => format!(
            "error: a value is required for '{} {}' but none was supplied{}\n\nFor more information, try '--help'.",
            flag.name,
            flag.value,
            possible(flag)
        ),
        FlagError::BadValue(flag, value) => format!(
            "error: invalid value '{value}' for '{} {}'{}\n\nFor more information, try '--help'.",
            flag.name,
            flag.value,
            possible(flag)
        ),
    }
}

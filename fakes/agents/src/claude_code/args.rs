//! The command line of Claude Code.

use std::path::PathBuf;

use crate::flags::{self, Flag, FlagError, Parsed};
use crate::invocation::Invocation;
use crate::script::Script;

/// What the command line asks for.
pub(super) enum Command {
    /// A run.
    Ask(Args),
    /// A text that the program has ready, and its exit code.
    Prints(String, u8),
}

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    /// The answer alone.
    Text,
    /// One object at the end.
    One,
    /// JSON lines.
    Lines,
}

/// Which session a run goes on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SessionArg {
    /// A new one.
    New,
    /// A new one of this id.
    Id(String),
    /// This one.
    Resume(String),
    /// The latest of this folder.
    Latest,
}

/// A command line that was understood.
pub(super) struct Args {
    /// A headless run.
    pub print: bool,
    /// The prompt, if it is on the command line.
    pub prompt: Option<String>,
    /// The form of the output.
    pub form: Output,
    /// Pieces of the answer come as they are made.
    pub partial: bool,
    /// The model that was asked for.
    pub model: Option<String>,
    /// The session.
    pub session: SessionArg,
    /// Which tools may run without a question.
    pub mode: String,
    /// The folders that it may read and write besides its own.
    pub folders: Vec<PathBuf>,
    /// All the flags.
    pub flags: Parsed,
}

const FLAGS: &[Flag] = &[
    Flag::many("--add-dir", "<directories...>"),
    Flag::one("--agent", "<agent>"),
    Flag::one("--agents", "<json-or-file>"),
    Flag::switch("--allow-dangerously-skip-permissions"),
    Flag::many("--allowedTools", "<tools...>"),
    Flag::many("--allowed-tools", "<tools...>"),
    Flag::one("--append-system-prompt", "<prompt>"),
    Flag::switch("--bare"),
    Flag::many("--betas", "<betas...>"),
    Flag::switch("--continue").short('c'),
    Flag::switch("--dangerously-skip-permissions"),
    Flag::maybe("--debug", "[filter]").short('d'),
    Flag::switch("--disable-slash-commands"),
    Flag::many("--disallowedTools", "<tools...>"),
    Flag::many("--disallowed-tools", "<tools...>"),
    Flag::one("--effort", "<level>"),
    Flag::one("--fallback-model", "<model>"),
    Flag::switch("--fork-session"),
    Flag::switch("--include-partial-messages"),
    Flag::one("--input-format", "<format>"),
    Flag::one("--json-schema", "<schema>"),
    Flag::one("--max-budget-usd", "<amount>"),
    Flag::one("--max-turns", "<turns>"),
    Flag::many("--mcp-config", "<configs...>"),
    Flag::one("--model", "<model>"),
    Flag::one("--name", "<name>").short('n'),
    Flag::switch("--no-session-persistence"),
    Flag::one("--output-format", "<format>"),
    Flag::one("--permission-mode", "<mode>"),
    Flag::many("--plugin-dir", "<paths...>"),
    Flag::switch("--print").short('p'),
    Flag::switch("--restricted"),
    Flag::maybe("--resume", "[value]").short('r'),
    Flag::one("--session-id", "<uuid>"),
    Flag::one("--setting-sources", "<sources>"),
    Flag::one("--settings", "<file-or-json>"),
    Flag::switch("--strict-mcp-config"),
    Flag::one("--system-prompt", "<prompt>"),
    Flag::many("--tools", "<tools...>"),
    Flag::switch("--verbose"),
    Flag::switch("--version").short('v'),
    Flag::switch("--help").short('h'),
];

const FORMATS: [&str; 3] = ["text", "json", "stream-json"];
const MODES: [&str; 6] = ["acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "plan"];

/// Reads the command line; the error is the text on stderr.
pub(super) fn read(script: &Script, invocation: &Invocation) -> Result<Command, String> {
    let flags = flags::parse(FLAGS, &invocation.argv).map_err(|error| message(&error))?;
    if flags.has("--version") {
        return Ok(Command::Prints(format!("{} (Claude Code)\n", script.version()), 0));
    }
    if flags.has("--help") {
        return Ok(Command::Prints(flags::help("claude [options] [command] [prompt]", FLAGS), 0));
    }
    if flags.words.first().is_some_and(|word| word == "auth") {
        return Ok(auth_status(script, invocation));
    }
    let format = choice(&flags, "--output-format <format>", "--output-format", &FORMATS)?.unwrap_or("text");
    let form = match format {
        "json" => Output::One,
        "stream-json" => Output::Lines,
        _ => Output::Text,
    };
    if form == Output::Lines && !flags.has("--verbose") {
        return Err("Error: When using --print, --output-format=stream-json requires --verbose".to_owned());
    }
    let mode = choice(&flags, "--permission-mode <mode>", "--permission-mode", &MODES)?.unwrap_or("default");
    let mode = if flags.has("--dangerously-skip-permissions") { "bypassPermissions" } else { mode };
    let session = if let Some(id) = flags.last("--resume") {
        SessionArg::Resume(id.to_owned())
    } else if let Some(id) = flags.last("--session-id") {
        SessionArg::Id(id.to_owned())
    } else if flags.has("--continue") {
        SessionArg::Latest
    } else {
        SessionArg::New
    };
    Ok(Command::Ask(Args {
        print: flags.has("--print"),
        prompt: flags.words.first().cloned(),
        form,
        partial: flags.has("--include-partial-messages"),
        model: flags.last("--model").or_else(|| invocation.variable("ANTHROPIC_MODEL")).map(str::to_owned),
        session,
        mode: mode.to_owned(),
        folders: flags.all("--add-dir").map(PathBuf::from).collect(),
        flags,
    }))
}

fn choice<'flags>(
    flags: &'flags Parsed,
    shown: &str,
    name: &str,
    values: &[&str],
) -> Result<Option<&'flags str>, String> {
    match flags.last(name) {
        Some(value) if !values.contains(&value) => Err(format!(
            "error: option '{shown}' argument '{value}' is invalid. Allowed choices are {}.",
            values.join(", ")
        )),
        value => Ok(value),
    }
}

fn message(error: &FlagError) -> String {
    match error {
        FlagError::Unknown(name) => {
            let word = name.split(' ').next().unwrap_or(name);
            let near = FLAGS.iter().find(|flag| flag.name == word);
            let hint = near.map(|flag| format!("\n(Did you mean {}?)", flag.name)).unwrap_or_default();
            format!("error: unknown option '{name}'{hint}")
        }
        FlagError::NoValue(flag) | FlagError::BadValue(flag, _) => {
            format!("error: option '{} {}' argument missing", flag.name, flag.value)
        }
    }
}

fn auth_status(script: &Script, invocation: &Invocation) -> Command {
    let key = invocation.variable("ANTHROPIC_API_KEY").is_some();
    let signed_in = key || script.signed_in;
    let method = if key {
        "api_key"
    } else if signed_in {
        "claude.ai"
    } else {
        "none"
    };
    let status =
        serde_json::json!({"loggedIn": signed_in, "authMethod": method, "apiProvider": "firstParty"});
    Command::Prints(format!("{status:#}\n"), u8::from(!signed_in))
}

//! The command line: arguments in, text and an exit code out. Nothing here judges.

mod baseline;
mod bench;
mod diff;
mod folder;
mod history;
mod host;
mod hosts;
mod idle;
mod keep;
mod list;
mod live;
mod merge;
mod mutants;
mod new;
mod notices;
mod output;
mod play;
mod probe;
mod progress;
mod reach;
mod record;
mod replay;
mod report;
mod run;
mod scenario;
mod schema;
mod select;
mod server;
mod slowest;
mod takeover;
mod taps;
mod validate;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{CommandFactory as _, Parser, Subcommand};

/// Everything that was selected passed.
pub const EXIT_PASSED: u8 = 0;
/// Something failed.
pub const EXIT_FAILED: u8 = 1;
/// The command line or a scenario makes no sense.
pub const EXIT_USAGE: u8 = 2;
/// Something that was selected could not run, so nothing can be promised.
pub const EXIT_INCOMPLETE: u8 = 3;

/// For the help of every command that judges.
const EXIT_CODES: &str = "exit codes: 0 all passed, 1 a failure, 2 bad usage or a bad scenario, 3 incomplete (something selected could not run)";

/// Plays scenarios of fake MCP hosts and a fake Microsoft Graph against the server `entraclaw`, and judges what reached
/// the model. With `run --server 'CMD'` it judges any MCP server: by the protocol, and by what each host would do with it.
#[derive(Debug, Parser)]
#[command(name = "hostcheck", version, args_conflicts_with_subcommands = true)]
#[command(after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: run::Args,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run suites and write the compatibility report (the default).
    Run(Box<run::Args>),
    /// List the scenarios, or the rows that a server of your own is judged by.
    List(list::Args),
    /// List the host profiles, or print one with its evidence.
    Hosts(hosts::Args),
    /// Run one fake host over real pipes against any server command.
    Host(host::Args),
    /// Try the harness: servers with one fault each, and the rule that catches each.
    Mutants(mutants::Args),
    /// Validate MCP messages, one a line, against a protocol version.
    Validate(validate::Args),
    /// Serve a tracer that examines the host it is configured in, and draft a profile from its logs.
    Probe(probe::Args),
    /// Stand between a host and its server, change nothing, and write a wire log.
    Record(record::Args),
    /// Send the host's lines of a wire log to a server again, and compare its answers.
    Replay(replay::Args),
    /// Make a scenario from a wire log.
    Scenario(scenario::Args),
    /// Make a report from a stored event stream.
    Report(report::Args),
    /// Begin a scenario of your own.
    New(new::Args),
    /// Print the JSON Schema of a scenario, a profile or another document, for editors.
    Schema(schema::Args),
    /// Join the shards of a run.
    Merge(merge::Args),
    /// Say what changed from one run to another.
    Diff(diff::Args),
    /// Keep the list of failures that are known.
    Baseline(baseline::Args),
    /// Keep what releases came to.
    History(history::Args),
    /// Try the server by hand: a fake Graph and a page that looks like a chat, on this machine alone.
    Play(play::Args),
    /// Measure the figures that the book states.
    Bench(bench::Args),
}

/// The shipped server binary: as told, or beside this program; `None` when it is not there and can't be built.
pub fn server_binary(told: Option<&std::path::Path>) -> anyhow::Result<Option<std::path::PathBuf>> {
    run::find_server(told)
}

/// What a command ends with.
type Outcome = anyhow::Result<u8>;

/// The description of the command line: what the reference page is made of.
pub fn command_line() -> clap::Command {
    Cli::command()
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        None => run::main(&cli.run),
        Some(Command::Run(args)) => run::main(&args),
        Some(Command::List(args)) => list::main(&args),
        Some(Command::Hosts(args)) => hosts::main(&args),
        Some(Command::Host(args)) => host::main(&args),
        Some(Command::Mutants(args)) => mutants::main(&args),
        Some(Command::Validate(args)) => validate::main(&args),
        Some(Command::Probe(args)) => probe::main(&args),
        Some(Command::Record(args)) => record::main(&args),
        Some(Command::Replay(args)) => replay::main(&args),
        Some(Command::Scenario(args)) => scenario::main(&args),
        Some(Command::Report(args)) => report::main(&args),
        Some(Command::New(args)) => new::main(&args),
        Some(Command::Schema(args)) => schema::main(&args),
        Some(Command::Merge(args)) => merge::main(&args),
        Some(Command::Diff(args)) => diff::main(&args),
        Some(Command::Baseline(args)) => baseline::main(&args),
        Some(Command::History(args)) => history::main(&args),
        Some(Command::Play(args)) => play::main(&args),
        Some(Command::Bench(args)) => bench::main(&args),
    };
    let code = outcome.unwrap_or_else(|error| {
        say_error(&error);
        EXIT_USAGE
    });
    let is_cut = code == EXIT_PASSED && UNWRITTEN.load(Ordering::Relaxed);
    ExitCode::from(if is_cut { EXIT_INCOMPLETE } else { code })
}

fn say_error(error: &anyhow::Error) {
    let text = format!("{error:#}");
    if text.starts_with("error") { warn(&text) } else { warn(&format!("error: {text}")) }
}

/// Somebody else's text on one line of a terminal: control characters and marks of direction are written out.
fn shown(text: &str) -> String {
    let odd = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars()
        .map(|letter| if odd(letter) { letter.escape_unicode().to_string() } else { letter.to_string() })
        .collect()
}

/// A line for people on stderr.
fn warn(text: &str) {
    anstream::eprintln!("{text}");
}

/// Whether something could not be written to stdout.
static UNWRITTEN: AtomicBool = AtomicBool::new(false);

/// Output on stdout; a closed pipe (`| head`) is not an error. Another failure is told once and spoils the exit code.
fn out(text: &str) {
    use std::io::Write as _;
    let mut stdout = anstream::stdout();
    match writeln!(stdout, "{text}") {
        Err(error)
            if error.kind() != std::io::ErrorKind::BrokenPipe && !UNWRITTEN.swap(true, Ordering::Relaxed) =>
        {
            warn(&format!("error: cannot write to standard output: {error}"));
        }
        // A reader that has gone wants no more.
        _ => {}
    }
}

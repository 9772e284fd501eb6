//! The command line: arguments in, text and an exit code out. Nothing here judges.
//!
//! A program that has more commands adds [`Command`] to its own clap enum, and ends with [`end`].

mod baseline;
mod columns;
mod diff;
mod folder;
mod history;
mod host;
mod hosts;
mod list;
mod merge;
pub mod output;
mod overview;
mod probe;
mod progress;
mod record;
mod replay;
mod report;
mod run;
mod schema;
mod screen;
pub mod select;
pub mod server;
mod signals;
mod subject;
mod validate;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::exit::{EXIT_CODES, EXIT_INCOMPLETE, EXIT_PASSED, EXIT_USAGE, Outcome};
use crate::print::{is_cut, warn};

/// Judges any MCP server: by the protocol, and by whether it would work in each host. Records, replays and
/// validates the messages of hosts and servers, and stores the findings of runs.
#[derive(Debug, Parser)]
#[command(name = "hostcheck", version, args_conflicts_with_subcommands = true)]
#[command(after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Option<OwnCommand>,
    #[command(flatten)]
    run: run::Args,
}

#[derive(Debug, Subcommand)]
enum OwnCommand {
    /// Judge a server and write the reports (the default).
    Run(Box<run::Args>),
    /// List the rows that a server is judged by.
    List(list::Args),
    #[command(flatten)]
    Other(Command),
}

/// The commands that need neither a server nor a service of this project.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the host profiles, or print one with its evidence.
    Hosts(hosts::Args),
    /// Run one fake host over real pipes against any server command.
    Host(host::Args),
    /// Validate MCP messages, one a line, against a protocol version.
    Validate(validate::Args),
    /// Serve a tracer, which examines the host that starts it, and draft a profile from its logs.
    Probe(probe::Args),
    /// Pass everything between a host and its server unchanged, and write a wire log.
    Record(record::Args),
    /// Send the host's lines of a wire log to a server again, and compare its answers.
    Replay(replay::Args),
    /// Write a report from a stored event stream.
    Report(report::Args),
    /// Print the JSON Schema of a scenario, a profile or another document, for editors.
    Schema(schema::Args),
    /// Join the shards of a run.
    Merge(merge::Args),
    /// Print the changes from one run to another.
    Diff(diff::Args),
    /// Update or check the list of known failures.
    Baseline(baseline::Args),
    /// Add a release to the history, or list the releases.
    History(history::Args),
}

impl Command {
    /// Runs the command.
    pub fn main(&self) -> Outcome {
        match self {
            Self::Hosts(args) => hosts::main(args),
            Self::Host(args) => host::main(args),
            Self::Validate(args) => validate::main(args),
            Self::Probe(args) => probe::main(args),
            Self::Record(args) => record::main(args),
            Self::Replay(args) => replay::main(args),
            Self::Report(args) => report::main(args),
            Self::Schema(args) => schema::main(args),
            Self::Merge(args) => merge::main(args),
            Self::Diff(args) => diff::main(args),
            Self::Baseline(args) => baseline::main(args),
            Self::History(args) => history::main(args),
        }
    }
}

/// The description of the command line, from which the reference page is written.
pub fn command_line() -> clap::Command {
    Cli::command()
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    end(match &cli.command {
        None => run::main(&cli.run),
        Some(OwnCommand::Run(args)) => run::main(args),
        Some(OwnCommand::List(args)) => list::main(args),
        Some(OwnCommand::Other(command)) => command.main(),
    })
}

/// Prints the error of a command that failed, and gives the exit code of the process.
pub fn end(outcome: Outcome) -> ExitCode {
    let code = outcome.unwrap_or_else(|error| {
        say_error(&error);
        EXIT_USAGE
    });
    ExitCode::from(if code == EXIT_PASSED && is_cut() { EXIT_INCOMPLETE } else { code })
}

fn say_error(error: &anyhow::Error) {
    let text = format!("{error:#}");
    if text.starts_with("error") { warn(&text) } else { warn(&format!("error: {text}")) }
}

//! The command line: arguments in, text and an exit code out. Nothing here judges.
//!
//! The commands that need no server of our own are those of `hostcheck`, in one list with these.

mod asking;
mod bench;
mod idle;
mod interrupt;
mod keep;
mod list;
mod live;
mod memory;
mod mutants;
mod new;
mod notices;
mod play;
mod reach;
mod run;
mod scenario;
mod select;
mod server_binary;
mod slowest;
mod sources;
mod takeover;
mod taps;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use hostcheck::exit::EXIT_CODES;

pub use server_binary::{agent_binary, server_binary};

/// Plays scenarios of fake MCP hosts and a fake Microsoft Graph against the server `entraclaw`, and judges what reached
/// the model. With `run --server 'CMD'` it judges any MCP server: by the protocol, and by what each host would do with it.
/// It has all commands of `hostcheck`.
#[derive(Debug, Parser)]
#[command(name = "simulation", version, args_conflicts_with_subcommands = true)]
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
    /// Try the harness: servers with one fault each, and the rule that catches each.
    Mutants(mutants::Args),
    /// Make a scenario from a wire log.
    Scenario(scenario::Args),
    /// Begin a scenario of your own.
    New(new::Args),
    /// Try the server by hand: a fake Graph and a page that looks like a chat, on this machine alone.
    Play(play::Args),
    /// Measure the figures that the book states.
    Bench(bench::Args),
    #[command(flatten)]
    Neutral(hostcheck::command::Command),
}

/// The description of the command line: what the reference page is made of.
pub fn command_line() -> clap::Command {
    Cli::command()
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    hostcheck::command::end(match &cli.command {
        None => run::main(&cli.run),
        Some(Command::Run(args)) => run::main(args),
        Some(Command::List(args)) => list::main(args),
        Some(Command::Mutants(args)) => mutants::main(args),
        Some(Command::Scenario(args)) => scenario::main(args),
        Some(Command::New(args)) => new::main(args),
        Some(Command::Play(args)) => play::main(args),
        Some(Command::Bench(args)) => bench::main(args),
        Some(Command::Neutral(command)) => command.main(),
    })
}

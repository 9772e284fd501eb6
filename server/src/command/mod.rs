//! The command line. The only place that reads the environment and names stdin, stdout and signals.
//! It must never print anything but JSON-RPC to stdout while it serves.
//!
//! Exit codes: 0 the host closed the connection, or asked the server to stop; 1 the server could not run at all;
//! 2 the command line is wrong. A wrong configuration is none of them: `serve` starts and every tool says what to do.

mod environment;
mod logging;
mod serve;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Messages from people reach the model of every MCP host: once, in order, clean.
#[derive(Debug, Parser)]
#[command(name = "entraclaw", version, max_term_width = 100, after_help = EXIT_CODES)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 the host closed the connection or asked to stop, 1 the server could not run, 2 wrong usage.
Configuration: config.toml in the home folder; every key also as ENTRACLAW_<SECTION>_<KEY>.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve one MCP host over stdin and stdout until it closes them
    Serve(ServeFlags),
}

/// Flags of `serve`; they win over the environment, which wins over the file.
#[derive(Debug, clap::Args)]
struct ServeFlags {
    /// Folder of journal and configuration [default: $ENTRACLAW_HOME, else ~/.entraclaw]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Who reads the inbox; consumers have cursors of their own [default: by the host's name]
    #[arg(long, value_name = "NAME")]
    consumer: Option<String>,
    /// Which tools the model gets: some of inbound, reply, chats, people, files, mail [default: all]
    #[arg(long, value_name = "SETS")]
    tools: Option<String>,
}

/// Runs the program with its arguments and returns its exit code.
pub fn run() -> ExitCode {
    match CommandLine::try_parse() {
        Ok(CommandLine { command: Command::Serve(flags) }) => serve::serve(flags),
        Err(error) => {
            // Help and version are asked for, and belong on stdout; clap knows which is which.
            let code = u8::try_from(error.exit_code()).unwrap_or(2);
            if error.print().is_err() {
                return ExitCode::from(1);
            }
            ExitCode::from(code)
        }
    }
}

//! The command line. The only place that reads the environment and names stdin, stdout and signals.
//! It must never print anything but JSON-RPC to stdout while it serves.
//!
//! Exit codes: 0 it is done, or the host closed the connection or asked the server to stop; 1 it could not be done, or
//! the server could not run at all; 2 the command line is wrong. A wrong configuration is none of them: `serve` starts and every tool says what to do.

mod access;
mod environment;
mod logging;
mod login;
mod loopback;
mod serve;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};

use crate::clock::Clock;
use crate::storage::Storage;

/// Messages from people reach the model of every MCP host: once, in order, clean.
#[derive(Debug, Parser)]
#[command(name = "entraclaw", version, max_term_width = 100, after_help = EXIT_CODES)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done, or the host closed the connection or asked to stop; 1 it could not be done; 2 wrong usage.
Configuration: config.toml in the home folder; every key also as ENTRACLAW_<SECTION>_<KEY>.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve one MCP host over stdin and stdout until it closes them
    Serve(ServeFlags),
    #[command(flatten)]
    Access(access::Act),
    /// Sign the agent in, or check that it can: as `auth.mode` of the configuration says
    Login(LoginFlags),
    /// Forget the sign-in: remove what `login` put into the key store
    Logout(LogoutFlags),
}

/// Flags of `login`.
#[derive(Debug, clap::Args)]
#[command(after_help = LOGIN_HELP)]
struct LoginFlags {
    /// Folder of journal and configuration [default: $ENTRACLAW_HOME, else ~/.entraclaw]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// First put this PEM private key, and the certificate if it is in there too, into the key store
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// First put this PEM certificate into the key store
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Only print the address, do not open a browser
    #[arg(long)]
    no_browser: bool,
}

const LOGIN_HELP: &str = "\
agent-user: nobody is asked; the three hops are tried, and no token is kept.
device-code, browser: a person signs the agent's account in once; the key store keeps the refresh token.
Exit codes: 0 signed in; 1 it failed, and why is said; 2 wrong usage or configuration.";

/// Flags of `logout`.
#[derive(Debug, clap::Args)]
struct LogoutFlags {
    /// Folder of journal and configuration [default: $ENTRACLAW_HOME, else ~/.entraclaw]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Also remove the private key and the certificate; they can't be brought back
    #[arg(long)]
    key: bool,
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

/// What the operator's commands do and say, over seams that are given: the rest of the command line after the program's
/// name. For the simulation, where nobody has a terminal.
pub fn operate(
    arguments: &[&str],
    storage: &Arc<dyn Storage>,
    clock: &Arc<dyn Clock>,
) -> Result<String, String> {
    let typed = std::iter::once("entraclaw").chain(arguments.iter().copied());
    let line = CommandLine::try_parse_from(typed).map_err(|error| error.to_string())?;
    match line.command {
        Command::Access(act) => access::perform(&act, storage, clock),
        _ => Err("only pair, allow, deny and chat can be simulated".to_owned()),
    }
}

/// Runs the program with its arguments and returns its exit code.
pub fn run() -> ExitCode {
    match CommandLine::try_parse() {
        Ok(CommandLine { command: Command::Login(flags) }) => login::login(flags),
        Ok(CommandLine { command: Command::Logout(flags) }) => login::logout(flags),
        Ok(CommandLine { command: Command::Access(act) }) => access::run(&act),
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

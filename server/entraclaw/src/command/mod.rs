//! The command line. The only place that reads the environment and names stdin, stdout and signals.
//! It must never print anything but JSON-RPC to stdout while it serves.
//!
//! Exit codes: 0 success, or the host closed the connection or asked the server to stop; 1 something is wrong or could
//! not be done; 2 the command line is wrong. `serve` starts even with a wrong configuration, and then every tool says
//! what to do.

mod access;
mod bridge;
mod consumers;
mod context;
mod delegate;
mod doctor;
mod environment;
mod hook;
mod host_process;
mod http;
mod import;
mod inbox;
mod init;
mod input;
mod local_model;
mod log_file;
mod logging;
mod login;
mod loopback;
mod manual;
mod near;
mod output;
mod place;
mod project;
mod recall;
mod serve;
mod setup;
mod status;
mod wait;
mod waiter;
mod watch;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub use bridge::become_bridge;
use entraclaw_inbox::notice::WaitAsk;
use entraclaw_inbox::rules::WaitCommand;
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::Storage;
pub use inbox::{InboxView, WaitingMessage};
pub use recall::{Recalled, RecalledSession};

/// Messages from people reach the model of every MCP host: once, in order, clean.
#[derive(Debug, Parser)]
#[command(name = "entraclaw", version, max_term_width = 100, after_help = EXIT_CODES)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 done; 1 something is wrong, or could not be done; 2 wrong usage.
Configuration: config.toml in the home folder; every key also as ENTRACLAW_<SECTION>_<KEY>.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve one MCP host over stdin and stdout until it closes them
    Serve(serve::Flags),
    /// Wait for a message, print it and end: for the background shell of an agent
    Wait(wait::Flags),
    /// Answer a hook of a host with the waiting messages, in the host's own format
    Hook(hook::Flags),
    /// Connect a host: write the files by which it gets messages, or remove them again
    Setup(setup::Flags),
    /// Show how sources, sessions and consumers are doing, from files alone
    Status(status::Flags),
    /// Show the waiting messages, without taking them from the model
    Inbox(inbox::Flags),
    /// Find what was said to any agent on this machine, and how the session goes on
    Recall(recall::Flags),
    /// Show the consumers of the inbox, or remove one that is not needed
    Consumers(consumers::Flags),
    /// Show, begin or add to the notes that agents and people share in a workspace
    Context(context::Flags),
    /// Work with a local model in a project; hosts hand tasks to it
    Delegate(delegate::Flags),
    /// Connect a host over stdio to the local model of a project: a host starts this command, not a person
    #[command(long_flag = "mcp-bridge")]
    McpBridge(bridge::Flags),
    /// Print a line for each message as it comes, beside the agent
    Watch(watch::Flags),
    /// Do one job that outlives its caller: a session starts this command, not a person
    Work(work::Flags),
    /// Check configuration, folders, sign-in, clock and Graph, each with the fix
    Doctor(doctor::Flags),
    #[command(flatten)]
    Access(access::Act),
    /// Sign the agent in, or check that it can sign in, as `auth.mode` of the configuration says
    Login(login::LoginFlags),
    /// Sign out: remove what `login` put into the key store
    Logout(login::LogoutFlags),
    /// Write a commented starter configuration into the home folder
    Init(init::Flags),
    /// Take over the settings and positions of the Python server of the same name
    Import(import::Flags),
    /// Print completions for a shell
    Completions(manual::CompletionFlags),
    /// Write man pages, one for each command
    Man(manual::ManFlags),
}

/// Runs an operator's command over given seams and returns its text or its problem. The arguments are those after the
/// program's name. For the simulation, which has no terminal.
pub fn operate(
    arguments: &[&str],
    storage: &Arc<dyn Storage>,
    clock: &Arc<dyn Clock>,
) -> Result<String, String> {
    let typed = std::iter::once("entraclaw").chain(arguments.iter().copied());
    let line = CommandLine::try_parse_from(typed).map_err(|error| error.to_string())?;
    match line.command {
        Command::Access(act) => access::perform(&act, storage, clock),
        _ => Err("only pair, allow, deny, forget and chat can be simulated".to_owned()),
    }
}

/// Parses a shell's line that starts with the wait program: the home folder that it names, and the rest. `command` starts
/// it again. For the simulation, which has no shell.
pub fn wait_ask(words: &[&str], command: WaitCommand) -> Result<(Option<PathBuf>, WaitAsk), String> {
    wait::read(words, command)
}

/// `entraclaw wait` as a program of its own.
#[derive(Debug, Parser)]
#[command(name = "entraclaw-wait", version, max_term_width = 100)]
#[command(about = "Wait for a message, print it and end. It can do nothing else.")]
struct WaitLine {
    #[command(flatten)]
    flags: wait::Flags,
}

/// The descriptions of both programs' command lines, `entraclaw` first, from which the reference pages are made.
pub fn command_lines() -> [clap::Command; 2] {
    [CommandLine::command(), wait_line()]
}

/// The description of the program that can only wait, with an example of its own.
fn wait_line() -> clap::Command {
    WaitLine::command().after_help(wait::EXAMPLE_OF_PROGRAM)
}

/// Runs the program that can only wait, with its arguments, and returns its exit code.
pub fn run_wait() -> ExitCode {
    let line = wait_line().try_get_matches().and_then(|found| WaitLine::from_arg_matches(&found));
    match line {
        Ok(WaitLine { flags }) => wait::run(flags),
        Err(error) => printed(&error, error.exit_code()),
    }
}

/// Runs the program with its arguments and returns its exit code.
pub fn run() -> ExitCode {
    match CommandLine::try_parse() {
        Ok(CommandLine { command }) => match command {
            Command::Serve(flags) => serve::serve(flags),
            Command::Wait(flags) => wait::run(flags),
            Command::Hook(flags) => hook::run(&flags),
            Command::Setup(flags) => setup::run(flags),
            Command::Status(flags) => status::run(flags),
            Command::Recall(flags) => recall::run(flags),
            Command::Inbox(flags) => inbox::run(flags),
            Command::Consumers(flags) => consumers::run(flags),
            Command::Context(flags) => context::run(flags),
            Command::Delegate(flags) => delegate::run(flags),
            Command::McpBridge(flags) => bridge::run(flags),
            Command::Watch(flags) => watch::run(flags),
            Command::Work(flags) => work::run(flags),
            Command::Doctor(flags) => doctor::run(flags),
            Command::Access(act) => access::run(&act),
            Command::Login(flags) => login::login(flags),
            Command::Logout(flags) => login::logout(flags),
            Command::Import(flags) => import::run(flags),
            Command::Init(flags) => init::run(flags),
            Command::Completions(flags) => manual::completions(&flags, command_lines()),
            Command::Man(flags) => manual::pages(&flags, command_lines()),
        },
        Err(error) => {
            // A hook that exits with 2 blocks its host.
            let is_hook = std::env::args_os().nth(1).is_some_and(|name| name == "hook");
            printed(&error, if is_hook { 0 } else { error.exit_code() })
        }
    }
}

/// Prints a mistake in the command line, or the help or version that was asked for; clap knows which belongs on stdout.
fn printed(error: &clap::Error, code: i32) -> ExitCode {
    if error.print().is_err() { ExitCode::FAILURE } else { ExitCode::from(u8::try_from(code).unwrap_or(2)) }
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;

    use super::*;

    #[test]
    fn what_an_operator_does_is_told_and_stays() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let told = operate(&["allow", "alice@contoso.com"], &storage, &clock).unwrap();
        assert!(told.contains("alice@contoso.com may speak to the agent"), "{told}");
        let listed = operate(&["allow", "--list"], &storage, &clock).unwrap();
        assert!(listed.contains("alice@contoso.com"), "{listed}");
        assert!(operate(&["status"], &storage, &clock).is_err());
    }
}

//! The command line. The only place that reads the environment and names stdin, stdout and signals.
//! It must never print anything but JSON-RPC to stdout while it serves.
//!
//! Exit codes: 0 all went well; 1 something is wrong, or could not be done; 2 the command line is wrong. For `serve`
//! a wrong configuration is none of them: it starts, and every tool says what to do.

mod doctor;
mod environment;
mod import;
mod inbox;
mod log_file;
mod logging;
mod output;
mod place;
mod serve;
mod status;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use inbox::{InboxView, WaitingMessage};

/// Messages from people reach the model of every MCP host: once, in order, clean.
#[derive(Debug, Parser)]
#[command(name = "entraclaw", version, max_term_width = 100, after_help = EXIT_CODES)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 all went well, 1 something is wrong or could not be done, 2 wrong usage.
Configuration: config.toml in the home folder; every key also as ENTRACLAW_<SECTION>_<KEY>.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve one MCP host over stdin and stdout until it closes them
    #[command(after_help = SERVE_EXAMPLE)]
    Serve(ServeFlags),
    /// Tell how sources, sessions and readers are doing, from files alone
    #[command(after_help = STATUS_EXAMPLE)]
    Status(StatusFlags),
    /// Show the messages that wait, without taking them from the model
    #[command(after_help = INBOX_EXAMPLE)]
    Inbox(InboxFlags),
    /// Check configuration, folders, sign-in, clock and Graph, each with the fix
    #[command(after_help = DOCTOR_EXAMPLE)]
    Doctor(DoctorFlags),
    /// Take over the settings and positions of the Python server of the same name
    #[command(after_help = IMPORT_EXAMPLE)]
    Import(ImportFlags),
}

const SERVE_EXAMPLE: &str = "\
Example: claude mcp add entraclaw -- entraclaw serve --consumer reviewer
Exit codes: 0 the host closed the connection or asked to stop, 1 the server could not run, 2 wrong usage.";
const STATUS_EXAMPLE: &str = "\
Example: entraclaw status --json | jq '.consumers[] | {name, unread}'
Exit codes: 0 healthy, 1 something is wrong, 2 wrong usage.";
const INBOX_EXAMPLE: &str = "\
Example: entraclaw inbox --consumer claude-code --limit 5
Exit codes: 0 shown, 1 the inbox can't be read, 2 wrong usage.";
const DOCTOR_EXAMPLE: &str = "\
Example: ENTRACLAW_AUTH=static ENTRACLAW_ACCESS_TOKEN=\"$TOKEN\" entraclaw doctor
Exit codes: 0 nothing to repair, 1 something to repair, 2 wrong usage.";
const IMPORT_EXAMPLE: &str = "\
Example: entraclaw import ~/.entrabot --dry-run
It reads .env, watched_chats, email_cursor.txt and chat_cursors/ there, and in its folder data.
Nothing that is set already is changed, and no secret is taken.
Exit codes: 0 done, 1 not done, 2 wrong usage.";

/// Flags of `status`.
#[derive(Debug, clap::Args)]
struct StatusFlags {
    /// Folder of journal and configuration [default: $ENTRACLAW_HOME, else ~/.entraclaw]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Flags of `inbox`.
#[derive(Debug, clap::Args)]
struct InboxFlags {
    /// Folder of journal and configuration [default: $ENTRACLAW_HOME, else ~/.entraclaw]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Whose inbox [default: the one that was there last]
    #[arg(long, value_name = "NAME")]
    consumer: Option<String>,
    /// Messages at most, oldest first
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: usize,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Flags of `doctor`.
#[derive(Debug, clap::Args)]
struct DoctorFlags {
    /// Folder of journal and configuration [default: $ENTRACLAW_HOME, else ~/.entraclaw]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Flags of `import`.
#[derive(Debug, clap::Args)]
struct ImportFlags {
    /// Folder of the other server's files
    dir: PathBuf,
    /// Folder of journal and configuration [default: $ENTRACLAW_HOME, else ~/.entraclaw]
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Only tell what would be written
    #[arg(long)]
    dry_run: bool,
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
}

/// Runs the program with its arguments and returns its exit code.
pub fn run() -> ExitCode {
    match CommandLine::try_parse() {
        Ok(CommandLine { command }) => match command {
            Command::Serve(flags) => serve::serve(flags),
            Command::Status(flags) => status::run(flags),
            Command::Inbox(flags) => inbox::run(flags),
            Command::Doctor(flags) => doctor::run(flags),
            Command::Import(flags) => import::run(flags),
        },
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

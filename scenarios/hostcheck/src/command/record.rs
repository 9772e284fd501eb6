//! `hostcheck record`: a tap between a host and its server, which changes nothing.

use std::path::PathBuf;

use tokio::process::Command;

use crate::exit::Outcome;
use crate::print::warn;
use crate::tap::Start;
use crate::tap::keep::Keeper;
use crate::tap::mask::Masker;
use crate::tap::pass::{self, Ended};

/// The exit code of shells for a command that does not exist or can't be run.
const EXIT_NOT_FOUND: u8 = 127;
const EXIT_NOT_RUN: u8 = 126;
/// A shell adds this to the number of the signal that ended a command.
const EXIT_SIGNAL: i32 = 128;

const MORE: &str = "\
Put it before the server's command in the host's configuration:

  hostcheck record --log /tmp/wire.jsonl -- my-server --its --arguments

Every byte of stdin, stdout and stderr, the end of each, signals and the exit code are passed on as they are.
The log is one JSON object a line (schemas/own/wire-log.schema.json), mode 0600; a second process of the same
command writes wire.2.jsonl. Secrets are masked in the log, never on the pipes. What the disk can't take in time
is left out and counted in the last line.

exit codes: those of the server; 128 + N where signal N ended it; 127 and 126 where it is not there or can't be
run; 2 bad usage";

#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub struct Args {
    /// The log; a file that exists is never overwritten.
    #[arg(long, value_name = "FILE", default_value = "hostcheck-wire.jsonl")]
    log: PathBuf,
    /// An environment variable whose value is masked in the log. May be repeated.
    #[arg(long = "mask-env", value_name = "NAME")]
    mask_env: Vec<String>,
    /// For internal use, between the two processes of the tap.
    #[arg(long, hide = true, value_name = "PID")]
    server_of: Option<u32>,
    /// The command of the server.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(super) fn main(args: &Args) -> Outcome {
    if let Some(parent) = args.server_of {
        return Ok(become_server(parent, &args.command));
    }
    let mut secrets = Vec::new();
    let mut masked_env = Vec::new();
    for name in &args.mask_env {
        if let Some(value) = value_of(name)? {
            secrets.push(value);
            masked_env.push(name.clone());
        }
    }
    let masker = Masker::new(secrets);
    let start = Start {
        by: "record".to_owned(),
        at: wall_clock(),
        command: masker.command(&args.command),
        masked_env,
        ..Start::default()
    };
    let keeper = Keeper::start(&args.log, start, masker)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(pass::run(server_command(&args.command), keeper));
    match ended {
        Ok(ended) => Ok(exit_code(ended)),
        Err(error) => {
            warn(&format!("error: {error:#}"));
            Ok(not_started(error.downcast_ref::<std::io::Error>()))
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the command line's edge reads the environment")]
fn value_of(name: &str) -> anyhow::Result<Option<String>> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value)),
        // A variable that is not set has nothing to hide. The first line of the log names the variables that
        // are set.
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(error) => anyhow::bail!("--mask-env {name}: {error}, so it could not be found in the log"),
    }
}

#[expect(clippy::disallowed_methods, reason = "a log says when it began")]
pub(super) fn wall_clock() -> String {
    jiff::Timestamp::now().to_string()
}

/// The command of the server. Where the system allows it, a second step of this program ties the server to
/// the tap, so that the server ends with it.
fn server_command(command: &[String]) -> Command {
    if cfg!(target_os = "linux")
        && let Ok(own) = std::env::current_exe()
        && own.is_file()
    {
        let mut server = Command::new(own);
        server.args(["record", "--server-of", &std::process::id().to_string(), "--"]).args(command);
        return server;
    }
    let mut server = Command::new(command.first().map_or("", String::as_str));
    server.args(command.get(1..).unwrap_or_default());
    server
}

/// The second step: this process becomes the server, which the system kills when the tap exits.
#[cfg(target_os = "linux")]
fn become_server(parent: u32, command: &[String]) -> u8 {
    use std::os::unix::process::CommandExt as _;

    let tied = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
    // The tap may have exited before the server was tied to it.
    if tied.is_ok() && u32::try_from(nix::unistd::getppid().as_raw()) != Ok(parent) {
        return EXIT_NOT_RUN;
    }
    let name = command.first().map_or("", String::as_str);
    let error = std::process::Command::new(name).args(command.get(1..).unwrap_or_default()).exec();
    warn(&format!("error: cannot start {name}: {error}"));
    not_started(Some(&error))
}

#[cfg(not(target_os = "linux"))]
fn become_server(_parent: u32, _command: &[String]) -> u8 {
    EXIT_NOT_RUN
}

fn not_started(error: Option<&std::io::Error>) -> u8 {
    match error.map(std::io::Error::kind) {
        Some(std::io::ErrorKind::NotFound) => EXIT_NOT_FOUND,
        _ => EXIT_NOT_RUN,
    }
}

/// The exit code of the server. If a signal ended the server, the tap ends itself with the same signal where
/// it can.
fn exit_code(ended: Ended) -> u8 {
    #[cfg(unix)]
    if ended.signal == Some(nix::libc::SIGKILL) {
        // If this fails, the exit code still tells the signal.
        let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGKILL);
    }
    let code = ended.code.or_else(|| ended.signal.map(|signal| EXIT_SIGNAL + signal));
    code.map_or(EXIT_NOT_RUN, |code| u8::try_from(code & 0xff).unwrap_or(u8::MAX))
}

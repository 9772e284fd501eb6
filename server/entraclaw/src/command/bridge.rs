//! `entraclaw mcp-bridge`: connects a host over stdio to the engine of a project.
//! It must never work on a task itself, nor print anything but the protocol to stdout.

use std::ffi::OsString;
use std::path::PathBuf;
#[cfg(unix)]
use std::process::Command;
use std::process::ExitCode;

use clap::Args;
use entraclaw_bridge::{Address, relay};

use super::environment::Environment;
use super::near::Near;
use super::output::{self, Done};
use super::place::{Entry, Home, Place};
use super::project::Given;

const AFTER: &str = "\
A host starts this as an MCP server over stdio. It passes everything on to the engine of the project, which `entraclaw delegate`
is in a terminal, and finds it again when it is started anew.
Exit codes: 0 the host closed the connection, 1 it could not be served, and why, 2 wrong usage.";

/// The first argument of a bridge that has begun anew. Only a bridge starts it.
const READY: &str = "mcp-bridge-ready";
/// The last argument, if it may start an engine.
const SPAWNS: &str = "spawns";

/// Flags of `mcp-bridge`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(super) struct Flags {
    #[command(flatten)]
    home: Home,
    #[command(flatten)]
    project: Given,
    /// Start an engine without a terminal when a task comes and none runs
    #[arg(long)]
    spawn: bool,
}

pub(super) fn run(flags: Flags) -> ExitCode {
    output::end(perform(flags))
}

fn perform(flags: Flags) -> Done {
    let environment = Environment::read();
    let place = Place::find(Entry::Take, flags.home, Vec::new(), &environment).usable()?;
    let home = PathBuf::from(place.home_text());
    let project = flags.project.find(&home, &place.config.delegate.external)?;
    let found = Bridge { home, project: project.root, socket: project.address.path, spawns: flags.spawn };
    found.begin_anew();
    found.serve()
}

/// What a bridge needs to know of its command line and configuration.
struct Bridge {
    home: PathBuf,
    project: PathBuf,
    socket: PathBuf,
    spawns: bool,
}

impl Bridge {
    /// Becomes a process that only passes on: what reading the command line and the configuration has touched of the program
    /// is a third of the memory, and a bridge stays as long as its host. It comes back where that can't be.
    #[cfg(unix)]
    fn begin_anew(&self) {
        use std::os::unix::process::CommandExt as _;
        if let Ok(program) = std::env::current_exe() {
            let spawns = if self.spawns { SPAWNS } else { "" };
            let error = Command::new(program)
                .arg(READY)
                .args([&self.home, &self.project, &self.socket])
                .arg(spawns)
                .exec();
            tracing::debug!(%error, "the bridge stays the process that it is");
        }
    }

    /// Elsewhere a process can't become another one.
    #[cfg(not(unix))]
    fn begin_anew(&self) {}

    fn serve(self) -> Done {
        let address = Address { path: self.socket, project: self.project.clone() };
        let engines = Near::new(self.home, self.project, address, self.spawns);
        #[expect(clippy::disallowed_methods, reason = "the bridge's stdin and stdout belong to the host")]
        let relayed = relay(tokio::io::stdin(), tokio::io::stdout(), engines);
        output::block_on(relayed)?.map_err(|error| format!("the host can't be written to: {error}"))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Passes on what a bridge's host says, if the arguments are those of a bridge that has begun anew.
pub fn become_bridge(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let [first, home, project, socket, spawns] = &arguments[..] else { return None };
    if first != READY {
        return None;
    }
    let [home, project, socket] = [home, project, socket].map(PathBuf::from);
    Some(output::end(Bridge { home, project, socket, spawns: spawns == SPAWNS }.serve()))
}

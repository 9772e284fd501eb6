//! `entraclaw mcp-bridge`: connects a host over stdio to the engine of a project.
//! It must never work on a task itself, nor print anything but the protocol to stdout.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use entraclaw_bridge::relay;

use super::environment::Environment;
use super::near::Near;
use super::output::{self, Done};
use super::place::{Entry, Home, Place};
use super::project::Given;

const AFTER: &str = "\
A host starts this as an MCP server over stdio. It passes everything on to the engine of the project, which `entraclaw delegate`
is in a terminal, and finds it again when it is started anew.
Exit codes: 0 the host closed the connection, 1 it could not be served, and why, 2 wrong usage.";

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
    let engines = Near::new(home, project, flags.spawn);
    #[expect(clippy::disallowed_methods, reason = "the bridge's stdin and stdout belong to the host")]
    let relayed = relay(tokio::io::stdin(), tokio::io::stdout(), engines);
    output::block_on(relayed)?.map_err(|error| format!("the host can't be written to: {error}"))?;
    Ok(ExitCode::SUCCESS)
}

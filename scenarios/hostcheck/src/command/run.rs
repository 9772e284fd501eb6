//! `hostcheck run`: judges a server by the protocol and by the hosts. Another program plays the scenarios.

use std::path::PathBuf;

use super::{output, server};
use crate::exit::{EXIT_CODES, Outcome};

/// The error where no server is named. The words may be a suite, or a command that this program does not
/// have.
const NO_SERVER: &str = "no server is named; write --server 'CMD', --url URL or --config FILE. Scenarios are played by \
                         `simulation`, which also has the commands mutants, scenario, new, play and bench; in a checkout of \
                         this repository start it with `cargo run --release --` and the same words";

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// Rows or areas of `hostcheck list`; all when left out.
    rows: Vec<String>,
    /// Host profiles, families or `all`, see `hostcheck hosts`. Without one, the newest version of each
    /// family.
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// The seed of random values, like the arguments of calls.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The folder for the reports.
    #[arg(long, value_name = "DIR", default_value = "hostcheck-out")]
    out: PathBuf,
    #[command(flatten)]
    against: output::Against,
    #[command(flatten)]
    own: server::Flags,
}

pub(super) fn main(args: &Args) -> Outcome {
    if !args.own.is_given() {
        anyhow::bail!(NO_SERVER);
    }
    args.against.check()?;
    server::main(&args.own, &args.rows, &args.hosts, args.seed, (&args.out, &args.against))
}

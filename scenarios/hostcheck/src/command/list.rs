//! `hostcheck list`: the rows by which a server is judged.

use super::server;
use crate::exit::Outcome;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Rows or areas; all when left out.
    rows: Vec<String>,
    /// List the rows of the protocol. This is the default, since `simulation list` lists the scenarios.
    #[arg(long)]
    protocol: bool,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(super) fn main(args: &Args) -> Outcome {
    server::list(&args.rows, args.json)
}

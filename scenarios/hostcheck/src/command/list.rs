//! `hostcheck list`: the rows that a server is judged by.

use super::server;
use crate::exit::Outcome;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Rows or areas; all when left out.
    rows: Vec<String>,
    /// List the rows of the protocol, which are all that this program lists; scenarios are listed by `simulation list`.
    #[arg(long)]
    protocol: bool,
    /// One JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(super) fn main(args: &Args) -> Outcome {
    server::list(&args.rows, args.json)
}

//! `hostcheck diff`: what changed from one run to another.

use std::path::PathBuf;

use reports::Versus;

use super::{EXIT_FAILED, EXIT_PASSED, Outcome, out, output};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "exit codes: 0 the second run is no worse, 1 a check broke or a cell has no result any more, 2 bad usage"
)]
pub(super) struct Args {
    /// The `events.jsonl` of the first run, or the folder it is in.
    before: PathBuf,
    /// That of the second.
    now: PathBuf,
    /// One JSON object.
    #[arg(long)]
    json: bool,
}

pub(super) fn main(args: &Args) -> Outcome {
    let versus = Versus::new(&output::read(&args.before)?, &output::read(&args.now)?);
    out(&if args.json { serde_json::to_string(&versus)? } else { versus.text() });
    Ok(if versus.is_worse() { EXIT_FAILED } else { EXIT_PASSED })
}

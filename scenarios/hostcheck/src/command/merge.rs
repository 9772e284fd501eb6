//! `hostcheck merge`: joins the shards of a run that several machines played.

use std::path::PathBuf;

use super::{folder, output};
use crate::exit::{EXIT_INCOMPLETE, Outcome};
use crate::print::{out, warn};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "exit codes: as `simulation run` for the whole run; 2 the streams are no shards of one run, 3 a shard is missing"
)]
pub struct Args {
    /// The output of each `simulation run --shard i/n --out DIR`: folders, or their `events.jsonl`, in any
    /// order.
    #[arg(required = true)]
    shards: Vec<PathBuf>,
    /// The folder for the reports.
    #[arg(long, value_name = "DIR", default_value = "hostcheck-out")]
    out: PathBuf,
    #[command(flatten)]
    against: output::Against,
}

pub(super) fn main(args: &Args) -> Outcome {
    let streams = args.shards.iter().map(|path| folder::read(path)).collect::<anyhow::Result<Vec<_>>>()?;
    let stream = match reports::merge(streams) {
        Err(error) if error.is_incomplete() => {
            warn(&format!("error: {error}"));
            return Ok(EXIT_INCOMPLETE);
        }
        other => other?,
    };
    let exit_code = output::finish(&args.out, stream.into_events(), &args.against, output::Shown::Screen)?;
    out(&format!("reports: {}", args.out.display()));
    Ok(exit_code)
}

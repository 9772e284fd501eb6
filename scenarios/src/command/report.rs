//! `hostcheck report`: a stored event stream into any report.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;

use super::{EXIT_PASSED, Outcome};

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    Terminal,
    Html,
    Md,
    Json,
    Junit,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The `events.jsonl` of a run.
    events: PathBuf,
    /// Which report.
    #[arg(long, value_enum, default_value = "terminal")]
    format: Format,
    /// File to write; standard output when left out.
    #[arg(long)]
    out: Option<PathBuf>,
}

pub(super) fn main(args: &Args) -> Outcome {
    let file = std::fs::File::open(&args.events)
        .with_context(|| format!("cannot read {}", args.events.display()))?;
    let stream = reports::Stream::read(std::io::BufReader::new(file))
        .with_context(|| format!("{} is no valid event stream", args.events.display()))?;
    let report = reports::Report::new(&stream);
    let text = match args.format {
        Format::Terminal => reports::terminal(&report, reports::Style::default()),
        Format::Html => reports::html(&report, &stream)?,
        Format::Md => reports::markdown(&report),
        Format::Json => reports::json(&report)?,
        Format::Junit => reports::junit(&report)?,
    };
    match &args.out {
        Some(path) => {
            let mut file =
                std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
            file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
        }
        None => super::out(&text),
    }
    Ok(EXIT_PASSED)
}

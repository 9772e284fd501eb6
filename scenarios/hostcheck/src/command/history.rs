//! `hostcheck history`: one line for each release, from which reports draw the trend.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use reports::{Release, Report};

use super::{folder, output, select};
use crate::exit::{EXIT_PASSED, Outcome};
use crate::print::out;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Add a run as a release.
    Add {
        /// The folder that the run wrote its reports to, or its `events.jsonl`.
        events: PathBuf,
        /// The name of the release, like 0.2.0.
        #[arg(long)]
        release: String,
        /// Only cells of this mode; those of `sim` give equal bytes on every machine.
        #[arg(long, value_enum)]
        mode: Option<select::KeptMode>,
        /// The file to add to. It is created with its folder if it is missing.
        #[arg(long, value_name = "FILE", default_value = "reports/history.jsonl")]
        file: PathBuf,
    },
    /// List the releases.
    List {
        /// The file with the releases.
        #[arg(default_value = "reports/history.jsonl")]
        file: PathBuf,
        /// Print one JSON object a line.
        #[arg(long)]
        json: bool,
    },
}

pub(super) fn main(args: &Args) -> Outcome {
    match &args.command {
        Command::Add { events, release, mode, file } => {
            let known = if file.exists() { output::history(file)? } else { Vec::new() };
            if known.iter().any(|known| known.release == *release) {
                anyhow::bail!("{} has a release `{release}` already; choose another name", file.display());
            }
            let report = Report::new(&select::of_mode(one(events)?, *mode)?);
            let line = serde_json::to_string(&Release::new(release, &report))?;
            output::make_folder_of(file)?;
            let mut opened = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(file)
                .with_context(|| format!("cannot write {}", file.display()))?;
            writeln!(opened, "{line}").with_context(|| format!("cannot write {}", file.display()))?;
            out(&format!("{}: {} releases", file.display(), known.len() + 1));
        }
        Command::List { file, json } => {
            for release in output::history(file)? {
                let point = release.point();
                out(&if *json {
                    serde_json::to_string(&point)?
                } else {
                    format!(
                        "{:12}  {} × {}: {}/{} pass, {} went wrong",
                        reports::text::short_line(&point.name, 80),
                        point.requirements,
                        point.hosts,
                        point.passed,
                        point.counted,
                        point.defects
                    )
                });
            }
        }
    }
    Ok(EXIT_PASSED)
}

/// Reads the run of a release. Two parts have different rows, so one trend can't hold both.
fn one(events: &Path) -> anyhow::Result<reports::Stream> {
    let mut parts = folder::parts(events)?;
    anyhow::ensure!(
        parts.len() < 2,
        "{} holds two runs; name {}, each with a --file of its own",
        events.display(),
        folder::both(events, "or")
    );
    Ok(parts.remove(0).stream)
}

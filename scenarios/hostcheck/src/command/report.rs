//! `hostcheck report`: writes any report from a stored event stream.

use std::collections::BTreeSet;
use std::path::PathBuf;

use reports::Stream;
use reports::event::HostColumn;

use super::folder::{self, Part};
use super::{output, select};
use crate::exit::{EXIT_PASSED, Outcome};

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    /// For the terminal, as `run` prints it.
    Terminal,
    /// One HTML page with everything.
    Html,
    /// Markdown with everything.
    Md,
    /// For programs; `hostcheck schema report` prints its schema.
    Json,
    /// For CI systems that show tests.
    Junit,
    /// A short Markdown text for a pull request.
    Summary,
    /// For code scanning.
    Sarif,
    /// A picture for a README.
    BadgeSvg,
    /// JSON for the endpoint badge of shields.io.
    BadgeJson,
    /// Trace events for Perfetto, of every cell with a stored transcript; choose with --scenario and --host.
    Trace,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "exit codes: 0 written, whatever the run came to; 2 bad usage")]
pub struct Args {
    /// The folder that a run wrote its reports to, or its `events.jsonl`.
    events: PathBuf,
    /// The format of the report.
    #[arg(long, value_enum, default_value = "terminal")]
    format: Format,
    /// Only these scenarios: an id, or a word before a dot for all ids that begin with it. Where the
    /// selection is small, the report has the whole transcripts.
    #[arg(long = "scenario", value_name = "ID")]
    scenarios: Vec<String>,
    /// Only these hosts or families, or `all`. Two hosts are shown side by side.
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// Only cells of this mode; those of `sim` give equal bytes on every machine.
    #[arg(long, value_enum)]
    mode: Option<select::KeptMode>,
    #[command(flatten)]
    against: output::Against,
    /// The file to write; standard output when left out.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn main(args: &Args) -> Outcome {
    let parts = focus(folder::parts(&args.events)?, &args.scenarios, &args.hosts)?;
    anyhow::ensure!(
        parts.len() < 2 || args.format.takes_two(),
        "{} holds two runs, and one file of this format holds one; name {}",
        args.events.display(),
        folder::both(&args.events, "or")
    );
    let texts = parts.into_iter().map(|part| text(part.stream, args));
    let text = texts.collect::<anyhow::Result<Vec<_>>>()?.join("\n");
    match &args.out {
        Some(path) => output::write_file(path, &text)?,
        None => crate::print::out(&text),
    }
    Ok(EXIT_PASSED)
}

impl Format {
    /// Whether two reports of this format, one after the other, are a report too.
    fn takes_two(self) -> bool {
        matches!(self, Self::Terminal | Self::Md | Self::Summary)
    }
}

fn text(stream: Stream, args: &Args) -> anyhow::Result<String> {
    let stream = select::of_mode(stream, args.mode)?;
    let report = output::report(&stream, &args.against)?;
    Ok(match args.format {
        Format::Terminal => {
            let style = if args.out.is_some() { reports::Style::default() } else { output::style() };
            reports::terminal(&report, style)
        }
        Format::Html => reports::html(&report, &stream)?,
        Format::Md => reports::markdown(&report),
        Format::Json => reports::json(&report)?,
        Format::Junit => reports::junit(&report)?,
        Format::Summary => reports::pull_request(&report),
        Format::Sarif => reports::sarif(&report)?,
        Format::BadgeSvg => reports::badge_svg(&report),
        Format::BadgeJson => reports::badge_json(&report)?,
        Format::Trace => reports::trace(&stream)?,
    })
}

/// The selected part of a run. A name that the run does not have is an error, not an empty page.
fn focus(parts: Vec<Part>, scenarios: &[String], hosts: &[String]) -> anyhow::Result<Vec<Part>> {
    let rows: Vec<&str> =
        parts.iter().flat_map(|part| &part.stream.header.scenarios).map(|row| row.id.as_str()).collect();
    let scenarios = known_rows(scenarios, &rows)?;
    let columns: Vec<&HostColumn> = parts.iter().flat_map(|part| &part.stream.header.hosts).collect();
    let hosts = select::named(
        hosts,
        &columns,
        |column| (column.id.as_str(), column.family.as_str()),
        "the run has no host",
    )?;
    let hosts: BTreeSet<String> = hosts.into_iter().map(|column| column.id.clone()).collect();
    let is_one = parts.len() == 1;
    let mut focused: Vec<Part> = parts
        .into_iter()
        .map(|part| Part { stream: part.stream.focus(&scenarios, &hosts), ..part })
        .collect();
    focused.retain(|part| is_one || !part.stream.cells.is_empty());
    anyhow::ensure!(!focused.is_empty(), "no part of the run has that scenario on that host");
    Ok(focused)
}

/// The ids that the words name: a whole id, or its part before a dot.
fn known_rows(words: &[String], known: &[&str]) -> anyhow::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for word in words {
        let prefix = format!("{word}.");
        let fits: Vec<&&str> = known.iter().filter(|id| **id == word || id.starts_with(&prefix)).collect();
        if fits.is_empty() {
            let hint = crate::hint::nearest(word, known.iter().copied())
                .map_or_else(String::new, |best| format!("; did you mean `{best}`?"));
            anyhow::bail!("the run has no scenario `{word}`{hint}");
        }
        found.extend(fits.into_iter().map(|id| (*id).to_owned()));
    }
    Ok(found)
}

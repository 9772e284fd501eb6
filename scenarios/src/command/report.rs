//! `hostcheck report`: a stored event stream into any report.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;

use super::{EXIT_PASSED, Outcome, output, select};

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Format {
    Terminal,
    Html,
    Md,
    Json,
    Junit,
    /// Short, for a pull request.
    Summary,
    Sarif,
    BadgeSvg,
    /// For the endpoint of shields.io.
    BadgeJson,
    /// Trace events for Perfetto, of every cell that kept its wire; choose with --scenario and --host.
    Trace,
}

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The `events.jsonl` of a run, or the folder it is in.
    events: PathBuf,
    /// Which report.
    #[arg(long, value_enum, default_value = "terminal")]
    format: Format,
    /// Only these scenarios, with everything on their wire where that is little enough.
    #[arg(long = "scenario", value_name = "ID")]
    scenarios: Vec<String>,
    /// Only these hosts; two of them stand side by side.
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// Only cells of this mode; those of `sim` give equal bytes on every machine.
    #[arg(long, value_enum)]
    mode: Option<select::ModeArg>,
    #[command(flatten)]
    against: output::Against,
    /// File to write; standard output when left out.
    #[arg(long)]
    out: Option<PathBuf>,
}

pub(super) fn main(args: &Args) -> Outcome {
    let stream = focus(output::read(&args.events)?, &args.scenarios, &args.hosts)?;
    let stream = select::of_mode(stream, args.mode);
    let report = output::report(&stream, &args.against)?;
    let text = match args.format {
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

/// The part of a run that was asked for; a name that the run does not have is a mistake, not an empty page.
pub(super) fn focus(
    stream: reports::Stream,
    scenarios: &[String],
    hosts: &[String],
) -> anyhow::Result<reports::Stream> {
    let known: Vec<&str> = stream.header.scenarios.iter().map(|row| row.id.as_str()).collect();
    let scenarios = known_names("scenario", scenarios, &known)?;
    let known: Vec<&str> = stream.header.hosts.iter().map(|host| host.id.as_str()).collect();
    let hosts = known_names("host", hosts, &known)?;
    Ok(stream.focus(&scenarios, &hosts))
}

fn known_names(kind: &str, asked: &[String], known: &[&str]) -> anyhow::Result<BTreeSet<String>> {
    for name in asked {
        if !known.contains(&name.as_str()) {
            let hint = crate::scenario::nearest_name(name, known.iter().copied())
                .map_or_else(String::new, |best| format!("; did you mean `{best}`?"));
            anyhow::bail!("the run has no {kind} `{name}`{hint}");
        }
    }
    Ok(asked.iter().cloned().collect())
}

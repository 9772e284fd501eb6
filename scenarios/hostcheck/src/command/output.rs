//! The output of every run: the event stream and the reports in a folder, a summary on the terminal, an exit
//! code. It never judges; the exit code follows from the stream and from the baseline.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use reports::event::Event;
use reports::{Baseline, Release, Report, Stream};

use crate::print::out;

/// The files with which a run is compared.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Against {
    /// The list of known failures, as `hostcheck baseline update` writes it. A known failure does not fail
    /// the run; a new one does, and so does a known one that passes.
    #[arg(long, value_name = "FILE")]
    pub(super) baseline: Option<PathBuf>,
    /// Earlier releases, as `hostcheck history add` writes them. The report shows the trend.
    #[arg(long, value_name = "FILE")]
    pub(super) history: Option<PathBuf>,
}

/// The part of a report that a run prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Nothing.
    Nothing,
    /// One screen: the whole matrix of a small run, the overview of a large one.
    Screen,
    /// The whole matrix and all tables.
    Everything,
}

/// Most rows of a small run.
const SMALL_ROWS_MAX: usize = 20;
/// Most columns of a small run.
const SMALL_COLUMNS_MAX: usize = 6;

/// Writes the reports of a finished run into a folder, sums the run up on standard output, and gives the exit code.
pub fn finish(folder: &Path, events: Vec<Event>, against: &Against, shown: Shown) -> anyhow::Result<u8> {
    write_events(folder, &events)?;
    let stream = Stream::from_events(events)?;
    let report = report(&stream, against)?;
    reports::write_all(&report, &stream, folder)?;
    let is_small = report.rows().count() <= SMALL_ROWS_MAX && report.hosts.len() <= SMALL_COLUMNS_MAX;
    match shown {
        Shown::Nothing => {}
        Shown::Screen if !is_small => out(&reports::overview(&report, style())),
        Shown::Screen | Shown::Everything => out(&reports::terminal(&report, style())),
    }
    Ok(u8::try_from(report.exit_code)?)
}

/// The report of a stream, compared with the given files.
pub(super) fn report(stream: &Stream, against: &Against) -> anyhow::Result<Report> {
    let mut report = Report::new(stream);
    if let Some(path) = &against.history {
        report.compare_with_history(&history(path)?);
    }
    if let Some(path) = &against.baseline {
        report.compare_with_baseline(&baseline(path)?, stream);
    }
    Ok(report)
}

impl Against {
    /// Reads both files once, so that a mistake in them is reported before a run of minutes and not after it.
    pub fn check(&self) -> anyhow::Result<()> {
        self.history.as_deref().map(history).transpose()?;
        self.baseline.as_deref().map(baseline).transpose()?;
        Ok(())
    }
}

/// Reads a baseline.
pub(super) fn baseline(path: &Path) -> anyhow::Result<Baseline> {
    Baseline::read(&text(path)?).with_context(|| path.display().to_string())
}

/// Reads a history.
pub(super) fn history(path: &Path) -> anyhow::Result<Vec<Release>> {
    reports::history::read(&text(path)?).with_context(|| path.display().to_string())
}

#[expect(clippy::disallowed_methods, reason = "the command line's edge reads the files it is told of")]
fn text(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Colours on a terminal only, unless `NO_COLOR` or `CLICOLOR_FORCE` says otherwise.
pub(super) fn style() -> reports::Style {
    let choice = anstream::AutoStream::choice(&std::io::stdout());
    let colour = match choice {
        anstream::ColorChoice::Never => false,
        anstream::ColorChoice::Auto => std::io::stdout().is_terminal(),
        _ => true,
    };
    reports::Style { colour, ..reports::Style::default() }
}

/// Writes a whole file, and creates its folder if it is missing.
pub(super) fn write_file(path: &Path, text: &str) -> anyhow::Result<()> {
    make_folder_of(path)?;
    let mut file = std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// Creates the folder of a file that is to be written.
#[expect(clippy::disallowed_methods, reason = "the command line's edge writes the files it is told of")]
pub(super) fn make_folder_of(path: &Path) -> anyhow::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))
}

fn write_events(folder: &Path, events: &[Event]) -> anyhow::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "the command line's edge writes the output folder")]
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}; choose another with --out", folder.display()))?;
    let path = folder.join("events.jsonl");
    let file = std::fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut file = std::io::BufWriter::new(file);
    reports::stream::write(events, &mut file)?;
    file.flush()?;
    Ok(())
}

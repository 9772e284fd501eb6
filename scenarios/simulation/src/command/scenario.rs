//! `simulation scenario`: from a wire log to a scenario.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use hostcheck::exit::{EXIT_PASSED, Outcome};
use hostcheck::print::{out, warn};
use hostcheck::tap::read;

use crate::recorded::{Options, write};

#[derive(Debug, clap::Args)]
#[command(after_help = "exit codes: 0 the scenario was written, 2 bad usage or a log that can't be one")]
pub(super) struct Args {
    /// A log of `hostcheck record`, `probe` or `host`, or an older recording.
    log: PathBuf,
    /// The scenario's id, like `recorded.my-server`; made from the log's name when left out.
    #[arg(long)]
    id: Option<String>,
    /// Expect the values of every answer, not only its shape.
    #[arg(long)]
    exact: bool,
    /// The file to write; standard output when left out. A file that exists is not overwritten.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn main(args: &Args) -> Outcome {
    let log = read::file(&args.log)?;
    let name = args.log.file_stem().unwrap_or_default().to_string_lossy();
    let made_id = || {
        let kept = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
        let words: String = name.chars().map(|letter| if kept(letter) { letter } else { '-' }).collect();
        format!("recorded.{}", words.trim_matches('-').to_lowercase())
    };
    let options = Options {
        id: args.id.clone().unwrap_or_else(made_id),
        source: args.log.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        exact: args.exact,
    };
    let written = write(&log, &options).with_context(|| args.log.display().to_string())?;
    // The loader must accept the new scenario; an error here shows its line.
    scenario::parse(&format!("{}.yaml", options.id), &written.yaml)?;
    for left_out in &written.left_out {
        warn(&format!("note: {left_out}"));
    }
    match &args.out {
        None => out(written.yaml.trim_end()),
        Some(path) => std::fs::File::create_new(path)
            .and_then(|mut file| file.write_all(written.yaml.as_bytes()))
            .with_context(|| format!("--out: cannot write {}", path.display()))?,
    }
    Ok(EXIT_PASSED)
}

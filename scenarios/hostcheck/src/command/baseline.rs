//! `hostcheck baseline`: the list of known failures.

use std::path::PathBuf;

use reports::baseline::{Check, Expected};
use reports::{Baseline, Gate};
use serde_json::json;

use super::folder::{self, Part};
use super::output;
use crate::exit::{EXIT_FAILED, EXIT_PASSED, Outcome};
use crate::print::out;

#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write the failures of a run as the new list. Entries keep their reasons, and entries of cells that the
    /// run did not play stay.
    Update(Files),
    /// List the failures of a run that are known or new, and the entries that are stale.
    #[command(
        after_help = "exit codes: 0 no failure is new and no entry is stale, 1 at least one is, 2 bad usage"
    )]
    Check(Files),
}

#[derive(Debug, clap::Args)]
struct Files {
    /// The folder that a run wrote its reports to, or its `events.jsonl`.
    events: PathBuf,
    /// The list; `update` creates the file if it is missing.
    baseline: PathBuf,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

pub(super) fn main(args: &Args) -> Outcome {
    match &args.command {
        Command::Update(files) => update(files),
        Command::Check(files) => check(files),
    }
}

fn update(files: &Files) -> Outcome {
    let old = if files.baseline.exists() { output::baseline(&files.baseline)? } else { Baseline::default() };
    let parts = folder::parts(&files.events)?;
    let gate = judged(&old, &parts);
    let new = parts.iter().fold(old, |list, part| list.update(&part.stream));
    output::write_file(&files.baseline, &new.write()?)?;
    say(files, &[("added", gate.new), ("removed", checks(&gate.stale))]);
    if !files.json {
        out(&format!("{}: {} known failures", files.baseline.display(), new.expected.len()));
    }
    Ok(EXIT_PASSED)
}

fn check(files: &Files) -> Outcome {
    let gate = judged(&output::baseline(&files.baseline)?, &folder::parts(&files.events)?);
    say(
        files,
        &[
            ("known", checks(&gate.known)),
            ("not judged", checks(&gate.not_judged)),
            ("new", gate.new.clone()),
            ("stale", checks(&gate.stale)),
        ],
    );
    if !files.json && !gate.stale.is_empty() {
        out("stale entries pass: remove them with `hostcheck baseline update`");
    }
    Ok(if gate.is_open() { EXIT_PASSED } else { EXIT_FAILED })
}

/// Judges each part of a run by the list, and joins the results.
fn judged(list: &Baseline, parts: &[Part]) -> Gate {
    let gates = parts.iter().map(|part| list.judge(&part.stream));
    gates.reduce(Gate::and).unwrap_or_default()
}

fn checks(entries: &[Expected]) -> Vec<Check> {
    entries.iter().map(Expected::check).collect()
}

fn say(files: &Files, lists: &[(&str, Vec<Check>)]) {
    for (word, checks) in lists {
        for check in checks {
            let Check { scenario, host, mode, rule } = check;
            out(&if files.json {
                json!({"state": word, "scenario": scenario, "host": host, "mode": mode, "rule": rule})
                    .to_string()
            } else {
                format!("{word:10}  {}", reports::text::short_line(&check.name(), 400))
            });
        }
    }
}

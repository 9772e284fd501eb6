//! `hostcheck replay`: sends the host's lines of a wire log to a live server.

use std::path::PathBuf;
use std::process::Stdio;

use anyhow::Context as _;
use serde_json::json;
use tokio::io::BufReader;
use tokio::process::Command;

use crate::exit::{EXIT_FAILED, EXIT_INCOMPLETE, EXIT_PASSED, Outcome};
use crate::print::{out, shown, warn};
use crate::tap::read::{self, Recorded};
use crate::tap::replay::replay;

/// Sends the host's lines again and compares the shape of each answer: kind, error code, members and their
/// types.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "exit codes: 0 all answers have the recorded shape, 1 one differs, 2 bad usage, 3 nothing was compared"
)]
pub struct Args {
    /// A log of `hostcheck record`, `probe` or `host`, or an older recording.
    log: PathBuf,
    /// The number of the server process in the log; the first when left out.
    #[arg(long, value_name = "N")]
    proc: Option<u64>,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
    /// The command of the server.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(super) fn main(args: &Args) -> Outcome {
    let log = read::file(&args.log)?;
    let proc = args.proc.or_else(|| log.first().map(|entry| entry.proc)).unwrap_or(1);
    let log: Vec<Recorded> = log.into_iter().filter(|entry| entry.proc == proc).collect();
    let program = args.command.first().map_or("", String::as_str);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let replayed = runtime.block_on(async {
        let mut child = Command::new(program)
            .args(args.command.get(1..).unwrap_or_default())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let input = child.stdin.take().context("the server has no stdin")?;
        let output = child.stdout.take().context("the server has no stdout")?;
        replay(&log, BufReader::new(output), input).await
    })?;
    for left_out in &replayed.left_out {
        warn(&format!("note: {left_out}"));
    }
    for answer in &replayed.answers {
        out(&if args.json {
            json!(answer).to_string()
        } else if answer.same {
            format!("same     line {:<5} {}", answer.line, shown(&answer.method))
        } else {
            let (method, differences) = (shown(&answer.method), shown(&answer.differences.join("; ")));
            format!("differs  line {:<5} {method}: {differences}", answer.line)
        });
    }
    Ok(if replayed.answers.is_empty() {
        warn("the log holds no answer of this process, so nothing was compared");
        EXIT_INCOMPLETE
    } else if replayed.answers.iter().all(|answer| answer.same) {
        EXIT_PASSED
    } else {
        EXIT_FAILED
    })
}

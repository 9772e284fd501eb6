//! `hostcheck probe`: serves a tracer for a real host, and drafts a profile from the logs.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::json;

use super::record::wall_clock;
use super::signals::Signals;
use crate::exit::{EXIT_INCOMPLETE, EXIT_PASSED, Outcome};
use crate::print::{out, shown, warn};
use crate::probe::claim::Claims;
use crate::probe::drive::{Told, drive};
use crate::probe::opening::Opening;
use crate::probe::session::Session;
use crate::probe::tracer::Tracer;
use crate::probe::{draft, questions, runbook};
use crate::tap::keep::Keeper;
use crate::tap::mask::Masker;
use crate::tap::{Dir, Start, read};

/// The mode of a host, which only the user who starts it knows.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Mode {
    /// Interactive.
    Tui,
    /// Headless, with one prompt.
    Print,
}

#[derive(Debug, clap::Args)]
#[command(after_help = runbook::RUNBOOK)]
pub struct Args {
    /// Print the runbook and exit.
    #[arg(long)]
    print: bool,
    /// The log; a file that exists is never overwritten.
    #[arg(long, value_name = "FILE", default_value = "hostcheck-probe.jsonl")]
    log: PathBuf,
    /// How the connection is opened: legacy, modern, modern-refuse-listen, probe-silent, probe-exit, initialize-silent,
    /// no-capabilities, quiet, one-page, or version=YYYY-MM-DD.
    #[arg(long, default_value = "legacy")]
    opening: Opening,
    /// The mode of the host.
    #[arg(long, value_enum, default_value = "tui")]
    mode: Mode,
    /// Draft a profile from these logs instead of serving.
    #[arg(long, value_name = "LOG", num_args = 1..)]
    report: Vec<PathBuf>,
    /// With --report: the file for the draft; standard output when left out. A file that exists is not
    /// overwritten.
    #[arg(long, value_name = "FILE", requires = "report")]
    out: Option<PathBuf>,
    /// With --report: the profile that the draft extends.
    #[arg(long, value_name = "PROFILE", default_value = draft::BASE)]
    extends: String,
    /// With --report: print each observed fact as one JSON object a line instead of the draft.
    #[arg(long, requires = "report")]
    json: bool,
}

pub(super) fn main(args: &Args) -> Outcome {
    if args.print {
        out(&format!("{}\n\nThe steps, as the model is told them:\n\n{}", runbook::RUNBOOK, runbook::STEPS));
        return Ok(EXIT_PASSED);
    }
    if args.report.is_empty() { serve(args) } else { report(args) }
}

fn serve(args: &Args) -> Outcome {
    let mode = match args.mode {
        Mode::Tui => "tui",
        Mode::Print => "print",
    };
    let start = Start {
        by: "probe".to_owned(),
        at: wall_clock(),
        opening: Some(args.opening.to_string()),
        mode: Some(mode.to_owned()),
        ..Start::default()
    };
    let keeper = Keeper::start(&args.log, start, Masker::default())?;
    let queue = keeper.queue();
    let (mut to_server, mut to_host) = (queue.feed(Dir::HostToServer), queue.feed(Dir::ServerToHost));
    let tell = |told: Told<'_>| match told {
        Told::Line(Dir::HostToServer, bytes) => to_server.chunk(bytes),
        Told::Line(_, bytes) => to_host.chunk(bytes),
        Told::Event(what, detail) => queue.event(what, detail),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        let signals = Signals::of_a_host()?;
        #[expect(clippy::disallowed_methods, reason = "the probe is a stdio server; this is its edge")]
        let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
        anyhow::Ok(drive(Tracer::new(args.opening.clone()), input, output, || signals.next(), tell).await?)
    })?;
    keeper.end(Some(code), None);
    // A read of stdin that is still waiting must not delay the exit.
    runtime.shutdown_background();
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}

fn report(args: &Args) -> Outcome {
    let base = fake_hosts::profile(&args.extends).with_context(|| "--extends")?;
    let mut sessions = Vec::new();
    for path in &args.report {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        sessions.extend(Session::of(&name, &read::file(path)?));
    }
    // A process that replaced another one comes after it.
    sessions.sort_by_key(|session| (session.base(), session.proc));
    let claims = Claims::of(&sessions);
    if args.json {
        for claim in &claims.seen {
            let mode = claim.mode.map(|mode| json!(mode));
            let (fact, value, evidence) = (claim.fact, &claim.value, &claim.evidence);
            out(&json!({"fact": fact, "mode": mode, "value": value, "evidence": evidence}).to_string());
        }
    } else {
        let text = draft::write(&claims, &base);
        match &args.out {
            None => out(&text),
            Some(path) => std::fs::File::create_new(path)
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .with_context(|| format!("--out: cannot write {}", path.display()))?,
        }
        let answered = questions::text(&questions::all(&sessions, &claims));
        let commented: Vec<String> = answered.lines().map(|line| format!("# {}", shown(line))).collect();
        out(&if args.out.is_some() { answered.trim_end().to_owned() } else { commented.join("\n") });
    }
    for (fact, both) in &claims.contradictions {
        warn(&format!("note: {fact} was seen with different values, so it is not claimed: {}", shown(both)));
    }
    if claims.seen.is_empty() {
        warn("no fact could be drawn from these logs; has a host opened?");
        return Ok(EXIT_INCOMPLETE);
    }
    Ok(EXIT_PASSED)
}

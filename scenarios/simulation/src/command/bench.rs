//! `simulation bench`: the figures that the book states, measured on this machine with the shipped binary.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use entraclaw_inbox::journal::{Journal, JournalOptions};
use entraclaw_inbox::provider::{self, SessionOptions};
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_inbox::tool::{Outbox, OutgoingTeams, SendError, Sent};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::DiskStorage;
use fake_hosts::drive::Server as _;
use fake_hosts::pipe::Pipe;
use futures_util::future::BoxFuture;
use hdrhistogram::Histogram;
use hostcheck::exit::{EXIT_FAILED, EXIT_PASSED, Outcome};
use hostcheck::print::out;
use reports::event::Lane;
use scenario::Mode;
use serde_json::json;
use tokio::time::Instant;

use super::live::{NO_GRAPH, Session, initialize, request};
use super::memory::peak_megabytes;
use super::server_binary::{agent_binary, server_binary};
use super::{asking, idle, notices, reach, select, takeover, taps};
use crate::plan::{self, Selection};
use crate::run::{Repeats, Settings, run_cell};

/// Process starts that are measured.
const STARTS: usize = 41;
/// Messages through a waiting call that are measured.
const DELIVERIES: usize = 1_000;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The `entraclaw` binary; beside this program when left out.
    #[arg(long, value_name = "FILE")]
    server_binary: Option<std::path::PathBuf>,
    /// Measure only what `hostcheck record` adds to a message.
    #[arg(long)]
    record_only: bool,
    /// Measure only what asking another agent costs.
    #[arg(long, conflicts_with = "record_only")]
    ask_only: bool,
}

/// One figure and its target.
struct Figure {
    what: &'static str,
    value: f64,
    unit: &'static str,
    target: Option<f64>,
}

impl Figure {
    fn new(what: &'static str, value: f64, unit: &'static str, target: Option<f64>) -> Self {
        Self { what, value, unit, target }
    }
}

pub(super) fn main(args: &Args) -> Outcome {
    if cfg!(debug_assertions) {
        hostcheck::print::warn(
            "this is a debug build; figures count in release: `cargo run --release -- bench`",
        );
    }
    if args.record_only {
        return Ok(print(&tap()?));
    }
    let binary = server_binary(args.server_binary.as_deref())?.context("the server's binary is not built")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if args.ask_only {
        return Ok(print(&asked(&runtime, &binary)?));
    }
    let mut figures = runtime.block_on(processes(&binary))?;
    figures.extend(runtime.block_on(delivery())?);
    figures.extend(reach(&runtime, &binary)?);
    figures.extend(notices(&runtime, &binary)?);
    figures.extend(takeovers(&runtime, &binary)?);
    figures.extend(idle(&runtime, &binary)?);
    figures.extend(idle_requests()?);
    figures.extend(asked(&runtime, &binary)?);
    figures.extend(tap()?);
    Ok(print(&figures))
}

/// Prints figures; whether all targets are met is the exit code.
fn print(figures: &[Figure]) -> u8 {
    let mut all_met = true;
    out(&format!("{:<62} {:>10} {:<8} {:>10}", "figure", "measured", "unit", "target"));
    for figure in figures {
        let met = figure.target.is_none_or(|target| figure.value <= target);
        all_met &= met;
        let target = figure.target.map_or_else(String::new, |target| format!("≤ {target}"));
        out(&format!(
            "{:<62} {:>10.2} {:<8} {:>10}{}",
            figure.what,
            figure.value,
            figure.unit,
            target,
            if met { "" } else { "  missed" }
        ));
    }
    if all_met { EXIT_PASSED } else { EXIT_FAILED }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

async fn processes(binary: &Path) -> anyhow::Result<Vec<Figure>> {
    let mut starts = Vec::new();
    let mut ends = Vec::new();
    let (mut memory, mut tools_bytes) = (0.0_f64, 0);
    for _ in 0..STARTS {
        let home = tempfile::tempdir()?;
        let started = Instant::now();
        let mut session = Session::start(binary, &home.path().join("home"), NO_GRAPH, &[])?;
        session.ask(&initialize()).await?;
        starts.push(milliseconds(started.elapsed()));
        session.pipe.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        tools_bytes = session.ask(&request(1, "tools/list", &json!({}))).await?.len();
        memory = memory.max(peak_megabytes(session.server.id()).unwrap_or(f64::NAN));
        let wait = json!({"name": "wait_for_inbound_message", "arguments": {"timeout_s": 50}});
        session.pipe.send(&request(2, "tools/call", &wait)).await?;
        session.ask(&request(3, "ping", &json!({}))).await?;
        let closed = Instant::now();
        session.pipe.close();
        session.server.exited().await;
        ends.push(milliseconds(closed.elapsed()));
    }
    starts.sort_by(f64::total_cmp);
    ends.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "a size for people")]
    let tools_kilobytes = tools_bytes as f64 / 1_000.0;
    Ok(vec![
        Figure::new(
            "process start → initialize reply, Graph unreachable, median",
            starts[STARTS / 2],
            "ms",
            Some(15.0),
        ),
        Figure { what: "peak memory after tools/list", value: memory, unit: "MB", target: Some(15.0) },
        Figure { what: "tools/list", value: tools_kilobytes, unit: "kB", target: Some(12.0) },
        Figure::new("tools/list with mail and bot", all_tools_kilobytes(binary).await?, "kB", Some(16.0)),
        Figure::new("stdin EOF with a 50 s wait open → exit, slowest", ends[STARTS - 1], "ms", Some(100.0)),
    ])
}

/// The list of tools with everything switched on that brings tools.
async fn all_tools_kilobytes(binary: &Path) -> anyhow::Result<f64> {
    let settings = [
        ("ENTRACLAW_MAIL_ENABLED", "true"),
        ("ENTRACLAW_BOT_ENABLED", "true"),
        ("ENTRACLAW_BOT_LISTEN", "127.0.0.1:0"),
        ("ENTRACLAW_BOT_APP_ID", "11111111-1111-1111-1111-111111111111"),
        ("ENTRACLAW_BOT_TENANT_ID", "22222222-2222-2222-2222-222222222222"),
        ("ENTRACLAW_BOT_APP_PASSWORD", "bench-secret"),
    ];
    let home = tempfile::tempdir()?;
    let mut session = Session::start(binary, &home.path().join("home"), NO_GRAPH, &settings)?;
    session.ask(&initialize()).await?;
    let line = session.ask(&request(1, "tools/list", &json!({}))).await?;
    anyhow::ensure!(line.contains("send_email"), "mail has no tools: {line}");
    #[expect(clippy::cast_precision_loss, reason = "a size for people")]
    Ok(line.len() as f64 / 1_000.0)
}

/// A sender that drops every message.
struct NoOutbox;

impl Outbox for NoOutbox {
    fn send_teams_message(&self, _: OutgoingTeams) -> BoxFuture<'static, Result<Sent, SendError>> {
        Box::pin(async { Err(SendError::UnknownChat) })
    }
}

/// From the moment a record is synced on a real disk to its line on the pipe of a waiting call.
async fn delivery() -> anyhow::Result<Vec<Figure>> {
    let home = tempfile::tempdir()?;
    let storage = Arc::new(DiskStorage::open(&home.path().join("home"))?);
    let (journal, _) = Journal::open(storage, Arc::new(SystemClock), JournalOptions::default())?;
    let options = SessionOptions::new(
        journal.clone(),
        Arc::new(SplitMix::seeded(1)),
        Arc::new(SystemClock),
        Arc::new(NoOutbox),
    );
    let (server_end, host_end) = tokio::io::duplex(64 * 1024);
    let (server_in, server_out) = tokio::io::split(server_end);
    let mut pipe = Pipe::new(tokio::io::split(host_end));
    let host = async {
        let mut histogram: Histogram<u64> = Histogram::new(3)?;
        pipe.send(&initialize()).await?;
        pipe.line().await?;
        for n in 0..DELIVERIES {
            let id = u64::try_from(n)? + 10;
            let wait =
                request(id, "tools/call", &json!({"name": "wait_for_inbound_message", "arguments": {}}));
            pipe.send(&wait).await?;
            tokio::time::sleep(Duration::from_millis(1)).await;
            journal.append(vec![draft(n)])?;
            let synced = Instant::now();
            let line = pipe.line().await?;
            anyhow::ensure!(line.contains(&format!("bench message {n}")), "another line came: {line}");
            histogram.record(u64::try_from(synced.elapsed().as_nanos())?)?;
        }
        anyhow::Ok(histogram)
    };
    let histogram = tokio::select! {
        biased;
        histogram = host => histogram?,
        _ = provider::serve(options, server_in, server_out) => anyhow::bail!("the server ended"),
    };
    let at = |quantile: f64| {
        #[expect(clippy::cast_precision_loss, reason = "a time for people")]
        let nanoseconds = histogram.value_at_quantile(quantile) as f64;
        nanoseconds / 1e6
    };
    Ok(vec![
        Figure::new("record synced → line on the pipe of a waiting call, p50", at(0.5), "ms", None),
        Figure::new("record synced → line on the pipe of a waiting call, p99", at(0.99), "ms", Some(2.0)),
    ])
}

fn draft(n: usize) -> Draft {
    Draft {
        key: format!("teams/bench/{n}"),
        id: format!("{n}"),
        channel: Channel::Teams,
        chat_id: "19:bench@thread.v2".to_owned(),
        from: "Alice".to_owned(),
        ts: "2026-01-05T09:00:00Z".to_owned(),
        content_text_sanitized: format!("bench message {n}"),
        meta: std::collections::BTreeMap::new(),
        edit_of: None,
        deleted: false,
    }
}

/// The 99th of a hundred, in milliseconds.
fn p99(times: &mut [Duration]) -> f64 {
    times.sort();
    milliseconds(times.get(times.len() * 99 / 100).copied().unwrap_or_default())
}

/// Another process writes, and the session of a fake host follows.
fn reach(runtime: &tokio::runtime::Runtime, binary: &Path) -> anyhow::Result<Vec<Figure>> {
    let mut times = runtime.block_on(reach::measure(binary, draft))?;
    let mut figures = Vec::new();
    for (what, times) in [
        ("synced by another session → idle model, by channel, p99", &mut times.channel),
        ("synced by another session → idle model, by parked call, p99", &mut times.parked),
    ] {
        figures.push(Figure { what, value: p99(times), unit: "ms", target: Some(50.0) });
    }
    Ok(figures)
}

/// Whole processes beside a session: a background shell that waits, and hooks.
fn notices(runtime: &tokio::runtime::Runtime, binary: &Path) -> anyhow::Result<Vec<Figure>> {
    let mut times = runtime.block_on(notices::measure(binary, draft))?;
    let mut figures = Vec::new();
    for (what, times, target) in [
        ("record synced → `entraclaw wait` has ended, p99", &mut times.shells, 100.0),
        ("`entraclaw hook` with nothing to tell, whole process, p99", &mut times.silent_hooks, 20.0),
        ("`entraclaw hook` with a message, whole process, p99", &mut times.telling_hooks, 20.0),
    ] {
        figures.push(Figure { what, value: p99(times), unit: "ms", target: Some(target) });
    }
    Ok(figures)
}

/// What asking another agent costs, with one in its place that answers at once.
fn asked(runtime: &tokio::runtime::Runtime, binary: &Path) -> anyhow::Result<Vec<Figure>> {
    if !cfg!(target_os = "linux") {
        hostcheck::print::warn(
            "asking another agent is not measured: its processes are counted on Linux alone",
        );
        return Ok(Vec::new());
    }
    let agent = agent_binary()?
        .context("no `fake-agent` beside this program; `cargo build --release -p fake-agents`")?;
    let costs = runtime.block_on(asking::measure(binary, &agent))?;
    #[expect(clippy::cast_precision_loss, reason = "counts for people")]
    let (agents, descriptors) = (costs.agents_at_once as f64, costs.descriptors_left as f64);
    let mut figures = vec![
        Figure::new("a question minus its agent's bare program, median", costs.added_ms, "ms", Some(15.0)),
        Figure::new("a question to a program that stands by, whole, median", costs.warm_ms, "ms", Some(30.0)),
        Figure::new("cancel → no process of three left, slowest of 20", costs.cancel_ms, "ms", Some(300.0)),
        Figure::new("the same, all three ignore SIGTERM", costs.deaf_cancel_ms, "ms", Some(300.0)),
        Figure::new("100 questions of 20 sessions at once: most agents", agents, "", Some(4.0)),
        Figure::new("100 questions of 20 sessions at once: descriptors left", descriptors, "", Some(0.0)),
    ];
    if let Some((server, job)) = costs.long {
        figures.push(Figure::new("10 MB of output: peak memory of the server", server, "MB", Some(30.0)));
        figures.push(Figure::new("10 MB of output: peak memory of the job", job, "MB", Some(30.0)));
    }
    Ok(figures)
}

/// What `hostcheck record` adds to a message of 1 kB, there and back through `cat`, at the same place of both distributions.
fn tap() -> anyhow::Result<Vec<Figure>> {
    let Some(added) = taps::measure()? else { return Ok(Vec::new()) };
    let figure =
        |what, value, target| Figure { what, value: milliseconds(value) * 1_000.0, unit: "µs", target };
    Ok(vec![
        figure("`hostcheck record` adds to a message there and back, p50", added.p50, None),
        figure("`hostcheck record` adds to a message there and back, p99", added.p99, Some(1_000.0)),
    ])
}

/// `kill -9` of the session that polls, until another one does.
fn takeovers(runtime: &tokio::runtime::Runtime, binary: &Path) -> anyhow::Result<Vec<Figure>> {
    let histogram = tokio::task::LocalSet::new().block_on(runtime, takeover::measure(binary))?;
    let at = |quantile: f64| milliseconds(Duration::from_micros(histogram.value_at_quantile(quantile)));
    let figure = |what, value, target| Figure { what, value, unit: "ms", target };
    Ok(vec![
        figure("leader of three sessions killed → another polls, p50", at(0.5), None),
        figure("leader of three sessions killed → another polls, p99", at(0.99), Some(2_000.0)),
    ])
}

/// A real process that gets no message.
fn idle(runtime: &tokio::runtime::Runtime, binary: &Path) -> anyhow::Result<Vec<Figure>> {
    let idle = tokio::task::LocalSet::new().block_on(runtime, idle::measure(binary))?;
    let core = idle
        .core_percent
        .map(|value| Figure::new("idle, 200 chats, a call waits: processor", value, "% core", Some(0.1)));
    let memory = idle
        .memory_mb
        .map(|value| Figure::new("idle, 200 chats, a call waits: peak memory", value, "MB", Some(20.0)));
    // A poll more or less falls into the time that is measured.
    let asked = Figure::new(
        "idle, 200 chats, a call waits: Graph requests",
        idle.requests_per_second,
        "1/s",
        Some(0.23),
    );
    Ok(core.into_iter().chain(memory).chain([asked]).collect())
}

/// Requests to Graph in the last 50 of 60 idle seconds, with one chat and with two hundred.
fn idle_requests() -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (what, id) in [
        ("Graph requests in 50 idle seconds, 1 chat", "graph.idle-cost-one"),
        ("Graph requests in 50 idle seconds, 202 chats", "graph.idle-cost"),
    ] {
        let selection = Selection {
            scenarios: select::scenarios(&[id.to_owned()])?,
            hosts: hostcheck::command::select::hosts(&["copilot-cli@seed".to_owned()])?,
            modes: vec![Mode::Sim],
            seed: 1,
            seeds: 1,
            faults: None,
            sampled: false,
            glance: false,
        };
        let settings =
            Settings { first_seed: 1, server_binary: None, agent_binary: None, repeats: Repeats::Never };
        let cell = plan::cells(&selection).pop().context("the idle scenario is gone")?;
        let finished = run_cell(&cell, &settings);
        anyhow::ensure!(finished.failures.is_empty(), "{id} does not pass: {:?}", finished.reason);
        let count =
            finished.transcript.iter().filter(|line| line.lane == Lane::Graph && line.at_ms > 10_000).count();
        #[expect(clippy::cast_precision_loss, reason = "a count for people")]
        figures.push(Figure { what, value: count as f64, unit: "requests", target: None });
    }
    Ok(figures)
}

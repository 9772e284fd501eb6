//! `simulation run`: plan, play, report.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hostcheck::command::select::hosts as hosts_named;
use hostcheck::command::{output, server};
use hostcheck::exit::{EXIT_CODES, Outcome};
use hostcheck::host::Host;
use hostcheck::print::{out, warn};
use reports::event::{CellFinished, EVENTS_VERSION, Event, RunFinished, RunStarted, ServerUnderTest, Shard};
use scenario::Mode;
use scenario::faults::{FaultProfile, PROFILES};

use super::interrupt;
use super::keep::{self, Corpus};
use super::select;
use super::server_binary::{agent_binary, server_binary};
use super::slowest::Slowest;
use crate::plan::{self, Cell, Selection};
use crate::run::{News, Repeats, Settings, run_all, was_stopped};

/// Seeds a cell in sim mode when none are asked for.
const SEEDS_DEFAULT: u64 = 8;
/// Seeds a cell in a first look.
const SEEDS_GLANCE: u64 = 1;
/// Process cells that run side by side: they wait more than they work.
const PROCESS_JOBS: usize = 32;
/// The same while simulated cells keep every core busy.
const PROCESS_JOBS_BESIDE: usize = 16;

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Args {
    /// Suites, scenario ids, files or folders; all built-in ones when left out: then it is a first look with one seed, some
    /// cells twice and processes of two hosts, or with --full all seeds, every cell twice and every process. With --server or --url rows or areas of
    /// `hostcheck list --protocol` instead.
    suites: Vec<String>,
    /// Host profiles, families or `all`, see `hostcheck hosts`; when left out all, but for versions that differ from
    /// their neighbour in nothing else, and with --server or --url the newest version of each.
    #[arg(long = "host", value_name = "HOST")]
    hosts: Vec<String>,
    /// Every host plays every seed, as if each were named.
    #[arg(long, conflicts_with_all = ["hosts", server::SUBJECT])]
    all_hosts: bool,
    /// Only this mode.
    #[arg(long, value_enum, conflicts_with = server::SUBJECT)]
    mode: Option<Mode>,
    /// How many seeds each cell is played with in sim mode; 8 when left out. Where no host is named, hosts that differ
    /// little from another play one of them.
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = server::SUBJECT)]
    seeds: Option<u64>,
    /// First seed; 1 when left out. With `--seeds 1` it is played alone, without the corpus, and nothing is kept.
    #[arg(long)]
    seed: Option<u64>,
    /// Seeds that broke a rule once, a line each: those of the selected scenarios and hosts are played before all others,
    /// and new ones are added. OUT/corpus.txt when left out; a shard plays seeds of a file that is named alone.
    #[arg(long, value_name = "FILE", conflicts_with = server::SUBJECT)]
    corpus: Option<PathBuf>,
    /// The fault profile of scenarios that draw their steps from the seed; as the scenario says when left
    /// out, which is mostly `usual`.
    #[arg(long, value_name = "NAME", value_parser = fault_profile(), conflicts_with = server::SUBJECT)]
    fault_profile: Option<&'static FaultProfile>,
    /// Print every cell, every time and every reason, however long that is.
    #[arg(long, conflicts_with = server::SUBJECT)]
    matrix: bool,
    /// Folder for the reports.
    #[arg(long, value_name = "DIR", default_value = "hostcheck-out")]
    out: PathBuf,
    /// Threads for sim mode; the number of cores when left out.
    #[arg(long, conflicts_with = server::SUBJECT)]
    jobs: Option<usize>,
    /// Play only this part of the cells, like 2/8; `hostcheck merge` joins what all parts wrote, and judges it beside
    /// a baseline.
    #[arg(long, value_name = "I/N", value_parser = shard, conflicts_with_all = ["baseline", server::SUBJECT])]
    shard: Option<Shard>,
    #[command(flatten)]
    against: output::Against,
    /// Play each sim cell once instead of twice; no check that the seed repeats.
    #[arg(long, conflicts_with = server::SUBJECT)]
    once: bool,
    /// Name the N scenarios that took most of the time in sim mode, and say how fast the others are.
    #[arg(long, value_name = "N", conflicts_with = server::SUBJECT)]
    slowest: Option<usize>,
    /// The `entraclaw` binary for process mode; beside this program when left out.
    #[arg(long, value_name = "FILE", conflicts_with = server::SUBJECT)]
    server_binary: Option<PathBuf>,
    #[command(flatten)]
    own: server::Flags,
}

impl Args {
    fn selection(&self) -> anyhow::Result<Selection> {
        Ok(Selection {
            scenarios: select::scenarios(&self.suites)?,
            hosts: self.chosen_hosts()?,
            modes: self.mode.map_or_else(|| vec![Mode::Sim, Mode::Process], |mode| vec![mode]),
            seed: self.first_seed(),
            seeds: self.seeds(),
            faults: self.fault_profile,
            sampled: self.is_sampled(),
            glance: self.is_glance(),
        })
    }

    fn shown(&self) -> output::Shown {
        if self.matrix { output::Shown::Everything } else { output::Shown::Screen }
    }

    fn first_seed(&self) -> u64 {
        self.seed.unwrap_or(1)
    }

    /// Whether this is a first look: nothing is selected, and not everything is asked for.
    fn is_glance(&self) -> bool {
        let selects =
            !self.suites.is_empty() || self.mode.is_some() || self.seeds.is_some() || self.shard.is_some();
        !self.own.is_full() && !selects && self.is_sampled()
    }

    fn seeds(&self) -> u64 {
        self.seeds.unwrap_or(if self.is_glance() { SEEDS_GLANCE } else { SEEDS_DEFAULT })
    }

    /// Which simulated cells are played a second time.
    fn repeats(&self) -> Repeats {
        match (self.once, self.is_glance()) {
            (true, _) => Repeats::Never,
            (false, true) => Repeats::Some,
            (false, false) => Repeats::All,
        }
    }

    /// Whether one cell is looked at again, so that nothing else is to be played or kept.
    fn is_replay(&self) -> bool {
        self.seed.is_some() && self.seeds == Some(1)
    }

    /// Whether hosts that differ little from another play a part only.
    fn is_sampled(&self) -> bool {
        self.hosts.is_empty() && !self.all_hosts
    }

    fn chosen_hosts(&self) -> anyhow::Result<Vec<Arc<Host>>> {
        let mut hosts = hosts_named(&self.hosts)?;
        if self.is_sampled() {
            hosts.retain(|host| host.represented_by().is_none());
        }
        Ok(hosts)
    }
}

pub(super) fn main(args: &Args) -> Outcome {
    args.against.check()?;
    if args.own.is_given() {
        return server::main(
            &args.own,
            &args.suites,
            &args.hosts,
            args.first_seed(),
            (&args.out, &args.against),
        );
    }
    let selection = args.selection()?;
    for scenario in plan::without_faults(&selection) {
        let name = args.fault_profile.map_or("", |faults| faults.name);
        warn(&format!(
            "{scenario} lists nothing that goes wrong in the profile `{name}`, so it is calm there"
        ));
    }
    let corpus = Corpus::open(args.corpus.as_deref(), &args.out, args.shard.is_some())?;
    let mut cells = plan::cells(&selection);
    if !args.is_replay() {
        corpus.put_first(&selection, &mut cells)?;
    }
    if cells.is_empty() {
        anyhow::bail!(
            "nothing to run: no selected scenario is for a selected host in that mode; see `simulation list`"
        );
    }
    let columns = columns(&selection, &cells);
    let (mut sim, mut process): (Vec<_>, Vec<_>) = cells.into_iter().partition(|cell| cell.mode == Mode::Sim);
    if let Some(shard) = args.shard {
        let (count, sims) = (sim.len() + process.len(), sim.len());
        let mine: std::collections::BTreeSet<usize> = reports::merge::share(shard, count).collect();
        sim = plan::chosen(sim, |number| mine.contains(&number));
        process = plan::chosen(process, |number| mine.contains(&(sims + number)));
    }
    let server_binary = if process.is_empty() { None } else { server_binary(args.server_binary.as_deref())? };
    let agent_binary = if process.is_empty() { None } else { agent_binary()? };
    let settings =
        Settings { first_seed: selection.seed, server_binary, agent_binary, repeats: args.repeats() };
    let jobs = args.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let progress = Progress::new(sim.len() + process.len());
    let slowest = Slowest::default();
    let is_over = interrupt::listen()?;
    let tell_sim = |news: News<'_>| {
        if let News::Ended { cell: Cell { scenario, unplayed: None, .. }, took, .. } = &news {
            slowest.note(scenario.id(), *took);
        }
        progress.tell(&news);
    };
    let play_sim = || run_all(&sim, &settings, jobs, &tell_sim, &is_over);
    let process_jobs = if sim.is_empty() { PROCESS_JOBS } else { PROCESS_JOBS_BESIDE };
    let tell_process = |news: News<'_>| progress.tell(&news);
    let play_process = || run_all(&process, &settings, process_jobs, &tell_process, &is_over);
    let ((sim_results, sim_time), (process_results, process_time)) =
        side_by_side(|| timed(play_sim), || timed(play_process));
    progress.end();

    let broken = if args.is_replay() { Vec::new() } else { keep::broken(&sim, &sim_results) };
    let simulated_ms: u64 = sim_results.iter().map(|cell| cell.elapsed_ms).sum();
    let played = |cells: &[Cell], results: &[CellFinished], counts: &dyn Fn(&Cell) -> bool| {
        let both = cells.iter().zip(results);
        both.filter(|(cell, result)| cell.unplayed.is_none() && !was_stopped(result) && counts(cell)).count()
    };
    let (played_sim, again) = (
        played(&sim, &sim_results, &|_| true),
        played(&sim, &sim_results, &|cell| settings.repeats.has(cell)),
    );
    let played_process = played(&process, &process_results, &|_| true);
    let results: Vec<CellFinished> = sim_results.into_iter().chain(process_results).collect();
    let left = results.iter().filter(|result| was_stopped(result)).count();
    let events = events(args, &selection, &columns, results);
    let exit_code = output::finish(&args.out, events, &args.against, args.shown())?;
    let simulated_hours = to_f64(simulated_ms) / 3_600_000.0;
    if !sim.is_empty() {
        out(&format!(
            "sim: {played_sim} cells in {sim_time:.1} s, {:.0} plays per second, {again} of them played twice; \
             {simulated_hours:.1} simulated hours, {:.0} per second",
            to_f64((played_sim + again) as u64) / sim_time.max(0.001),
            simulated_hours / sim_time.max(0.001)
        ));
    }
    if let Some(most) = args.slowest.filter(|_| !sim.is_empty()) {
        out(&slowest.table(most, jobs));
    }
    if !process.is_empty() {
        let beside = if sim.is_empty() { "" } else { ", at the same time" };
        out(&format!("process: {played_process} cells in {process_time:.1} s{beside}"));
    }
    if left > 0 {
        out(&format!("stopped before its end: {left} of {} cells have no result", sim.len() + process.len()));
    }
    if args.is_glance() {
        out(
            "a first look, with one seed, in which one host plays what takes much time; `run --full` plays all seeds on all \
             hosts, every cell twice, and every process",
        );
    }
    say_who_is_represented(args)?;
    corpus.keep(&broken)?;
    out(&format!("reports: {}", args.out.display()));
    Ok(exit_code)
}

fn say_who_is_represented(args: &Args) -> anyhow::Result<()> {
    let all = hostcheck::host::all()?.iter().filter(|host| host.represented_by().is_some());
    let names: Vec<&str> = all.map(|host| host.id.as_str()).collect();
    if args.is_sampled() && !names.is_empty() {
        out(&format!(
            "not played, each differs from its neighbour in nothing but its version: {}; --all-hosts plays them",
            names.join(", ")
        ));
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a rate for people")]
fn to_f64(n: u64) -> f64 {
    n as f64
}

/// Real seconds that some work took: a figure for people, never a verdict.
#[expect(clippy::disallowed_methods, reason = "the command line's edge measures real time")]
#[expect(clippy::disallowed_types, reason = "the command line's edge measures real time")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let started = std::time::Instant::now();
    let value = work();
    (value, started.elapsed().as_secs_f64())
}

/// Both results. The second work has a thread of its own.
fn side_by_side<A, B: Send>(one: impl FnOnce() -> A, other: impl FnOnce() -> B + Send) -> (A, B) {
    std::thread::scope(|scope| {
        let other = scope.spawn(other);
        let one = one();
        (one, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

fn events(
    args: &Args,
    selection: &Selection,
    columns: &[Arc<Host>],
    results: Vec<CellFinished>,
) -> Vec<Event> {
    let mut words = vec!["simulation run".to_owned()];
    words.extend(args.suites.iter().cloned());
    words.extend(args.hosts.iter().map(|host| format!("--host {host}")));
    words.extend(args.all_hosts.then(|| "--all-hosts".to_owned()));
    words.extend(args.own.is_full().then(|| "--full".to_owned()));
    words.push(format!("--seed {} --seeds {}", args.first_seed(), args.seeds()));
    words.extend(args.fault_profile.map(|faults| format!("--fault-profile {}", faults.name)));
    words.extend(args.corpus.as_ref().map(|file| format!("--corpus {}", file.display())));
    // A version that its neighbour plays for has no column, and is known all the same.
    let chosen = selection.hosts.as_slice();
    let known = if args.is_sampled() { hostcheck::host::all().unwrap_or(chosen) } else { chosen };
    let started = RunStarted {
        v: EVENTS_VERSION,
        tool: format!("hostcheck {}", env!("CARGO_PKG_VERSION")),
        server: ServerUnderTest {
            name: "entraclaw".to_owned(),
            version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            started_as: "in-process (sim), entraclaw serve (process)".to_owned(),
        },
        command: words.join(" "),
        seed: args.first_seed(),
        seeds: args.seeds(),
        hosts: plan::columns(columns),
        scenarios: plan::rows(&selection.scenarios, &selection.modes),
        server_facts: Vec::new(),
        host_support: Some(plan::support(known)),
        findings_in: None,
        shard: args.shard,
        must_only: false,
    };
    let finished = RunFinished::of(&started, &results);
    let mut events = vec![Event::RunStarted(started)];
    events.extend(results.into_iter().map(Event::CellFinished));
    events.push(Event::RunFinished(finished));
    events
}

/// The hosts that have a cell, in the order of the selection; every shard of a run has the columns of the run.
fn columns(selection: &Selection, cells: &[Cell]) -> Vec<Arc<Host>> {
    let used: std::collections::BTreeSet<&str> = cells.iter().map(|cell| cell.host.id.as_str()).collect();
    selection.hosts.iter().filter(|host| used.contains(host.id.as_str())).cloned().collect()
}

/// The names of the profiles, each with what it is like.
fn fault_profile() -> impl clap::builder::TypedValueParser<Value = &'static FaultProfile> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
    let names = PROFILES.iter().map(|profile| PossibleValue::new(profile.name).help(profile.says));
    PossibleValuesParser::new(names).try_map(|name| {
        FaultProfile::named(&name).ok_or_else(|| format!("no fault profile is named `{name}`"))
    })
}

/// `2/8`.
fn shard(text: &str) -> Result<Shard, String> {
    let numbers = text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
    match numbers {
        Some((index, of)) if (1..=of).contains(&index) => Ok(Shard { index, of }),
        _ => Err("a shard is `i/n` with 1 ≤ i ≤ n, like 2/8".to_owned()),
    }
}

/// A counter on a terminal, nothing in a pipe.
struct Progress {
    total: usize,
    done: AtomicUsize,
    failed: AtomicUsize,
    is_stopped: AtomicBool,
    shown: bool,
}

impl Progress {
    fn new(total: usize) -> Self {
        Self {
            total,
            done: AtomicUsize::new(0),
            failed: AtomicUsize::new(0),
            is_stopped: AtomicBool::new(false),
            shown: std::io::stderr().is_terminal(),
        }
    }

    fn tell(&self, news: &News<'_>) {
        match news {
            News::Ended { finished, .. } => self.cell(finished),
            News::StillPlaying(cell, seconds) => {
                self.end();
                warn(&format!("still playing after {seconds} s: {}\n  {}", cell.name(), cell.replay()));
            }
            News::Stopped if !self.is_stopped.swap(true, Ordering::Relaxed) => {
                self.end();
                warn("stopping: what plays now is awaited, the rest is left out; once more ends it at once");
            }
            News::Stopped => {}
        }
    }

    fn cell(&self, cell: &CellFinished) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if cell.status.is_defect() {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
        if self.shown && (done.is_multiple_of(16) || done == self.total) {
            self.line(&format!(
                "\r{done}/{} cells, {} failed",
                self.total,
                self.failed.load(Ordering::Relaxed)
            ));
        }
    }

    fn end(&self) {
        if self.shown {
            self.line("\r\u{1b}[K");
        }
    }

    #[expect(clippy::unused_self, reason = "only a shown progress writes")]
    fn line(&self, text: &str) {
        let mut stderr = anstream::stderr();
        // A closed stderr shows nothing, which is what it asked for.
        let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
    }
}

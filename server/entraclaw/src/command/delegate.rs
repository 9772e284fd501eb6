//! `entraclaw delegate`: a local model at work in a project, for a person at the terminal and for the hosts that connect.
//! It must never let a host in without the socket's checks, nor leave a task unwritten at its end.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
#[cfg(unix)]
use entraclaw_bridge::Listener;
#[cfg(unix)]
use entraclaw_delegate::provider::DelegateProvider;
use entraclaw_delegate::store::{KindQuality, Place as StorePlace, Store};
use entraclaw_delegate::tools::{ProjectTools, WorktreeParts, WorktreeTools};
use entraclaw_delegate::{Bounds, Engine, EngineParts, Outbox, Toolbox};
#[cfg(unix)]
use entraclaw_mcp::Options;
use entraclaw_models::{Late, ReqwestTransport};
use entraclaw_sandbox::{Sandbox, Surroundings};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::random::SplitMix;
use serde::Serialize;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::runtime::Builder;
use tokio::task::{JoinHandle, LocalSet};
#[cfg(unix)]
use tokio::time::sleep;
use tokio::time::timeout;

use super::environment::Environment;
use super::output::{self, Done};
use super::place::{Entry, Home, Place, unusable};
use super::project::{FOLDER, Given, Project};
use super::serve::asked_to_stop;

const AFTER: &str = "\
Examples:
  entraclaw delegate                     talk to the local model in this project
  entraclaw delegate --headless          serve hosts alone, without a terminal
  entraclaw delegate stats               how the models have done, by kind of task
The model is that of `delegate.base_url` in the configuration, or else the first that is found on this machine: Ollama,
llama.cpp or LM Studio. A host connects by `entraclaw mcp-bridge`.
Exit codes: 0 done, 1 not done, and why, 2 wrong usage.";

/// How long the engine may take to write what is under way.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
/// Longest name of a model that is shown.
const MODEL_CHARS_MAX: usize = 80;
/// The sandbox's own folder, beside the projects'.
const SANDBOX: &str = "sandbox";
/// The worktrees of tasks, in the project's own folder there.
const WORKTREES: &str = "worktrees";
/// Pause after the system could not accept a connection, for example without free descriptors.
#[cfg(unix)]
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Flags of `delegate`.
#[derive(Debug, Args)]
#[command(after_help = AFTER)]
pub(super) struct Flags {
    #[command(subcommand)]
    act: Option<Act>,
    #[command(flatten)]
    home: Home,
    #[command(flatten)]
    project: Given,
    /// Without a terminal: for hosts alone
    #[arg(long)]
    headless: bool,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Show how the models have done, by kind of task
    Stats(Stats),
}

#[derive(Debug, Args)]
struct Stats {
    #[command(flatten)]
    home: Home,
    #[command(flatten)]
    project: Given,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

pub(super) fn run(flags: Flags) -> ExitCode {
    output::end(perform(flags))
}

fn perform(flags: Flags) -> Done {
    if let Some(Act::Stats(stats)) = flags.act {
        return show_stats(stats);
    }
    let is_headless = flags.headless;
    if !is_headless && !std::io::stdout().is_terminal() {
        return Err("stdout is no terminal; take --headless to serve hosts alone".into());
    }
    let environment = Environment::read();
    let place = Place::find(Entry::Take, flags.home, Vec::new(), &environment).usable()?;
    let home = PathBuf::from(place.home_text());
    let settings = &place.config.delegate;
    let project = flags.project.find(&home, &settings.external)?;
    let storage = place.storage();
    let key = project.store.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let of_project = format!("{FOLDER}/{key}");
    let worktrees = format!("{of_project}/{WORKTREES}");
    let folders = [FOLDER.to_owned(), format!("{FOLDER}/{SANDBOX}"), of_project, worktrees];
    for folder in folders.into_iter().take(if settings.worktree { 4 } else { 2 }) {
        storage.create_dir(&folder).map_err(|error| unusable(&error))?;
    }
    let surroundings = environment.surroundings(&home);
    let toolbox = output::block_on(tools(&project, &home, &surroundings, settings.worktree))??;
    let parts = EngineParts {
        place: StorePlace::Folder(project.store.clone()),
        model: Arc::new(Late::new(settings.server.clone(), Arc::new(ReqwestTransport::new()))),
        toolbox,
        clock: Arc::new(SystemClock),
        random: Arc::new(SplitMix::from_os()),
        bounds: Bounds { rate_limit: settings.external.rate_limit, ..Bounds::default() },
    };
    let screen = (!is_headless).then(|| Environment::screen(&project.root));
    let outbox = Outbox::new(storage, place.config.inbox.consumer.clone());
    let outbox = settings.external.is_enabled.then_some(outbox);
    let work = work(parts, project, outbox, screen);
    // The screen writes to the terminal without yielding, so the engine has a thread of its own.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime =
        runtime.map_err(|error| format!("the asynchronous runtime could not be started: {error}"))?;
    let worked = runtime.block_on(LocalSet::new().run_until(work));
    runtime.shutdown_background();
    worked?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the engine until the person or the system ends it.
async fn work(
    parts: EngineParts,
    project: Project,
    lets_in: Option<Outbox>,
    screen: Option<entraclaw_screen::Options>,
) -> Result<(), String> {
    let (engine, working) = Engine::begin(parts).map_err(|error| error.to_string())?;
    let working = tokio::spawn(working);
    // The store's lock is held, so no other engine of the project opens the socket beside this one.
    let lets_hosts_in = lets_in.is_some();
    let hosts = match lets_in {
        Some(outbox) => Some(open(&project, &engine, outbox).await?),
        None => None,
    };
    let told = match screen {
        None => {
            let socket = project.address.path.display();
            let hosts = if lets_hosts_in { format!("hosts at {socket}") } else { "no host".to_owned() };
            let _ = writeln!(anstream::stderr(), "entraclaw works in {} for {hosts}", project.root.display());
            asked_to_stop().await;
            Ok(())
        }
        Some(screen) => tokio::select! {
            biased;
            () = asked_to_stop() => Ok(()),
            ended = entraclaw_screen::run(engine.clone(), screen) => ended,
        },
    };
    if let Some(hosts) = hosts {
        hosts.abort();
    }
    let _ = engine.shut_down().await;
    match timeout(ENDS_WITHIN, working).await {
        Ok(Ok(Err(error))) => Err(error.to_string()),
        Ok(Err(_)) => {
            Err("the engine broke; what it had written goes on when it is started again".to_owned())
        }
        Ok(Ok(Ok(()))) | Err(_) => told.map_err(|error| format!("the terminal can't be used: {error}")),
    }
}

/// Opens the project's socket and lets hosts in.
#[cfg(unix)]
async fn open(project: &Project, engine: &Engine, outbox: Outbox) -> Result<JoinHandle<()>, String> {
    let listener = Listener::open(&project.address).await.map_err(|error| error.to_string())?;
    tokio::spawn(outbox.clone().run(engine.clone()));
    Ok(tokio::task::spawn_local(let_in(listener, engine.clone(), outbox)))
}

/// Here hosts have no way to an engine yet.
#[cfg(not(unix))]
#[expect(clippy::unused_async, reason = "as where there are sockets")]
async fn open(_project: &Project, _engine: &Engine, _outbox: Outbox) -> Result<JoinHandle<()>, String> {
    let fix = "set `mcp.external.enabled = false` to work without hosts";
    Err(format!("hosts reach the engine through a socket, which is not built for this system yet; {fix}"))
}

/// Serves each host that connects. One that reads slowly holds up nothing but its own connection.
#[cfg(unix)]
async fn let_in(listener: Listener, engine: Engine, outbox: Outbox) {
    loop {
        match listener.accept().await {
            Ok(stream) => drop(tokio::task::spawn_local(serve(stream, engine.clone(), outbox.clone()))),
            Err(error) => {
                tracing::warn!(%error, "a host could not be let in");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

#[cfg(unix)]
async fn serve(stream: UnixStream, engine: Engine, outbox: Outbox) {
    let (reader, writer) = stream.into_split();
    let provider = Box::new(DelegateProvider::with_outbox(engine, outbox));
    let exit = entraclaw_mcp::serve(Options::default(), vec![provider], reader, writer).await;
    tracing::info!(?exit, "a host's connection to the engine has ended");
}

/// The tools of the project, in a sandbox whose own files lie in the home folder.
async fn tools(
    project: &Project,
    home: &Path,
    surroundings: &Surroundings,
    has_worktrees: bool,
) -> Result<Arc<dyn Toolbox>, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program can't be found: {error}"))?;
    let base = home.join(FOLDER).join(SANDBOX);
    let policy = surroundings.policy(&project.root).map_err(|error| error.to_string())?;
    let sandbox =
        Sandbox::new(policy, surroundings, &program, &base).await.map_err(|error| error.to_string())?;
    let policy = sandbox.policy().clone();
    let tools = ProjectTools::new(sandbox).map_err(|error| error.to_string())?;
    if !has_worktrees {
        return Ok(Arc::new(tools));
    }
    let parts = WorktreeParts {
        project: project.root.clone(),
        base: project.store.join(WORKTREES),
        surroundings: surroundings.clone(),
        program,
        sandbox: base,
    };
    match WorktreeTools::new(tools, policy, parts).await {
        Ok(tools) => Ok(Arc::new(tools)),
        Err(error) => Err(format!(
            "{}: `delegate.worktree` needs a git repository with a commit: {error}; make one, or set it to false",
            project.root.display()
        )),
    }
}

fn show_stats(stats: Stats) -> Done {
    let environment = Environment::read();
    let place = Place::find(Entry::Look, stats.home, Vec::new(), &environment).usable()?;
    let home = PathBuf::from(place.home_text());
    let project = stats.project.find(&home, &place.config.delegate.external)?;
    let rows = Store::look(&StorePlace::Folder(project.store)).map_err(|error| error.to_string())?;
    if stats.json {
        return Ok(output::json(&rows.iter().map(Row::of).collect::<Vec<_>>(), ExitCode::SUCCESS));
    }
    if rows.is_empty() {
        return Ok(output::text("no model has worked in this project yet\n", ExitCode::SUCCESS));
    }
    let mut text = String::new();
    for row in rows.iter().map(Row::of) {
        let issues: Vec<String> = row.issues.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        let issues = if issues.is_empty() { "none".to_owned() } else { issues.join(", ") };
        let _ = writeln!(
            text,
            "{}  {}  answered {}, failed {}, cancelled {}  issues: {issues}",
            row.model, row.kind, row.completed, row.failed, row.cancelled
        );
    }
    Ok(output::text(&text, ExitCode::SUCCESS))
}

/// How a model has done with one kind of task.
#[derive(Debug, Serialize)]
struct Row<'a> {
    model: String,
    kind: &'static str,
    completed: u64,
    failed: u64,
    cancelled: u64,
    with_issues: u64,
    issues: &'a BTreeMap<String, u64>,
}

impl<'a> Row<'a> {
    fn of(found: &'a KindQuality) -> Self {
        Self {
            model: entraclaw_memory::text::safe_line(&found.model, MODEL_CHARS_MAX),
            kind: found.hint.as_str(),
            completed: found.completed,
            failed: found.failed,
            cancelled: found.cancelled,
            with_issues: found.with_issues,
            issues: &found.issues,
        }
    }
}

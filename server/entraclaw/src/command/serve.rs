//! `entraclaw serve`: joins the production adapters and runs the server on the process's own pipes.
//! It must never end because of a wrong configuration, and never stay when the host is gone.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::environment::Environment;
use super::input::Input;
use super::place::{Entry, Home, Place};
use super::{host_process, http, logging, near, output, waiter};
use crate::wake_ups::ProductionWakeUps;
use entraclaw_inbox::journal::ConsumerName;
use entraclaw_inbox::tool::ToolSet;
#[cfg(unix)]
use entraclaw_inbox::wake_up::PeerHost;
use entraclaw_microsoft::bot::HttpEndpoint;
use entraclaw_microsoft::entra::keys::production_store;
use entraclaw_microsoft::http::ReqwestTransport;
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::processes::SystemProcesses;
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::Storage;
use entraclaw_session::app::{self, App};
use entraclaw_session::config::{Config, key};

/// How long a session may take to end after it was asked to stop.
const STOP_MAX: Duration = Duration::from_millis(100);

const EXAMPLE: &str = "\
Example: claude mcp add entraclaw -- entraclaw serve --consumer reviewer
Exit codes: 0 the host closed the connection or asked to stop, 1 the server could not run, 2 wrong usage.";

/// The text for a person who typed `serve` at a terminal.
const AT_A_TERMINAL: &str = "\
entraclaw serve waits for JSON-RPC lines on stdin: it is started by a host, not by hand.
Connect a host with `entraclaw setup HOST`, and see how all is with `entraclaw status`; Ctrl-D or Ctrl-C ends this one.
";

/// Flags of `serve`; they win over the environment, which wins over the file.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Flags {
    #[command(flatten)]
    home: Home,
    /// The consumer as which the inbox is read, with a cursor of its own [default: by the host's name]
    #[arg(long, value_name = "NAME")]
    consumer: Option<String>,
    /// Which tools the model gets: some of inbound, reply, chats, people, files, mail, bot, ask, context, delegate [default: all but the last three]
    #[arg(long, value_name = "SETS")]
    tools: Option<String>,
    /// Offer the tools of one set and nothing else: no inbox, no source. Sets that can stand alone: ask, context, delegate
    #[arg(long, value_name = "SET", conflicts_with_all = ["tools", "events"])]
    only: Option<Only>,
    /// Offer the draft of MCP Events (events/list, events/poll, events/stream) to the host
    #[arg(long)]
    events: bool,
    #[command(flatten)]
    http: http::Listening,
}

/// The sets that can stand alone.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Only {
    /// Ask other coding agents.
    Ask,
    /// Shared context, and the search over all sessions.
    Context,
    /// Hand work to the local model of the project, whose engine is `entraclaw delegate`.
    Delegate,
}

impl Only {
    fn set(self) -> ToolSet {
        match self {
            Self::Ask => ToolSet::Ask,
            Self::Context => ToolSet::Context,
            Self::Delegate => ToolSet::Delegate,
        }
    }
}

pub(super) fn serve(flags: Flags) -> ExitCode {
    let environment = Environment::read();
    log(&flags, &environment);
    if let Some(address) = flags.http.address {
        let token = environment.variables.get(key::HTTP_TOKEN_VARIABLE).map(String::as_str);
        let listening = flags.http.clone();
        let make = || assemble(flags.clone(), &environment);
        return http::serve(address, listening, token, asked_to_stop(), make);
    }
    let app = assemble(flags, &environment);
    let runtime = match output::runtime() {
        Ok(runtime) => runtime,
        Err(problem) => {
            tracing::error!("{problem}");
            return ExitCode::FAILURE;
        }
    };
    if std::io::stdin().is_terminal() {
        // No host is connected, and the server would wait for ever.
        let _ = anstream::stderr().write_all(AT_A_TERMINAL.as_bytes());
    }
    runtime.block_on(until_the_end(app));
    // A thread may still wait in a read of stdin, which can't be interrupted.
    runtime.shutdown_background();
    ExitCode::SUCCESS
}

/// Makes a server with the production adapters.
pub(super) fn production(
    config: Config,
    storage: Arc<dyn Storage>,
    home: PathBuf,
    environment: &Environment,
) -> App {
    let loopback = config.graph.origin.is_loopback();
    let login_loopback = config.sign_in.authority.is_loopback();
    let home_text = home.display().to_string();
    let wait = waiter::command(Some(&home), environment);
    let wait = wait.reading_as(config.inbox.consumer.as_ref().map(ConsumerName::as_str));
    let keys = production_store(&config.sign_in, &config.auth, &storage, home);
    let mut app = App::new(
        config,
        Arc::new(SystemClock),
        Arc::new(SplitMix::from_os()),
        storage,
        Arc::new(ReqwestTransport::new(loopback)),
    );
    app.endpoint = Arc::new(HttpEndpoint);
    app.processes = Arc::new(SystemProcesses);
    let wake_ups = ProductionWakeUps::new(environment.for_programs.clone());
    #[cfg(unix)]
    let wake_ups = wake_ups.with_peer(peer(environment, &home_text));
    app.wake_ups = Arc::new(wake_ups);
    app.inbox_socket.clone_from(&environment.inbox_socket);
    app.host_process = host_process::find();
    app.home = home_text;
    app.program = this_program();
    app.finder = Arc::new(environment.finder(app.config.ask.copilot.clone()));
    app.context = environment.context(&app.home);
    app.wait = wait;
    app.login_transport = Arc::new(ReqwestTransport::new(login_loopback));
    app.keys = keys;
    app
}

/// The path of this program. A job is started from it, so it is the file that runs and no name of the search path.
fn this_program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("entraclaw"))
}

/// The inbox of the session that started this program. Our own socket is in the user's folder for sockets, or else in
/// the home folder, whose path may be too long for one.
#[cfg(unix)]
fn peer(environment: &Environment, home: &str) -> Option<PeerHost> {
    let (socket, token, runtime) = environment.peer.clone()?;
    let homes = (!home.is_empty()).then(|| PathBuf::from(home).join("run"));
    let folders = runtime.map(|folder| folder.join("entraclaw")).into_iter().chain(homes).collect();
    Some(PeerHost { socket, token, folders })
}

/// Starts the log.
fn log(flags: &Flags, environment: &Environment) {
    let place = place(flags.clone(), environment);
    logging::start(&place.config.log, &place.storage());
    for trouble in &place.troubles() {
        tracing::error!("{trouble}");
    }
}

/// The home folder and the configuration with these flags.
fn place(flags: Flags, environment: &Environment) -> Place {
    let consumer = flags.consumer.map(|consumer| (&key::INBOX_CONSUMER, "--consumer", consumer));
    let tools = flags.tools.map(|sets| (&key::TOOLS_SETS, "--tools", sets));
    let only = flags.only.map(|only| (&key::TOOLS_SETS, "--only", only.set().to_string()));
    let events = flags.events.then(|| (&key::MCP_EVENTS, "--events", "true".to_owned()));
    let given = consumer.into_iter().chain(tools).chain(only).chain(events).collect();
    Place::find(Entry::Take, flags.home, given, environment)
}

/// Makes the server. Every problem is collected as its trouble, which the tools report.
fn assemble(flags: Flags, environment: &Environment) -> App {
    let is_only = flags.only.is_some();
    let place = place(flags, environment);
    let (storage, troubles, home, config) = (place.storage(), place.troubles(), place.home, place.config);
    let mut app = production(config, storage, home.unwrap_or_default(), environment);
    app.is_only = is_only;
    app.engine = app.config.tools.contains(&ToolSet::Delegate).then(|| near::connects(&app));
    if !troubles.is_empty() {
        let list = troubles.join("\n");
        app.trouble = Some(format!(
            "entraclaw is not configured; tell your user to correct this and to start the session again:\n{list}"
        ));
    }
    app
}

#[expect(clippy::disallowed_methods, reason = "the one place that names stdin and stdout")]
async fn until_the_end(app: App) {
    let input = Input::new(tokio::io::stdin(), async {
        asked_to_stop().await;
        tracing::info!("asked to stop");
    });
    tokio::select! {
        biased;
        () = stopped() => tracing::info!("it did not end in time; what the host has not read is left out"),
        exit = app::run(app, input, tokio::io::stdout()) => tracing::info!(?exit, "the session ended"),
    }
}

/// Is ready when a session that was asked to stop has had its time to end by itself.
async fn stopped() {
    asked_to_stop().await;
    tokio::time::sleep(STOP_MAX).await;
}

/// Waits for SIGINT, SIGTERM or SIGHUP, or for Ctrl-C on other systems.
pub(super) async fn asked_to_stop() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let signals = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = signals else {
            // Without handlers the system ends the process, which loses nothing either.
            return std::future::pending().await;
        };
        tokio::select! {
            biased;
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
    #[cfg(not(unix))]
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}

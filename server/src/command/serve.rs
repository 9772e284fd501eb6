//! `entraclaw serve`: puts the production adapters together and runs the server on the process's own pipes.
//! It must never end because of a wrong configuration, and never linger when the host is gone.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use super::ServeFlags;
use super::environment::Environment;
use super::logging;
use crate::app::{self, App};
use crate::clock::SystemClock;
use crate::config::{Config, ConfigErrors, Key, Sources, key};
use crate::entra::keys::production_store;
use crate::graph::HttpTransport;
use crate::random::SplitMix;
use crate::source::bot::HttpEndpoint;
use crate::storage::{DiskStorage, MemoryStorage, Storage};

const CONFIG_FILE: &str = "config.toml";
/// The largest configuration file that is read.
const CONFIG_BYTES_MAX: u64 = 256 * 1024;

pub(super) fn serve(flags: ServeFlags) -> ExitCode {
    let app = assemble(flags, &Environment::read());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "the asynchronous runtime could not be started");
            return ExitCode::FAILURE;
        }
    };
    runtime.block_on(until_the_end(app));
    // A thread still waits in a read of stdin that nothing can interrupt.
    runtime.shutdown_background();
    ExitCode::SUCCESS
}

/// What every command begins with.
pub(super) struct Prepared {
    pub(super) home: Option<PathBuf>,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) config: Config,
    /// What is wrong, each with its fix. Then the configuration is the default one, or the storage forgets.
    pub(super) troubles: Vec<String>,
}

/// Opens the home folder and reads the configuration.
pub(super) fn prepare(
    home: Option<PathBuf>,
    flags: Vec<(&'static Key, &'static str, String)>,
    environment: &Environment,
) -> Prepared {
    let mut troubles = Vec::new();
    let home = environment.home(home);
    let open = |home: &Path| {
        if home.is_absolute() {
            return DiskStorage::open(home).map_err(|error| error.to_string());
        }
        // The host chooses the working folder, and nobody replaces a `~` here.
        Err(format!("{} is not an absolute path; write it out from the root", home.display()))
    };
    let storage: Arc<dyn Storage> = match home.as_deref().map(open) {
        Some(Ok(disk)) => Arc::new(disk),
        Some(Err(error)) => {
            troubles.push(format!("the home folder can't be used: {error}"));
            Arc::new(MemoryStorage::new())
        }
        None => {
            troubles.push("there is no home folder; set ENTRACLAW_HOME or give --home".to_owned());
            Arc::new(MemoryStorage::new())
        }
    };
    let mut sources = Sources { flags, environment: environment.variables.clone(), file: None };
    match config_text(&*storage, home.as_deref()) {
        Ok(file) => sources.file = file,
        Err(problem) => troubles.push(problem),
    }
    let config = Config::load(&sources).unwrap_or_else(|errors: ConfigErrors| {
        troubles.extend(errors.0.iter().map(ToString::to_string));
        Config::default()
    });
    Prepared { home, storage, config, troubles }
}

/// Everything that can be wrong is collected as trouble, which the tools tell.
fn assemble(flags: ServeFlags, environment: &Environment) -> App {
    let consumer = flags.consumer.map(|consumer| (&key::INBOX_CONSUMER, "--consumer", consumer));
    let tools = flags.tools.map(|sets| (&key::TOOLS_SETS, "--tools", sets));
    let prepared = prepare(flags.home, consumer.into_iter().chain(tools).collect(), environment);
    let Prepared { home, storage, config, troubles } = prepared;
    logging::start(&config.log, &storage);
    for trouble in &troubles {
        tracing::error!("{trouble}");
    }
    let loopback = config.graph.origin.is_loopback();
    let login_loopback = config.sign_in.authority.is_loopback();
    let home = home.unwrap_or_default();
    let keys = production_store(&config, &storage, home.clone());
    let mut app = App::new(
        config,
        Arc::new(SystemClock),
        Arc::new(SplitMix::from_os()),
        storage,
        Arc::new(HttpTransport::new(loopback)),
    );
    app.endpoint = Arc::new(HttpEndpoint);
    app.home = home.display().to_string();
    app.login_transport = Arc::new(HttpTransport::new(login_loopback));
    app.keys = keys;
    if !troubles.is_empty() {
        let list = troubles.join("\n");
        app.trouble = Some(format!(
            "entraclaw is not configured; tell your user to correct this and to start the session again:\n{list}"
        ));
    }
    app
}

/// Name and text of the configuration file, if there is one.
fn config_text(storage: &dyn Storage, home: Option<&Path>) -> Result<Option<(String, String)>, String> {
    let name = home.unwrap_or(Path::new("")).join(CONFIG_FILE).display().to_string();
    let failed = |why: String| format!("{name} can't be read: {why}");
    let Some(length) = storage.len(CONFIG_FILE).map_err(|e| failed(e.to_string()))? else { return Ok(None) };
    if length > CONFIG_BYTES_MAX {
        return Err(failed(format!("it has {length} bytes, at most {CONFIG_BYTES_MAX} are read")));
    }
    let length = usize::try_from(length).map_err(|e| failed(e.to_string()))?;
    let bytes = storage.read(CONFIG_FILE, 0, length).map_err(|e| failed(e.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8".to_owned()))?;
    Ok(Some((name, text)))
}

#[expect(clippy::disallowed_methods, reason = "the one place that names stdin and stdout")]
async fn until_the_end(app: App) {
    tokio::select! {
        biased;
        () = asked_to_stop() => tracing::info!("asked to stop"),
        exit = app::run(app, tokio::io::stdin(), tokio::io::stdout()) => tracing::info!(?exit, "the session ended"),
    }
}

/// SIGINT, SIGTERM or SIGHUP; Ctrl-C elsewhere.
async fn asked_to_stop() {
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

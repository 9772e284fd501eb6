//! `entraclaw serve`: puts the production adapters together and runs the server on the process's own pipes.
//! It must never end because of a wrong configuration, and never linger when the host is gone.

use std::process::ExitCode;
use std::sync::Arc;

use super::ServeFlags;
use super::environment::Environment;
use super::logging;
use super::place::{Entry, Place};
use crate::app::{self, App};
use crate::clock::SystemClock;
use crate::config::key;
use crate::graph::HttpTransport;
use crate::random::SplitMix;

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

/// Everything that can be wrong is collected as trouble, which the tools tell.
fn assemble(flags: ServeFlags, environment: &Environment) -> App {
    let flags_given =
        flags.consumer.map(|consumer| (&key::INBOX_CONSUMER, "--consumer", consumer)).into_iter().collect();
    let place = Place::find(Entry::Take, flags.home, flags_given, environment);
    let (storage, troubles, config) = (place.storage(), place.troubles(), place.config);
    logging::start(&config.log, &storage);
    for trouble in &troubles {
        tracing::error!("{trouble}");
    }
    let loopback = config.graph.origin.is_loopback();
    let mut app = App::new(
        config,
        Arc::new(SystemClock),
        Arc::new(SplitMix::from_os()),
        storage,
        Arc::new(HttpTransport::new(loopback)),
    );
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

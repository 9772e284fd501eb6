//! `entraclaw serve --http`: the same server for clients over HTTP, each session as one host.
//!
//! It must never write the token into a file or the log, nor take an inbox of a host that did not start it.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;

use entraclaw_http::{Entry, PATH, TOKEN_CHARS_MIN};
use entraclaw_seams::random::{Random as _, SplitMix};
use tokio::net::TcpListener;

use super::output;
use entraclaw_session::app::{self, App};
use entraclaw_session::config::key::HTTP_TOKEN_VARIABLE;

/// Flags of `serve --http`.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Listening {
    /// Serve clients over HTTP at this address instead of one host on stdin, with a bearer token
    #[arg(long = "http", value_name = "ADDRESS")]
    pub(super) address: Option<SocketAddr>,
    /// A name by which other machines call it; without one only this machine does. May be given again
    #[arg(long = "http-host", value_name = "NAME", requires = "address")]
    hosts: Vec<String>,
    /// An origin whose web pages may call it; without one no web page may. May be given again
    #[arg(long = "http-origin", value_name = "ORIGIN", requires = "address")]
    origins: Vec<String>,
}

/// Serves until `stop` is ready. Each session is a server that `make` makes; `given` is the token, if there is one.
pub(super) fn serve(
    address: SocketAddr,
    listening: Listening,
    given: Option<&str>,
    stop: impl Future<Output = ()>,
    make: impl FnMut() -> App,
) -> ExitCode {
    match output::block_on(listen(address, listening, given, stop, make)) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(problem)) | Err(problem) => {
            let _ = writeln!(anstream::stderr(), "error: {problem}");
            ExitCode::FAILURE
        }
    }
}

async fn listen(
    address: SocketAddr,
    listening: Listening,
    given: Option<&str>,
    stop: impl Future<Output = ()>,
    mut make: impl FnMut() -> App,
) -> Result<(), String> {
    let given = given.map(|token| token.trim().to_owned());
    let is_given = given.is_some();
    let token = given.unwrap_or_else(|| SplitMix::from_os().uuid());
    let entry =
        Entry::new(&token, address, listening.hosts, listening.origins).map_err(|error| error.to_string())?;
    let listener = TcpListener::bind(address).await;
    let listener =
        listener.map_err(|error| format!("{address} can't be listened at: {error}; take another port"))?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let token = if is_given {
        format!("Its bearer token is that of {HTTP_TOKEN_VARIABLE}.")
    } else {
        format!(
            "Its bearer token, until it ends: {token}\n\
             A token of your own: {HTTP_TOKEN_VARIABLE}, of at least {TOKEN_CHARS_MIN} characters."
        )
    };
    let _ = writeln!(anstream::stderr(), "entraclaw serves at http://{address}{PATH}\n{token}");
    let connects = move |pipe: entraclaw_http::Pipe| {
        let mut app = make();
        // No host has started this process, so nothing in its environment is one's.
        app.inbox_socket = None;
        app.host_process = None;
        let served: futures_util::future::LocalBoxFuture<'static, ()> = Box::pin(async move {
            let exit = app::run(app, pipe.reader, pipe.writer).await;
            tracing::info!(?exit, "a session over HTTP has ended");
        });
        served
    };
    tokio::select! {
        biased;
        () = stop => Ok(()),
        never = entraclaw_http::serve(listener, entry, connects) => match never {},
    }
}

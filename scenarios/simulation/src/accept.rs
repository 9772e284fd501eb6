//! Takes connections on a socket of this machine and serves each of them, all inside the caller's future.

use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::net::{TcpListener, TcpStream};

/// Pause after the system could not accept, such as without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Serves until it is dropped. With so many connections at once, further ones wait in the system's queue.
pub(crate) async fn accept<F: Future<Output = ()>>(
    listener: TcpListener,
    connections_max: usize,
    serve: impl Fn(TcpStream) -> F,
) {
    let mut connections = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            Some(()) = connections.next(), if !connections.is_empty() => {}
            accepted = listener.accept(), if connections.len() < connections_max => match accepted {
                Ok((stream, _)) => connections.push(serve(stream)),
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}

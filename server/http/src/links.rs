//! The connections that are open: one for each session of the older protocol, and one for all requests of the newer one.
//!
//! In the newer protocol a request stands alone, but what it began lasts: a task, a subscription, the place in the inbox.
//! So all of them share a connection, which is one user's as the token is. It must never have more open than its bound.

use std::sync::Arc;

use rmcp::ErrorData;
use tokio::io::DuplexStream;
use tokio::sync::{Mutex, Semaphore, mpsc};

use crate::link::{Link, ended};

/// Most connections at a time.
pub(crate) const LINKS_MAX: usize = 32;
/// Bytes that wait in a pipe; then its writer waits.
const PIPE_BYTES: usize = 64 * 1024;

/// The server's end of a connection. Each direction is a pipe of its own, so that the end of one is seen.
#[derive(Debug)]
pub struct Pipe {
    /// What the client says.
    pub reader: DuplexStream,
    /// What the client is told.
    pub writer: DuplexStream,
}

/// Opens connections.
pub(crate) struct Links {
    /// Where the other ends of the pipes go.
    ends: mpsc::Sender<Pipe>,
    room: Arc<Semaphore>,
    shared: Mutex<Option<Arc<Link>>>,
}

impl Links {
    pub(crate) fn new(ends: mpsc::Sender<Pipe>) -> Self {
        Self { ends, room: Arc::new(Semaphore::new(LINKS_MAX)), shared: Mutex::default() }
    }

    /// Opens a connection of its own.
    pub(crate) async fn open(&self) -> Result<Arc<Link>, ErrorData> {
        let place = self.room.clone().try_acquire_owned().map_err(|_| {
            let full =
                format!("{LINKS_MAX} sessions are open; end one, or wait until one has been idle for long");
            ErrorData::internal_error(full, None)
        })?;
        let (asks, reader) = tokio::io::duplex(PIPE_BYTES);
        let (hears, writer) = tokio::io::duplex(PIPE_BYTES);
        self.ends.send(Pipe { reader, writer }).await.map_err(|_| ended())?;
        Ok(Link::new(hears, asks, place))
    }

    /// The connection of the requests that stand alone.
    pub(crate) async fn shared(&self) -> Result<Arc<Link>, ErrorData> {
        let mut shared = self.shared.lock().await;
        if let Some(link) = shared.as_ref().filter(|link| !link.has_ended()) {
            return Ok(link.clone());
        }
        let link = self.open().await?;
        *shared = Some(link.clone());
        Ok(link)
    }
}

//! The endpoint seam takes requests and returns statuses: in production hyper on a loopback socket, in a
//! simulation calls in the same thread. It must never know what a request means.

use std::io;
use std::net::SocketAddr;

use futures_util::future::LocalBoxFuture;

/// The largest body that is read, in bytes; Teams sends at most about 100 kB.
pub const BOT_BODY_BYTES_MAX: usize = 256 * 1024;

/// One whole request. A body that was too large is left out, and `oversized` is set.
#[derive(Debug, Clone, Default)]
pub struct BotRequest {
    /// The verb in capitals.
    pub method: String,
    /// The path, without a query.
    pub path: String,
    /// Header names in lower case, and values. `authorization` is among them: never log this list as it is.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// Whether the body had more than [`BOT_BODY_BYTES_MAX`].
    pub oversized: bool,
}

impl BotRequest {
    /// The first value of a header, by lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }
}

/// An answer; it never has a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotReply {
    /// HTTP status.
    pub status: u16,
    /// A header beside the status.
    pub header: Option<(&'static str, &'static str)>,
}

impl BotReply {
    pub(super) fn status(status: u16) -> Self {
        Self { status, header: None }
    }
}

/// The receiver of the requests.
pub trait Reception {
    /// Is called when the endpoint listens.
    fn listening(&self);
    /// Takes one request. The future may be dropped when the client goes away.
    fn receive(&self, request: BotRequest) -> LocalBoxFuture<'_, BotReply>;
}

/// A place at which requests arrive.
pub trait Endpoint: Send + Sync {
    /// Listens at `address` and hands every request to `reception`, until the future is dropped. Ends only
    /// with the reason why it can't listen.
    fn serve<'a>(
        &'a self,
        address: SocketAddr,
        reception: &'a dyn Reception,
    ) -> LocalBoxFuture<'a, io::Error>;
}

/// No endpoint: for a server that is built without one.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEndpoint;

impl Endpoint for NoEndpoint {
    fn serve<'a>(
        &'a self,
        _address: SocketAddr,
        _reception: &'a dyn Reception,
    ) -> LocalBoxFuture<'a, io::Error> {
        Box::pin(std::future::ready(io::Error::new(
            io::ErrorKind::Unsupported,
            "this server has no endpoint",
        )))
    }
}

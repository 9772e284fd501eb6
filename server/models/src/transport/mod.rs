//! The seam to the network: a request, and an answer that comes in pieces.
//! It must never know what is asked, and dropping an answer must close its connection at once.

mod reqwest_transport;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use thiserror::Error;

pub use reqwest_transport::ReqwestTransport;

/// How a server is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Asks.
    Post,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// How.
    pub method: Method,
    /// The whole URL.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// What is sent, if anything.
    pub body: Option<Vec<u8>>,
}

/// The pieces of an answer, cut anywhere.
pub type Chunks = BoxStream<'static, Result<Vec<u8>, TransportError>>;

/// An answer.
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its body. A reader that drops it closes the connection.
    pub body: Chunks,
}

/// Why nothing came, or not all.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TransportError {
    /// No connection was made.
    #[error("{0}")]
    Connect(String),
    /// The connection broke.
    #[error("{0}")]
    Broken(String),
}

/// Sends requests. Production uses [`ReqwestTransport`]; a simulation mounts a fake server.
pub trait Transport: Send + Sync {
    /// Sends one request. The future ends when the status is known.
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Reply, TransportError>>;
}

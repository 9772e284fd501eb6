//! Microsoft Graph: requests, retries, links. Knows HTTP meaning, never what a message is.

mod client;
mod error;
mod http;
mod origin;
mod pace;
mod retry;
#[cfg(test)]
pub(crate) mod script;
mod transport;

pub use client::{Answer, BODY_BYTES_MAX, GraphClient, GraphParts, Usage};
pub use error::{Failure, GraphError};
pub use http::HttpTransport;
pub use origin::{DEFAULT_ROOT, ForeignLink, Origin, OriginError};
pub use pace::{CHAT_SPACING, REQUESTS_PER_SECOND_MAX, Scope};
pub use retry::{RETRIES_MAX, RETRY_AFTER_MAX, RETRY_TOTAL_MAX, backoff};
pub use transport::{GraphRequest, GraphResponse, GraphTransport, Method, TransportError};

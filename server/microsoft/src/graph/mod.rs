//! Microsoft Graph: requests, retries, links. Knows HTTP meaning, never what a message is.

mod client;
mod error;
mod http;
mod lenient;
mod origin;
mod pace;
mod retry;
#[cfg(any(test, feature = "scripted"))]
#[cfg_attr(
    feature = "scripted",
    expect(missing_docs, reason = "a test's own words; public for the tests of the crate above")
)]
pub mod script;
mod transport;

pub use client::{Answer, BODY_BYTES_MAX, GraphClient, GraphParts, Usage};
pub(crate) use error::one_line;
pub use error::{Failure, GraphError, Needs};
pub use http::HttpTransport;
pub(crate) use origin::is_loopback;
pub use origin::{DEFAULT_ROOT, ForeignLink, Origin, OriginError};
pub use pace::{CHAT_SPACING, REQUESTS_PER_SECOND_MAX, Scope};
pub use retry::{RETRIES_MAX, RETRY_AFTER_MAX, RETRY_TOTAL_MAX, backoff};
pub(crate) use retry::{http_date, retry_after as read_retry_after};
pub use transport::{GraphRequest, GraphResponse, GraphTransport, Method, TransportError};

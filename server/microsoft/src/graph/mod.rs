//! Microsoft Graph: requests, retries, links. Knows HTTP meaning, never what a message is.

mod client;
mod error;
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

pub use client::{Answer, GraphClient, GraphParts, Usage};
pub use error::{Failure, GraphError, Needs};
pub use origin::{DEFAULT_ROOT, ForeignLink, Origin, OriginError};
pub use pace::{CHAT_SPACING, REQUESTS_PER_SECOND_MAX, Scope};
pub use retry::{RETRIES_MAX, RETRY_TOTAL_MAX};

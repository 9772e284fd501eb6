//! Microsoft Graph: requests, retries, links.
//! It knows what HTTP means, and must never know what a message is.

mod client;
mod error;
pub(crate) mod fields;
mod lenient;
mod origin;
mod pace;
mod retry;

pub use client::{GraphClient, GraphParts, Usage};
pub use error::{Failure, GraphError, Needs};
pub use origin::{DEFAULT_ROOT, ForeignLink, Origin};
pub use pace::{CHAT_SPACING, REQUESTS_PER_SECOND_MAX, Scope};
pub use retry::{RETRIES_MAX, RETRY_TOTAL_MAX};

//! From bytes, cut anywhere, to the messages of a stream.
//! It must never hold more than one line, and never wait for ever.

mod events;
mod lines;

use thiserror::Error;

use crate::transport::TransportError;

pub(crate) use events::Events;
pub(crate) use lines::Lines;

/// Why a stream ended early.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum StreamError {
    /// Nothing came for so long.
    #[error("nothing came for {0} s")]
    Stalled(u64),
    /// The connection broke.
    #[error("{0}")]
    Broken(#[from] TransportError),
    /// The bytes are not of the form.
    #[error("{0}")]
    Form(String),
}

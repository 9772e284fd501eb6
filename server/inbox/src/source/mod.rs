//! The sources of messages: a source turns the messages that it reads into records and hands them to the
//! journal. It must never end because of an error, and never move its cursor past messages that the journal
//! does not have.

pub mod position;
pub mod status;

use std::convert::Infallible;

use futures_util::future::LocalBoxFuture;

pub use status::{SourceState, SourceStatus};

use crate::journal::Journal;

/// The environment variable with a token that another program obtained. Some hosts do not pass it to their
/// servers.
pub const ACCESS_TOKEN_VARIABLE: &str = "ENTRACLAW_ACCESS_TOKEN";

/// A system that people write to. Sources poll; a push transport fits the same trait.
pub trait InboundSource {
    /// The source's name in `status` and logs.
    fn name(&self) -> &'static str;

    /// Reads without end and appends new messages to `journal`. The caller may drop the future at any point
    /// without losing messages. Only the leader of a home runs it.
    fn run<'a>(&'a mut self, journal: &'a Journal) -> LocalBoxFuture<'a, Infallible>;

    /// A handle to the source's state, which outlives the source.
    fn status(&self) -> SourceStatus;
}

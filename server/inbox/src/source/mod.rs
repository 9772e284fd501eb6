//! Where messages come from. A source turns what it reads into records and hands them to the journal.
//! It must never end because of an error, and never move its cursor before the journal has what it covered.

pub mod position;
pub mod status;

use std::convert::Infallible;

use futures_util::future::LocalBoxFuture;

pub use status::silence;
pub use status::{SourceState, SourceStatus};

use crate::journal::Journal;

/// The environment variable that holds a token which somebody else got. Some hosts keep it from their servers.
pub const ACCESS_TOKEN_VARIABLE: &str = "ENTRACLAW_ACCESS_TOKEN";

/// Something that people write to. Polled today; a push transport fits the same trait.
pub trait InboundSource {
    /// Its name, as `status` and logs show it.
    fn name(&self) -> &'static str;

    /// Reads for ever and appends what is new to `journal`; stops when the future is dropped, at any point, without
    /// losing anything. Only the leader of a home runs it.
    fn run<'a>(&'a mut self, journal: &'a Journal) -> LocalBoxFuture<'a, Infallible>;

    /// How it is doing; a handle that outlives the source.
    fn status(&self) -> SourceStatus;
}

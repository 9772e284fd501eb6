//! The runs of a cell, and why one ended as it did.

use crate::event::{CellFinished, Status};

/// The reason of a cell whose run gave none.
pub(super) const NO_REASON: &str = "no reason given";

/// A line of the stream with its place.
pub(super) type Numbered<'a> = (usize, &'a CellFinished);

/// What was given; else the first failure; else that nothing was given. A pass needs none.
pub(super) fn reason(run: &CellFinished) -> Option<String> {
    if run.status == Status::Pass {
        return None;
    }
    let failure = || run.failures.first().map(|failure| failure.message.clone());
    run.reason.clone().or_else(failure).or_else(|| Some(NO_REASON.to_owned()))
}

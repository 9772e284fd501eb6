//! The runs of a cell, and the reason of a result.

use crate::event::{CellFinished, Status};

/// The reason of a cell whose run gave none.
pub(super) const NO_REASON: &str = "no reason given";

/// A result with its line number in the stream.
pub(super) type Numbered<'a> = (usize, &'a CellFinished);

/// The given reason; otherwise the first failure; otherwise a note that there is none. A pass needs none.
pub(super) fn reason(run: &CellFinished) -> Option<String> {
    if run.status == Status::Pass {
        return None;
    }
    let failure = || run.failures.first().map(|failure| failure.message.clone());
    run.reason.clone().or_else(failure).or_else(|| Some(NO_REASON.to_owned()))
}

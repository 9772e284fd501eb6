//! The result of a cell that was not played to its end.

use reports::event::{CellFinished, Status};
use scenario::word;

use crate::needs::Unplayed;
use crate::plan::Cell;

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "without a word".to_owned())
}

/// The result of a cell of which nothing is known yet but how it ended.
pub(crate) fn result(cell: &Cell, status: Status) -> CellFinished {
    CellFinished {
        seed: cell.seed,
        fault_profile: cell.fault_profile().map(str::to_owned),
        replay: cell.replay(),
        ..CellFinished::new(cell.scenario.id(), &cell.host.id, &word(cell.mode), status)
    }
}

/// A cell that is not played.
pub(crate) fn unplayed(cell: &Cell, why: &Unplayed) -> CellFinished {
    CellFinished { reason: Some(why.reason.clone()), ..result(cell, why.status) }
}

/// A cell in which the server or the harness broke.
pub(crate) fn broken(cell: &Cell, reason: String) -> CellFinished {
    CellFinished { reason: Some(reason), ..result(cell, Status::Error) }
}

//! How a cell ended that was not played to its end.

use reports::event::{CellFinished, Status};

use crate::plan::Cell;

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "without a word".to_owned())
}

/// A cell that ended without having been played.
pub(crate) fn ended(cell: &Cell, status: Status, reason: &str) -> CellFinished {
    CellFinished {
        scenario: cell.scenario.id().to_owned(),
        host: cell.host.id.clone(),
        mode: cell.mode.as_str().to_owned(),
        seed: cell.seed,
        fault_profile: cell.fault_profile().map(str::to_owned),
        status,
        reason: Some(reason.to_owned()),
        failures: Vec::new(),
        elapsed_ms: 0,
        replay: cell.replay(),
        delivery_ms: Vec::new(),
        arrivals: Vec::new(),
        set_up: Vec::new(),
        carriers: std::collections::BTreeMap::new(),
        session: std::collections::BTreeMap::new(),
        model_view: Vec::new(),
        transcript: Vec::new(),
    }
}

//! Runs many cells on a few threads and gives their results in the order of the plan.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use reports::event::CellFinished;

use super::{Settings, run_cell};
use crate::plan::Cell;

/// Runs every cell; `done` is called as each ends, from any thread.
pub fn run_all(
    cells: &[Cell],
    settings: &Settings,
    jobs: usize,
    done: &(dyn Fn(&CellFinished) + Sync),
) -> Vec<CellFinished> {
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<CellFinished>>> = Mutex::new(vec![None; cells.len()]);
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1).min(cells.len().max(1)) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cell) = cells.get(index) else { return };
                    let finished = run_cell(cell, settings);
                    done(&finished);
                    results.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(finished);
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

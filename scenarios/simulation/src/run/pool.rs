//! Runs many cells on a few threads and gives their results in the order of the plan.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reports::event::CellFinished;

use super::cell::{Settings, run_cell};
use super::slow::Slow;
use crate::plan::Cell;

/// Progress of a run, from any thread.
#[derive(Debug)]
pub enum News<'a> {
    /// A cell has ended.
    Ended {
        /// Which.
        cell: &'a Cell,
        /// How.
        finished: &'a CellFinished,
        /// Real time on its thread.
        took: Duration,
    },
    /// A cell has been playing for so many real seconds.
    StillPlaying(&'a Cell, u64),
}

/// Runs every cell.
#[expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "how long people have waited is real time"
)]
pub fn run_all(
    cells: &[Cell],
    settings: &Settings,
    jobs: usize,
    tell: &(dyn Fn(News<'_>) + Sync),
) -> Vec<CellFinished> {
    if cells.is_empty() {
        return Vec::new();
    }
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<CellFinished>>> = Mutex::new(vec![None; cells.len()]);
    let started = std::time::Instant::now();
    let workers = jobs.max(1).min(cells.len());
    let slow = Slow::new(workers);
    std::thread::scope(|scope| {
        for number in 0..workers {
            let (next, results, worker) = (&next, &results, slow.worker(number));
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(cell) = cells.get(index) else { return };
                    let began = started.elapsed();
                    worker.begin(index, began);
                    let finished = run_cell(cell, settings);
                    let took = started.elapsed().saturating_sub(began);
                    tell(News::Ended { cell, finished: &finished, took });
                    results.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(finished);
                }
            });
        }
        slow.watch(
            || started.elapsed(),
            |index, seconds| {
                if let Some(cell) = cells.get(index) {
                    tell(News::StillPlaying(cell, seconds));
                }
            },
        );
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().flatten().collect()
}

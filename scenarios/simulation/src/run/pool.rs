//! Runs many cells on a few threads and gives their results in the order of the plan. A run that is stopped leaves no cell out:
//! what was not played says so.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use reports::event::CellFinished;
use scenario::Mode;

use super::cell::{Settings, run_cell};
use super::ended::unplayed;
use super::slow::Slow;
use crate::needs::Unplayed;
use crate::plan::Cell;

/// Why a cell was not played in a run that was stopped.
const STOPPED: &str = "the run was stopped";

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
    /// No cell begins any more; what plays is awaited. Each thread tells it once.
    Stopped,
}

/// Whether a result says that its run was stopped before.
pub fn was_stopped(finished: &CellFinished) -> bool {
    finished.reason.as_deref() == Some(STOPPED)
}

/// Runs every cell, until the flag is set.
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
    is_over: &AtomicBool,
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
                    if is_over.load(Ordering::Relaxed) {
                        tell(News::Stopped);
                        return;
                    }
                    let began = started.elapsed();
                    worker.begin(index, began);
                    let mut finished = run_cell(cell, settings);
                    // The processes of a play get the signal that stops the run from the same terminal.
                    if cell.mode == Mode::Process && is_over.load(Ordering::Relaxed) {
                        finished = not_played(cell);
                    }
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
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    cells.iter().zip(results).map(|(cell, result)| result.unwrap_or_else(|| not_played(cell))).collect()
}

fn not_played(cell: &Cell) -> CellFinished {
    let why = cell.unplayed.clone();
    unplayed(cell, &why.unwrap_or_else(|| Unplayed::not_run(STOPPED)))
}

//! Which cells have been playing for long in real time. It ends none: a play that never gives its thread back can't be ended.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Real time after which a cell is named, and again each time it has doubled.
const SLOW: Duration = Duration::from_secs(60);
/// Real time between two looks.
const LOOK: Duration = Duration::from_secs(5);

/// The cell that each worker plays.
#[derive(Debug)]
pub(super) struct Slow {
    state: Mutex<State>,
    over: Condvar,
}

#[derive(Debug)]
struct State {
    playing: BTreeMap<usize, Playing>,
    /// Workers that have not ended.
    workers: usize,
}

/// Ends a worker when it is dropped, whatever became of it.
pub(super) struct Worker<'a> {
    slow: &'a Slow,
    number: usize,
}

impl Worker<'_> {
    /// It begins a cell; `now` is the time since the run began.
    pub(super) fn begin(&self, cell: usize, now: Duration) {
        self.slow.state().playing.insert(self.number, Playing { cell, since: now, told_from: SLOW });
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        let mut state = self.slow.state();
        state.playing.remove(&self.number);
        state.workers = state.workers.saturating_sub(1);
        self.slow.over.notify_all();
    }
}

/// One cell that plays.
#[derive(Debug, Clone, Copy)]
struct Playing {
    cell: usize,
    since: Duration,
    told_from: Duration,
}

impl Slow {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Of so many workers, each of which is asked for once.
    pub(super) fn new(workers: usize) -> Self {
        Self { state: Mutex::new(State { playing: BTreeMap::new(), workers }), over: Condvar::new() }
    }

    /// One of the workers.
    pub(super) fn worker(&self, number: usize) -> Worker<'_> {
        Worker { slow: self, number }
    }

    /// Cells to name now, each with the seconds that it has played.
    fn due(&self, now: Duration) -> Vec<(usize, u64)> {
        let mut due = Vec::new();
        for playing in self.state().playing.values_mut() {
            let played = now.saturating_sub(playing.since);
            if played >= playing.told_from {
                playing.told_from = played * 2;
                due.push((playing.cell, played.as_secs()));
            }
        }
        due
    }

    /// Names slow cells until every worker has ended.
    pub(super) fn watch(&self, now: impl Fn() -> Duration, tell: impl Fn(usize, u64)) {
        loop {
            let state = self.state();
            if state.workers == 0 {
                return;
            }
            drop(self.over.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner));
            for (cell, seconds) in self.due(now()) {
                tell(cell, seconds);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_named_when_it_takes_long_and_each_time_that_doubles() {
        let at = Duration::from_secs;
        let slow = Slow::new(2);
        let (one, other) = (slow.worker(0), slow.worker(1));
        one.begin(7, at(0));
        other.begin(8, at(50));
        assert_eq!(slow.due(at(59)), []);
        assert_eq!(slow.due(at(61)), [(7, 61)]);
        assert_eq!(slow.due(at(110)), [(8, 60)]);
        other.begin(9, at(111));
        assert_eq!(slow.due(at(121)), []);
        assert_eq!(slow.due(at(122)), [(7, 122)]);
        drop((one, other));
        assert_eq!(slow.due(at(900)), []);
        slow.watch(|| at(900), |_, _| unreachable!("nothing plays"));
    }
}

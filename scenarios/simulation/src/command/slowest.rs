//! The real time of a run by scenario, for the terminal. It must never reach a report, whose bytes repeat.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The time that the cells of each scenario took.
#[derive(Debug, Default)]
pub(super) struct Slowest(Mutex<BTreeMap<String, Spent>>);

#[derive(Debug, Default, Clone, Copy)]
struct Spent {
    cells: u32,
    time: Duration,
}

impl Spent {
    fn and(self, other: Self) -> Self {
        Self { cells: self.cells + other.cells, time: self.time + other.time }
    }

    fn ms_per_cell(self) -> f64 {
        self.time.as_secs_f64() * 1_000.0 / f64::from(self.cells.max(1))
    }

    fn percent_of(self, all: Self) -> f64 {
        self.time.as_secs_f64() * 100.0 / all.time.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl Slowest {
    /// A cell of a scenario took so long on its thread.
    pub(super) fn note(&self, scenario: &str, took: Duration) {
        let mut spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_scenario = spent.entry(scenario.to_owned()).or_default();
        *of_scenario = of_scenario.and(Spent { cells: 1, time: took });
    }

    /// The scenarios that took most, and all others together; `threads` played side by side.
    pub(super) fn table(&self, most: usize, threads: usize) -> String {
        let spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut rows: Vec<(&str, Spent)> =
            spent.iter().map(|(name, spent)| (name.as_str(), *spent)).collect();
        rows.sort_by_key(|(_, spent)| std::cmp::Reverse(spent.time));
        let sum =
            |rows: &[(&str, Spent)]| rows.iter().fold(Spent::default(), |sum, (_, spent)| sum.and(*spent));
        let (slow, others) = rows.split_at(most.min(rows.len()));
        let (all, rest) = (sum(&rows), sum(others));
        let mut table = "of the time   cells  ms a cell  scenario".to_owned();
        for (name, spent) in slow {
            let (percent, ms) = (spent.percent_of(all), spent.ms_per_cell());
            // Writing to a string can't fail.
            let _ = write!(table, "\n{percent:>9.1} % {:>7} {ms:>10.2}  {name}", spent.cells);
        }
        if rest.cells > 0 {
            let (percent, ms) = (rest.percent_of(all), rest.ms_per_cell());
            let threads = f64::from(u32::try_from(threads).unwrap_or(u32::MAX));
            let per_second = threads * 1_000.0 / ms.max(f64::MIN_POSITIVE);
            let _ = write!(
                table,
                "\n{percent:>9.1} % {:>7} {ms:>10.2}  the other {}: {per_second:.0} cells a second on {threads} threads",
                rest.cells,
                others.len()
            );
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slow_are_named_and_the_others_counted() {
        let slowest = Slowest::default();
        for (scenario, ms) in [("a.quick", 1), ("b.slow", 90), ("c.quick", 4), ("a.quick", 5)] {
            slowest.note(scenario, Duration::from_millis(ms));
        }
        let said = "of the time   cells  ms a cell  scenario\n\
            \x20    90.0 %       1      90.00  b.slow\n\
            \x20    10.0 %       3       3.33  the other 2: 600 cells a second on 2 threads";
        assert_eq!(slowest.table(1, 2), said);
        assert!(!slowest.table(3, 2).contains("the other"));
    }
}

//! Figures of many measurements, beside their goal.

use std::time::Duration;

/// Prints the figures of one thing.
pub(crate) fn show(what: &str, goal_ms: f64, mut times: Vec<Duration>) {
    times.sort();
    let at = |hundredth: usize| times[(times.len() - 1) * hundredth / 100].as_secs_f64() * 1_000.0;
    let (median, most, worst) = (at(50), at(95), at(100));
    let count = times.len();
    let verdict = if most <= goal_ms { "" } else { ", MISSED" };
    println!(
        "{what}: median {median:.2} ms, 95 % {most:.2} ms, worst {worst:.2} ms of {count}; goal {goal_ms} ms{verdict}"
    );
}

/// The median.
pub(crate) fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

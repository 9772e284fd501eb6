//! Plays random days of two hosts and a person with a scripted model, and prints what they came to:
//! `cargo run --release -p entraclaw-delegate --example days -- [DAYS] [FIRST SEED]`.

#![expect(clippy::print_stdout, reason = "the figure is what this program is for")]

#[path = "../tests/engine/days.rs"]
mod days;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/engine/fake.rs"]
mod fake;
#[expect(dead_code, reason = "the tests use more of it")]
#[path = "../tests/engine/rig.rs"]
mod rig;

fn main() {
    let mut arguments = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let (count, first) = (arguments.next().unwrap_or(10_000), arguments.next().unwrap_or(0));
    let mut tally = days::Tally::default();
    for seed in first..first + count {
        // A day of its own runtime: its clock begins at zero, so a seed repeats by itself.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        tally.add(runtime.expect("a runtime").block_on(days::day(seed)));
    }
    println!(
        "{} days, {} tasks, {} pauses, {} crashes, {} cancelled; resumed: {} exact, {} continued, {} started again; \
         0 lost, 0 done twice, 0 out of order",
        tally.days,
        tally.tasks,
        tally.pauses,
        tally.crashes,
        tally.cancelled,
        tally.exact,
        tally.continued,
        tally.started_again
    );
}

//! Measures how long the sanitiser takes on hostile input, and whether the time grows linearly. Prints a table.
//! Run with `cargo bench --profile dist -p entraclaw-sanitize --bench sanitize`.
#![expect(clippy::print_stdout, reason = "the table is what the program is for")]
#![expect(clippy::disallowed_types, clippy::disallowed_methods, reason = "it measures real time")]

#[path = "../tests/hostile/mod.rs"]
mod hostile;

use std::hint::black_box;
use std::time::{Duration, Instant};

use entraclaw_sanitize::{Context, Limits, Markup, sanitize};

const SIZES_BYTES: [usize; 3] = [25_000, 50_000, 100_000];
const ROUNDS: usize = 25;

fn main() {
    println!("best of {ROUNDS} rounds, in milliseconds; 2.0 in the last column is linear\n");
    println!("{:<32} {:>8} {:>8} {:>8} {:>8}", "shape", "25 kB", "50 kB", "100 kB", "100/50");
    for markup in [Markup::Html, Markup::Text] {
        println!("-- {markup:?}");
        let mut slowest = ("", Duration::ZERO);
        for shape in hostile::SHAPES {
            let [small, middle, large] = SIZES_BYTES.map(|bytes| best(&shape.text(bytes), markup));
            let growth = large.as_secs_f64() / middle.as_secs_f64();
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            println!(
                "{:<32} {:>8.3} {:>8.3} {:>8.3} {growth:>8.2}",
                shape.name,
                ms(small),
                ms(middle),
                ms(large)
            );
            if large > slowest.1 {
                slowest = (shape.name, large);
            }
        }
        println!("slowest: {} ({:?})", slowest.0, slowest.1);
    }
}

/// The best round, because other work of the machine can only add time.
fn best(text: &str, markup: Markup) -> Duration {
    let context = Context::default();
    let limits = Limits::default();
    let round = |_| {
        let started = Instant::now();
        black_box(sanitize(black_box(text), markup, &context, &limits));
        started.elapsed()
    };
    (0..ROUNDS).map(round).min().unwrap_or_default()
}

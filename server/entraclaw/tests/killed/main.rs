//! Two hosts hand over tasks while the engine, the model server and the bridges are killed at random moments.
//!
//! `cargo test -p entraclaw --test killed -- --kills 200` plays so many kills, `--seed N` those of one seed.
//! No task may be lost or done twice, no file may be half written, and every answer must be right.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a test of real processes and real files, by real time"
)]

#[cfg(unix)]
mod host;
#[cfg(unix)]
mod judge;
#[cfg(unix)]
mod phase;
#[cfg(unix)]
mod play;
#[cfg(unix)]
mod script;
#[cfg(unix)]
mod world;

/// Kills, if no argument says more.
#[cfg(unix)]
const KILLS: u64 = 8;

#[cfg(unix)]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, kind, port, tasks] = arguments.as_slice()
        && first == world::MODEL
    {
        return script::serve(kind, port, tasks);
    }
    let value = |name: &str| {
        let at = arguments.iter().position(|one| one == name)?;
        Some(arguments.get(at + 1)?.parse().expect("a number"))
    };
    if arguments.iter().any(|one| one == "--list") {
        // As a runner of tests asks for them; none is ignored.
        if !arguments.iter().any(|one| one == "--ignored") {
            println!("killed: test");
        }
        return;
    }
    let seed = value("--seed").unwrap_or_else(|| u64::from(std::process::id()));
    play::play(value("--kills").unwrap_or(KILLS), seed);
}

#[cfg(not(unix))]
fn main() {
    println!("passed over: hosts reach the engine by a socket, which is not built for this system");
}

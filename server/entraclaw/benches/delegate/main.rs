//! Measures the delegation engine as a host and a person meet it: real processes, real files, a scripted model server.
//!
//! `cargo bench --profile dist -p entraclaw --bench delegate`. Each figure is the median, the 95th of a hundred and the worst, with its
//! goal. What the bridge adds is the difference to a connection straight to the engine's socket in the same run.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a benchmark measures real time on real processes and prints it"
)]

#[cfg(unix)]
mod client;
#[cfg(unix)]
mod figures;
#[cfg(unix)]
mod host;
#[cfg(unix)]
mod person;
#[cfg(unix)]
mod world;

#[cfg(unix)]
fn main() {
    host::measure();
    person::measure();
}

#[cfg(not(unix))]
fn main() {
    println!("hosts reach the engine by a socket, which is not built for this system");
}

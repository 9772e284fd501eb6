//! The sandbox with real programs: what they can do, how they end, and ways out that are refused.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "the tests look at the real system and tell of it"
)]

mod commands;
mod escape;
mod world;

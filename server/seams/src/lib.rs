//! The server's seams to the world outside: time, randomness, files and processes, each with a production and a
//! simulated adapter; and secrets, which are passed on and never shown.
//!
//! It must never decide anything about the server's behaviour.

pub mod clock;
pub mod hex;
pub mod processes;
pub mod programs;
pub mod random;
pub mod secret;
pub mod storage;

//! What the server has of the world outside: time, randomness, files and processes, each with a production and a
//! simulated adapter; and secrets, which are handed through and never shown.
//!
//! It must never hold a rule of what the server does.

pub mod clock;
pub mod hex;
pub mod processes;
pub mod random;
pub mod secret;
pub mod storage;

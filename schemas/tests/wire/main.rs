//! Tests of the MCP wire: each message's verdict, whole sessions, real recordings, and the official schemas.

#![expect(clippy::disallowed_methods, reason = "tests read files and their environment")]
#![expect(
    clippy::print_stdout,
    reason = "tests say what they compared, and what was not there to compare with"
)]

mod differential;
mod entries;
mod files;
mod mutate;
mod properties;
mod recordings;
mod sample;
mod sessions;
mod verdicts;

use std::path::PathBuf;

/// The rule of this project's own push schema.
const PUSH: &str = "push";

/// The place of material for comparisons: `$ENTRACLAW_SHARED`, or `../shared` beside the repository.
fn shared() -> PathBuf {
    std::env::var("ENTRACLAW_SHARED")
        .map_or_else(|_| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")), PathBuf::from)
}

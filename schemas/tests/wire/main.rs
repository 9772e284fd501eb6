//! Everything about the MCP wire: each message's verdict, whole sessions, real recordings, and the official schemas.

#![expect(clippy::disallowed_methods, reason = "tests read files and their environment")]

mod differential;
mod entries;
mod files;
mod mutate;
mod properties;
mod recordings;
mod sessions;
mod verdicts;

use std::path::PathBuf;

/// Where material to compare with may be: `$ENTRACLAW_SHARED`, or `../shared` beside the repository.
fn shared() -> PathBuf {
    std::env::var("ENTRACLAW_SHARED")
        .map_or_else(|_| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")), PathBuf::from)
}

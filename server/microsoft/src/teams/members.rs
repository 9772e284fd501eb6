//! Word between the sessions of a home folder that the members of some chat have changed: `sources/members`.
//! It must never say who is in a chat; it only makes everybody look again.

use std::io;

use jiff::Timestamp;

use entraclaw_seams::storage::{Stamp, Storage};

const FOLDER: &str = "sources";
/// The chat whose members changed last, with when that was seen. Its state tells that something has changed; what it
/// holds is for people.
const FILE: &str = "sources/members";

/// The state of the word; whoever finds another one later has something to look at again.
pub(super) fn stamp(storage: &dyn Storage) -> io::Result<Option<Stamp>> {
    storage.stamp(FILE)
}

/// Tells the other sessions. One that can't be told looks again by itself after a while.
pub(super) fn tell(storage: &dyn Storage, chat_id: &str, now: Timestamp) {
    let line = format!("{now} {chat_id}\n");
    let told = storage.create_dir(FOLDER).and_then(|()| storage.replace_derived(FILE, line.as_bytes()));
    if let Err(error) = told {
        tracing::warn!(%error, file = FILE, "other sessions are not told that the members of a chat have changed");
    }
}

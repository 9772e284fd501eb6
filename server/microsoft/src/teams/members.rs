//! The file `sources/members`, by which the sessions of a home folder tell each other that a chat's members
//! changed.
//! It must never say who is in a chat; it only makes each session look again.

use std::io;

use jiff::Timestamp;

use entraclaw_seams::storage::{Stamp, Storage};

const FOLDER: &str = "sources";
/// The file with the chat whose members changed last, and the time. Its changed state tells sessions of a
/// change; its content is for people only.
const FILE: &str = "sources/members";

/// The state of the file. A session that finds another state later has to look up members again.
pub(super) fn stamp(storage: &dyn Storage) -> io::Result<Option<Stamp>> {
    storage.stamp(FILE)
}

/// Tells the other sessions of a change. Where that fails, they look again by themselves after a while.
pub(super) fn tell(storage: &dyn Storage, chat_id: &str, now: Timestamp) {
    let line = format!("{now} {chat_id}\n");
    let told = storage.create_dir(FOLDER).and_then(|()| storage.replace_derived(FILE, line.as_bytes()));
    if let Err(error) = told {
        tracing::warn!(%error, file = FILE, "other sessions are not told that the members of a chat have changed");
    }
}

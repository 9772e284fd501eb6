//! Records which session of this machine sent which message: a session that got no answer from Graph looks
//! for its message in the chat, and must not take the same words of another session for its own.
//!
//! It must never keep a message from being sent, or a sent one from being found: without a usable list, every
//! claim succeeds.

use std::io;

use entraclaw_seams::storage::{Storage, read_whole};

const FOLDER: &str = "sources";
/// The list: one line with chat and message for each claim, the oldest first.
const FILE: &str = "sources/sent";
const LOCK: &str = "sources/sent.lock";
/// How long a session waits while other sessions use the list.
const LOCK_WAIT_MS: u64 = 200;
/// The most messages that are remembered: more than one machine can send during one search.
const CLAIMS_MAX: usize = 200;
/// The largest list that is read, in bytes; no real one is longer.
const BYTES_MAX: u64 = 512 * 1024;

/// Claims a message for this session; returns false when it is claimed already. A power cut may lose claims.
pub(super) fn claim(storage: &dyn Storage, chat_id: &str, message_id: &str) -> bool {
    try_claim(storage, chat_id, message_id).unwrap_or_else(|error| {
        tracing::debug!(%error, file = FILE, "what was sent can't be told to other sessions");
        true
    })
}

fn try_claim(storage: &dyn Storage, chat_id: &str, message_id: &str) -> io::Result<bool> {
    storage.create_dir(FOLDER)?;
    let Some(_lock) = storage.lock(LOCK, LOCK_WAIT_MS)? else {
        return Err(io::Error::new(io::ErrorKind::WouldBlock, "others have it in use"));
    };
    // A list that can't be read is started again.
    let known = read_whole(storage, FILE, BYTES_MAX).ok().flatten().unwrap_or_default();
    let known = String::from_utf8_lossy(&known);
    let line = format!("{chat_id} {message_id}");
    if known.lines().any(|known| known == line) {
        return Ok(false);
    }
    let lines: Vec<&str> = known.lines().chain([&*line]).collect();
    let kept = &lines[lines.len().saturating_sub(CLAIMS_MAX)..];
    storage.replace_derived(FILE, (kept.join("\n") + "\n").as_bytes())?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_seams::storage::MemoryStorage;

    #[test]
    fn one_of_all_sessions_claims_a_message() {
        let disk = MemoryStorage::new();
        let (ours, theirs) = (disk.new_process(), disk.new_process());
        assert!(claim(&ours, "19:a", "m0"));
        assert!(!claim(&theirs, "19:a", "m0"));
        assert!(claim(&theirs, "19:b", "m0"), "another chat has ids of its own");
        assert!(claim(&theirs, "19:a", "m"));
        for n in 1..CLAIMS_MAX {
            assert!(claim(&ours, "19:a", &format!("m{n}")));
        }
        assert!(!claim(&theirs, "19:a", "m1"));
        assert!(claim(&theirs, "19:a", "m0"), "what is long ago is forgotten");
    }

    /// A broken list must not prevent a claim.
    #[test]
    fn a_list_that_cannot_be_kept_prevents_no_claim() {
        let disk = MemoryStorage::new().new_process();
        let long = vec![b'x'; usize::try_from(BYTES_MAX).unwrap() + 1];
        disk.create_dir(FOLDER).unwrap();
        disk.replace(FILE, &long).unwrap();
        assert!(claim(&disk, "19:a", "m0"));
        assert!(!claim(&disk, "19:a", "m0"), "it is begun anew");
        let lock = disk.try_lock(LOCK).unwrap();
        assert!(claim(&disk, "19:a", "m0"));
        drop(lock);
        disk.set_space_left(Some(0));
        assert!(claim(&disk, "19:a", "m1"));
    }
}

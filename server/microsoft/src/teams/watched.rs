//! The file `sources/watched_chats.json`: the group chats that the agent watches, for all sessions of a home
//! folder.
//! It must never widen what is heard beyond the chats that the operator made watchable; each reader checks
//! that again.

use std::collections::BTreeMap;
use std::io;

use serde::{Deserialize, Serialize};

use entraclaw_seams::storage::{Storage, read_whole};

/// The file that holds the list.
pub const FILE: &str = "sources/watched_chats.json";
const FOLDER: &str = "sources";
const LOCK: &str = "sources/watched_chats.lock";
/// How long a session waits for another session's change.
const LOCK_WAIT_MS: u64 = 1_000;
/// The largest list that is read, in bytes.
const BYTES_MAX: u64 = 1024 * 1024;
/// The most chats that can be watched.
const CHATS_MAX: usize = 500;

#[derive(Debug, Default, Serialize, Deserialize)]
struct List {
    /// Version of this shape; 1.
    v: u32,
    /// Chat ids with the moment from which each is watched, as RFC 3339.
    chats: BTreeMap<String, String>,
}

/// Builds the file for a list from another server: chat ids with the moment from which each is watched.
pub fn list(chats: BTreeMap<String, String>) -> Option<Vec<u8>> {
    serde_json::to_vec(&List { v: 1, chats: chats.into_iter().take(CHATS_MAX).collect() }).ok()
}

/// The list on disk.
pub(super) struct Watched<'a>(&'a dyn Storage);

impl<'a> Watched<'a> {
    pub(super) fn of(storage: &'a dyn Storage) -> Self {
        Self(storage)
    }

    /// The chats that are watched. A list that can't be read counts as empty, with a warning: hearing less is
    /// safe.
    pub(super) fn chats(&self) -> BTreeMap<String, String> {
        self.read().unwrap_or_else(|error| {
            tracing::warn!(%error, file = FILE, "the list of watched chats can't be read; no chat is watched");
            BTreeMap::new()
        })
    }

    /// Watches a chat from `now` on, or stops. Returns whether that changed anything.
    pub(super) fn set(&self, chat_id: &str, now: Option<String>) -> io::Result<bool> {
        self.0.create_dir(FOLDER)?;
        let busy = || io::Error::other("another session is changing it; try again");
        let _lock = self.0.lock(LOCK, LOCK_WAIT_MS)?.ok_or_else(busy)?;
        let mut chats = self.read()?;
        let changed = match now {
            Some(_) if chats.contains_key(chat_id) => false,
            Some(_) if chats.len() >= CHATS_MAX => {
                return Err(io::Error::other(format!("{CHATS_MAX} chats are watched already; unwatch one")));
            }
            Some(now) => chats.insert(chat_id.to_owned(), now).is_none(),
            None => chats.remove(chat_id).is_some(),
        };
        if changed {
            self.0.replace(FILE, &serde_json::to_vec(&List { v: 1, chats })?)?;
        }
        Ok(changed)
    }

    fn read(&self) -> io::Result<BTreeMap<String, String>> {
        let bytes = read_whole(self.0, FILE, BYTES_MAX)?.unwrap_or_default();
        if bytes.is_empty() {
            return Ok(BTreeMap::new());
        }
        let list: List = serde_json::from_slice(&bytes)?;
        Ok(list.chats)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_seams::storage::MemoryStorage;

    #[test]
    fn a_list_survives_and_forgets_what_is_taken_away() {
        let storage = MemoryStorage::new();
        let watched = Watched::of(&storage);
        assert!(watched.chats().is_empty());
        assert!(watched.set("a", Some("now".to_owned())).unwrap());
        assert!(!watched.set("a", Some("later".to_owned())).unwrap());
        assert_eq!(watched.chats().into_iter().collect::<Vec<_>>(), [("a".to_owned(), "now".to_owned())]);
        assert!(watched.set("a", None).unwrap() && !watched.set("a", None).unwrap());
        assert!(watched.chats().is_empty());
    }

    #[test]
    fn a_broken_list_is_an_empty_one_and_is_not_written_over() {
        let storage = MemoryStorage::new();
        storage.create_dir(FOLDER).unwrap();
        storage.replace(FILE, b"{").unwrap();
        let watched = Watched::of(&storage);
        assert!(watched.chats().is_empty());
        assert!(watched.set("a", Some("now".to_owned())).is_err());
        assert_eq!(storage.bytes(FILE).unwrap(), b"{");
    }
}

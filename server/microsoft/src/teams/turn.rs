//! Lets one session of this machine at a time send in a chat: Graph takes one request a second of a chat and
//! counts refused ones too, so sessions that send at the same time would block each other.
//!
//! It must never keep a message from being sent: a session that gets no turn goes on without one.

use std::time::Duration;

use tokio::time::Instant;

use crate::graph::CHAT_SPACING;
use entraclaw_seams::random::Random;
use entraclaw_seams::storage::{Lock, Storage};

const FOLDER: &str = "sources";
/// The number of locks that the chats share. Their files stay, so they are few; yet a slow chat hardly ever
/// delays another.
const LOCKS: u32 = 256;
/// The pause between two tries, and the most that is added to it at random.
const TRY_EVERY_MS: u64 = 50;

/// Waits until `deadline` for a turn in a chat. Other sessions of the machine wait until the turn is dropped.
pub(super) async fn turn(
    storage: &dyn Storage,
    random: &dyn Random,
    chat_id: &str,
    deadline: Instant,
) -> Option<Box<dyn Lock>> {
    let path = format!("{FOLDER}/send-{}.lock", crc32c::crc32c(chat_id.as_bytes()) % LOCKS);
    let mut waited = false;
    let mut taken = storage.create_dir(FOLDER).and_then(|()| storage.try_lock(&path));
    while let Ok(None) = taken {
        if Instant::now() >= deadline {
            break;
        }
        tokio::time::sleep(Duration::from_millis(TRY_EVERY_MS + random.next_u64() % TRY_EVERY_MS)).await;
        waited = true;
        taken = storage.try_lock(&path);
    }
    match taken {
        Ok(lock) => {
            if waited && lock.is_some() {
                // The session that had the turn has just sent a request.
                tokio::time::sleep(CHAT_SPACING).await;
            }
            lock
        }
        Err(error) => {
            tracing::debug!(%error, path, "there are no turns for sending; other sessions may be in the way");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_seams::random::SplitMix;
    use entraclaw_seams::storage::MemoryStorage;

    #[tokio::test(start_paused = true)]
    async fn one_at_a_time_in_a_chat_and_never_for_ever() {
        let (disk, random) = (MemoryStorage::new(), SplitMix::seeded(1));
        let (ours, theirs) = (disk.new_process(), disk.new_process());
        let soon = || Instant::now() + Duration::from_secs(5);
        let first = turn(&ours, &random, "19:a", soon()).await;
        let began = Instant::now();
        let without = turn(&theirs, &random, "19:a", soon()).await;
        assert!(without.is_none() && began.elapsed() >= Duration::from_secs(5));
        let elsewhere = turn(&theirs, &random, "19:b", soon()).await;
        assert!(elsewhere.is_some(), "another chat is free");
        drop(first);
        let second = turn(&theirs, &random, "19:a", soon()).await;
        assert!(second.is_some());
    }
}

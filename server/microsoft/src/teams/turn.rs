//! One sender at a time in a chat, over all sessions of this machine: Graph takes one request a second of a chat and
//! counts what it refuses, so those who ask beside each other would keep each other out.
//!
//! It must never keep a message from being sent: who gets no turn goes on without one.

use std::time::Duration;

use tokio::time::Instant;

use crate::graph::CHAT_SPACING;
use entraclaw_seams::random::Random;
use entraclaw_seams::storage::{Lock, Storage};

const FOLDER: &str = "sources";
/// Chats share so many locks, whose files stay: few, and yet one slow chat hardly ever holds another.
const LOCKS: u32 = 256;
/// Between two tries, and what is added to it by chance.
const TRY_EVERY_MS: u64 = 50;

/// Waits for a turn in a chat until `deadline`; others of the machine wait until it is dropped.
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
                // Whoever had the turn has asked just now.
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

//! The texts that were just told whole through a wake-up: when the host's own hook is shown the same text,
//! that is the receipt. It must never hold a text. It must never give a receipt for another session, for a
//! text that differs by a character, for an old one, or for the same one a second time.

use std::io;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::journal::ConsumerName;
use entraclaw_seams::storage::{Storage, read_whole};

const FOLDER: &str = "waking";
const FILE_BYTES_MAX: u64 = 256 * 1024;
const LOCK_WAIT_MS: u64 = 2_000;
/// An open dialog can delay a wake-up for this long.
const VALID: SignedDuration = SignedDuration::from_mins(30);
/// Wake-ups that are remembered for a consumer.
const TOLD_MAX: usize = 64;

/// The frame that the host puts around the text of a waking hook, in the prompt that its other hook is shown.
/// Observed on Claude Code 2.1.148 and 2.1.330. The host puts nothing around a text from the inbox socket.
const FRAME: (&str, &str) = (
    "<task-notification>\n<summary>Stop hook feedback</summary>\n</task-notification>\n<system-reminder>\nStop hook \
     blocking error from command \"Stop\": ",
    "\n</system-reminder>",
);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    /// The process of the host.
    host: String,
    /// SHA-256 of the text, in hex.
    hash: String,
    /// The records in the text.
    seqs: Vec<u64>,
    at: Timestamp,
}

/// The file of the wake-ups of a consumer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldTexts {
    path: String,
    lock: String,
    folder: String,
}

impl ToldTexts {
    /// The file of this consumer.
    pub fn of(consumer: &ConsumerName) -> Self {
        let folder = format!("{FOLDER}/{consumer}");
        Self { path: format!("{folder}/told.json"), lock: format!("{folder}/told.lock"), folder }
    }

    /// Notes that a host is about to be told a text, which holds these records.
    pub(super) fn note(
        &self,
        storage: &dyn Storage,
        host: &str,
        text: &str,
        seqs: Vec<u64>,
        now: Timestamp,
    ) -> io::Result<()> {
        storage.create_dir(&self.folder)?;
        let _lock = storage.lock(&self.lock, LOCK_WAIT_MS)?;
        let mut told = self.read(storage, now)?;
        told.push(Told { host: host.to_owned(), hash: hash(text), seqs, at: now });
        let excess = told.len().saturating_sub(TOLD_MAX);
        told.drain(..excess);
        self.write(storage, &told)
    }

    /// The records in the text that a host was told and that its hook was shown as `prompt`. Each text gives
    /// them once; any other prompt gives none.
    pub fn take(
        &self,
        storage: &dyn Storage,
        host: &str,
        prompt: &str,
        now: Timestamp,
    ) -> io::Result<Vec<u64>> {
        if storage.len(&self.path)?.is_none() {
            return Ok(Vec::new());
        }
        let (before, behind) = FRAME;
        let framed = prompt.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
        let hash = hash(framed.unwrap_or(prompt));
        let _lock = storage.lock(&self.lock, LOCK_WAIT_MS)?;
        let mut told = self.read(storage, now)?;
        let Some(place) = told.iter().position(|told| told.host == host && told.hash == hash) else {
            return Ok(Vec::new());
        };
        let seqs = told.remove(place).seqs;
        self.write(storage, &told)?;
        Ok(seqs)
    }

    /// The notes that still count. A file that can't be read counts as empty.
    fn read(&self, storage: &dyn Storage, now: Timestamp) -> io::Result<Vec<Told>> {
        let bytes = read_whole(storage, &self.path, FILE_BYTES_MAX)?;
        let mut told: Vec<Told> =
            bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        told.retain(|told| now.duration_since(told.at).abs() <= VALID);
        Ok(told)
    }

    fn write(&self, storage: &dyn Storage, told: &[Told]) -> io::Result<()> {
        storage.replace_derived(&self.path, &serde_json::to_vec(told)?)
    }
}

fn hash(text: &str) -> String {
    entraclaw_seams::hex::of(&Sha256::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_seams::storage::MemoryStorage;

    const TEXT: &str = "[Entraclaw] message from your operator [wake-up 3]\n> deploy";

    fn at(minute: i64) -> Timestamp {
        "2026-01-01T00:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_mins(minute)
    }

    fn told(disk: &MemoryStorage) -> ToldTexts {
        let told = ToldTexts::of(&ConsumerName::new("claude-code").unwrap());
        told.note(disk, "1-2", TEXT, vec![7, 8], at(0)).unwrap();
        told
    }

    #[test]
    fn the_very_text_counts_once_as_it_is_or_in_the_hosts_own_frame() {
        let disk = MemoryStorage::new();
        let told = told(&disk);
        assert_eq!(told.take(&disk, "1-2", TEXT, at(1)).unwrap(), [7, 8]);
        assert!(told.take(&disk, "1-2", TEXT, at(1)).unwrap().is_empty());
        told.note(&disk, "1-2", TEXT, vec![9], at(2)).unwrap();
        let framed = format!("{}{TEXT}{}", FRAME.0, FRAME.1);
        assert_eq!(told.take(&disk, "1-2", &framed, at(3)).unwrap(), [9]);
        // The text itself is not stored.
        let kept = String::from_utf8(disk.bytes("waking/claude-code/told.json").unwrap()).unwrap();
        assert!(!kept.contains("deploy"), "{kept}");
    }

    #[test]
    fn nothing_else_counts() {
        let disk = MemoryStorage::new();
        let told = told(&disk);
        let other_number = TEXT.replace("wake-up 3", "wake-up 4");
        let more = format!("{TEXT}\n> and more");
        let quoted = format!("look at this: {TEXT}");
        let half_framed = format!("{}{TEXT}", FRAME.0);
        for look_alike in [&other_number, &more, &quoted, &half_framed, &String::new(), &format!("{TEXT} ")] {
            assert!(told.take(&disk, "1-2", look_alike, at(1)).unwrap().is_empty(), "{look_alike}");
        }
        assert!(told.take(&disk, "3-4", TEXT, at(1)).unwrap().is_empty(), "another session");
        assert!(told.take(&disk, "1-2", TEXT, at(31)).unwrap().is_empty(), "old");
    }

    #[test]
    fn a_file_that_cant_be_read_is_none_and_a_long_one_is_bounded() {
        let disk = MemoryStorage::new();
        let told = told(&disk);
        disk.set_bytes("waking/claude-code/told.json", b"{");
        assert!(told.take(&disk, "1-2", TEXT, at(1)).unwrap().is_empty());
        for n in 0..100 {
            told.note(&disk, "1-2", &format!("text {n}"), vec![n], at(1)).unwrap();
        }
        assert!(told.take(&disk, "1-2", "text 35", at(1)).unwrap().is_empty());
        assert_eq!(told.take(&disk, "1-2", "text 36", at(1)).unwrap(), [36]);
    }
}

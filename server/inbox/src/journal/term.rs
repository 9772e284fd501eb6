//! Terms of leadership. A leader that hangs keeps the lock of its term, so its replacement begins the next
//! term, which has its own lock, journal files and positions, and a file that says which older files count.
//!
//! A process may be stopped between any two calls and go on later in the middle of a write. So nothing that
//! an older term can still write may count, whenever it is written, and each term writes only files with its
//! own name. The lock of a term exists before anything of the term is read, and it is never deleted, so its
//! existence ends the earlier terms.

use std::collections::BTreeSet;
use std::io;

use serde::{Deserialize, Serialize};

use super::line;
use super::segment::{FIRST, SegmentName};
use entraclaw_seams::storage::{Storage, read_whole};

/// The folder of the terms' locks, beats and lists of files that count.
pub(super) const FOLDER: &str = "lead";
/// Longer than the list of a journal's file names ever is.
const BYTES_MAX: u64 = 1024 * 1024;

/// The lock of a term's leader.
pub(super) fn lock_path(term: u64) -> String {
    if term == FIRST { "leader.lock".to_owned() } else { format!("{FOLDER}/{term}.lock") }
}

/// The file that the leader of a term touches, so that other processes see that it runs.
pub(super) fn beat_path(term: u64) -> String {
    format!("{FOLDER}/{term}.beat")
}

fn word_path(term: u64) -> String {
    format!("{FOLDER}/{term}.json")
}

/// The path of a leader's file in a term: `sources/teams.json`, from the second term on
/// `sources/teams.t2.json`.
pub fn path_in(term: u64, path: &str) -> String {
    match path.rsplit_once('.') {
        Some((stem, extension)) if term > FIRST => format!("{stem}.t{term}.{extension}"),
        _ => path.to_owned(),
    }
}

/// The path of the newest of these files up to a term; the first term's path where there is none.
pub fn newest_path(storage: &dyn Storage, term: u64, path: &str) -> io::Result<String> {
    for term in (FIRST + 1..=term).rev() {
        let own = path_in(term, path);
        if storage.len(&own)?.is_some() {
            return Ok(own);
        }
    }
    Ok(path.to_owned())
}

/// The newest term that a process has begun, given a known one.
pub(super) fn newest(storage: &dyn Storage, known: u64) -> io::Result<u64> {
    let mut term = known.max(FIRST);
    while storage.len(&lock_path(term + 1))?.is_some() {
        term += 1;
    }
    Ok(term)
}

/// The newest term whose leader has said which files count, and these files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub term: u64,
    /// The files of older terms that count. The first term has none.
    keeps: BTreeSet<SegmentName>,
}

impl Default for Terms {
    fn default() -> Self {
        Self { term: FIRST, keeps: BTreeSet::new() }
    }
}

impl Terms {
    /// A term that begins, with the files of older terms that count.
    pub(super) fn beginning(term: u64, keeps: BTreeSet<SegmentName>) -> Self {
        Self { term, keeps }
    }

    /// The newest list that can be read, and the newest term of which the folder has any file.
    pub(crate) fn load(storage: &dyn Storage) -> io::Result<(Self, u64)> {
        let names = storage.list(FOLDER)?;
        let number = |name: &String| name.split_once('.')?.0.parse::<u64>().ok();
        let mut terms: Vec<u64> = names.iter().filter_map(number).filter(|term| *term > FIRST).collect();
        terms.sort_unstable();
        let newest = terms.last().copied().unwrap_or(FIRST);
        for term in terms.into_iter().rev() {
            let Some(bytes) = read_whole(storage, &word_path(term), BYTES_MAX)? else { continue };
            if let Some(read) = line::parse_file(&bytes).filter(|read: &Self| read.term == term) {
                return Ok((read, newest));
            }
        }
        Ok((Self::default(), newest))
    }

    /// Writes the list durably. From then on it counts.
    pub(super) fn save(&self, storage: &dyn Storage) -> io::Result<()> {
        storage.replace(&word_path(self.term), &line::seal_file(self)?)
    }

    /// Whether a journal file counts. A file of a later term does not count yet, because its leader has not
    /// said which older files do.
    pub(super) fn counts(&self, name: SegmentName) -> bool {
        name.term() == self.term || (name.term() < self.term && self.keeps.contains(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_seams::storage::MemoryStorage;

    fn name(text: &str) -> SegmentName {
        SegmentName::parse(text).unwrap()
    }

    #[test]
    fn a_word_comes_back_and_one_that_is_cut_is_none() {
        let storage = MemoryStorage::new();
        storage.create_dir(FOLDER).unwrap();
        assert_eq!(Terms::load(&storage).unwrap(), (Terms::default(), 1));
        let second = Terms::beginning(2, [name("2026-11-21.jsonl")].into());
        second.save(&storage).unwrap();
        let third = Terms::beginning(3, [name("2026-11-21.t2.jsonl")].into());
        third.save(&storage).unwrap();
        assert_eq!(Terms::load(&storage).unwrap(), (third, 3));
        let bytes = storage.bytes("lead/3.json").unwrap();
        for cut in 0..bytes.len() {
            storage.set_bytes("lead/3.json", &bytes[..cut]);
            assert_eq!(Terms::load(&storage).unwrap(), (second.clone(), 3));
        }
    }

    #[test]
    fn files_of_a_term_that_is_over_count_only_where_the_next_one_says_so() {
        let terms = Terms::beginning(3, [name("2026-11-20.jsonl"), name("2026-11-21.t2.jsonl")].into());
        for counts in
            ["2026-11-20.jsonl", "2026-11-21.t2.jsonl", "2026-11-21.t3.jsonl", "2026-11-22.t3.7.jsonl"]
        {
            assert!(terms.counts(name(counts)), "{counts}");
        }
        for void in ["2026-11-21.jsonl", "2026-11-22.jsonl", "2026-11-21.t2.1.jsonl", "2026-11-21.t4.jsonl"] {
            assert!(!terms.counts(name(void)), "{void}");
        }
    }

    #[test]
    fn the_newest_file_of_a_leader_is_found() {
        let storage = MemoryStorage::new();
        assert_eq!(path_in(1, "sources/teams.json"), "sources/teams.json");
        assert_eq!(newest_path(&storage, 3, "sources/teams.json").unwrap(), "sources/teams.json");
        storage.set_bytes("sources/teams.t2.json", b"{}");
        storage.set_bytes("sources/teams.t4.json", b"{}");
        assert_eq!(newest_path(&storage, 3, "sources/teams.json").unwrap(), "sources/teams.t2.json");
    }
}

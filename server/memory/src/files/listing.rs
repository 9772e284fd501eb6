//! The names in long folders, kept while the folder rests.
//!
//! What stands in a folder's own entry changes when a name in it comes or goes, so that a query over thousands of sessions
//! need not list them anew. It must never keep names that were listed while the folder may still have been changing: the
//! system's times are coarse, and a change in the same moment leaves no trace.

#![expect(clippy::disallowed_types, reason = "it measures how long a real folder has rested")]

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Names that are worth keeping.
const NAMES_MIN: usize = 256;
/// Most folders whose names are kept.
const FOLDERS_MAX: usize = 1_000;
/// How long a folder must have stood as it does before it is listed. The coarsest times, those of FAT, are 2 s apart.
const REST: Duration = Duration::from_secs(3);

/// The folders of this process, which has one disk.
static KEPT: Mutex<Listings> = Mutex::new(Listings { folders: BTreeMap::new() });

/// Which folder it is, and when a name in it last came or went.
pub(super) type Stamp = [i64; 6];

/// What is known of long folders.
struct Listings {
    folders: BTreeMap<PathBuf, Listing>,
}

struct Listing {
    stamp: Stamp,
    /// When it was first seen so.
    since: Instant,
    /// The names, once they were listed in a folder that rested.
    names: Option<Arc<[String]>>,
}

impl Listings {
    /// The names in a folder that stands as it did when they were listed.
    fn get(&self, folder: &Path, stamp: Stamp) -> Option<Arc<[String]>> {
        self.folders.get(folder).filter(|known| known.stamp == stamp)?.names.clone()
    }

    /// Takes note of names that were listed after `now`, and keeps them if the folder had rested.
    fn note(&mut self, folder: &Path, stamp: Stamp, now: Instant, names: &Arc<[String]>) {
        if names.len() < NAMES_MIN {
            self.folders.remove(folder);
            return;
        }
        if let Some(known) = self.folders.get_mut(folder).filter(|known| known.stamp == stamp) {
            if now.saturating_duration_since(known.since) >= REST {
                known.names = Some(Arc::clone(names));
            }
            return;
        }
        if self.folders.len() >= FOLDERS_MAX {
            self.folders.clear();
        }
        self.folders.insert(folder.to_owned(), Listing { stamp, since: now, names: None });
    }
}

/// The names in a folder with this standing, from `list` or from before.
pub(super) fn names(
    folder: &Path,
    found: &Metadata,
    list: impl FnOnce() -> io::Result<Vec<String>>,
) -> io::Result<Arc<[String]>> {
    let stamp = stamp(found);
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(names) = kept().get(folder, stamp) {
        return Ok(names);
    }
    #[expect(clippy::disallowed_methods, reason = "a real folder rests in real time")]
    let now = Instant::now();
    let names = list()?.into();
    kept().note(folder, stamp, now, &names);
    Ok(names)
}

fn stamp(found: &Metadata) -> Stamp {
    let number = |number: u64| i64::from_ne_bytes(number.to_ne_bytes());
    let [device, inode] = [found.dev(), found.ino()].map(number);
    [device, inode, found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a moment to count from")]
    fn names_are_kept_of_a_long_folder_that_rests() {
        let (long, short): (Arc<[String]>, Arc<[String]>) =
            ((0..NAMES_MIN).map(|n| n.to_string()).collect(), Arc::from(["a".to_owned()]));
        let mut listings = Listings { folders: BTreeMap::new() };
        let (folder, begun) = (Path::new("/a"), Instant::now());
        for after in [Duration::ZERO, REST / 2] {
            listings.note(folder, [1; 6], begun + after, &long);
            assert_eq!(listings.get(folder, [1; 6]), None, "{after:?}");
        }
        listings.note(folder, [1; 6], begun + REST, &long);
        assert_eq!(listings.get(folder, [1; 6]), Some(Arc::clone(&long)));
        assert_eq!(listings.get(folder, [2; 6]), None);
        // A name has come: the folder has to rest again.
        listings.note(folder, [2; 6], begun + 2 * REST, &long);
        assert_eq!((listings.get(folder, [2; 6]), listings.get(folder, [1; 6])), (None, None));
        listings.note(folder, [2; 6], begun + 3 * REST, &short);
        assert!(listings.folders.is_empty());
        for n in 0..=FOLDERS_MAX {
            listings.note(&PathBuf::from(n.to_string()), [1; 6], begun, &long);
        }
        assert!(listings.folders.len() <= FOLDERS_MAX);
    }

    #[test]
    fn a_name_that_comes_or_goes_gives_a_folder_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let see = || stamp(&folder.path().metadata().unwrap());
        let (path, before) = (folder.path().join("a"), see());
        // The system's times are some milliseconds apart.
        let changes = |before: Stamp, change: &dyn Fn()| loop {
            change();
            if see() != before {
                return see();
            }
        };
        let create = || std::fs::File::create(&path).map(drop).unwrap();
        let there = changes(before, &create);
        let gone = changes(there, &|| {
            create();
            nix::unistd::unlink(&path).unwrap();
        });
        assert!(before != there && there != gone);
    }
}

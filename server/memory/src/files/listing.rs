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
/// How long names are kept: not every file system tells by a folder's times that a name has come.
const KEPT_FOR: Duration = Duration::from_secs(60);
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
    /// The names, once they were listed in a folder that rested, and when.
    names: Option<(Instant, Arc<[String]>)>,
}

impl Listings {
    /// The names in a folder that stands as it did when they were listed, not long before `now`.
    fn get(&self, folder: &Path, stamp: Stamp, now: Instant) -> Option<Arc<[String]>> {
        let known = self.folders.get(folder).filter(|known| known.stamp == stamp)?;
        let (listed, names) = known.names.as_ref()?;
        (now.saturating_duration_since(*listed) < KEPT_FOR).then(|| Arc::clone(names))
    }

    /// Takes note of names that were listed after `now`, and keeps them if the folder had rested.
    fn note(&mut self, folder: &Path, stamp: Stamp, now: Instant, names: &Arc<[String]>) {
        if names.len() < NAMES_MIN {
            self.folders.remove(folder);
            return;
        }
        if let Some(known) = self.folders.get_mut(folder).filter(|known| known.stamp == stamp) {
            if now.saturating_duration_since(known.since) >= REST {
                known.names = Some((now, Arc::clone(names)));
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
    #[expect(clippy::disallowed_methods, reason = "a real folder rests in real time")]
    let now = Instant::now();
    if let Some(names) = kept().get(folder, stamp, now) {
        return Ok(names);
    }
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
            assert_eq!(listings.get(folder, [1; 6], begun + after), None, "{after:?}");
        }
        let rested = begun + REST;
        listings.note(folder, [1; 6], rested, &long);
        assert_eq!(listings.get(folder, [1; 6], rested), Some(Arc::clone(&long)));
        assert_eq!(listings.get(folder, [2; 6], rested), None);
        // After a while they are listed anew, also where the folder seems to rest.
        assert_eq!(listings.get(folder, [1; 6], rested + KEPT_FOR), None);
        listings.note(folder, [1; 6], rested + KEPT_FOR, &long);
        assert_eq!(listings.get(folder, [1; 6], rested + KEPT_FOR), Some(Arc::clone(&long)));
        // A name has come: the folder has to rest again.
        listings.note(folder, [2; 6], rested, &long);
        assert_eq!(
            (listings.get(folder, [2; 6], rested), listings.get(folder, [1; 6], rested)),
            (None, None)
        );
        listings.note(folder, [2; 6], rested + REST, &short);
        assert!(listings.folders.is_empty());
        for n in 0..=FOLDERS_MAX {
            listings.note(&PathBuf::from(n.to_string()), [1; 6], begun, &long);
        }
        assert!(listings.folders.len() <= FOLDERS_MAX);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the system's times are some milliseconds apart")]
    fn a_name_that_comes_or_goes_gives_a_folder_another_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let see = || stamp(&folder.path().metadata().unwrap());
        let create = || std::fs::File::create(&path).map(drop).unwrap();
        let remove = || nix::unistd::unlink(&path).unwrap();
        for change in [&create as &dyn Fn(), &remove] {
            let before = see();
            std::thread::sleep(Duration::from_millis(50));
            change();
            assert_ne!(see(), before);
        }
    }
}

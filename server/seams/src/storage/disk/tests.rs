//! Checks which folder is synced after which operation, through the seam for syncs.

use std::sync::{Arc, Mutex};

use rstest::rstest;

use super::names::FolderSync;
use super::*;

/// Records each folder that is synced, with the names in it at that moment; the first `failures` syncs fail.
#[derive(Debug, Default)]
struct Noted {
    synced: Mutex<Vec<(PathBuf, Vec<String>)>>,
    failures: Mutex<usize>,
}

impl FolderSync for Noted {
    fn sync(&self, folder: &Path) -> io::Result<()> {
        let mut failures = self.failures.lock().unwrap();
        if *failures > 0 {
            *failures -= 1;
            return Err(io::Error::other("the folder can't be synced"));
        }
        let names = fs::read_dir(folder)?.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        self.synced.lock().unwrap().push((folder.to_owned(), names));
        Ok(())
    }
}

struct Home {
    folder: tempfile::TempDir,
    disk: DiskStorage,
    noted: Arc<Noted>,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let noted = Arc::new(Noted::default());
        let disk = DiskStorage::open(folder.path()).unwrap();
        Self { folder, disk: DiskStorage { names: Names::synced_by(noted.clone()), ..disk }, noted }
    }

    /// A synced home with the files `a/one` and `b/two`.
    fn filled() -> Self {
        let home = Self::new();
        home.disk.create_dir("a").unwrap();
        home.disk.create_dir("b").unwrap();
        home.disk.replace("a/one", b"1").unwrap();
        home.disk.replace("b/two", b"2").unwrap();
        home.synced();
        home
    }

    /// The folders that were synced since the last call, with the names in them.
    fn synced(&self) -> Vec<(String, Vec<String>)> {
        let synced = std::mem::take(&mut *self.noted.synced.lock().unwrap());
        let below = |path: PathBuf| path.strip_prefix(self.folder.path()).unwrap().display().to_string();
        synced.into_iter().map(|(path, names)| (below(path), names)).collect()
    }
}

fn synced(folder: &str, names: &[&str]) -> (String, Vec<String>) {
    (folder.to_owned(), names.iter().map(|name| (*name).to_owned()).collect())
}

#[test]
fn a_replace_is_followed_by_a_sync_of_its_folder() {
    let home = Home::filled();
    home.disk.replace("a/new", b"3").unwrap();
    assert_eq!(home.synced(), [synced("a", &["new", "one"])], "once, after the renaming");
    home.disk.replace("a/new", b"4").unwrap();
    assert_eq!(home.synced(), [synced("a", &["new", "one"])]);
    home.disk.replace_derived("a/again", b"5").unwrap();
    assert_eq!(home.synced(), [], "a derived file is not synced");
}

#[test]
fn the_first_sync_of_a_new_file_syncs_its_folder_and_those_above_it() {
    let home = Home::new();
    home.disk.create_dir("a/deep").unwrap();
    assert_eq!(home.synced(), [], "a start does not wait for the disk");
    let mut file = home.disk.append("a/deep/log", true).unwrap();
    file.append(b"1").unwrap();
    assert_eq!(home.synced(), []);
    file.sync().unwrap();
    let all = [synced("", &["a"]), synced("a", &["deep"]), synced("a/deep", &["log"])];
    assert_eq!(home.synced(), all);
    file.append(b"2").unwrap();
    file.sync().unwrap();
    assert_eq!(home.synced(), [], "the name is durable already");
    // The process that created the file may have ended before its name was durable.
    let mut again = home.disk.append("a/deep/log", false).unwrap();
    again.sync().unwrap();
    assert_eq!(home.synced(), [synced("a/deep", &["log"])]);
}

#[rstest]
#[case::within_a_folder("a/three", &[("a", &["three"][..])])]
#[case::to_another("b/three", &[("b", &["three", "two"][..]), ("a", &[][..])])]
fn a_renaming_is_followed_by_a_sync_of_both_folders(#[case] to: &str, #[case] wanted: &[(&str, &[&str])]) {
    let home = Home::filled();
    home.disk.rename("a/one", to).unwrap();
    let wanted: Vec<_> = wanted.iter().map(|(folder, names)| synced(folder, names)).collect();
    assert_eq!(home.synced(), wanted);
}

#[test]
fn a_removal_is_followed_by_a_sync_of_its_folder() {
    let home = Home::filled();
    home.disk.remove("a/one").unwrap();
    assert_eq!(home.synced(), [synced("a", &[])]);
    home.disk.remove("a/one").unwrap();
    assert_eq!(home.synced(), [], "there was nothing to remove");
}

#[test]
fn a_failed_sync_of_a_folder_is_an_error_and_is_repeated_next_time() {
    let home = Home::new();
    home.disk.create_dir("a").unwrap();
    *home.noted.failures.lock().unwrap() = 1;
    let error = home.disk.replace("a/one", b"1").unwrap_err();
    assert!(error.to_string().contains("can't be synced"), "{error}");
    assert_eq!(home.synced(), []);
    home.disk.replace("a/one", b"1").unwrap();
    assert_eq!(home.synced(), [synced("", &["a"]), synced("a", &["one"])]);
    for fails in [&|home: &Home| home.disk.rename("a/one", "a/two"), &|home: &Home| home.disk.remove("a/two")]
        as [&dyn Fn(&Home) -> io::Result<()>; 2]
    {
        *home.noted.failures.lock().unwrap() = 1;
        assert!(fails(&home).is_err());
    }
}

/// Windows has no sync of a folder.
#[cfg(unix)]
#[test]
fn the_system_syncs_no_folder_that_is_gone() {
    let home = Home::new();
    let names = Names::default();
    names.sync_parent(&home.folder.path().join("one")).unwrap();
    let error = names.sync_parent(&home.folder.path().join("gone/one")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn a_stamp_is_of_a_file_and_changes_with_it() {
    let home = Home::filled();
    let stamp = || home.disk.stamp("a/one").unwrap();
    assert_eq!(home.disk.stamp("a/none").unwrap(), None);
    let first = stamp().unwrap();
    assert_eq!(stamp(), Some(first), "a look changes nothing");
    assert_eq!(first.bytes(), 1);
    assert_ne!(home.disk.stamp("b/two").unwrap(), Some(first));
    home.disk.replace("a/one", b"3").unwrap();
    let replaced = stamp().unwrap();
    assert_ne!(replaced, first, "another file of the same length");
    home.disk.append("a/one", false).unwrap().append(b"45").unwrap();
    let longer = stamp().unwrap();
    assert_ne!(longer, replaced);
    assert_eq!(longer.bytes(), 3);
    home.disk.remove("a/one").unwrap();
    assert_eq!(stamp(), None);
    assert!(home.disk.stamp("a").is_err(), "a folder is no file");
}

#[cfg(unix)]
#[test]
fn the_room_that_is_left_is_told() {
    let home = Home::filled();
    // What can hold a test can hold more than one block.
    assert!(home.disk.health().free_bytes.unwrap() > 1_000_000);
}

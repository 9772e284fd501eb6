//! The journal on real files.

use std::sync::Arc;

use entraclaw_seams::storage::{DiskStorage, Storage};

use crate::support::*;

#[test]
fn it_works_on_real_files() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("parent/home");
    let home = Home::new();
    let open = || home.open_on(Arc::new(DiskStorage::open(&root).unwrap())).unwrap();
    let (leader, report) = open();
    assert!(report.leader);
    let (follower, report) = open();
    assert!(!report.leader, "file locks hold between two in one process");
    leader.append(drafts(1..=300)).unwrap();
    assert!(follower.refresh().unwrap());
    let mut mailbox = follower.mailbox(&consumer("c"), "s").unwrap();
    assert_eq!(take(&mut mailbox, &all()).items.len(), 300);
    drop(leader);
    assert!(follower.try_lead().unwrap());
    follower.append(drafts(300..=301)).unwrap();
    drop((follower, mailbox));
    let (journal, report) = open();
    assert_eq!((report.leader, report.records, report.findings), (true, 301, vec![]));
    let mut mailbox = journal.mailbox(&consumer("c"), "s").unwrap();
    assert_eq!(ids(&take(&mut mailbox, &all())), ["m301"]);
}

#[test]
fn every_operation_does_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let disk = DiskStorage::open(&folder.path().join("home")).unwrap();
    assert_eq!(disk.list("a").unwrap(), Vec::<String>::new());
    disk.create_dir("a/b").unwrap();
    disk.create_dir("a/b").unwrap();
    assert!(disk.append("a/b/f", false).is_err());
    let mut file = disk.append("a/b/f", true).unwrap();
    assert!(file.is_empty().unwrap());
    file.append(b"hello\n").unwrap();
    file.append(b"wor").unwrap();
    file.sync().unwrap();
    file.truncate(6).unwrap();
    file.append(b"Bob").unwrap();
    file.sync().unwrap();
    assert_eq!(file.len().unwrap(), 9);
    assert_eq!(disk.read("a/b/f", 4, 100).unwrap(), b"o\nBob");
    assert_eq!(disk.read("a/b/f", 100, 5).unwrap(), b"");
    disk.replace("a/s", b"one").unwrap();
    disk.replace_derived("a/s", b"three").unwrap();
    assert_eq!(disk.read("a/s", 0, 100).unwrap(), b"three");
    disk.rename("a/s", "a/b/t").unwrap();
    assert_eq!(disk.list("a").unwrap(), ["b"]);
    assert_eq!(disk.list("a/b").unwrap(), ["f", "t"]);
    disk.remove("a/b/t").unwrap();
    disk.remove("a/b/t").unwrap();
    assert_eq!(disk.len("a/b/t").unwrap(), None);
    let error = disk.read("a/b/t", 0, 1).unwrap_err().to_string();
    assert!(error.contains("a/b/t") || error.contains("a\\b\\t"), "the error names the file: {error}");
    let lock = disk.try_lock("l").unwrap();
    assert!(lock.is_some() && disk.try_lock("l").unwrap().is_none() && disk.lock("l", 5).unwrap().is_none());
    drop(lock);
    assert!(disk.lock("l", 5).unwrap().is_some());
    for outside in ["../x", "/x", "a/../../x", ""] {
        assert!(disk.append(outside, true).is_err(), "{outside:?}");
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::Path;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn other_users_cannot_read_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("home");
        let home = Home::new();
        let (journal, _) = home.open_on(Arc::new(DiskStorage::open(&root).unwrap())).unwrap();
        journal.append(drafts([1])).unwrap();
        take(&mut mailbox(&journal, "c"), &all());
        let mut folders = vec![root];
        let mut files = 0;
        while let Some(folder) = folders.pop() {
            assert_eq!(mode(&folder), 0o700, "{}", folder.display());
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files += 1;
                    assert_eq!(mode(&path), 0o600, "{}", path.display());
                }
            }
        }
        assert!(files >= 6, "{files} files");
    }

    #[test]
    fn a_symlink_is_no_home() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        symlink(folder.path(), &link).unwrap();
        let error = DiskStorage::open(&link).unwrap_err().to_string();
        assert!(error.contains("is a symlink") && error.contains("ENTRACLAW_HOME"), "{error}");
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(DiskStorage::open(file.path()).is_err());
    }

    #[test]
    fn a_symlink_inside_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("home");
        let disk = DiskStorage::open(&root).unwrap();
        let elsewhere = folder.path().join("elsewhere");
        fs::File::create(&elsewhere).unwrap();
        symlink(&elsewhere, root.join("f")).unwrap();
        symlink(folder.path(), root.join("d")).unwrap();
        assert!(disk.append("f", true).is_err());
        assert!(disk.read("f", 0, 1).is_err());
        assert!(disk.len("f").is_err());
        assert!(disk.create_dir("d").is_err());
    }

    #[test]
    fn a_home_that_others_can_read_is_closed_and_one_they_can_write_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("home");
        fs::create_dir(&root).unwrap();
        fs::set_permissions(&root, Permissions::from_mode(0o755)).unwrap();
        DiskStorage::open(&root).unwrap();
        assert_eq!(mode(&root), 0o700);
        fs::set_permissions(&root, Permissions::from_mode(0o770)).unwrap();
        let error = DiskStorage::open(&root).unwrap_err().to_string();
        assert!(error.contains("chmod 700"), "{error}");
    }
}

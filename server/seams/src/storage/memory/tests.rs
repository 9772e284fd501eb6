//! Checks the model of a disk against its rules: what a crash keeps, what a fault breaks.

use super::*;

fn write(storage: &MemoryStorage, path: &str, bytes: &[u8], sync: bool) -> io::Result<()> {
    let mut file = storage.append(path, true)?;
    file.append(bytes)?;
    if sync { file.sync() } else { Ok(()) }
}

#[test]
fn a_power_cut_keeps_synced_bytes_and_a_part_of_the_rest() {
    let mut endings = std::collections::BTreeSet::new();
    for seed in 0..64 {
        let storage = MemoryStorage::new();
        write(&storage, "log", b"synced.", true).unwrap();
        write(&storage, "log", b"rest", false).unwrap();
        storage.crash(Crash::Power, seed);
        let left = storage.bytes("log").unwrap();
        assert!(left.starts_with(b"synced."), "{left:?}");
        assert!(left.len() <= b"synced.rest".len());
        endings.insert(left);
    }
    assert!(endings.contains(&b"synced."[..]) && endings.contains(&b"synced.rest"[..]));
    assert!(endings.len() > 4, "cut and zeroed tails are among them: {endings:?}");
}

#[test]
fn a_new_file_may_vanish_until_it_is_synced() {
    let gone = |sync: bool| {
        (0..32).any(|seed| {
            let storage = MemoryStorage::new();
            write(&storage, "log", b"x", sync).unwrap();
            storage.crash(Crash::Power, seed);
            storage.bytes("log").is_none()
        })
    };
    assert!(gone(false));
    assert!(!gone(true));
}

#[test]
fn an_ended_process_writes_nothing_and_holds_no_lock() {
    let one = MemoryStorage::new();
    let two = one.new_process();
    let mut file = one.append("log", true).unwrap();
    let _lock = one.try_lock("lock").unwrap().unwrap();
    assert!(two.try_lock("lock").unwrap().is_none());
    one.kill();
    assert!(file.append(b"late").is_err());
    let held = two.try_lock("lock").unwrap();
    assert!(held.is_some());
    drop(held);
    assert!(two.try_lock("lock").unwrap().is_some());
}

#[test]
fn a_full_disk_leaves_a_part_of_the_line() {
    let storage = MemoryStorage::new();
    storage.set_space_left(Some(3));
    let error = write(&storage, "log", b"12345", false).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(storage.bytes("log").unwrap(), b"123");
    storage.set_space_left(None);
    write(&storage, "log", b"45", true).unwrap();
}

#[test]
fn a_failed_sync_has_lost_the_bytes_for_good() {
    for seed in 0..32 {
        let storage = MemoryStorage::new();
        let mut file = storage.append("log", true).unwrap();
        file.append(b"a").unwrap();
        file.sync().unwrap();
        file.append(b"b").unwrap();
        storage.fail_call(0, Fault::Error(io::ErrorKind::Other));
        assert!(file.sync().is_err());
        file.sync().unwrap();
        storage.crash(Crash::Power, seed);
        let left = storage.bytes("log").unwrap();
        if left == b"a" {
            return;
        }
    }
    panic!("the second sync brought the bytes back in every run");
}

#[test]
fn a_path_outside_the_tree_is_refused() {
    let storage = MemoryStorage::new();
    for path in ["/etc/x", "../x", "a/../b", "", "a//b", "a\\b", "c:x"] {
        assert!(storage.try_lock(path).is_err(), "{path:?}");
    }
    assert!(storage.append("missing/folder", true).is_err());
}

#[test]
fn a_failed_sync_of_synced_bytes_loses_nothing() {
    for seed in 0..16 {
        let storage = MemoryStorage::new();
        write(&storage, "log", b"one", true).unwrap();
        storage.set_syncs_fail(true);
        write(&storage.new_process(), "log", b"", true).unwrap_err();
        storage.set_syncs_fail(false);
        write(&storage, "log", b"two", true).unwrap();
        storage.crash(Crash::Power, seed);
        assert_eq!(storage.bytes("log").unwrap(), b"onetwo");
    }
}

#[test]
fn a_stamp_is_that_of_the_bytes_however_they_came_there() {
    let whole = |bytes: &[u8]| u64::from(crc32c::crc32c(bytes));
    let storage = MemoryStorage::new();
    let sum = || storage.stamp("log").unwrap().unwrap().0[2];
    write(&storage, "log", b"one.", true).unwrap();
    assert_eq!(sum(), whole(b"one."));
    write(&storage, "log", b"two.", true).unwrap();
    assert_eq!(sum(), whole(b"one.two."));
    let mut file = storage.append("log", false).unwrap();
    file.truncate(3).unwrap();
    file.append(b"!").unwrap();
    assert_eq!(sum(), whole(b"one!"));
    storage.crash(Crash::Power, 3);
    let (storage, left) = (storage.new_process(), storage.bytes("log").unwrap());
    assert_eq!(storage.stamp("log").unwrap().unwrap().0[2], whole(&left));
}

#[test]
fn a_folder_lists_what_lies_in_it_and_not_below() {
    let storage = MemoryStorage::new();
    for path in ["a", "in", "in/b", "in/c/d", "in-between/e", "inner/f"] {
        storage.set_bytes(path, b"x");
    }
    assert_eq!(storage.files(""), ["a", "in"]);
    assert_eq!(storage.files("in"), ["b"]);
    assert_eq!(storage.list("in").unwrap(), ["b", "c"], "folders are listed too");
    assert_eq!(storage.list("in/c").unwrap(), ["d"]);
}

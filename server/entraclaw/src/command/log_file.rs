//! The log file: `log/entraclaw.log`, which is renamed to `log/<day>[.<n>].log` when it is full. The oldest are deleted.
//!
//! Several sessions write one file, so a session that finds it full first checks whether another has renamed it already.
//! The file must never be readable by others, and a failure to write must never stop a session.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::civil::Date;
use jiff::tz::TimeZone;

use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::{AppendFile, Storage};

/// The current file.
pub(super) const FILE: &str = "log/entraclaw.log";
const FOLDER: &str = "log";
const LOCK: &str = "log/.lock";
/// How long to wait for the lock; renaming takes two renames at most.
const LOCK_WAIT_MS: u64 = 50;

/// The bounds of the log files.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogLimits {
    /// A file of this length is renamed.
    pub(super) file_bytes_max: u64,
    /// Most files that are kept, the current one included.
    pub(super) files_max: usize,
}

/// The open log file.
#[derive(Clone)]
pub(super) struct LogFile {
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    limits: LogLimits,
    file: Arc<Mutex<Box<dyn AppendFile>>>,
}

impl LogFile {
    /// Opens the file, and creates it if it is missing.
    pub(super) fn open(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        limits: LogLimits,
    ) -> io::Result<Self> {
        storage.create_dir(FOLDER)?;
        let file = Arc::new(Mutex::new(storage.append(FILE, true)?));
        Ok(Self { storage, clock, limits, file })
    }

    /// Renames the full file, unless another session just did, and returns the file to go on with.
    fn next_file(&self) -> io::Result<Box<dyn AppendFile>> {
        let lock = self.storage.lock(LOCK, LOCK_WAIT_MS)?;
        let is_full = self.storage.len(FILE)?.is_some_and(|length| length >= self.limits.file_bytes_max);
        if lock.is_some() && is_full {
            let day = self.clock.now().to_zoned(TimeZone::UTC).date();
            let aside = self.aside()?;
            let n = aside.iter().filter(|file| file.0 == day).map(|file| file.1 + 1).max().unwrap_or(0);
            self.storage.rename(FILE, &path_of(day, n))?;
            let excess = (aside.len() + 2).saturating_sub(self.limits.files_max.max(1));
            for (day, n) in aside.into_iter().chain([(day, n)]).take(excess) {
                self.storage.remove(&path_of(day, n))?;
            }
        }
        self.storage.append(FILE, true)
    }

    /// The renamed files, oldest first.
    fn aside(&self) -> io::Result<Vec<(Date, u32)>> {
        let names = self.storage.list(FOLDER)?;
        let mut aside: Vec<_> = names.iter().filter_map(|name| parse(name)).collect();
        aside.sort_unstable();
        Ok(aside)
    }
}

fn path_of(day: Date, n: u32) -> String {
    match n {
        0 => format!("{FOLDER}/{day}.log"),
        n => format!("{FOLDER}/{day}.{n}.log"),
    }
}

fn parse(name: &str) -> Option<(Date, u32)> {
    let stem = name.strip_suffix(".log")?;
    match stem.split_once('.') {
        None => Some((stem.parse().ok()?, 0)),
        Some((day, n)) => Some((day.parse().ok()?, n.parse().ok()?)),
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.len().is_ok_and(|length| length >= self.limits.file_bytes_max)
            && let Ok(next) = self.next_file()
        {
            *file = next;
        }
        file.append(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_seams::storage::MemoryStorage;

    struct Still;

    impl Clock for Still {
        fn now(&self) -> jiff::Timestamp {
            "2026-11-21T12:00:00Z".parse().unwrap()
        }
    }

    fn open(disk: &MemoryStorage, files_max: usize) -> LogFile {
        let limits = LogLimits { file_bytes_max: 100, files_max };
        LogFile::open(Arc::new(disk.new_process()), Arc::new(Still), limits).unwrap()
    }

    fn logs(disk: &MemoryStorage) -> Vec<String> {
        disk.paths().into_iter().filter(|path| path.starts_with("log/") && path != LOCK).collect()
    }

    #[test]
    fn full_files_are_renamed_and_the_oldest_are_deleted() {
        let disk = MemoryStorage::new();
        let mut log = open(&disk, 3);
        for n in 0..60 {
            log.write_all(format!("line {n:14}\n").as_bytes()).unwrap();
        }
        assert_eq!(logs(&disk), ["log/2026-11-21.10.log", "log/2026-11-21.9.log", FILE]);
        let newest = String::from_utf8(disk.bytes(FILE).unwrap()).unwrap();
        assert!(newest.ends_with("59\n"), "{newest}");
    }

    #[test]
    fn two_sessions_write_one_file_and_rename_it_once() {
        let disk = MemoryStorage::new();
        let (mut one, mut two) = (open(&disk, 100), open(&disk, 100));
        for n in 0..30 {
            one.write_all(format!("one {n:15}\n").as_bytes()).unwrap();
            two.write_all(format!("two {n:15}\n").as_bytes()).unwrap();
        }
        let all: Vec<u8> = logs(&disk).iter().flat_map(|path| disk.bytes(path).unwrap()).collect();
        assert_eq!(String::from_utf8(all).unwrap().lines().count(), 60, "no line is lost");
        let sizes: Vec<usize> = logs(&disk).iter().map(|path| disk.bytes(path).unwrap().len()).collect();
        assert!(sizes.len() <= 13 && sizes.iter().all(|size| *size <= 140), "{sizes:?}");
    }

    #[test]
    fn at_least_one_file_is_kept() {
        let disk = MemoryStorage::new();
        let mut log = open(&disk, 1);
        for n in 0..20 {
            log.write_all(format!("line {n:14}\n").as_bytes()).unwrap();
        }
        assert_eq!(logs(&disk), [FILE]);
    }
}

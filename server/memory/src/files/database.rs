//! A snapshot of another program's SQLite database.
//!
//! The file and its write-ahead log are read as bytes, what the log has committed is laid over the file's pages, and
//! SQLite reads the result from memory. So it must never open, lock or write the other program's files, nor see half of a
//! transaction.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, MAIN_DB};

use super::{Files, Standing, read_whole};

/// Longest database that is read. It is held in memory.
const BYTES_MAX: u64 = 128 * 1024 * 1024;
/// How often it is read anew while the other program writes.
const TRIES: usize = 3;
/// Bytes of a database's header.
const HEADER_BYTES: usize = 100;
/// How a database begins.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Where its header says that it has a write-ahead log.
const WAL_MARKS: [usize; 2] = [18, 19];
const WAL_HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// A database as it was at one moment.
pub struct Database {
    connection: Mutex<Connection>,
    /// What a reader has counted in it, by a name of its own.
    pub(crate) counts: OnceLock<BTreeMap<String, (u64, i64)>>,
    /// The files when it was read.
    pub(super) standing: Standings,
}

/// How a database's file and its log stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standings {
    file: Standing,
    log: Option<Standing>,
}

impl Database {
    /// The connection. It can only read.
    pub fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How a database stands; `None` if there is none.
pub(super) fn standings(files: &(impl Files + ?Sized), path: &Path) -> io::Result<Option<Standings>> {
    let Some(file) = files.look(path)? else { return Ok(None) };
    Ok(Some(Standings { file, log: files.look(&beside(path, "-wal"))? }))
}

/// Reads a database; `None` if there is none.
pub(super) fn read(files: &(impl Files + ?Sized), path: &Path) -> io::Result<Option<Database>> {
    for _ in 0..TRIES {
        let Some(standing) = standings(files, path)? else { return Ok(None) };
        // A transaction that writes into the file itself keeps what was there in a journal until it has ended.
        let journal = files.look(&beside(path, "-journal"))?;
        if journal.is_some_and(|journal| journal.bytes > 0) {
            continue;
        }
        let Some((bytes, _)) = read_whole(files, path, BYTES_MAX)? else { continue };
        let log = read_whole(files, &beside(path, "-wal"), BYTES_MAX)?.map(|(bytes, _)| bytes);
        // What was read at two moments may not fit together.
        if standings(files, path)? == Some(standing) {
            let connection = open(bytes, &log.unwrap_or_default()).map_err(io::Error::other)?;
            return Ok(Some(Database {
                connection: Mutex::new(connection),
                counts: OnceLock::new(),
                standing,
            }));
        }
    }
    Err(io::Error::new(
        io::ErrorKind::WouldBlock,
        "its program was writing each time; it is read at the next look",
    ))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn open(mut bytes: Vec<u8>, log: &[u8]) -> rusqlite::Result<Connection> {
    if bytes.len() >= HEADER_BYTES && bytes.starts_with(MAGIC) {
        lay_over(&mut bytes, log);
        // Memory has no log.
        for mark in WAL_MARKS {
            bytes[mark] = 1;
        }
    }
    let mut connection = Connection::open_in_memory()?;
    // Nothing that a stranger's schema names is run.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.deserialize_read_exact(MAIN_DB, bytes.as_slice(), bytes.len(), true)?;
    Ok(connection)
}

/// Lays the pages of all committed transactions over the file, as in <https://www.sqlite.org/fileformat2.html#walformat>.
/// The first frame that does not belong to the log's current round ends it.
fn lay_over(file: &mut Vec<u8>, log: &[u8]) -> Option<()> {
    let header = log.get(..WAL_HEADER_BYTES)?;
    let word = |bytes: &[u8], at: usize| {
        bytes.get(at..at + 4).map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
    };
    let is_big_endian = match word(header, 0)? {
        0x377f_0682 => false,
        0x377f_0683 => true,
        _ => return None,
    };
    let page_bytes = usize::try_from(word(header, 8)?).ok()?;
    if !(512..=65_536).contains(&page_bytes) || !page_bytes.is_power_of_two() {
        return None;
    }
    let salts = (word(header, 16)?, word(header, 20)?);
    let mut sums = checksum((0, 0), header.get(..24)?, is_big_endian);
    if sums != (word(header, 24)?, word(header, 28)?) {
        return None;
    }
    let mut waiting: Vec<(usize, &[u8])> = Vec::new();
    for frame in log.get(WAL_HEADER_BYTES..)?.chunks_exact(FRAME_HEADER_BYTES + page_bytes) {
        let (head, page) = frame.split_at(FRAME_HEADER_BYTES);
        sums = checksum(checksum(sums, &head[..8], is_big_endian), page, is_big_endian);
        if (word(head, 8)?, word(head, 12)?) != salts || (word(head, 16)?, word(head, 20)?) != sums {
            break;
        }
        let number = usize::try_from(word(head, 0)?).ok()?;
        waiting.push((number, page));
        let pages = usize::try_from(word(head, 4)?).ok()?;
        if pages > 0 {
            let bytes = pages.checked_mul(page_bytes).filter(|bytes| *bytes as u64 <= BYTES_MAX)?;
            file.resize(bytes, 0);
            for (number, page) in waiting.drain(..) {
                let at = number.checked_sub(1)?.checked_mul(page_bytes)?;
                if let Some(place) = file.get_mut(at..at + page_bytes) {
                    place.copy_from_slice(page);
                }
            }
        }
    }
    Some(())
}

fn checksum(sums: (u32, u32), bytes: &[u8], is_big_endian: bool) -> (u32, u32) {
    let word = |four: &[u8]| {
        let four = [four[0], four[1], four[2], four[3]];
        if is_big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    };
    bytes.chunks_exact(8).fold(sums, |(a, b), eight| {
        let a = a.wrapping_add(word(&eight[..4])).wrapping_add(b);
        (a, b.wrapping_add(word(&eight[4..])).wrapping_add(a))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::files::{DiskFiles, SimulatedFiles};

    /// A database whose rows stand in the log, beside a row that is not committed.
    fn written(folder: &Path) -> Connection {
        let connection = Connection::open(folder.join("a.db")).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.execute_batch("CREATE TABLE t (a TEXT)").unwrap();
        for n in 0..50 {
            connection.execute("INSERT INTO t VALUES (?1)", [format!("{n} {}", "x".repeat(300))]).unwrap();
        }
        connection.execute_batch("BEGIN; INSERT INTO t VALUES ('open')").unwrap();
        connection
    }

    fn count(database: &Database) -> i64 {
        database.connection().query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn what_is_committed_in_the_log_is_read_and_nothing_is_touched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        assert!(read(&DiskFiles, &path).unwrap().is_none());
        let writer = written(folder.path());
        let names = DiskFiles.list(folder.path()).unwrap();
        let before = standings(&DiskFiles, &path).unwrap();
        let database = read(&DiskFiles, &path).unwrap().unwrap();
        assert_eq!(count(&database), 50);
        assert!(database.connection().execute("INSERT INTO t VALUES ('x')", []).is_err());
        assert_eq!(standings(&DiskFiles, &path).unwrap(), before);
        assert_eq!(DiskFiles.list(folder.path()).unwrap(), names);
        writer.execute_batch("COMMIT").unwrap();
        assert_eq!(count(&read(&DiskFiles, &path).unwrap().unwrap()), 51);
        writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        writer.execute("INSERT INTO t VALUES ('more')", []).unwrap();
        assert_eq!(count(&read(&DiskFiles, &path).unwrap().unwrap()), 52);
    }

    #[test]
    fn no_bytes_make_the_reader_fail() {
        let folder = tempfile::tempdir().unwrap();
        let _writer = written(folder.path());
        let path = folder.path().join("a.db");
        let whole = DiskFiles.read(&path, 0, usize::MAX).unwrap();
        let whole_log = DiskFiles.read(&beside(&path, "-wal"), 0, usize::MAX).unwrap();
        let bytes = |len: usize| proptest::collection::vec((0..len, any::<u8>()), 0..4);
        let noise = proptest::collection::vec(any::<u8>(), 0..200);
        let cases = (bytes(whole.len()), bytes(whole_log.len()), 0..=whole_log.len(), noise);
        let changed = |whole: &[u8], changes: Vec<(usize, u8)>| {
            let mut bytes = whole.to_owned();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            bytes
        };
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(64));
        let done = runner.run(&cases, |(of_file, of_log, cut, noise)| {
            let file = changed(&whole, of_file);
            let mut log = changed(&whole_log, of_log);
            log.truncate(cut);
            for (file, log) in [(file, log), (noise.clone(), noise)] {
                if let Ok(connection) = open(file, &log) {
                    let counted =
                        connection.query_row("SELECT count(a) FROM t", [], |row| row.get::<_, i64>(0));
                    prop_assert!(counted.unwrap_or(0) <= 60);
                }
            }
            Ok(())
        });
        done.unwrap();
    }
    /// A log of frames, each with its page's number, how many pages there are once it is committed, and a byte.
    fn log(page_bytes: u32, is_big_endian: bool, frames: &[(u32, u32, u8)]) -> Vec<u8> {
        let magic: u32 = if is_big_endian { 0x377f_0683 } else { 0x377f_0682 };
        let salts = [1_u32.to_be_bytes(), 2_u32.to_be_bytes()].concat();
        let head = [magic, 3_007_000, page_bytes, 0].map(u32::to_be_bytes).concat();
        let mut log = [head, salts.clone()].concat();
        let mut sums = checksum((0, 0), &log, is_big_endian);
        let written = |sums: (u32, u32)| [sums.0.to_be_bytes(), sums.1.to_be_bytes()].concat();
        log.extend(written(sums));
        for (number, pages, byte) in frames {
            let head = [number.to_be_bytes(), pages.to_be_bytes()].concat();
            let page = vec![*byte; page_bytes as usize];
            sums = checksum(checksum(sums, &head, is_big_endian), &page, is_big_endian);
            log.extend([head, salts.clone(), written(sums), page].concat());
        }
        log
    }

    #[rstest]
    #[case(256, false)]
    #[case(512, true)]
    #[case(513, false)]
    #[case(1_000, false)]
    #[case(4_096, true)]
    #[case(65_536, true)]
    #[case(131_072, false)]
    #[case(0, false)]
    fn a_page_has_a_size_that_the_form_knows(#[case] page_bytes: u32, #[case] is_known: bool) {
        for is_big_endian in [false, true] {
            let found = lay_over(&mut Vec::new(), &log(page_bytes, is_big_endian, &[]));
            assert_eq!(found.is_some(), is_known);
        }
    }

    #[rstest]
    #[case::nothing(&[], &[7, 7])]
    #[case::a_page(&[(2, 2, 1)], &[7, 1])]
    #[case::the_last_one_counts(&[(2, 2, 1), (2, 2, 3)], &[7, 3])]
    #[case::not_committed(&[(1, 2, 1), (2, 0, 3)], &[1, 7])]
    #[case::committed_together(&[(1, 0, 1), (2, 2, 3)], &[1, 3])]
    #[case::more_pages(&[(3, 3, 1)], &[7, 7, 1])]
    #[case::fewer_pages(&[(1, 1, 1)], &[1])]
    #[case::a_page_that_is_gone(&[(3, 2, 1), (1, 2, 5)], &[5, 7])]
    fn what_is_committed_is_laid_over_the_file(#[case] frames: &[(u32, u32, u8)], #[case] pages: &[u8]) {
        for is_big_endian in [false, true] {
            let mut file = vec![7; 1_024];
            lay_over(&mut file, &log(512, is_big_endian, frames)).unwrap();
            let expected: Vec<u8> = pages.iter().flat_map(|byte| vec![*byte; 512]).collect();
            assert!(file == expected, "{frames:?}");
        }
    }

    #[test]
    fn a_frame_that_is_not_of_this_round_ends_the_log() {
        let whole = log(512, true, &[(1, 2, 1), (2, 2, 3)]);
        let second = WAL_HEADER_BYTES + FRAME_HEADER_BYTES + 512;
        // Its number, its salts, its sums, and its page.
        for at in [0, 8, 12, 16, 20, FRAME_HEADER_BYTES + 500] {
            let mut log = whole.clone();
            log[second + at + 3] ^= 1;
            let mut file = vec![7; 1_024];
            lay_over(&mut file, &log).unwrap();
            assert!((file[0], file[512]) == (1, 7), "{at}");
        }
        let mut cut = whole.clone();
        cut.pop();
        let mut file = vec![7; 1_024];
        lay_over(&mut file, &cut).unwrap();
        assert_eq!((file[0], file[512]), (1, 7));
        for at in [0, 16, 24, 28] {
            let mut log = whole.clone();
            log[at + 3] ^= 2;
            assert!(lay_over(&mut vec![7; 1_024], &log).is_none(), "the header is wrong at {at}");
        }
        assert!(lay_over(&mut Vec::new(), &log(512, true, &[(0, 1, 1)])).is_none(), "pages count from 1");
    }

    #[test]
    fn a_database_that_is_being_written_is_read_at_the_next_look() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        drop(written(folder.path()));
        let storage = MemoryStorage::new();
        storage.set_bytes("d/a.db", &DiskFiles.read(&path, 0, usize::MAX).unwrap());
        let files = SimulatedFiles::new(storage.clone(), Arc::new(SystemClock));
        let path = Path::new("/d/a.db");
        assert!(read(&files, path).unwrap().is_some());
        storage.set_bytes("d/a.db-journal", b"");
        assert!(read(&files, path).unwrap().is_some(), "an empty journal is of no transaction");
        storage.set_bytes("d/a.db-journal", b"x");
        let error = read(&files, path).err().unwrap();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    }
}

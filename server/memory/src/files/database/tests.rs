//! What is read of databases that SQLite has written.

use std::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::storage::MemoryStorage;
use proptest::prelude::*;
use rstest::rstest;
use rusqlite::types::Value as Written;
use rusqlite::{Connection, params};

use super::*;
use crate::files::{DiskFiles, SimulatedFiles};

impl Bytes for Vec<u8> {
    fn fill(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let from = usize::try_from(offset).ok().and_then(|offset| self.get(offset..));
        let from = from.and_then(|from| from.get(..into.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
        into.copy_from_slice(from);
        Ok(())
    }
}

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

/// The kind of a page that holds rows.
const LEAF_OF_A_TABLE: u8 = 13;

/// How many rows the table `t` has.
fn count(database: &Database) -> io::Result<usize> {
    let mut rows = 0;
    database.table("t", ["a"])?.each(u64::MAX, |_| {
        rows += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(rows)
}

fn counted(path: &Path) -> usize {
    ask(&DiskFiles, path, count).unwrap().unwrap()
}

#[test]
fn what_is_committed_in_the_log_is_read_and_nothing_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    assert!(ask(&DiskFiles, &path, count).unwrap().is_none());
    let writer = written(folder.path());
    let names = DiskFiles.list(folder.path()).unwrap();
    let looks = || ["", "-wal"].map(|ending| DiskFiles.look(&beside(&path, ending)).unwrap());
    let before = looks();
    assert_eq!(counted(&path), 50);
    assert_eq!(looks(), before);
    assert_eq!(DiskFiles.list(folder.path()).unwrap(), names);
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(counted(&path), 51);
    writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    writer.execute("INSERT INTO t VALUES ('more')", []).unwrap();
    assert_eq!(counted(&path), 52);
    drop(writer);
    assert_eq!(counted(&path), 52, "the log is gone");
}

#[test]
fn a_log_that_was_deleted_and_made_anew_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut expected = 50;
    written(folder.path()).execute_batch("ROLLBACK").unwrap();
    for _ in 0..3 {
        let writer = Connection::open(&path).unwrap();
        writer.execute("INSERT INTO t VALUES ('more')", []).unwrap();
        expected += 1;
        assert_eq!(counted(&path), expected);
        writer.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
        assert_eq!(counted(&path), expected);
        // Its last connection deletes the log and has nothing to write into the file.
        drop(writer);
        assert!(DiskFiles.look(&beside(&path, "-wal")).unwrap().is_none());
        assert_eq!(counted(&path), expected);
    }
}

/// A machine with this database.
fn machine(bytes: &[u8]) -> (MemoryStorage, SimulatedFiles) {
    let storage = MemoryStorage::new();
    storage.set_bytes("d/a.db", bytes);
    (storage.clone(), SimulatedFiles::new(storage, Arc::new(SystemClock)))
}

fn bytes_of(path: &Path) -> Vec<u8> {
    DiskFiles.read(path, 0, usize::MAX).unwrap()
}

#[test]
fn no_bytes_make_the_reader_fail() {
    let folder = tempfile::tempdir().unwrap();
    let _writer = written(folder.path());
    let path = folder.path().join("a.db");
    let log = bytes_of(&beside(&path, "-wal"));
    let whole = folder.path().join("whole.db");
    {
        let connection = Connection::open(&whole).unwrap();
        connection.execute_batch("PRAGMA page_size = 512; CREATE TABLE t (a TEXT, b)").unwrap();
        for n in 0..40_u16 {
            connection
                .execute("INSERT INTO t VALUES (?1, ?2)", params![n, "x".repeat(usize::from(n) * 60)])
                .unwrap();
        }
    }
    let (file, whole) = (bytes_of(&path), bytes_of(&whole));
    let places = |len: usize| proptest::collection::vec((0..len, any::<u8>()), 0..4);
    let noise = proptest::collection::vec(any::<u8>(), 0..200);
    let cases = (places(whole.len()), places(log.len()), 0..=log.len(), noise);
    let changed = |bytes: &[u8], changes: Vec<(usize, u8)>| {
        let mut bytes = bytes.to_owned();
        for (at, byte) in changes {
            bytes[at] = byte;
        }
        bytes
    };
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(256));
    let done = runner.run(&cases, |(of_whole, of_log, cut, noise)| {
        let mut log = changed(&log, of_log);
        log.truncate(cut);
        let whole = changed(&whole, of_whole);
        for (file, log) in [(&file, log), (&whole, Vec::new()), (&noise, noise.clone())] {
            let (storage, files) = machine(file);
            storage.set_bytes("d/a.db-wal", &log);
            let everything = |database: &Database| {
                let table = database.table("t", ["a"])?;
                for row in [i64::MIN, -1, 0, 7, 49, i64::MAX] {
                    let _ = table.row(row, u64::MAX);
                }
                let tables = database.table("t", ["a", "b"])?;
                tables.each(100, |_| Ok(ControlFlow::Continue(())))?;
                count(database)
            };
            if let Ok(rows) = ask(&files, Path::new("/d/a.db"), everything) {
                // A changed number of a row hides no others.
                prop_assert!(rows.unwrap_or(0) <= 1_000);
            }
        }
        Ok(())
    });
    done.unwrap();
}

/// What SQLite reads of a value.
fn expected(value: &Written, bytes_max: usize) -> Value {
    match value {
        Written::Null => Value::Null,
        Written::Integer(number) => Value::Integer(*number),
        Written::Real(number) => Value::Real(*number),
        Written::Text(text) if text.len() > bytes_max => Value::TooLong,
        Written::Text(text) => Value::Text(text.clone()),
        Written::Blob(bytes) if bytes.len() > bytes_max => Value::TooLong,
        Written::Blob(bytes) => Value::Blob(bytes.clone()),
    }
}

#[derive(Debug, Clone)]
enum Step {
    Insert(Option<i64>, Vec<Written>),
    Delete(i64),
    AddColumn,
    Checkpoint,
}

fn value() -> impl Strategy<Value = Written> {
    let text = prop_oneof![0..40_usize, 400..600_usize, 3_900..4_200_usize, 0..70_000_usize];
    prop_oneof![
        Just(Written::Null),
        (0..64_u32, any::<i64>()).prop_map(|(shift, number)| Written::Integer(number >> shift)),
        (0..3_i64).prop_map(Written::Integer),
        any::<f64>().prop_filter("SQLite keeps none", |real| !real.is_nan()).prop_map(Written::Real),
        text.clone().prop_map(|len| Written::Text("aé".repeat(len / 3))),
        text.prop_map(|len| Written::Blob(vec![7; len])),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let insert = |row| {
        (row, proptest::collection::vec(value(), 3)).prop_map(|(row, values)| Step::Insert(row, values))
    };
    prop_oneof![
        8 => insert(Just(None).boxed()),
        2 => insert(any::<i64>().prop_map(Some).boxed()),
        2 => (0..20_i64).prop_map(Step::Delete),
        1 => Just(Step::AddColumn),
        1 => Just(Step::Checkpoint),
    ]
}

#[test]
fn each_row_is_read_as_sqlite_reads_it() {
    let cases = (
        prop_oneof![Just(512_u32), Just(1_024), Just(4_096), Just(65_536)],
        any::<bool>(),
        proptest::collection::vec(step(), 1..40),
    );
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(48));
    let done = runner.run(&cases, |(page_bytes, has_log, steps)| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "page_size", page_bytes).unwrap();
        let journal = if has_log { "wal" } else { "delete" };
        connection.pragma_update(None, "journal_mode", journal).unwrap();
        connection.pragma_update(None, "synchronous", "off").unwrap();
        connection.execute_batch("CREATE TABLE other (z); CREATE TABLE t (a, b, c)").unwrap();
        let mut columns = 3;
        for step in steps {
            match step {
                Step::Insert(row, values) => {
                    let query = "INSERT OR REPLACE INTO t (rowid, a, b, c) VALUES (?1, ?2, ?3, ?4)";
                    // After the highest number SQLite finds a free one by chance, or none.
                    let _ = connection.execute(query, params![row, values[0], values[1], values[2]]);
                }
                Step::Delete(row) => {
                    connection.execute("DELETE FROM t WHERE rowid = ?1", [row]).unwrap();
                }
                Step::AddColumn => {
                    connection.execute_batch(&format!("ALTER TABLE t ADD COLUMN d{columns} TEXT")).unwrap();
                    columns += 1;
                }
                Step::Checkpoint => {
                    let query = "PRAGMA wal_checkpoint(PASSIVE)";
                    connection.query_row(query, [], |_| Ok(())).unwrap();
                }
            }
        }
        let mut query = connection.prepare("SELECT rowid, c, a FROM t ORDER BY rowid").unwrap();
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        let rows: Vec<(i64, Written, Written)> = rows.map(Result::unwrap).collect();
        for bytes_max in [500_u32, 100_000] {
            let found = ask(&DiskFiles, &path, |database| {
                let mut found = Vec::new();
                database.table("T", ["C", "a"])?.each(
                    u64::from(bytes_max),
                    |Row { number: row, values: [c, a], .. }| {
                        found.push((row, c, a));
                        Ok(ControlFlow::Continue(()))
                    },
                )?;
                let table = database.table("t", ["c", "a"])?;
                for (row, c, a) in &found {
                    assert_eq!(table.row(*row, bytes_max.into())?, Some([c.clone(), a.clone()]));
                    let next = row.saturating_add(1);
                    let is_there = found.iter().any(|(row, ..)| *row == next);
                    assert_eq!(table.row(next, bytes_max.into())?.is_some(), is_there);
                }
                Ok(found)
            });
            let as_read = |value| expected(value, bytes_max as usize);
            let expected: Vec<_> = rows.iter().map(|(row, c, a)| (*row, as_read(c), as_read(a))).collect();
            prop_assert!(found.unwrap().unwrap() == expected);
        }
        Ok(())
    });
    done.unwrap();
}

#[test]
fn a_database_that_is_being_written_is_read_at_the_next_look() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    drop(written(folder.path()));
    let (storage, files) = machine(&bytes_of(&path));
    let path = Path::new("/d/a.db");
    assert!(ask(&files, path, count).unwrap().is_some());
    storage.set_bytes("d/a.db-journal", b"");
    assert!(ask(&files, path, count).unwrap().is_some(), "an empty journal is of no transaction");
    storage.set_bytes("d/a.db-journal", b"\0\0");
    assert!(ask(&files, path, count).unwrap().is_some(), "so is one whose beginning was taken away");
    storage.set_bytes("d/a.db-journal", b"x");
    let error = ask(&files, path, count).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
}

#[derive(Debug, Clone, Copy)]
enum Change {
    File,
    Log,
    NewRound,
    Journal,
}

#[rstest]
#[case::the_file(Change::File, true)]
#[case::more_in_the_log(Change::Log, false)]
#[case::a_new_round_of_the_log(Change::NewRound, true)]
#[case::a_transaction_in_the_file(Change::Journal, true)]
fn what_changes_while_it_is_read_is_read_anew(#[case] change: Change, #[case] is_read_anew: bool) {
    let folder = tempfile::tempdir().unwrap();
    let writer = written(folder.path());
    let path = folder.path().join("a.db");
    let (file, log) = (bytes_of(&path), bytes_of(&beside(&path, "-wal")));
    let (storage, files) = machine(&file);
    storage.set_bytes("d/a.db-wal", &log);
    let asked = Cell::new(0);
    let answer = ask(&files, Path::new("/d/a.db"), |database| {
        asked.set(asked.get() + 1);
        if asked.get() > 1 {
            storage.set_bytes("d/a.db-journal", b"");
        } else {
            match change {
                Change::File => storage.set_bytes("d/a.db", &[&file[..], &[0; 4_096]].concat()),
                Change::Log => {
                    writer.execute_batch("COMMIT").unwrap();
                    storage.set_bytes("d/a.db-wal", &bytes_of(&beside(&path, "-wal")));
                }
                Change::NewRound => storage.set_bytes("d/a.db-wal", b"none"),
                Change::Journal => storage.set_bytes("d/a.db-journal", b"x"),
            }
            if matches!(change, Change::Journal) {
                return Err(io::Error::other("what was read makes no sense"));
            }
        }
        count(database)
    });
    match change {
        // Without its log the database has no table yet.
        Change::NewRound => assert_eq!(answer.unwrap_err().kind(), io::ErrorKind::InvalidData),
        Change::Journal => assert_eq!(answer.unwrap_err().kind(), io::ErrorKind::WouldBlock),
        _ => assert_eq!(answer.unwrap(), Some(50)),
    }
    let is_anew = asked.get() > 1 || matches!(change, Change::Journal);
    assert_eq!(is_anew, is_read_anew, "{change:?}");
}

#[test]
fn what_is_learnt_is_learnt_once_as_long_as_the_database_stands() {
    let folder = tempfile::tempdir().unwrap();
    let writer = written(folder.path());
    let path = folder.path().join("a.db");
    let times = Cell::new(0);
    let learn = |database: &Database| {
        times.set(times.get() + 1);
        count(database)
    };
    let opened = |before: Option<&Kept>| {
        let bytes = |path: &Path| Ok(Some(Arc::new(bytes_of(path)) as Arc<dyn Bytes>));
        Database::open(&DiskFiles, &path, before, Moment::Now, bytes).unwrap().unwrap()
    };
    let first = opened(None);
    assert_eq!([first.learnt(learn).unwrap(), first.learnt(learn).unwrap()], [&50, &50]);
    assert!(first.learnt(|_| Ok("other")).is_err());
    let second = opened(Some(&first.kept()));
    assert_eq!((second.learnt(learn).unwrap(), times.get()), (&50, 1));
    writer.execute_batch("COMMIT").unwrap();
    let third = opened(Some(&second.kept()));
    assert_eq!((third.learnt(learn).unwrap(), times.get()), (&51, 2));
}

#[cfg(target_os = "linux")]
#[test]
fn no_file_stays_open_between_two_questions() {
    let folder = tempfile::tempdir().unwrap();
    drop(written(folder.path()));
    let path = folder.path().join("a.db");
    assert_eq!(counted(&path), 50);
    let open = std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| entry.unwrap().path().read_link().ok());
    let open: Vec<PathBuf> = open.filter(|open| open.starts_with(folder.path())).collect();
    assert!(open.is_empty(), "{open:?}");
}

/// A file that counts what is read of it.
struct Counting {
    bytes: Vec<u8>,
    read: Arc<AtomicU64>,
}

impl Bytes for Counting {
    fn fill(&self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        self.read.fetch_add(into.len() as u64, Ordering::Relaxed);
        self.bytes.fill(offset, into)
    }
}

#[test]
fn what_is_not_asked_for_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE t (a TEXT, b BLOB); CREATE TABLE other (z BLOB)").unwrap();
    connection.execute("INSERT INTO other VALUES (zeroblob(8000000))", []).unwrap();
    connection.execute("INSERT INTO t VALUES ('one', zeroblob(4000000)), ('two', x'01')", []).unwrap();
    drop(connection);
    let (bytes, read) = (bytes_of(&path), Arc::new(AtomicU64::new(0)));
    let open = |path: &Path| {
        let is_log = path.to_string_lossy().ends_with("-wal");
        let file = || Arc::new(Counting { bytes: bytes.clone(), read: Arc::clone(&read) }) as Arc<dyn Bytes>;
        Ok((!is_log).then(file))
    };
    let database = Database::open(&DiskFiles, &path, None, Moment::Now, open).unwrap().unwrap();
    assert_eq!(count(&database).unwrap(), 2);
    let [b] = database.table("t", ["b"]).unwrap().row(1, 1_000).unwrap().unwrap();
    assert_eq!(b, Value::TooLong);
    assert!(read.load(Ordering::Relaxed) < 40_000, "{read:?}");
    let [b] = database.table("t", ["b"]).unwrap().row(1, u64::MAX).unwrap().unwrap();
    assert_eq!(b, Value::Blob(vec![0; 4_000_000]));
}

#[rstest]
#[case::no_table("CREATE TABLE other (a)", "there is no table t")]
#[case::no_column("CREATE TABLE t (b)", "there is no column a in the table t")]
#[case::no_rows_by_number("CREATE TABLE t (a PRIMARY KEY) WITHOUT ROWID", "a page is none of a table")]
#[case::a_view("CREATE TABLE s (a); CREATE VIEW t AS SELECT a FROM s", "there is no table t")]
#[case::other_texts("PRAGMA encoding = 'UTF-16'; CREATE TABLE t (a)", "its texts are not UTF-8")]
fn a_form_that_is_not_known_is_named(#[case] made: &str, #[case] problem: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    Connection::open(&path).unwrap().execute_batch(made).unwrap();
    let error = ask(&DiskFiles, &path, count).unwrap_err();
    assert_eq!(error.to_string(), format!("its form is not known: {problem}"));
}

#[rstest]
#[case::short(b"x", "it is shorter than a header")]
#[case::other(&[b'x'; 200], "it is no database of SQLite")]
fn a_file_that_is_no_database_is_named(#[case] bytes: &[u8], #[case] problem: &str) {
    let (_, files) = machine(bytes);
    let error = ask(&files, Path::new("/d/a.db"), count).unwrap_err();
    assert_eq!(error.to_string(), format!("its form is not known: {problem}"));
}

/// The last page of a tree leads to its first.
#[test]
fn a_circle_of_pages_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA page_size = 512; CREATE TABLE t (a)").unwrap();
    for _ in 0..60 {
        connection.execute("INSERT INTO t VALUES (zeroblob(100))", []).unwrap();
    }
    let root: u32 = connection
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = 't'", [], |row| row.get(0))
        .unwrap();
    drop(connection);
    let mut bytes = bytes_of(&path);
    let last = (root as usize - 1) * 512 + 8;
    bytes[last..last + 4].copy_from_slice(&root.to_be_bytes());
    let mut of_many_pages = bytes.clone();
    of_many_pages[28..32].copy_from_slice(&u32::MAX.to_be_bytes());
    let row = |database: &Database| {
        let row = database.table("t", ["a"])?.row(i64::MAX, 0)?;
        Ok(usize::from(row.is_some()))
    };
    for (bytes, question) in [(&bytes, count as fn(&Database) -> _), (&bytes, row), (&of_many_pages, count)] {
        let (_, files) = machine(bytes);
        let error = ask(&files, Path::new("/d/a.db"), question).unwrap_err();
        assert_eq!(error.to_string(), "its form is not known: its pages lead in a circle");
    }
}

/// Each of many rows says that it goes on in the long chain of pages of the first one.
#[test]
fn rows_that_share_their_pages_end() {
    const SHORT: usize = 16_990;
    const LONG: usize = SHORT + 2_000 * (512 - 4);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA page_size = 512; CREATE TABLE t (b, a)").unwrap();
    for bytes in std::iter::once(LONG).chain([SHORT; 100]) {
        connection
            .execute("INSERT INTO t VALUES (zeroblob(?1), 'y')", [i64::try_from(bytes).unwrap()])
            .unwrap();
    }
    drop(connection);
    let mut bytes = bytes_of(&path);
    // A cell: the length of the row in three bytes, its number in one, its header, what stands here of it, the next page.
    let header_bytes = 5;
    let local = {
        let (row, least) = (header_bytes + SHORT + 1, (512 - 12) * 32 / 255 - 23);
        let fitting = least + (row - least) % (512 - 4);
        if fitting <= 512 - 35 { fitting } else { least }
    };
    let leaves = (512..bytes.len()).step_by(512).filter(|page| bytes[*page] == LEAF_OF_A_TABLE);
    let cells = leaves.flat_map(|page| {
        let cell = |at| page + usize::from(be_u16(&bytes, page + 8 + 2 * at));
        (0..usize::from(be_u16(&bytes, page + 3))).map(cell).collect::<Vec<_>>()
    });
    let cells: Vec<usize> = cells.collect();
    let is_long = |cell: &&usize| varint(&bytes[**cell..]).unwrap().0 == (header_bytes + LONG + 1) as u64;
    let long = *cells.iter().find(is_long).unwrap();
    for cell in cells {
        for (at, len) in [(0, 3), (4, header_bytes), (4 + local, 4)] {
            bytes.copy_within(long + at..long + at + len, cell + at);
        }
    }
    let read = Arc::new(AtomicU64::new(0));
    let open = |path: &Path| {
        let is_log = path.to_string_lossy().ends_with("-wal");
        let file = || Arc::new(Counting { bytes: bytes.clone(), read: Arc::clone(&read) }) as Arc<dyn Bytes>;
        Ok((!is_log).then(file))
    };
    let database = Database::open(&DiskFiles, &path, None, Moment::Now, open).unwrap().unwrap();
    let mut rows = 0;
    let walked = database.table("t", ["a"]).unwrap().each(100, |_| {
        rows += 1;
        Ok(ControlFlow::Continue(()))
    });
    assert_eq!(walked.unwrap_err().to_string(), "its form is not known: its pages lead in a circle");
    assert!(
        rows < 10 && read.load(Ordering::Relaxed) < 2 * bytes.len() as u64,
        "{rows} rows, {read:?} bytes"
    );
}

#[test]
fn a_database_with_nothing_in_it_is_none() {
    let (_, files) = machine(b"");
    assert!(ask(&files, Path::new("/d/a.db"), count).unwrap().is_none());
}

/// A file as it is now, if there is one.
fn as_it_is(path: &Path) -> Option<Arc<dyn Bytes>> {
    path.exists().then(|| Arc::new(bytes_of(path)) as Arc<dyn Bytes>)
}

#[test]
fn a_moment_is_asked_again_as_long_as_it_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let writer = written(folder.path());
    let path = folder.path().join("a.db");
    let kept = KeptDatabases::new();
    let count_of = |moment| {
        let database = kept.open(&DiskFiles, &path, moment, |path| Ok(as_it_is(path))).unwrap().unwrap();
        assert!(database.stands(&DiskFiles, &path).unwrap());
        count(&database).unwrap()
    };
    assert_eq!(count_of(Moment::Before), 50, "what was never asked is asked as it is");
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!([Moment::Before, Moment::Now, Moment::Before].map(count_of), [50, 51, 51]);
    writer.execute_batch("INSERT INTO t VALUES ('more')").unwrap();
    assert_eq!(count_of(Moment::Before), 51);
    writer.execute_batch("PRAGMA wal_checkpoint(PASSIVE)").unwrap();
    assert_eq!(count_of(Moment::Before), 52, "the file has changed");
}

#[test]
fn a_moment_before_the_first_log_is_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = wal; CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        .unwrap();
    drop(connection);
    let kept = KeptDatabases::new();
    let count_of = |moment| {
        count(&kept.open(&DiskFiles, &path, moment, |path| Ok(as_it_is(path))).unwrap().unwrap()).unwrap()
    };
    assert_eq!(count_of(Moment::Now), 1);
    let writer = Connection::open(&path).unwrap();
    writer.execute_batch("INSERT INTO t VALUES (2)").unwrap();
    assert!(path.with_file_name("a.db-wal").exists());
    assert_eq!([Moment::Before, Moment::Now].map(count_of), [1, 2]);
}

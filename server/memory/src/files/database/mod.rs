//! Another program's SQLite database, read page by page.
//!
//! The pages that an answer needs are read from the file, or from its write-ahead log where that has committed them, and
//! of these nothing is held but the log's table of them. So it must never open the files as SQLite does, lock or write them,
//! run what a stranger's schema names, nor give an answer of which the program has changed a part meanwhile, as far as the
//! times of files tell.

mod columns;
mod kept;
mod log;
mod pages;
mod record;
mod tree;

use std::any::Any;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::{Files, Standing};
use kept::Kept;
pub(super) use kept::KeptDatabases;
pub use kept::Moment;
use log::Log;
use pages::Pages;
pub use record::Value;
use tree::Tree;

/// How often a question is asked while the other program writes.
const TRIES: u32 = 6;
/// The pause before the second of them; each is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(5);
/// Longest statement that made a table.
const STATEMENT_BYTES_MAX: u64 = 1024 * 1024;

/// The bytes of one file, whatever takes its name later.
pub(super) trait Bytes: Send + Sync {
    /// Reads from `offset` on until the buffer is full; [`io::ErrorKind::UnexpectedEof`] if the file ends before.
    fn fill(&self, offset: u64, into: &mut [u8]) -> io::Result<()>;
}

/// A database as it was at one moment. It is asked by [`ask`].
pub struct Database {
    pages: Pages,
    standing: Standing,
    /// The file's own counter of changes.
    changes: [u8; 4],
    learnt: Learnt,
}

type Learnt = Arc<OnceLock<Box<dyn Any + Send + Sync>>>;

/// Asks a database; `None` if there is none. What has changed while it was asked is asked anew.
///
/// # Errors
///
/// [`io::ErrorKind::WouldBlock`] if its program was writing each time, [`io::ErrorKind::InvalidData`] if its form is not
/// known, the error of the disk, or that of the question.
pub fn ask<T>(
    files: &dyn Files,
    path: &Path,
    question: impl Fn(&Database) -> io::Result<T>,
) -> io::Result<Option<T>> {
    ask_of(files, path, Moment::Now, question)
}

/// Asks a database as it was at the last question, as long as that can still be read: so many questions of one look are one
/// look, however much its program writes meanwhile.
///
/// # Errors
///
/// As [`ask`].
pub fn ask_again<T>(
    files: &dyn Files,
    path: &Path,
    question: impl Fn(&Database) -> io::Result<T>,
) -> io::Result<Option<T>> {
    ask_of(files, path, Moment::Before, question)
}

fn ask_of<T>(
    files: &dyn Files,
    path: &Path,
    moment: Moment,
    question: impl Fn(&Database) -> io::Result<T>,
) -> io::Result<Option<T>> {
    for attempt in 0..TRIES {
        if let Some(before) = attempt.checked_sub(1) {
            files.pause(PAUSE * 2_u32.pow(before));
        }
        // A transaction that writes into the file itself keeps what was there in a journal until it has ended.
        if is_being_written(files, path)? {
            continue;
        }
        let Some(database) = files.database(path, moment)? else { return Ok(None) };
        let answer = question(&database);
        if database.stands(files, path)? {
            return answer.map(Some);
        }
    }
    Err(io::Error::new(
        io::ErrorKind::WouldBlock,
        "its program is in the middle of writing it, or has ended there; it is read once that is over",
    ))
}

/// A journal that begins with a zero belongs to no transaction which writes into the file.
fn is_being_written(files: &dyn Files, path: &Path) -> io::Result<bool> {
    let journal = beside(path, "-journal");
    if files.look(&journal)?.is_none_or(|found| found.bytes == 0) {
        return Ok(false);
    }
    match files.read(&journal, 0, 1) {
        Ok(first) => Ok(first.first().is_some_and(|first| *first != 0)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

impl Database {
    /// Opens a database, if there is one with something in it, with what was kept of it.
    fn open(
        files: &dyn Files,
        path: &Path,
        before: Option<&Kept>,
        moment: Moment,
        bytes: impl Fn(&Path) -> io::Result<Option<Arc<dyn Bytes>>>,
    ) -> io::Result<Option<Self>> {
        let Some(standing) = files.look(path)?.filter(|found| found.bytes > 0) else { return Ok(None) };
        let Some(file) = bytes(path)? else { return Ok(None) };
        let changes = pages::changes(file.as_ref())?;
        let before = before.filter(|before| before.standing == standing && before.changes == changes);
        let had_no_log = moment == Moment::Before && before.is_some_and(|before| before.log.is_none());
        let log = match bytes(&beside(path, "-wal"))?.filter(|_| !had_no_log) {
            Some(bytes) => Log::open(bytes, before.and_then(|before| before.log.as_ref()), moment)?,
            None => None,
        };
        // The times of a file are coarser than what can happen to its log.
        let extent = log.as_ref().map(Log::extent);
        let before = before.filter(|before| before.log.as_ref().map(Log::extent) == extent);
        let learnt = before.map(|before| Arc::clone(&before.learnt)).unwrap_or_default();
        let pages = Pages::open(file, standing.bytes, log)?;
        Ok(Some(Self { pages, standing, changes, learnt }))
    }

    /// What may be kept of it.
    fn kept(&self) -> Kept {
        let log = self.pages.log.as_ref().map(Log::closed);
        Kept { log, standing: self.standing, changes: self.changes, learnt: Arc::clone(&self.learnt) }
    }

    /// Whether all that was read of it is of one moment, as far as the times of files tell. More in the log changes nothing
    /// of what was there before.
    fn stands(&self, files: &dyn Files, path: &Path) -> io::Result<bool> {
        let is_log_there = self.pages.log.as_ref().map_or(Ok(true), Log::stands)?;
        let is_same_file = files.look(path)? == Some(self.standing) && self.pages.changes()? == self.changes;
        Ok(is_log_there && is_same_file && !is_being_written(files, path)?)
    }

    /// What one reader learns of it by reading much, learnt once as long as the database stands so.
    ///
    /// # Errors
    ///
    /// That of `learn`, or an error if another reader has learnt something else.
    pub fn learnt<T: Any + Send + Sync>(&self, learn: impl FnOnce(&Self) -> io::Result<T>) -> io::Result<&T> {
        let learnt = if let Some(learnt) = self.learnt.get() {
            learnt
        } else {
            let learnt = learn(self)?;
            self.learnt.get_or_init(|| Box::new(learnt))
        };
        learnt.downcast_ref().ok_or_else(|| io::Error::other("another reader has learnt something of it"))
    }

    /// A table with these columns.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidData`] if there is none, or if it lacks a column.
    pub fn table<const N: usize>(&self, name: &str, columns: [&str; N]) -> io::Result<Table<'_, N>> {
        let unknown = |what: &str| malformed(&format!("there is no {what}"));
        // The columns of the schema: type, name, table, root, statement.
        let schema = Table { tree: Tree { pages: &self.pages, root: 1 }, places: [0, 1, 3, 4] };
        let mut found = None;
        schema.each(STATEMENT_BYTES_MAX, |Row { values: [kind, known, root, statement], .. }| {
            let is_it = kind.into_text().is_some_and(|kind| kind == "table")
                && known.into_text().is_some_and(|known| known.eq_ignore_ascii_case(name));
            if !is_it {
                return Ok(ControlFlow::Continue(()));
            }
            found = Some((root.as_integer(), statement.into_text()));
            Ok(ControlFlow::Break(()))
        })?;
        let (root, statement) = found.ok_or_else(|| unknown(&format!("table {name}")))?;
        let root = root.and_then(|root| u32::try_from(root).ok()).unwrap_or_default();
        let known = columns::names(&statement.unwrap_or_default());
        let mut places = [0; N];
        for (place, column) in places.iter_mut().zip(columns) {
            let is_it = |known: &String| known.eq_ignore_ascii_case(column);
            *place = known
                .iter()
                .position(is_it)
                .ok_or_else(|| unknown(&format!("column {column} in the table {name}")))?;
        }
        Ok(Table { tree: Tree { pages: &self.pages, root }, places })
    }
}

/// Columns of a table, each at its place in a row.
///
/// A column that is the number of the row, an `INTEGER PRIMARY KEY`, has nothing in it; nor has one that was added after the
/// row was written, whatever its default is.
pub struct Table<'d, const N: usize> {
    tree: Tree<'d>,
    places: [usize; N],
}

/// A row of a table.
pub struct Row<const N: usize> {
    /// Its number.
    pub number: i64,
    /// How long it is with all of its columns, as it says itself.
    pub bytes: u64,
    /// What stands in the columns of the table.
    pub values: [Value; N],
}

impl<const N: usize> Table<'_, N> {
    /// Visits the rows in the order of their numbers, until there is enough.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidData`] if its form is not known, the error of the disk, or that of the visit.
    pub fn each(
        &self,
        bytes_max: u64,
        mut visit: impl FnMut(Row<N>) -> io::Result<ControlFlow<()>>,
    ) -> io::Result<()> {
        self.tree.each(&mut |number, payload| {
            let bytes = payload.bytes();
            visit(Row { number, bytes, values: payload.columns(&self.places, bytes_max)? })
        })
    }

    /// The row of a number; `None` if there is none.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidData`] if its form is not known, or the error of the disk.
    pub fn row(&self, row: i64, bytes_max: u64) -> io::Result<Option<[Value; N]>> {
        self.tree.find(row, |payload| payload.columns(&self.places, bytes_max))
    }
}

fn malformed(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("its form is not known: {problem}"))
}

/// A number as SQLite writes it, of which each byte but the ninth has a mark for more; and its bytes.
fn varint(bytes: &[u8]) -> io::Result<(u64, usize)> {
    let mut number = 0;
    for (at, byte) in bytes.iter().enumerate().take(9) {
        if at == 8 {
            return Ok((number << 8 | u64::from(*byte), 9));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Ok((number, at + 1));
        }
    }
    Err(malformed("a number is cut"))
}

fn be_u16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn be_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests;

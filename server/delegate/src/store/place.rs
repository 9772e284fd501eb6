//! Where a store lies, and that only one engine has it.
//!
//! It must never leave a file that others can read.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use entraclaw_seams::storage::{DiskStorage, Lock, Storage as _};
use rusqlite::{Connection, OpenFlags};

use super::{StoreError, schema, sql};

/// The name of the file in the project's folder.
const FILE: &str = "conversation.db";
/// The file whose lock the engine holds.
const LOCK: &str = "engine.lock";
/// How long it may be held by a command that looks whether an engine works.
const LOCK_WAIT_MS: u64 = 100;
/// The name of a store in memory, in errors.
const IN_MEMORY: &str = "memory";

/// Where a store lies.
#[derive(Clone)]
pub enum Place {
    /// In a folder of its own, which is made private to this user.
    Folder(PathBuf),
    /// In memory, for simulations.
    Memory(Memory),
}

/// A store in memory that outlives its engine, as a disk does.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    connection: Option<Connection>,
    is_held: bool,
    writes: u64,
    fails_after: Option<u64>,
}

thread_local! {
    /// The last store of this thread that went, without its rows. To open a new one, and to compile its statements, takes
    /// a quarter of the time of a short simulation.
    static EMPTIED: Cell<Option<Connection>> = const { Cell::new(None) };
}

impl Drop for Kept {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else { return };
        // A thread that ends has no use for it, and one that can't be emptied is left to go.
        if schema::empty(&connection).is_ok() {
            let _ = EMPTIED.try_with(|emptied| emptied.set(Some(connection)));
        }
    }
}

impl Memory {
    /// From now on, only so many more writes succeed: the process dies before the next one.
    pub fn fail_after(&self, writes: Option<u64>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.fails_after = writes.map(|more| kept.writes + more);
    }

    /// How many writes there were.
    pub fn writes(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).writes
    }
}

impl Place {
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Folder(folder) => folder.join(FILE).display().to_string(),
            Self::Memory(_) => IN_MEMORY.to_owned(),
        }
    }

    /// Opens the file beside an engine that may have it, to read; `None` if there is none.
    pub(super) fn look(&self) -> Result<Option<Connection>, StoreError> {
        let Self::Folder(folder) = self else { return Ok(None) };
        let Ok(whole) = folder.canonicalize() else { return Ok(None) };
        if !whole.join(FILE).is_file() {
            return Ok(None);
        }
        // A reader of a database with a write-ahead log has its part in the log's index, so that it must be able to write.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NOFOLLOW
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Ok(Some(Connection::open_with_flags(whole.join(FILE), flags)?))
    }

    /// Opens the file, which no other engine may have.
    pub(super) fn take(&self) -> Result<Held, StoreError> {
        match self {
            Self::Folder(folder) => {
                let refused =
                    |error: std::io::Error| StoreError::Folder(format!("{}: {error}", folder.display()));
                let storage = DiskStorage::open(folder).map_err(refused)?;
                let lock = storage.lock(LOCK, LOCK_WAIT_MS).map_err(refused)?;
                let lock = lock.ok_or_else(|| StoreError::InUse(folder.display().to_string()))?;
                // SQLite would make the file with the mode of the umask; its others take the mode of this one.
                storage.append(FILE, true).and_then(|mut file| file.sync()).map_err(refused)?;
                let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
                    | OpenFlags::SQLITE_OPEN_NOFOLLOW
                    | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                // SQLite refuses any symlink on the way, and the folder may lie behind one.
                let whole = folder.canonicalize().map_err(refused)?;
                let connection = set_up(Connection::open_with_flags(whole.join(FILE), flags)?)?;
                Ok(Held { connection: Some(connection), memory: None, _lock: Some(lock) })
            }
            Self::Memory(memory) => {
                let mut kept = memory.0.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.is_held {
                    return Err(StoreError::InUse(IN_MEMORY.to_owned()));
                }
                let connection = match kept.connection.take().or_else(|| EMPTIED.take()) {
                    Some(connection) => connection,
                    None => set_up(Connection::open_in_memory()?)?,
                };
                kept.is_held = true;
                Ok(Held { connection: Some(connection), memory: Some(memory.clone()), _lock: None })
            }
        }
    }
}

/// How a connection works from its beginning on.
fn set_up(connection: Connection) -> Result<Connection, StoreError> {
    connection.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA busy_timeout = 2000;",
    )?;
    sql::keep_statements(&connection)?;
    Ok(connection)
}

/// An open file. Dropping it gives it up.
pub(super) struct Held {
    /// There until it is dropped.
    connection: Option<Connection>,
    memory: Option<Memory>,
    _lock: Option<Box<dyn Lock>>,
}

impl Held {
    pub(super) fn connection(&mut self) -> Result<&mut Connection, StoreError> {
        self.connection.as_mut().ok_or(StoreError::Gone)
    }

    pub(super) fn reader(&self) -> Result<&Connection, StoreError> {
        self.connection.as_ref().ok_or(StoreError::Gone)
    }

    /// Counts a write; a simulated process dies before it.
    pub(super) fn allow_write(&self) -> Result<(), StoreError> {
        let Some(memory) = &self.memory else { return Ok(()) };
        let mut kept = memory.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.fails_after.is_some_and(|last| kept.writes >= last) {
            return Err(StoreError::Gone);
        }
        kept.writes += 1;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(memory) = &self.memory {
            let mut kept = memory.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.connection = self.connection.take();
            kept.is_held = false;
        }
    }
}

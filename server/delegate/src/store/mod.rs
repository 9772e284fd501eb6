//! The conversation, tasks, tool calls and issues of one project, in one SQLite file.
//!
//! From the ground up: `place` is where the file lies and who holds it, `schema` its tables, `sql` keeps the statements, `rows` reads
//! their columns, `tasks`, `steps`, `claims`, `calls`, `talk` and `quality` are what is written and asked.
//!
//! Every change is one transaction that is synced before the call returns. It must never be opened twice at a time.

mod calls;
mod claims;
mod place;
mod quality;
mod rows;
mod schema;
mod sql;
mod steps;
mod talk;
mod tasks;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use thiserror::Error;

pub use place::{Memory, Place};
pub use quality::{KindQuality, Reported};
pub use steps::StepEnd;
pub use tasks::NewTask;

use place::Held;

/// Why the store could not be used.
#[derive(Debug, Error)]
pub enum StoreError {
    /// Another engine has the project.
    #[error("{0}: another engine works on this project; end it first, or use the one that runs")]
    InUse(String),
    /// The folder can't be used.
    #[error("{0}")]
    Folder(String),
    /// The file was written by a newer version.
    #[error(
        "{file}: it has version {found} of the store, and this program knows {known}; use the newer program"
    )]
    Newer {
        /// The file.
        file: String,
        /// Its version.
        found: i64,
        /// The version of this program.
        known: i64,
    },
    /// SQLite refused.
    #[error("the store of the conversation failed: {0}; look at the disk, then start the engine again")]
    Sqlite(#[from] rusqlite::Error),
    /// A change that the life of a task does not allow.
    #[error("task {task} can't become {next}, for it is {state}")]
    Order {
        /// The task.
        task: String,
        /// Its state.
        state: &'static str,
        /// The state that was asked for.
        next: &'static str,
    },
    /// There is no such row.
    #[error("{0} is not in the store")]
    Missing(String),
    /// A simulated crash.
    #[error("the store is gone")]
    Gone,
}

/// The store of one project.
pub struct Store {
    held: Held,
    session: i64,
}

impl Store {
    /// Opens the store, and makes it if it is missing.
    ///
    /// # Errors
    /// Fails if another engine holds it, if the folder can't be used, or if a newer program wrote it.
    pub fn open(place: &Place) -> Result<Self, StoreError> {
        let mut held = place.take()?;
        schema::prepare(held.connection()?, &place.shown())?;
        let session = talk::last_session(held.connection()?)?;
        Ok(Self { held, session })
    }

    /// The session that new messages belong to; 0 before there is one.
    pub fn session(&self) -> i64 {
        self.session
    }

    fn read(&self) -> Result<&Connection, StoreError> {
        self.held.reader()
    }

    /// Does one change, whole or not at all.
    fn write<T>(
        &mut self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.held.allow_write()?;
        let transaction =
            self.held.connection()?.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let changed = change(&transaction)?;
        transaction.commit()?;
        Ok(changed)
    }
}

//! Who has the results of hosts' tasks: the host, the inbox, or neither yet.
//!
//! A result must never have two ways at once: each move is one transaction.

use entraclaw_work::{Claim, Move};
use rusqlite::params;

use super::rows::{self, TASK};
use super::sql::Sql as _;
use super::{Store, StoreError};
use crate::task::{Task, TaskId};

/// Most tasks that are told at a time, the newest.
const OWED_MAX: u32 = 256;

impl Store {
    /// Makes a move if it is allowed, and says what the state is then.
    ///
    /// # Errors
    /// Fails if there is no such task, or it can't be written.
    pub fn claim(&mut self, id: &TaskId, step: Move) -> Result<Claim, StoreError> {
        let found: Option<String> =
            self.read()?.one("SELECT claim FROM tasks WHERE id = ?", [&id.0], |row| row.get(0))?;
        let now = found.and_then(|name| Claim::by_name(&name));
        let now = now.ok_or_else(|| StoreError::Missing(format!("task {id}")))?;
        let Some(next) = now.after(step) else { return Ok(now) };
        self.write(|transaction| {
            transaction.change("UPDATE tasks SET claim = ? WHERE id = ?", params![next.as_str(), id.0])?;
            Ok(next)
        })
    }

    /// The tasks that have ended and whose result neither its host nor the inbox has, the newest first. One that is older than
    /// the newest of them stays with its task, for a host that asks by its id.
    ///
    /// # Errors
    /// Fails if they can't be read.
    pub fn owed(&self) -> Result<Vec<Task>, StoreError> {
        let sql = format!(
            "SELECT {TASK} FROM tasks WHERE claim NOT IN ('seen', 'told') \
             AND state IN ('completed', 'cancelled', 'failed') ORDER BY number DESC LIMIT {OWED_MAX}"
        );
        Ok(self.read()?.all(&sql, [], rows::task)?)
    }
}

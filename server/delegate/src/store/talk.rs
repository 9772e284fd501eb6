//! Sessions and messages: the conversation of the project.

use rusqlite::{Connection, Transaction, params};

use super::rows;
use super::sql::Sql as _;
use super::{Store, StoreError};
use crate::message::{Message, Speaker};
use crate::task::TaskId;

pub(super) fn last_session(connection: &Connection) -> Result<i64, StoreError> {
    let last = connection.one("SELECT max(number) FROM sessions", [], |row| row.get::<_, Option<i64>>(0))?;
    Ok(last.flatten().unwrap_or(0))
}

pub(super) fn add_message(
    transaction: &Transaction<'_>,
    session: i64,
    task: &TaskId,
    (speaker, model): (&Speaker, Option<&str>),
    text: &str,
    now_ms: i64,
) -> Result<i64, StoreError> {
    transaction.change(
        "INSERT INTO messages (session, task, speaker, text, model, at_ms) VALUES (?, ?, ?, ?, ?, ?)",
        params![session, task.0, speaker.as_str(), text, model, now_ms],
    )?;
    Ok(transaction.last_insert_rowid())
}

impl Store {
    /// Begins a session: what was said before is kept, and no longer part of the conversation.
    ///
    /// # Errors
    /// Fails if it can't be written.
    pub fn begin_session(&mut self, now_ms: i64) -> Result<i64, StoreError> {
        let session = self.write(|transaction| {
            transaction.change("INSERT INTO sessions (began_ms) VALUES (?)", [now_ms])?;
            Ok(transaction.last_insert_rowid())
        })?;
        self.session = session;
        Ok(session)
    }

    /// The last messages of this session, the oldest of them first.
    ///
    /// # Errors
    /// Fails if they can't be read.
    pub fn last_messages(&self, limit: usize) -> Result<Vec<Message>, StoreError> {
        let mut found = self.messages_before(i64::MAX, limit)?;
        found.reverse();
        Ok(found)
    }

    /// The messages of this session up to this one, the newest first.
    fn messages_before(&self, last: i64, limit: usize) -> Result<Vec<Message>, StoreError> {
        let sql = "SELECT * FROM messages WHERE session = ? AND number <= ? ORDER BY number DESC LIMIT ?";
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        Ok(self.read()?.all(sql, params![self.session, last, limit], rows::message)?)
    }

    /// The messages behind `after` up to `last`, at most `limit` of the newest, the oldest of them first.
    ///
    /// # Errors
    /// Fails if they can't be read.
    pub fn messages_between(&self, after: i64, last: i64, limit: usize) -> Result<Vec<Message>, StoreError> {
        let mut found = self.messages_before(last, limit)?;
        found.retain(|message| message.number > after);
        found.reverse();
        Ok(found)
    }

    /// The number of the last message; 0 if there is none.
    ///
    /// # Errors
    /// Fails if it can't be read.
    pub fn last_message(&self) -> Result<i64, StoreError> {
        let last =
            self.read()?.one("SELECT max(number) FROM messages", [], |row| row.get::<_, Option<i64>>(0))?;
        Ok(last.flatten().unwrap_or(0))
    }

    /// The number of messages of this session.
    ///
    /// # Errors
    /// Fails if they can't be counted.
    pub fn message_count(&self) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM messages WHERE session = ?";
        let count: Option<i64> = self.read()?.one(sql, [self.session], |row| row.get(0))?;
        Ok(count.unwrap_or(0).max(0).cast_unsigned())
    }
}

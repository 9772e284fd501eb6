//! Tool calls: which ran, and with what result.

use rusqlite::params;
use serde_json::Value;

use super::rows::{self, CALL};
use super::sql::Sql as _;
use super::{Store, StoreError};
use crate::task::{CallResult, CallState, TaskId, ToolCall};

impl Store {
    /// The calls of a task, in the order in which they were asked for.
    ///
    /// # Errors
    /// Fails if they can't be read.
    pub fn calls(&self, task: &TaskId) -> Result<Vec<ToolCall>, StoreError> {
        let sql = format!("SELECT {CALL} FROM tool_calls WHERE task = ? ORDER BY number");
        Ok(self.read()?.all(&sql, [&task.0], rows::call)?)
    }

    /// One call.
    ///
    /// # Errors
    /// Fails if there is none of this number, or it can't be read.
    pub fn call(&self, number: i64) -> Result<ToolCall, StoreError> {
        let sql = format!("SELECT {CALL} FROM tool_calls WHERE number = ?");
        let found = self.read()?.one(&sql, [number], rows::call)?;
        found.ok_or_else(|| StoreError::Missing(format!("tool call {number}")))
    }

    /// The first call of a task that is not done.
    ///
    /// # Errors
    /// Fails if it can't be read.
    pub fn next_call(&self, task: &TaskId) -> Result<Option<ToolCall>, StoreError> {
        let sql = format!(
            "SELECT {CALL} FROM tool_calls WHERE task = ? AND state <> 'done' ORDER BY number LIMIT 1"
        );
        Ok(self.read()?.one(&sql, [&task.0], rows::call)?)
    }

    /// The calls that wait for a person, with their tasks.
    ///
    /// # Errors
    /// Fails if they can't be read.
    pub fn awaiting_approval(&self) -> Result<Vec<(TaskId, ToolCall)>, StoreError> {
        let sql =
            format!("SELECT {CALL}, task FROM tool_calls WHERE state = 'awaits_approval' ORDER BY number");
        Ok(self.read()?.all(&sql, [], |row| Ok((TaskId(row.get("task")?), rows::call(row)?)))?)
    }

    fn move_call(&mut self, number: i64, from: &[CallState], to: CallState) -> Result<(), StoreError> {
        self.write(|transaction| {
            let state: Option<String> =
                transaction
                    .one("SELECT state FROM tool_calls WHERE number = ?", [number], |row| row.get(0))?;
            let state = state.and_then(|name| CallState::by_name(&name));
            if !state.is_some_and(|state| from.contains(&state)) {
                return Err(StoreError::Missing(format!(
                    "a tool call {number} that can become {}",
                    to.as_str()
                )));
            }
            transaction
                .change("UPDATE tool_calls SET state = ? WHERE number = ?", params![to.as_str(), number])?;
            Ok(())
        })
    }

    /// A person must approve the call first.
    ///
    /// # Errors
    /// Fails if it can't be written.
    pub fn ask_approval(&mut self, number: i64, asks: &str) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.change(
                "UPDATE tool_calls SET state = 'awaits_approval', asks = ? WHERE number = ? AND state = 'asked'",
                params![asks, number],
            )?;
            Ok(())
        })
    }

    /// A person has approved it.
    ///
    /// # Errors
    /// Fails if it does not wait for that, or can't be written.
    pub fn approve_call(&mut self, number: i64) -> Result<(), StoreError> {
        self.move_call(number, &[CallState::AwaitsApproval], CallState::Approved)
    }

    /// It is about to run.
    ///
    /// # Errors
    /// Fails if it has run, or can't be written.
    pub fn begin_call(&mut self, number: i64, now_ms: i64) -> Result<(), StoreError> {
        self.write(|transaction| {
            let changed = transaction.change(
                "UPDATE tool_calls SET state = 'running', runs = runs + 1, started_ms = coalesce(started_ms, ?) \
                 WHERE number = ? AND state IN ('asked', 'approved')",
                params![now_ms, number],
            )?;
            if changed == 0 {
                return Err(StoreError::Missing(format!("a tool call {number} that has not run")));
            }
            Ok(())
        })
    }

    /// It was stopped whole and runs again later, or it only reads and was cut by a crash.
    ///
    /// # Errors
    /// Fails if it does not run, or can't be written.
    pub fn call_again(&mut self, number: i64) -> Result<(), StoreError> {
        self.move_call(number, &[CallState::Running], CallState::Approved)
    }

    /// It has its result.
    ///
    /// # Errors
    /// Fails if it had one, or can't be written.
    pub fn end_call(&mut self, number: i64, result: &CallResult, now_ms: i64) -> Result<(), StoreError> {
        let shown = Value::Object(result.shown.clone()).to_string();
        self.write(|transaction| {
            let changed = transaction.change(
                "UPDATE tool_calls SET state = 'done', text = ?, status = ?, shown = ?, ended_ms = ? \
                 WHERE number = ? AND state <> 'done'",
                params![result.text, result.status, shown, now_ms, number],
            )?;
            if changed == 0 {
                return Err(StoreError::Missing(format!("a tool call {number} without a result")));
            }
            Ok(())
        })
    }
}

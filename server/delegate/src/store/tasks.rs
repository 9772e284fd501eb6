//! The life of a task, each change in one transaction.
//!
//! A task that has ended must never change again.

use entraclaw_inbox::journal::ConsumerName;
use entraclaw_work::Claim;
use rusqlite::{Transaction, params};
use serde_json::json;

use super::rows::{self, TASK};
use super::sql::Sql as _;
use super::talk::add_message;
use super::{Store, StoreError};
use crate::message::Speaker;
use crate::source::Source;
use crate::task::{ContextFile, Hint, Resumption, Task, TaskId, TaskState};

/// A task that is handed over.
#[derive(Debug, Clone)]
pub struct NewTask {
    /// Its id, which is not used yet.
    pub id: TaskId,
    /// Who asks.
    pub source: Source,
    /// What is asked.
    pub message: String,
    /// The files that come along.
    pub context: Vec<ContextFile>,
    /// The kind of task.
    pub hint: Hint,
    /// The consumer as which the session that asks reads the inbox, where it says so.
    pub consumer: Option<ConsumerName>,
}

fn state_of(transaction: &Transaction<'_>, id: &TaskId) -> Result<TaskState, StoreError> {
    let state: Option<String> =
        transaction.one("SELECT state FROM tasks WHERE id = ?", [&id.0], |row| row.get(0))?;
    let state = state.and_then(|name| TaskState::by_name(&name));
    state.ok_or_else(|| StoreError::Missing(format!("task {id}")))
}

fn move_task(transaction: &Transaction<'_>, id: &TaskId, next: TaskState) -> Result<(), StoreError> {
    let state = state_of(transaction, id)?;
    if !state.may_become(next) {
        return Err(StoreError::Order { task: id.0.clone(), state: state.as_str(), next: next.as_str() });
    }
    transaction.change("UPDATE tasks SET state = ? WHERE id = ?", params![next.as_str(), id.0])?;
    Ok(())
}

impl Store {
    /// Adds a task with its message.
    ///
    /// # Errors
    /// Fails if it can't be written.
    pub fn add_task(&mut self, new: &NewTask, now_ms: i64) -> Result<Task, StoreError> {
        if self.session == 0 {
            self.begin_session(now_ms)?;
        }
        let session = self.session;
        let claim = if new.source.is_person() { Claim::Seen } else { Claim::Open };
        let context = json!(new.context).to_string();
        self.write(|transaction| {
            transaction.change(
                "INSERT INTO tasks (id, session, source, message, context, hint, consumer, state, claim, created_ms) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?)",
                params![
                    new.id.0,
                    session,
                    new.source.as_str(),
                    new.message,
                    context,
                    new.hint.as_str(),
                    new.consumer.as_ref().map(ConsumerName::as_str),
                    claim.as_str(),
                    now_ms
                ],
            )?;
            let speaker = Speaker::Asker(new.source.clone());
            add_message(transaction, session, &new.id, (&speaker, None), &new.message, now_ms)?;
            Ok(())
        })?;
        self.task(&new.id)
    }

    /// Begins a task, or goes on with it.
    ///
    /// # Errors
    /// Fails if it has ended, or can't be written.
    pub fn start_task(
        &mut self,
        id: &TaskId,
        model: Option<&str>,
        resumed: Option<Resumption>,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            move_task(transaction, id, TaskState::InProgress)?;
            transaction.change(
                "UPDATE tasks SET model = coalesce(?, model), resumed = coalesce(?, resumed), \
                 started_ms = coalesce(started_ms, ?) WHERE id = ?",
                params![model, resumed.map(Resumption::as_str), now_ms, id.0],
            )?;
            Ok(())
        })
    }

    /// Pauses a task for a person.
    ///
    /// # Errors
    /// Fails if it is not in progress, or can't be written.
    pub fn preempt_task(&mut self, id: &TaskId, partial: &str, worked_ms: u64) -> Result<(), StoreError> {
        self.write(|transaction| {
            move_task(transaction, id, TaskState::Preempted)?;
            transaction.change(
                "UPDATE tasks SET partial = ?, worked_ms = ? WHERE id = ?",
                params![partial, worked_ms.cast_signed(), id.0],
            )?;
            Ok(())
        })
    }

    /// Puts a task back that was in progress when its engine ended, with a note on what that means for it.
    ///
    /// # Errors
    /// Fails if it is not in progress, or can't be written.
    pub fn requeue_task(&mut self, id: &TaskId, notes: &[String]) -> Result<(), StoreError> {
        self.write(|transaction| {
            move_task(transaction, id, TaskState::Queued)?;
            transaction
                .change("UPDATE tasks SET notes = ? WHERE id = ?", params![json!(notes).to_string(), id.0])?;
            Ok(())
        })
    }

    /// Ends a task. Its answer is a message of the conversation.
    ///
    /// # Errors
    /// Fails if it has ended, or can't be written.
    pub fn end_task(
        &mut self,
        id: &TaskId,
        state: TaskState,
        result: Option<&str>,
        worked_ms: u64,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            move_task(transaction, id, state)?;
            transaction.change(
                "UPDATE tasks SET result = ?, worked_ms = ?, ended_ms = ?, was_asking = 0, held = NULL WHERE id = ?",
                params![result, worked_ms.cast_signed(), now_ms, id.0],
            )?;
            if state == TaskState::Completed {
                let sql = "SELECT session, model FROM tasks WHERE id = ?";
                let about = transaction.one(sql, [&id.0], |row| Ok((row.get(0)?, row.get(1)?)))?;
                let (session, model): (i64, Option<String>) =
                    about.ok_or_else(|| StoreError::Missing(format!("task {id}")))?;
                let speaker = (&Speaker::Model, model.as_deref());
                add_message(transaction, session, id, speaker, result.unwrap_or_default(), now_ms)?;
            }
            // What was never begun never runs.
            transaction.change(
                "UPDATE tool_calls SET state = 'done', text = '', status = 'cancelled', shown = '{}', ended_ms = ? \
                 WHERE task = ? AND state IN ('asked', 'approved', 'awaits_approval')",
                params![now_ms, id.0],
            )?;
            Ok(())
        })
    }

    /// A task.
    ///
    /// # Errors
    /// Fails if there is none of this id, or it can't be read.
    pub fn task(&self, id: &TaskId) -> Result<Task, StoreError> {
        self.find_task(id)?.ok_or_else(|| StoreError::Missing(format!("task {id}")))
    }

    /// A task, if there is one of this id.
    ///
    /// # Errors
    /// Fails if it can't be read.
    pub fn find_task(&self, id: &TaskId) -> Result<Option<Task>, StoreError> {
        let sql = format!("SELECT {TASK} FROM tasks WHERE id = ?");
        Ok(self.read()?.one(&sql, [&id.0], rows::task)?)
    }

    /// The tasks that have not ended, in their order.
    ///
    /// # Errors
    /// Fails if they can't be read.
    pub fn open_tasks(&self) -> Result<Vec<Task>, StoreError> {
        let sql = format!(
            "SELECT {TASK} FROM tasks WHERE state IN ('queued', 'in_progress', 'preempted') ORDER BY number"
        );
        Ok(self.read()?.all(&sql, [], rows::task)?)
    }

    /// Notes why a task was cancelled, for those who look at the figures.
    ///
    /// # Errors
    /// Fails if it can't be written.
    pub fn cancel_task(
        &mut self,
        id: &TaskId,
        reason: Option<&str>,
        partial: &str,
        worked_ms: u64,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            move_task(transaction, id, TaskState::Cancelled)?;
            transaction.change(
                "UPDATE tasks SET cancel_reason = ?, partial = ?, worked_ms = ?, ended_ms = ?, was_asking = 0, \
                 held = NULL WHERE id = ?",
                params![reason, partial, worked_ms.cast_signed(), now_ms, id.0],
            )?;
            transaction.change(
                "UPDATE tool_calls SET state = 'done', text = '', status = 'cancelled', shown = '{}', ended_ms = ? \
                 WHERE task = ? AND state IN ('asked', 'approved', 'awaits_approval')",
                params![now_ms, id.0],
            )?;
            Ok(())
        })
    }
}

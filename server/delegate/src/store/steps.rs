//! The steps of a task: each is asked, grows, and has its answer.
//!
//! A step that has its answer must never change again.

use rusqlite::params;
use serde_json::json;

use super::rows;
use super::sql::Sql as _;
use super::{Store, StoreError};
use crate::task::{CallResult, Resumption, Step, TaskId, Tokens};

/// The end of a step: the model's answer.
#[derive(Debug, Clone)]
pub struct StepEnd {
    /// The answer.
    pub step: Step,
    /// For each of its requests, the result if the request is not of the right form.
    pub refused: Vec<Option<CallResult>>,
    /// The tokens that it took.
    pub tokens: Tokens,
    /// How it had gone on, if it had been interrupted; the answer may prove more than was known before.
    pub resumed: Option<Resumption>,
    /// The notes on the whole task, anew.
    pub notes: Vec<String>,
}

impl Store {
    /// The step is about to be asked, from its beginning or from what is kept of its text.
    ///
    /// # Errors
    /// Fails if it can't be written.
    pub fn begin_asking(
        &mut self,
        id: &TaskId,
        model: &str,
        heard: i64,
        partial: &str,
        resumed: Option<Resumption>,
        notes: &[String],
    ) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.change(
                "UPDATE tasks SET model = ?, heard = ?, partial = ?, was_asking = 1, held = NULL, \
                 resumed = coalesce(?, resumed), notes = ? WHERE id = ?",
                params![
                    model,
                    heard,
                    partial,
                    resumed.map(Resumption::as_str),
                    json!(notes).to_string(),
                    id.0
                ],
            )?;
            Ok(())
        })
    }

    /// What the model has said so far in this step.
    ///
    /// # Errors
    /// Fails if it can't be written.
    pub fn set_partial(&mut self, id: &TaskId, partial: &str, worked_ms: u64) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.change(
                "UPDATE tasks SET partial = ?, worked_ms = ? WHERE id = ?",
                params![partial, worked_ms.cast_signed(), id.0],
            )?;
            Ok(())
        })
    }

    /// The step was not asked after all: nothing of it was said.
    ///
    /// # Errors
    /// Fails if it can't be written.
    pub fn stop_asking(&mut self, id: &TaskId) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.change("UPDATE tasks SET was_asking = 0, partial = '' WHERE id = ?", [&id.0])?;
            Ok(())
        })
    }

    /// The server holds the step under this name.
    ///
    /// # Errors
    /// Fails if it can't be written.
    pub fn set_held(&mut self, id: &TaskId, held: &str) -> Result<(), StoreError> {
        self.write(|transaction| {
            transaction.change("UPDATE tasks SET held = ? WHERE id = ?", params![held, id.0])?;
            Ok(())
        })
    }

    /// The model has answered the step. What it asked for is kept with it; the task is at the next step.
    ///
    /// # Errors
    /// Fails if it can't be written.
    pub fn end_step(&mut self, id: &TaskId, end: &StepEnd, now_ms: i64) -> Result<(), StoreError> {
        let step = &end.step;
        self.write(|transaction| {
            transaction.change(
                "INSERT INTO steps (task, step, heard, text, requests) VALUES (?, ?, ?, ?, ?)",
                params![id.0, step.step, step.heard, step.text, json!(step.requests).to_string()],
            )?;
            let mut malformed = 0;
            for (at, request) in step.requests.iter().enumerate() {
                transaction.change(
                    "INSERT INTO tool_calls (task, step, request, state) VALUES (?, ?, ?, 'asked')",
                    params![id.0, step.step, json!(request).to_string()],
                )?;
                let Some(Some(refused)) = end.refused.get(at) else { continue };
                malformed += 1;
                let number = transaction.last_insert_rowid();
                transaction.change(
                    "UPDATE tool_calls SET state = 'done', text = ?, status = ?, shown = ?, ended_ms = ? WHERE number = ?",
                    params![refused.text, refused.status, json!(refused.shown).to_string(), now_ms, number],
                )?;
            }
            transaction.change(
                "UPDATE tasks SET step = step + 1, partial = '', was_asking = 0, held = NULL, \
                 resumed = coalesce(?, resumed), notes = ?, malformed = malformed + ?, \
                 input_tokens = input_tokens + ?, output_tokens = output_tokens + ? WHERE id = ?",
                params![
                    end.resumed.map(Resumption::as_str),
                    json!(end.notes).to_string(),
                    malformed,
                    end.tokens.input.cast_signed(),
                    end.tokens.output.cast_signed(),
                    id.0
                ],
            )?;
            Ok(())
        })
    }

    /// The steps of a task that have their answer, in order.
    ///
    /// # Errors
    /// Fails if they can't be read.
    pub fn steps(&self, id: &TaskId) -> Result<Vec<Step>, StoreError> {
        let sql = "SELECT step, heard, text, requests FROM steps WHERE task = ? ORDER BY step";
        Ok(self.read()?.all(sql, [&id.0], rows::step)?)
    }
}

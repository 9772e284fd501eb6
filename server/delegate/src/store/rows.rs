//! From the columns of a row to plain data.
//!
//! It must never take a word for another one that it does not know.

use entraclaw_inbox::journal::ConsumerName;
use entraclaw_work::Claim;
use rusqlite::types::Type;
use rusqlite::{Error, Row};
use serde::de::DeserializeOwned;

use crate::message::{Message, Speaker};
use crate::source::Source;
use crate::task::{CallResult, CallState, Hint, Resumption, Step, Task, TaskId, TaskState, Tokens, ToolCall};

pub(super) const TASK: &str = "number, id, source, message, context, hint, consumer, state, model, step, heard, partial, was_asking, held, \
     resumed, result, claim, notes, input_tokens, output_tokens, malformed, created_ms, started_ms, ended_ms, worked_ms";

pub(super) const CALL: &str =
    "number, step, request, state, asks, text, status, shown, runs, started_ms, ended_ms";

fn known<T>(row: &Row<'_>, column: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<T, Error> {
    let text: String = row.get(column)?;
    read(&text).ok_or_else(|| wrong(format!("{column}: {text:?} is not known")))
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T, Error> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|error| wrong(format!("{column}: {error}")))
}

fn wrong(why: String) -> Error {
    Error::FromSqlConversionFailure(0, Type::Text, why.into())
}

/// A count, which SQLite keeps as a signed number.
fn count(row: &Row<'_>, column: &str) -> Result<u64, Error> {
    Ok(row.get::<_, i64>(column)?.max(0).cast_unsigned())
}

fn small(row: &Row<'_>, column: &str) -> Result<u32, Error> {
    Ok(u32::try_from(count(row, column)?).unwrap_or(u32::MAX))
}

pub(super) fn task(row: &Row<'_>) -> Result<Task, Error> {
    let resumed: Option<String> = row.get("resumed")?;
    Ok(Task {
        number: row.get("number")?,
        id: TaskId(row.get("id")?),
        source: Source::from(row.get::<_, String>("source")?),
        message: row.get("message")?,
        context: json(row, "context")?,
        hint: known(row, "hint", Hint::by_name)?,
        consumer: row.get::<_, Option<String>>("consumer")?.and_then(|name| ConsumerName::new(&name).ok()),
        state: known(row, "state", TaskState::by_name)?,
        model: row.get("model")?,
        step: small(row, "step")?,
        heard: row.get("heard")?,
        partial: row.get("partial")?,
        was_asking: row.get("was_asking")?,
        held: row.get("held")?,
        resumed: resumed.and_then(|name| Resumption::by_name(&name)),
        result: row.get("result")?,
        claim: known(row, "claim", Claim::by_name)?,
        notes: json(row, "notes")?,
        tokens: Tokens { input: count(row, "input_tokens")?, output: count(row, "output_tokens")? },
        malformed: small(row, "malformed")?,
        created_ms: row.get("created_ms")?,
        started_ms: row.get("started_ms")?,
        ended_ms: row.get("ended_ms")?,
        worked_ms: count(row, "worked_ms")?,
    })
}

pub(super) fn step(row: &Row<'_>) -> Result<Step, Error> {
    Ok(Step {
        step: small(row, "step")?,
        heard: row.get("heard")?,
        text: row.get("text")?,
        requests: json(row, "requests")?,
    })
}

pub(super) fn call(row: &Row<'_>) -> Result<ToolCall, Error> {
    let state = known(row, "state", CallState::by_name)?;
    let result = match state {
        CallState::Done => Some(CallResult {
            text: row.get("text")?,
            status: row.get("status")?,
            shown: json(row, "shown")?,
        }),
        _ => None,
    };
    Ok(ToolCall {
        number: row.get("number")?,
        step: small(row, "step")?,
        request: json(row, "request")?,
        state,
        asks: row.get("asks")?,
        result,
        runs: small(row, "runs")?,
        started_ms: row.get("started_ms")?,
        ended_ms: row.get("ended_ms")?,
    })
}

pub(super) fn message(row: &Row<'_>) -> Result<Message, Error> {
    Ok(Message {
        number: row.get("number")?,
        speaker: Speaker::named(row.get("speaker")?),
        task: TaskId(row.get("task")?),
        text: row.get("text")?,
        model: row.get("model")?,
        at_ms: row.get("at_ms")?,
    })
}

//! Tasks of the protocol, in both its forms: a call of `chat` goes on as one, and its client asks for it by the protocol's own
//! methods. A task has one id, whichever way it is asked for.
//!
//! It must never tell a client of a task of another source, nor let a result count as seen whose answer was not sent.

use entraclaw_mcp::message::{Object, RpcError, text};
use entraclaw_mcp::tasks::{META_RELATED, TaskNow, unknown};
use entraclaw_mcp::{Answer, Caller, Connection, Era, Receipt, Route};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use jiff::Timestamp;
use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use super::handed::Handing;
use super::shapes;
use crate::engine::{EngineError, TaskView};
use crate::source::Source;
use crate::task::{TaskId, TaskState};

/// How often a client should ask, in milliseconds.
const POLL_INTERVAL_MS: u64 = 1_000;
/// Most requests of a client that wait for the engine.
const ASKED_MAX: usize = 64;
/// What the ids of tasks begin with.
const PREFIX: &str = "task_";

/// The requests of one client about its tasks.
#[derive(Default)]
pub(super) struct TaskCalls {
    asked: FuturesUnordered<BoxFuture<'static, Answered>>,
    answered: Vec<Answered>,
}

/// The answer of a request.
pub(super) struct Answered {
    route: Route,
    outcome: Result<Value, RpcError>,
    pub(super) receipt: Option<Receipt>,
}

impl TaskCalls {
    /// Takes a request; `false` if it is not about a task of ours. With it comes the way of results to this client, and the tasks
    /// that a list holds.
    pub(super) fn request(
        &mut self,
        caller: &Caller,
        method: &str,
        params: &Object,
        (handing, listed): (Handing, Vec<TaskId>),
        connection: &mut Connection,
    ) -> bool {
        let id = text(params, "taskId").ok().filter(|id| id.starts_with(PREFIX)).map(str::to_owned);
        let asks = match (method, id) {
            ("tasks/list", _) => Asks::List(listed),
            ("tasks/get", Some(id)) => Asks::Get(TaskId(id)),
            ("tasks/result", Some(id)) => Asks::Result(TaskId(id)),
            ("tasks/cancel", Some(id)) => Asks::Cancel(TaskId(id)),
            // No task asks its client for input, so an update has no effect.
            ("tasks/update", Some(_)) => Asks::Nothing,
            _ => return false,
        };
        if self.asked.len() >= ASKED_MAX {
            let says = format!("{ASKED_MAX} requests wait for the engine already; wait for an answer");
            let error = RpcError::new(ErrorCode::INTERNAL_ERROR, says);
            connection.answer(&caller.route, Err(error), Vec::new());
            return true;
        }
        connection.hold(&caller.route);
        let route = caller.route.clone();
        let source = Source::host(caller.client.as_deref().unwrap_or_default());
        self.asked.push(
            async move {
                let (outcome, receipt) = match answer(asks, &source, route.era, &handing).await {
                    Ok((value, receipt)) => (Ok(value), receipt),
                    Err(error) => (Err(error), None),
                };
                Answered { route, outcome, receipt }
            }
            .boxed(),
        );
        true
    }

    /// Waits for the next answer, and keeps it.
    pub(super) async fn next(&mut self) {
        match self.asked.next().await {
            Some(answered) => self.answered.push(answered),
            None => std::future::pending().await,
        }
    }

    pub(super) fn has_answers(&self) -> bool {
        !self.answered.is_empty()
    }

    /// Sends the answers that are there, and gives back the receipts of those that are not wanted any more.
    pub(super) fn send(&mut self, connection: &mut Connection) -> Vec<Receipt> {
        let mut unwanted = Vec::new();
        for Answered { route, outcome, receipt } in std::mem::take(&mut self.answered) {
            if !connection.release(&route.id) {
                unwanted.extend(receipt);
                continue;
            }
            let outcome = outcome.map(|mut value| {
                if route.era == Era::Modern
                    && let Some(result) = value.get_mut("result")
                {
                    *result = connection.in_era(Era::Modern, result.take());
                }
                value
            });
            connection.answer(&route, outcome, receipt.into_iter().collect());
        }
        unwanted
    }
}

enum Asks {
    List(Vec<TaskId>),
    Get(TaskId),
    Result(TaskId),
    Cancel(TaskId),
    Nothing,
}

/// A task as the protocol tells of it.
pub(super) fn now(view: &TaskView, era: Era) -> TaskNow {
    let task = &view.task;
    let status = match (task.state, era) {
        (TaskState::Queued | TaskState::InProgress | TaskState::Preempted, _) => "working",
        // In the newer form a tool's own error is a result, as every other one.
        (TaskState::Completed, _) | (TaskState::Failed, Era::Modern) => "completed",
        (TaskState::Failed, Era::Legacy) => "failed",
        (TaskState::Cancelled, _) => "cancelled",
    };
    let time = |ms: i64| Timestamp::from_millisecond(ms).map(|at| at.to_string()).unwrap_or_default();
    TaskNow {
        id: task.id.0.clone(),
        status,
        created_at: time(task.created_ms),
        updated_at: time(task.ended_ms.or(task.started_ms).unwrap_or(task.created_ms)),
        message: (!task.state.is_ended()).then(|| view.doing.clone()),
        ttl_ms: None,
        poll_interval_ms: POLL_INTERVAL_MS,
    }
}

async fn answer(
    asks: Asks,
    source: &Source,
    era: Era,
    handing: &Handing,
) -> Result<(Value, Option<Receipt>), RpcError> {
    let engine = &handing.engine;
    match asks {
        Asks::Nothing => Ok((json!({}), None)),
        Asks::List(tasks) => {
            let mut shown = Vec::new();
            for task in tasks.iter().rev() {
                if let Ok(view) = engine.poll(task).await {
                    shown.push(now(&view, era).json(era));
                }
            }
            Ok((json!({"tasks": shown}), None))
        }
        Asks::Get(task) => {
            let view = own(handing, &task, source).await?;
            handing.callers.asked(&task);
            let mut value = now(&view, era).json(era);
            if era == Era::Legacy || value["status"] != "completed" {
                return Ok((value, None));
            }
            let (result, receipt) = result(handing, &view).await?;
            value["result"] = result;
            Ok((value, receipt))
        }
        Asks::Result(task) => {
            own(handing, &task, source).await?;
            // While its client waits, the inbox leaves the result alone.
            let _answering = handing.callers.answering(&task);
            let view = engine.ended(&task).await.map_err(|error| failed(&error))?;
            let (mut result, receipt) = result(handing, &view).await?;
            result["_meta"] = json!({META_RELATED: {"taskId": task}});
            Ok((result, receipt))
        }
        Asks::Cancel(task) => {
            own(handing, &task, source).await?;
            let reason = Some("its client cancelled the task".to_owned());
            let view = match (engine.cancel(&task, reason).await, era) {
                (Ok(view), _) => view,
                // In the newer form a cancel is a wish.
                (Err(EngineError::CannotCancel { .. }), Era::Modern) => return Ok((json!({}), None)),
                (Err(error @ EngineError::CannotCancel { .. }), Era::Legacy) => {
                    return Err(RpcError::invalid_params(error.to_string()));
                }
                (Err(error), _) => return Err(failed(&error)),
            };
            let value = match era {
                Era::Legacy => now(&view, era).json(era),
                Era::Modern => json!({}),
            };
            let taken = handing.claim(&view).await.map_err(|error| failed(&error))?;
            Ok((value, taken.receipt()))
        }
    }
}

/// A task of this client.
async fn own(handing: &Handing, task: &TaskId, source: &Source) -> Result<TaskView, RpcError> {
    match handing.engine.poll(task).await {
        Ok(view) if view.task.source == *source => Ok(view),
        Ok(_) | Err(EngineError::NotFound(_)) => Err(unknown()),
        Err(error) => Err(failed(&error)),
    }
}

/// What the call would have been answered with, and its receipt.
async fn result(handing: &Handing, view: &TaskView) -> Result<(Value, Option<Receipt>), RpcError> {
    let shown = shapes::task(view, 0);
    let (shown, receipt) = handing.value(view, shown).await.map_err(|error| failed(&error))?;
    let answer = match view.task.state {
        TaskState::Completed => Answer::json(&shown),
        _ => Answer::error(&shown.to_string()),
    };
    Ok((answer.into_result(), receipt))
}

fn failed(error: &EngineError) -> RpcError {
    RpcError::new(ErrorCode::INTERNAL_ERROR, error.to_string())
}

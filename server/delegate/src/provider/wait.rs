//! Waits for one task with `wait: true`, tells progress, and answers before the host gives the call up.
//!
//! It must never end a task because its host stopped waiting; only a cancel of the call ends it.

use std::time::Duration;

use entraclaw_mcp::{Answer, Beyond, Cancellation, Era, Progress};
use entraclaw_work::Move;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until};

use super::failure::Failure;
use super::handed::Handing;
use super::shapes;
use super::tasks::now;
use crate::engine::{EngineError, Event};
use crate::task::{TaskId, TaskState};

/// The time before the host's limit at which the call is answered.
const MARGIN: Duration = Duration::from_secs(2);
/// Longest wait where progress keeps the host waiting.
const KEPT_OPEN_MAX: Duration = Duration::from_secs(600);
/// Longest wait where the late answer wakes the host's model.
const IN_BACKGROUND_MAX: Duration = Duration::from_secs(3_600);

/// How a host waits.
pub(super) struct Waiting {
    pub(super) until: Instant,
    pub(super) beyond: Beyond,
    pub(super) progress: Progress,
    pub(super) cancellation: Cancellation,
    /// Whether the client takes a task of the extension in place of an answer that is not the last.
    pub(super) takes_task: bool,
}

impl Waiting {
    fn deadline(&self) -> (Instant, Option<Duration>) {
        let now = Instant::now();
        let (until, every) = match self.beyond {
            Beyond::GivenUp => (self.until, None),
            Beyond::KeptOpen(every) => (self.until.max(now + KEPT_OPEN_MAX), Some(every)),
            Beyond::InBackground(every) => (self.until.max(now + IN_BACKGROUND_MAX), Some(every)),
        };
        (until.checked_sub(MARGIN).unwrap_or(until), every)
    }
}

/// Waits for the end of a task, or for a person who interrupts it. `events` began before the task did.
pub(super) async fn wait(
    handing: &Handing,
    id: &TaskId,
    mut events: Receiver<Event>,
    mut waiting: Waiting,
) -> Result<Answer, EngineError> {
    let engine = &handing.engine;
    // While a caller waits, the inbox leaves the result alone.
    let _answering = handing.callers.answering(id);
    let (deadline, every) = waiting.deadline();
    let began = Instant::now();
    let (mut steps, mut told_at) = (0, began);
    loop {
        // Half the interval, so that a slow pipe does not use it up.
        let next = every.map_or(deadline, |every| (told_at + every / 2).min(deadline));
        let says = tokio::select! {
            biased;
            () = waiting.cancellation.cancelled() => {
                if engine.cancel(id, Some("the call was cancelled".to_owned())).await.is_ok() {
                    // The inbox need not tell of what the caller ended.
                    engine.claim(id, Move::Take).await?;
                    engine.claim(id, Move::HandOn).await?;
                }
                return Ok(Failure::new("execution_error", "the call was cancelled, and its task too").answer());
            }
            event = events.recv() => match event {
                Ok(Event::Preempted(view)) if view.task.id == *id && waiting.takes_task => {
                    return Ok(Answer::task_in(Era::Modern, &now(&view, Era::Modern)));
                }
                Ok(Event::Ended(view) | Event::Preempted(view)) if view.task.id == *id => {
                    return handing.answer(&view, 0).await;
                }
                Ok(Event::Progress { task, says, .. }) if task == *id => says,
                Ok(Event::Started(view) | Event::Resumed(view)) if view.task.id == *id => view.doing.clone(),
                Ok(_) => continue,
                Err(RecvError::Lagged(_)) => {
                    let view = engine.poll(id).await?;
                    if view.task.state.is_ended() || view.task.state == TaskState::Preempted {
                        return handing.answer(&view, 0).await;
                    }
                    view.doing
                }
                Err(RecvError::Closed) => return Err(EngineError::Ended),
            },
            () = sleep_until(next) => {
                let view = engine.poll(id).await?;
                if Instant::now() >= deadline {
                    if waiting.takes_task && !view.task.state.is_ended() {
                        handing.callers.asked(id);
                        return Ok(Answer::task_in(Era::Modern, &now(&view, Era::Modern)));
                    }
                    let is_woken = handing.wakes(&view.task);
                    if is_woken && !view.task.state.is_ended() {
                        handing.callers.promised(id);
                    }
                    let ticket = shapes::ticket(&view, is_woken);
                    let (ticket, receipt) = handing.value(&view, ticket).await?;
                    let answer = Answer::json(&ticket);
                    return Ok(match receipt {
                        Some(receipt) => answer.with_receipt(receipt),
                        None => answer,
                    });
                }
                format!("{}, {} s", view.doing, began.elapsed().as_secs())
            }
        };
        steps += 1;
        told_at = Instant::now();
        waiting.progress.tell(steps, None, says);
    }
}

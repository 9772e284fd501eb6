//! What the engine is told, each with the way for its answer.

use std::sync::Arc;

use entraclaw_work::{Claim, Move};
use tokio::sync::broadcast::Receiver;
use tokio::sync::oneshot::Sender;

use super::error::EngineError;
use super::event::Event;
use super::parts::Submission;
use super::view::{Capabilities, History, Snapshot, TaskView};
use crate::issue::Issue;
use crate::store::{KindQuality, Reported};
use crate::task::TaskId;

/// A command of a handle.
pub(super) enum Command {
    Submit(Submission, Sender<Result<TaskView, EngineError>>),
    Cancel(TaskId, Option<String>, Sender<Result<TaskView, EngineError>>),
    Poll(TaskId, Sender<Result<TaskView, EngineError>>),
    History { limit: usize, with_calls: bool, answer: Sender<History> },
    Snapshot(usize, Sender<(Snapshot, Receiver<Event>)>),
    Look(Sender<Arc<Capabilities>>),
    Quality(Sender<Vec<KindQuality>>),
    Owed(Sender<Vec<TaskView>>),
    Claim(TaskId, Move, Sender<Result<Claim, EngineError>>),
    Report(Issue, Sender<Result<Reported, EngineError>>),
    Decide { number: i64, may_run: bool, answer: Sender<Result<(), EngineError>> },
    BeginSession(Sender<()>),
    ShutDown(Sender<()>),
}

//! What is under way: one thing at a time, which ends by itself or is looked at when its time is up.
//!
//! Waiting for it must never lose anything when it is given up.

use entraclaw_models::{Answer, Facts, Held, ModelError, Piece};
use futures_util::future::{BoxFuture, pending};
use tokio::time::Instant;

use super::asking::Asking;
use super::running::Running;
use crate::task::TaskId;
use crate::tool::ToolOutcome;

/// What is under way.
pub(super) enum Doing {
    /// Nothing; what is next has to be decided.
    Nothing,
    /// The server is asked for the facts of its model.
    Facts(BoxFuture<'static, Result<Facts, ModelError>>, Instant),
    /// The server brings a step back that it has held.
    BringingBack(BoxFuture<'static, bool>, Instant),
    /// The model answers.
    Asking(Box<Asking>),
    /// The server holds the step of a task that was paused.
    Holding(TaskId, BoxFuture<'static, Option<Held>>, Instant),
    /// What a task has done is kept, before its answer is told.
    Reporting(TaskId, BoxFuture<'static, Option<String>>, Instant),
    /// A tool runs.
    Tool(Box<Running>),
    /// A tool call waits for a person.
    Approval(i64, Instant),
    /// The model can't be asked before this instant.
    Waiting(Instant),
}

/// What has happened to what is under way.
pub(super) enum Happened {
    Facts(Result<Facts, ModelError>),
    BroughtBack(bool),
    Piece(Piece),
    Answered(Result<Answer, ModelError>),
    Held(Option<Held>),
    Reported(Option<String>),
    ToolEnded(ToolOutcome),
    TimeIsUp,
}

impl Doing {
    /// Waits for it. When this is dropped, nothing is lost.
    pub(super) async fn happen(&mut self) -> Happened {
        match self {
            Self::Nothing | Self::Approval(..) | Self::Waiting(_) => pending().await,
            Self::Facts(reading, _) => Happened::Facts(reading.await),
            Self::BringingBack(bringing, _) => Happened::BroughtBack(bringing.await),
            Self::Holding(_, holding, _) => Happened::Held(holding.await),
            Self::Reporting(_, reporting, _) => Happened::Reported(reporting.await),
            Self::Tool(running) => Happened::ToolEnded((&mut running.work).await),
            Self::Asking(asking) => tokio::select! {
                biased;
                Some(piece) = asking.pieces.recv() => Happened::Piece(piece),
                answer = &mut asking.answer => Happened::Answered(answer),
            },
        }
    }

    /// When something has to be done about it.
    pub(super) fn due(&self) -> Option<Instant> {
        match self {
            Self::Nothing => None,
            Self::Facts(_, at)
            | Self::BringingBack(_, at)
            | Self::Holding(_, _, at)
            | Self::Reporting(_, _, at)
            | Self::Approval(_, at)
            | Self::Waiting(at) => Some(*at),
            Self::Asking(asking) => Some(asking.due()),
            Self::Tool(running) => Some(running.due),
        }
    }
}

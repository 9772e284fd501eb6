//! What the engine tells as it happens, after it is written.
//!
//! The text of an answer as it grows is a preview: it is written every half second and before every pause. A reader that
//! is too slow loses events and reads the state anew, with what comes after it: see `Engine::follow`.

use std::sync::Arc;

use entraclaw_models::Facts;

use super::view::{Approval, TaskView};
use crate::task::{TaskId, ToolCall};

/// Something that has happened.
#[derive(Debug, Clone)]
pub enum Event {
    /// A task was handed over.
    Queued(Arc<TaskView>),
    /// Work on a task has begun.
    Started(Arc<TaskView>),
    /// A task was paused for a person.
    Preempted(Arc<TaskView>),
    /// A task goes on; how, its `resumed` tells.
    Resumed(Arc<TaskView>),
    /// A task has ended.
    Ended(Arc<TaskView>),
    /// The model says a part of an answer.
    Said {
        /// The task.
        task: TaskId,
        /// The text.
        text: String,
    },
    /// The model thinks; no answer shows what.
    Thinks {
        /// The task.
        task: TaskId,
    },
    /// A task has come further.
    Progress {
        /// The task.
        task: TaskId,
        /// What is done.
        says: String,
        /// See [`TaskView::percent`].
        percent: u8,
        /// The tool call that has begun or ended, if it is about one.
        call: Option<Arc<ToolCall>>,
    },
    /// The text so far is void, for the step starts again.
    StartsAgain {
        /// The task.
        task: TaskId,
    },
    /// A tool call waits for a person.
    ApprovalAsked(Box<Approval>),
    /// It does not wait any more.
    ApprovalDecided {
        /// Its number.
        number: i64,
        /// Whether it may run.
        may_run: bool,
    },
    /// The model can't be asked now, and the task waits.
    ModelAway {
        /// The task.
        task: TaskId,
        /// Why.
        why: String,
    },
    /// The model was reached.
    ModelFound {
        /// What its server says of it.
        facts: Facts,
    },
    /// An empty conversation has begun.
    SessionBegan,
    /// The engine ends.
    Ends,
}

impl Event {
    /// The task that it is about.
    pub fn task(&self) -> Option<&TaskId> {
        match self {
            Self::Queued(view)
            | Self::Started(view)
            | Self::Preempted(view)
            | Self::Resumed(view)
            | Self::Ended(view) => Some(&view.task.id),
            Self::Said { task, .. }
            | Self::Thinks { task }
            | Self::Progress { task, .. }
            | Self::StartsAgain { task }
            | Self::ModelAway { task, .. } => Some(task),
            Self::ApprovalAsked(approval) => Some(&approval.task),
            Self::ApprovalDecided { .. } | Self::ModelFound { .. } | Self::SessionBegan | Self::Ends => None,
        }
    }
}

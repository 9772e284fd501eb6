//! What is told to a client unasked: how its tasks go.
//!
//! A slow client never keeps more waiting here than a bound; what it missed it reads by `poll_task`.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::shapes;
use crate::engine::{Event, TaskView};
use crate::task::{TaskId, TaskState};

/// Most tasks that a client is told of.
const OWNED_MAX: usize = 1_000;
/// Most notices that wait; the oldest progress goes first.
const NOTICES_MAX: usize = 256;

/// The tasks of one client. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Owned(Arc<Mutex<BTreeSet<TaskId>>>);

impl Owned {
    fn tasks(&self) -> MutexGuard<'_, BTreeSet<TaskId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, task: &TaskId) {
        let mut tasks = self.tasks();
        if tasks.len() < OWNED_MAX {
            tasks.insert(task.clone());
        }
    }

    fn has(&self, task: &TaskId) -> bool {
        self.tasks().contains(task)
    }

    fn forget(&self, task: &TaskId) {
        self.tasks().remove(task);
    }

    pub(super) fn all(&self) -> Vec<TaskId> {
        self.tasks().iter().cloned().collect()
    }
}

/// The events that a client may have to be told of.
#[derive(Debug, Default)]
pub(super) struct Heard(VecDeque<Event>);

impl Heard {
    /// Keeps an event, if it is one that clients are told of.
    pub(super) fn hear(&mut self, event: Event) {
        match &event {
            // Only the last progress counts.
            Event::Progress { task, .. } => self.0.retain(|one| !is_progress_of(one, task)),
            Event::Ended(_) | Event::Preempted(_) | Event::Resumed(_) | Event::Started(_) => {}
            _ => return,
        }
        if self.0.len() >= NOTICES_MAX {
            let progress = self.0.iter().position(|one| matches!(one, Event::Progress { .. }));
            self.0.remove(progress.unwrap_or(0));
        }
        self.0.push_back(event);
    }

    /// The next notice for this client: method and parameters.
    pub(super) fn next(&mut self, owned: &Owned) -> Option<(&'static str, Value)> {
        while let Some(event) = self.0.pop_front() {
            if !event.task().is_some_and(|task| owned.has(task)) {
                continue;
            }
            match event {
                Event::Progress { task, says, percent } => return Some(progress(&task, &says, percent)),
                Event::Started(view) | Event::Resumed(view) => {
                    return Some(progress(&view.task.id, &view.doing, view.percent));
                }
                Event::Preempted(view) => return Some(preempted(&view)),
                Event::Ended(view) => {
                    owned.forget(&view.task.id);
                    return Some(completed(&view));
                }
                _ => {}
            }
        }
        None
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a client has to be told of a task after events were lost.
    pub(super) fn catch_up(&mut self, view: TaskView) {
        let view = Arc::new(view);
        match view.task.state {
            state if state.is_ended() => self.hear(Event::Ended(view)),
            TaskState::Preempted => self.hear(Event::Preempted(view)),
            _ => {}
        }
    }
}

fn is_progress_of(event: &Event, task: &TaskId) -> bool {
    matches!(event, Event::Progress { task: this, .. } if this == task)
}

fn progress(task: &TaskId, says: &str, percent: u8) -> (&'static str, Value) {
    ("notifications/task_progress", json!({"task_id": task, "progress": says, "percent": percent}))
}

fn preempted(view: &TaskView) -> (&'static str, Value) {
    let shown = shapes::task(view, 0);
    let params = json!({
        "task_id": view.task.id,
        "reason": "human_input",
        "partial_response": shown["partial_response"],
        "will_resume": true
    });
    ("notifications/task_preempted", params)
}

/// Every end is told by this method; its status says which it is.
fn completed(view: &TaskView) -> (&'static str, Value) {
    ("notifications/task_completed", shapes::task(view, 0))
}

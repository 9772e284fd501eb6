//! What is told to a client unasked: how its tasks go.
//!
//! A slow client never keeps more waiting here than a bound; what it missed it reads by `poll_task`.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use entraclaw_mcp::Era;
use serde_json::{Value, json};

use super::shapes;
use super::tasks::now;
use crate::engine::{Event, TaskView};
use crate::task::{TaskId, TaskState};

/// Most tasks that a client is told of.
const OWNED_MAX: usize = 1_000;
/// Most tasks that a list of the protocol holds.
const LISTED_MAX: usize = 100;
/// Most notices that wait; the oldest progress goes first.
const NOTICES_MAX: usize = 256;

/// The notifications of the design document. A name under `experimental` stands behind each, as the protocol asks of methods of
/// one's own.
const OWN: [&str; 3] = ["task_progress", "task_completed", "task_preempted"];

/// Declares the notifications to a client that is told anything unasked.
pub(super) fn declare(era: Era, capabilities: &mut Value) {
    if era == Era::Legacy {
        for name in OWN {
            capabilities["experimental"][name] = json!({});
        }
    }
}

/// The tasks of one client, and whether the client knows each as one of the protocol. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Owned(Arc<Mutex<Tasks>>);

#[derive(Debug, Default)]
struct Tasks {
    open: BTreeMap<TaskId, bool>,
    /// Those of the protocol, ended ones too, the newest last.
    listed: VecDeque<TaskId>,
}

impl Owned {
    fn tasks(&self) -> MutexGuard<'_, Tasks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, task: &TaskId) {
        let mut tasks = self.tasks();
        if tasks.open.len() < OWNED_MAX {
            tasks.open.entry(task.clone()).or_insert(false);
        }
    }

    /// Adds a task that the client knows as one of the protocol.
    pub(super) fn add_as_task(&self, task: &TaskId) {
        let mut tasks = self.tasks();
        if let Some(is_task) = tasks.open.get_mut(task) {
            *is_task = true;
        }
        if tasks.listed.len() >= LISTED_MAX {
            tasks.listed.pop_front();
        }
        tasks.listed.push_back(task.clone());
    }

    /// The tasks that the client knows as those of the protocol.
    pub(super) fn listed(&self) -> Vec<TaskId> {
        self.tasks().listed.iter().cloned().collect()
    }

    /// Whether it is the client's, and whether that knows it as one of the protocol.
    fn get(&self, task: &TaskId) -> Option<bool> {
        self.tasks().open.get(task).copied()
    }

    fn forget(&self, task: &TaskId) {
        self.tasks().open.remove(task);
    }

    pub(super) fn all(&self) -> Vec<TaskId> {
        self.tasks().open.keys().cloned().collect()
    }
}

/// The events that a client may have to be told of.
#[derive(Debug, Default)]
pub(super) struct Heard(VecDeque<Event>, VecDeque<Notice>);

/// A notice: method and parameters.
pub(super) type Notice = (&'static str, Value);

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

    /// The next notice for this client.
    pub(super) fn next(&mut self, owned: &Owned) -> Option<Notice> {
        if let Some(notice) = self.1.pop_front() {
            return Some(notice);
        }
        while let Some(event) = self.0.pop_front() {
            let Some(is_task) = event.task().and_then(|task| owned.get(task)) else { continue };
            if is_task
                && let Event::Started(view)
                | Event::Resumed(view)
                | Event::Preempted(view)
                | Event::Ended(view) = &event
            {
                let params = now(view, Era::Legacy).json(Era::Legacy);
                self.1.push_back(("notifications/tasks/status", params));
            }
            match event {
                Event::Progress { task, says, percent, .. } => return Some(progress(&task, &says, percent)),
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
        self.0.is_empty() && self.1.is_empty()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_for_a_slow_client_is_bounded_and_the_oldest_progress_goes_first() {
        let (owned, mut heard) = (Owned::default(), Heard::default());
        let task = |n: usize| TaskId(format!("task_{n}"));
        for n in 0..=NOTICES_MAX {
            owned.add(&task(n));
            heard.hear(Event::Progress { task: task(n), says: "working".to_owned(), percent: 0, call: None });
        }
        let told = std::iter::from_fn(|| heard.next(&owned));
        let told: Vec<Value> = told.map(|(_, parameters)| parameters["task_id"].clone()).collect();
        let expected: Vec<Value> = (1..=NOTICES_MAX).map(|n| json!(task(n))).collect();
        assert_eq!(told, expected);
    }
}

//! What an engine tells over all its lives, and whether the order of its work is right.
//! It must never take the engine's word for who is the person.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use entraclaw_delegate::{Event, Snapshot, TaskId, TaskView};
use reports::event::Failure;

/// The rule that an engine breaks which does things in the wrong order.
const ORDER: &str = "oracle.order";
/// The rule that an engine breaks which does a task twice.
pub(super) const TWICE: &str = "oracle.done-twice";

/// All tasks of the project, as told.
#[derive(Default)]
pub(super) struct Book {
    views: BTreeMap<TaskId, Arc<TaskView>>,
    /// The tasks that have not ended, by their number in the order of coming.
    open: BTreeMap<i64, TaskId>,
    running: Option<TaskId>,
    /// The tasks that have ended, in their order.
    ended: Vec<TaskId>,
    /// Everything that the person has typed.
    typed: BTreeSet<String>,
    failures: Vec<Failure>,
    notes: Vec<(u64, String)>,
}

impl Book {
    /// The person types this from now on.
    pub(super) fn type_in(&mut self, text: &str) {
        self.typed.insert(text.to_owned());
    }

    pub(super) fn is_of_person(&self, view: &TaskView) -> bool {
        self.typed.contains(&view.task.message)
    }

    pub(super) fn view(&self, id: &TaskId) -> Option<&TaskView> {
        self.views.get(id).map(AsRef::as_ref)
    }

    pub(super) fn views(&self) -> impl Iterator<Item = &TaskView> {
        self.views.values().map(AsRef::as_ref)
    }

    /// The tasks that have not ended.
    pub(super) fn open(&self) -> Vec<TaskId> {
        self.open.values().cloned().collect()
    }

    pub(super) fn ended(&self) -> &[TaskId] {
        &self.ended
    }

    /// The breaches and the notes, which are taken out.
    pub(super) fn take(&mut self) -> (Vec<Failure>, Vec<(u64, String)>) {
        (std::mem::take(&mut self.failures), std::mem::take(&mut self.notes))
    }

    /// A later look at a task.
    pub(super) fn look(&mut self, view: TaskView) {
        let (id, number) = (view.task.id.clone(), view.task.number);
        if view.task.state.is_ended() && self.open.remove(&number).is_some() {
            self.ended.push(id.clone());
        }
        self.views.insert(id, Arc::new(view));
    }

    /// Another engine has begun: what it told before the snapshot is in it.
    pub(super) fn begin(&mut self, snapshot: &Snapshot, early: Vec<Event>) {
        self.running = snapshot.active.as_ref().map(|active| active.view.task.id.clone());
        for view in &snapshot.queue {
            self.open.insert(view.task.number, view.task.id.clone());
            self.views.insert(view.task.id.clone(), Arc::new(view.clone()));
        }
        for event in early {
            match &event {
                Event::Started(view) | Event::Resumed(view) => self.running = Some(view.task.id.clone()),
                Event::Preempted(_) => self.running = None,
                Event::Ended(view) => {
                    if self.open.remove(&view.task.number).is_some() {
                        self.ended.push(view.task.id.clone());
                    }
                    self.running = self.running.take().filter(|id| *id != view.task.id);
                }
                _ => continue,
            }
            self.keep(&event);
        }
    }

    fn keep(&mut self, event: &Event) {
        if let Event::Queued(view)
        | Event::Started(view)
        | Event::Preempted(view)
        | Event::Resumed(view)
        | Event::Ended(view) = event
        {
            self.views.insert(view.task.id.clone(), Arc::clone(view));
        }
    }

    fn first(&self) -> Option<&TaskId> {
        let is_of_person = |id: &&TaskId| self.view(id).is_some_and(|view| self.is_of_person(view));
        self.open.values().find(is_of_person).or_else(|| self.open.values().next())
    }

    /// The engine tells something.
    pub(super) fn hear(&mut self, at_ms: u64, event: &Event) {
        self.keep(event);
        if let Some(says) = told(event) {
            self.notes.push((at_ms, says));
        }
        let mut wrong = |rule, says: String| self.failures.push(Failure::new(rule, at_ms, says));
        match event {
            Event::Queued(view) => {
                self.open.insert(view.task.number, view.task.id.clone());
            }
            Event::Started(view) | Event::Resumed(view) => {
                let id = &view.task.id;
                self.open.entry(view.task.number).or_insert_with(|| id.clone());
                // A task that is asked again in its own turn runs already.
                if self.running.as_ref() != Some(id)
                    && let Some(first) = self.first().filter(|first| *first != id).cloned()
                {
                    let says = format!("{id} of {} runs, and it is the turn of {first}", view.task.source);
                    self.failures.push(Failure::new(ORDER, at_ms, says));
                }
                self.running = Some(id.clone());
            }
            Event::Preempted(view) => {
                if self.typed.contains(&view.task.message) {
                    wrong(ORDER, format!("{} of the person was paused", view.task.id));
                }
                self.running = None;
            }
            Event::Ended(view) => {
                if self.open.remove(&view.task.number).is_none() {
                    wrong(TWICE, format!("{} ended twice", view.task.id));
                } else {
                    self.ended.push(view.task.id.clone());
                }
                self.running = self.running.take().filter(|id| *id != view.task.id);
            }
            _ => {}
        }
    }
}

/// The line for the transcript.
fn told(event: &Event) -> Option<String> {
    let (what, view) = match event {
        Event::Queued(view) => ("queued", view),
        Event::Started(view) => ("started", view),
        Event::Preempted(view) => ("paused", view),
        Event::Resumed(view) => ("resumed", view),
        Event::Ended(view) => (view.task.state.as_str(), view),
        Event::StartsAgain { task } => return Some(format!("engine: {task} starts its step again")),
        Event::ModelAway { task, why } => return Some(format!("engine: {task} waits for the model: {why}")),
        Event::Progress { task, says, .. } => return Some(format!("engine: {task}: {says}")),
        _ => return None,
    };
    Some(format!("engine: {} of {} is {what}", view.task.id, view.task.source))
}

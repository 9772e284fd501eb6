//! Whose turn it is, and what is next for that task: a tool, the model, or its end. All of it is read from the store, so
//! that a new engine goes on where an old one ended.

use std::time::Duration;

use entraclaw_models::{Facts, ModelError};
use tokio::time::Instant;

use super::core::{Core, Turn};
use super::doing::Doing;
use super::event::Event;
use crate::store::StoreError;
use crate::task::{Resumption, Step, Task, TaskId, TaskState};

impl Core {
    /// Decides what is under way until something is, or nothing has to be done.
    pub(super) fn arrange(&mut self) -> Result<(), StoreError> {
        loop {
            if self.is_ending {
                return self.wind_down();
            }
            if self.queue.must_pause().is_some() && !self.pause_running()? {
                return Ok(());
            }
            if !matches!(self.doing, Doing::Nothing) {
                return Ok(());
            }
            if self.turn.is_none() {
                let Some(task) = self.queue.start() else {
                    self.look_if_asked();
                    return Ok(());
                };
                self.begin_turn(&task)?;
            }
            self.advance()?;
        }
    }

    /// Begins to work on a task, or goes on with it.
    fn begin_turn(&mut self, id: &TaskId) -> Result<(), StoreError> {
        let task = self.store.task(id)?;
        let goes_on = task.started_ms.is_some();
        let is_between_steps = goes_on && !task.was_asking && task.step > 0;
        let resumed = is_between_steps.then_some(Resumption::Exact);
        self.store.start_task(id, None, resumed, self.now_ms())?;
        self.turn = Some(Turn {
            task: id.clone(),
            began: Instant::now(),
            worked_ms: task.worked_ms,
            tries: 0,
            brought_back: None,
        });
        if self.facts.as_ref().is_some_and(|(facts, at)| {
            let is_old = at.elapsed() > Duration::from_millis(self.bounds.facts_ms_max);
            // A model that was not loaded before it was asked may not have told whether it goes on from a text.
            let is_open = task.was_asking && facts.continues.is_none();
            // A person does not wait for facts that are known well enough.
            !task.source.is_person() && (is_old || is_open)
        }) {
            self.facts = None;
        }
        // How a step goes on that was being asked is known when it is asked.
        if !task.was_asking {
            let view = self.view(id)?;
            self.tell(if goes_on { Event::Resumed(view) } else { Event::Started(view) });
        }
        Ok(())
    }

    /// Does the next thing for the task that is worked on.
    fn advance(&mut self) -> Result<(), StoreError> {
        let Some(turn) = &self.turn else { return Ok(()) };
        let task = self.store.task(&turn.task)?;
        if self.worked_ms() > self.bounds.task_ms_max {
            return self.fail(&task, &self.too_long());
        }
        if let Some(call) = self.store.next_call(&task.id)? {
            return self.advance_call(&task, call);
        }
        let steps = self.store.steps(&task.id)?;
        if steps.last().is_some_and(|last| last.requests.is_empty()) {
            return self.finish(&task, &steps);
        }
        if task.malformed > self.bounds.malformed_max {
            let count = task.malformed;
            let why = format!(
                "the model called tools {count} times in a form that they do not take; ask for less at once, or use a model that is better with tools"
            );
            return self.fail(&task, &why);
        }
        if self.facts.is_none() {
            self.read_facts();
            return Ok(());
        }
        self.ask(&task, &steps)
    }

    pub(super) fn too_long(&self) -> String {
        let minutes = self.bounds.task_ms_max / 60_000;
        format!("the task took longer than {minutes} minutes of work and was ended; ask for less at once")
    }

    /// How long the task was worked on, without pauses.
    pub(super) fn worked_ms(&self) -> u64 {
        let Some(turn) = &self.turn else { return 0 };
        turn.worked_ms + u64::try_from(turn.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn finish(&mut self, task: &Task, steps: &[Step]) -> Result<(), StoreError> {
        match last_words(steps) {
            Some(_) if self.toolbox.reports(task) => {
                let (toolbox, id) = (self.toolbox.clone(), task.id.clone());
                let reporting = Box::pin(async move { toolbox.report(&id).await });
                let due = Self::after(self.bounds.report_ms_max);
                self.doing = Doing::Reporting(task.id.clone(), reporting, due);
                Ok(())
            }
            Some(text) => self.end(&task.id, TaskState::Completed, Some(text)),
            None => {
                self.fail(task, "the model ended its answer without a word; ask again, or in other words")
            }
        }
    }

    /// What a task has done is kept: its answer is told, and where that is.
    pub(super) fn on_reported(&mut self, report: Option<String>) -> Result<(), StoreError> {
        let Doing::Reporting(id, ..) = std::mem::replace(&mut self.doing, Doing::Nothing) else {
            return Ok(());
        };
        // It may have been cancelled meanwhile.
        if self.turn.as_ref().is_none_or(|turn| turn.task != id) {
            return Ok(());
        }
        let steps = self.store.steps(&id)?;
        let said = last_words(&steps).unwrap_or_default();
        let text = report.map_or_else(|| said.to_owned(), |report| format!("{said}\n\n{report}"));
        self.end(&id, TaskState::Completed, Some(&text))
    }

    pub(super) fn fail(&mut self, task: &Task, why: &str) -> Result<(), StoreError> {
        self.end(&task.id, TaskState::Failed, Some(why))
    }

    fn end(&mut self, id: &TaskId, state: TaskState, result: Option<&str>) -> Result<(), StoreError> {
        self.store.end_task(id, state, result, self.worked_ms(), self.now_ms())?;
        self.queue.remove(id);
        self.turn = None;
        self.doing = Doing::Nothing;
        self.toolbox.ended(id);
        let view = self.view(id)?;
        self.tell(Event::Ended(view));
        self.renew_known()
    }

    pub(super) fn read_facts(&mut self) {
        let model = self.model.clone();
        let reading = Box::pin(async move { model.facts().await });
        self.doing = Doing::Facts(reading, Self::after(self.bounds.bring_back_ms_max));
    }

    pub(super) fn on_facts(&mut self, facts: Result<Facts, ModelError>) -> Result<(), StoreError> {
        self.doing = Doing::Nothing;
        match facts {
            Ok(facts) => {
                if self.trouble.take().is_some() || self.facts.is_none() {
                    self.tell(Event::ModelFound { facts: facts.clone() });
                }
                self.facts = Some((facts, Instant::now()));
            }
            Err(error) if self.turn.is_some() => self.wait_for_model(&error.to_string()),
            Err(error) => self.trouble = Some(error.to_string()),
        }
        self.renew_known()?;
        let known = self.known.borrow().clone();
        for looker in self.lookers.drain(..) {
            let _ = looker.send(known.clone());
        }
        Ok(())
    }

    /// Waits before the model is asked again, longer each time.
    pub(super) fn wait_for_model(&mut self, why: &str) {
        let Some(turn) = &self.turn else { return };
        self.tell(Event::ModelAway { task: turn.task.clone(), why: why.to_owned() });
        self.trouble = Some(why.to_owned());
        self.facts = None;
        self.doing = Doing::Waiting(Instant::now() + self.pause);
        let longest = Duration::from_millis(self.bounds.retry_ms_max);
        self.pause = self.pause.saturating_mul(2).min(longest);
    }

    /// The model answers: the next pause is the first one again.
    pub(super) fn model_is_there(&mut self) {
        self.pause = Duration::from_millis(self.bounds.retry_ms_first);
    }
}

/// What a model said last for a task.
fn last_words(steps: &[Step]) -> Option<&str> {
    steps.iter().rev().map(|step| step.text.trim()).find(|text| !text.is_empty())
}

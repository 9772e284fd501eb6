//! Stops what is under way: for a person, for good, or because the engine ends.
//!
//! What was said is written before anything else happens. It must never keep a person waiting for a model's answer to
//! a host.

use entraclaw_models::Held;

use super::core::Core;
use super::doing::Doing;
use super::error::{EngineError, not_found};
use super::event::Event;
use super::running::Stopped;
use super::view::TaskView;
use crate::store::StoreError;
use crate::task::TaskId;

/// The part of a cancelled or paused task that is kept.
struct Cut {
    partial: Option<String>,
    /// Whether the model was asked.
    was_asking: bool,
}

impl Core {
    /// Pauses the task that runs, because a person waits. Returns `false` while its tool still runs.
    pub(super) fn pause_running(&mut self) -> Result<bool, StoreError> {
        if let Doing::Tool(_) | Doing::Reporting(..) = &self.doing {
            self.stop_tool(Stopped::ForNow, false);
            return Ok(false);
        }
        let Some(turn) = self.queue.running().cloned() else { return Ok(true) };
        let cut = self.cut();
        let task = self.store.task(&turn)?;
        let partial = cut.partial.unwrap_or(task.partial);
        self.store.preempt_task(&turn, &partial, self.worked_ms())?;
        self.queue.pause();
        self.turn = None;
        let view = self.view(&turn)?;
        self.tell(Event::Preempted(view));
        let holds = self.facts.as_ref().is_some_and(|(facts, _)| {
            facts.holds == Some(true) && facts.continues == Some(true) && cut.was_asking
        });
        if holds && !partial.is_empty() {
            let name = format!("{turn}-{}", task.step);
            let model = self.model.clone();
            let holding = Box::pin(async move { model.hold(&name).await });
            self.doing = Doing::Holding(turn, holding, Self::after(self.bounds.hold_ms_max));
        }
        Ok(true)
    }

    /// Ends what is under way, but a tool; the stream of an answer is closed by that.
    fn cut(&mut self) -> Cut {
        match std::mem::replace(&mut self.doing, Doing::Nothing) {
            Doing::Asking(asking) => Cut { partial: Some(asking.cut()), was_asking: true },
            other @ (Doing::Holding(..) | Doing::Tool(_) | Doing::Reporting(..)) => {
                self.doing = other;
                Cut { partial: None, was_asking: false }
            }
            _ => Cut { partial: None, was_asking: false },
        }
    }

    pub(super) fn on_held(&mut self, held: Option<Held>) -> Result<(), StoreError> {
        if let Doing::Holding(task, ..) = std::mem::replace(&mut self.doing, Doing::Nothing)
            && let Some(Held(name)) = held
            && self.store.task(&task)?.was_asking
        {
            self.store.set_held(&task, &name)?;
        }
        Ok(())
    }

    /// Cancels a task, whether it waits, is paused or runs.
    pub(super) fn cancel(
        &mut self,
        id: &TaskId,
        reason: Option<&str>,
    ) -> Result<Result<TaskView, EngineError>, StoreError> {
        let Some(task) = self.store.find_task(id)? else { return Ok(Err(not_found(id))) };
        if task.state.is_ended() {
            let state = task.state.as_str();
            return Ok(Err(EngineError::CannotCancel { task: id.clone(), state }));
        }
        let runs = self.queue.running() == Some(id);
        let (mut partial, mut worked_ms) = (task.partial, task.worked_ms);
        if runs {
            self.stop_tool(Stopped::ForGood, false);
            worked_ms = self.worked_ms();
            if let Some(said) = self.cut().partial {
                partial = said;
            }
            self.turn = None;
        }
        self.store.cancel_task(id, reason, &partial, worked_ms, self.now_ms())?;
        self.queue.remove(id);
        self.toolbox.ended(id);
        let view = self.view(id)?;
        self.tell(Event::Ended(view.clone()));
        self.renew_known()?;
        Ok(Ok(TaskView::clone(&view)))
    }

    /// Ends what is under way, because the engine ends. A tool that must not be cut in half is waited for.
    pub(super) fn wind_down(&mut self) -> Result<(), StoreError> {
        if let Doing::Tool(_) | Doing::Reporting(..) = &self.doing {
            self.stop_tool(Stopped::ForNow, false);
            return Ok(());
        }
        if let Doing::Asking(asking) = std::mem::replace(&mut self.doing, Doing::Nothing) {
            let (id, worked_ms) = (asking.task.clone(), self.worked_ms());
            self.store.set_partial(&id, &asking.cut(), worked_ms)?;
        }
        Ok(())
    }
}

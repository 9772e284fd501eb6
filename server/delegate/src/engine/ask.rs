//! Asks the model one step: from its beginning, or from what it had said when it was interrupted.
//!
//! It must never ask what goes on in another form than before.

use entraclaw_models::{Facts, Held};
use tokio::sync::mpsc;

use super::asking::Asking;
use super::core::Core;
use super::doing::Doing;
use super::event::Event;
use super::question::{Talk, question};
use crate::store::StoreError;
use crate::task::{Resumption, Step, Task};

/// Pieces that wait for the engine; then the server waits.
const PIECES_MAX: usize = 64;
/// Most messages of the conversation that are read for a question.
const HISTORY_MESSAGES_MAX: usize = 400;

impl Core {
    /// Asks the step that is next.
    pub(super) fn ask(&mut self, task: &Task, steps: &[Step]) -> Result<(), StoreError> {
        let Some((facts, _)) = self.facts.clone() else { return Ok(()) };
        let continues = task.was_asking
            && !task.partial.is_empty()
            && facts.continues == Some(true)
            && task.model.as_ref() == Some(&facts.model);
        let brought_back = self.turn.as_ref().and_then(|turn| turn.brought_back);
        let may_hold = continues && brought_back.is_none() && facts.holds == Some(true);
        if let Some(held) = task.held.clone().filter(|_| may_hold) {
            let model = self.model.clone();
            let bringing = Box::pin(async move { model.bring_back(&Held(held)).await });
            self.doing = Doing::BringingBack(bringing, Self::after(self.bounds.bring_back_ms_max));
            return Ok(());
        }
        let (said, resumed) = match (task.was_asking, continues) {
            (false, _) => (String::new(), None),
            (true, true) => (task.partial.clone(), Some(Resumption::Continued)),
            (true, false) => (String::new(), Some(Resumption::StartedAgain)),
        };
        // What goes on is asked the same as before; what starts anew hears what was said since.
        let heard = match task.heard.filter(|_| continues) {
            Some(heard) => heard,
            None => self.store.last_message()?,
        };
        self.send_question(task, steps, &facts, said, resumed, heard)
    }

    fn send_question(
        &mut self,
        task: &Task,
        steps: &[Step],
        facts: &Facts,
        said: String,
        resumed: Option<Resumption>,
        heard: i64,
    ) -> Result<(), StoreError> {
        let calls = self.store.calls(&task.id)?;
        let first_heard = steps.first().map_or(heard, |step| step.heard);
        let mut history = self.store.messages_between(0, first_heard, HISTORY_MESSAGES_MAX)?;
        history.retain(|message| message.task != task.id);
        let mut meanwhile = Vec::new();
        for (at, step) in steps.iter().enumerate() {
            let until = steps.get(at + 1).map_or(heard, |next| next.heard);
            let mut said = self.store.messages_between(step.heard, until, HISTORY_MESSAGES_MAX)?;
            said.retain(|message| message.task != task.id);
            meanwhile.push(said);
        }
        let is_last = task.step + 1 >= self.bounds.steps_max;
        let has_tools = facts.tools != Some(false);
        let talk = Talk {
            task,
            history: &history,
            steps,
            calls: &calls,
            meanwhile: &meanwhile,
            tools: if has_tools { self.toolbox.tools() } else { Vec::new() },
            said: (!said.is_empty()).then(|| said.clone()),
            is_last: is_last && has_tools,
            context: facts.context_tokens,
            answer_tokens_max: self.bounds.answer_tokens_max,
        };
        let (question, left_out) = question(&talk);
        let mut notes = task.notes.clone();
        let mut note = |says: String| {
            if !notes.contains(&says) {
                notes.push(says);
            }
        };
        if let Some(says) = left_out.says(facts.context_tokens.unwrap_or_default()) {
            note(says);
        }
        if !has_tools {
            note(format!("the model {} takes no tools, so it only answers", facts.model));
        }
        if is_last {
            note(format!(
                "it used all {} steps, so it had to answer with what it had",
                self.bounds.steps_max
            ));
        }
        if resumed == Some(Resumption::StartedAgain) {
            note(format!("step {} was started again after an interruption", task.step + 1));
        }
        self.store.begin_asking(&task.id, &facts.model, heard, &said, resumed, &notes)?;
        if resumed.is_some() {
            if resumed == Some(Resumption::StartedAgain) && !task.partial.is_empty() {
                self.tell(Event::StartsAgain { task: task.id.clone() });
            }
            let view = self.view(&task.id)?;
            self.tell(Event::Resumed(view));
        }
        let (pieces, received) = mpsc::channel(PIECES_MAX);
        let model = self.model.clone();
        let tools_offered = !question.tools.is_empty();
        let answer = Box::pin(async move { model.ask(&question, pieces).await });
        let left = self.bounds.task_ms_max.saturating_sub(self.worked_ms());
        self.doing = Doing::Asking(Box::new(Asking {
            task: task.id.clone(),
            step: task.step,
            heard,
            answer,
            pieces: received,
            said_before: said,
            said: String::new(),
            written: 0,
            write_at: Self::after(self.bounds.partial_every_ms),
            stalls_at: Self::after(self.bounds.stall_ms_max),
            ends_at: Self::after(left),
            resumed,
            first_piece_at: None,
            pieces_count: 0,
            notes,
            tools_offered,
        }));
        Ok(())
    }

    pub(super) fn on_brought_back(&mut self, brought: bool) {
        self.doing = Doing::Nothing;
        if let Some(turn) = &mut self.turn {
            turn.brought_back = Some(brought);
        }
    }
}

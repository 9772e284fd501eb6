//! Asks the model one step: from its beginning, or from what it had said when it was interrupted.
//!
//! It must never call a step exactly resumed that the server did not prove, nor keep a stream open that the engine does not read.

use entraclaw_models::{Answer, Facts, Held, ModelError, Piece, Stop, Usage};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant};

use super::core::{Core, Doing};
use super::event::Event;
use super::malformed::{mended, refusal, refused};
use super::question::{Talk, question};
use crate::store::{StepEnd, StoreError};
use crate::task::{Resumption, Step, Task, TaskId, Tokens};

/// Pieces that wait for the engine; then the server waits.
const PIECES_MAX: usize = 64;
/// Most messages of the conversation that are read for a question.
const HISTORY_MESSAGES_MAX: usize = 400;
/// The last tokens of a question, which every server computes anew.
const ANEW_TOKENS_MAX: u64 = 8;

/// An answer on its way.
pub(super) struct Asking {
    pub(super) task: TaskId,
    step: u32,
    heard: i64,
    pub(super) answer: BoxFuture<'static, Result<Answer, ModelError>>,
    pub(super) pieces: mpsc::Receiver<Piece>,
    /// What was said before it was interrupted.
    said_before: String,
    /// What was said since.
    said: String,
    /// Bytes of `said` that are written.
    written: usize,
    write_at: Instant,
    stalls_at: Instant,
    ends_at: Instant,
    resumed: Option<Resumption>,
    first_piece_at: Option<Instant>,
    pieces_count: u32,
    notes: Vec<String>,
    tools_offered: bool,
}

impl Asking {
    pub(super) fn due(&self) -> Instant {
        let write_at = (self.written < self.said.len()).then_some(self.write_at);
        write_at.into_iter().chain([self.stalls_at, self.ends_at]).min().unwrap_or(self.stalls_at)
    }

    /// Everything that was said in this step, with what has come and was not read yet.
    pub(super) fn cut(mut self) -> String {
        while let Ok(piece) = self.pieces.try_recv() {
            if let Piece::Text(text) = piece {
                self.said.push_str(&text);
            }
        }
        self.partial()
    }

    /// Everything that was read of this step.
    pub(super) fn partial(&self) -> String {
        format!("{}{}", self.said_before, self.said)
    }

    /// Pieces a second since the first one.
    pub(super) fn pieces_per_second(&self) -> Option<f64> {
        let elapsed = self.first_piece_at?.elapsed().as_secs_f64();
        (elapsed > 0.1).then(|| f64::from(self.pieces_count) / elapsed)
    }

    pub(super) fn has_said(&self) -> bool {
        !self.said.is_empty() || !self.said_before.is_empty()
    }
}

/// Whether the server had kept all of the question.
fn is_proven(usage: &Usage) -> bool {
    usage.input > 0 && usage.cached.is_some_and(|cached| cached + ANEW_TOKENS_MAX >= usage.input)
}

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

    pub(super) fn on_piece(&mut self, piece: Piece) -> Result<(), StoreError> {
        self.model_is_there();
        let stall_ms = self.bounds.stall_ms_max;
        let bytes_max = self.bounds.step_bytes_max;
        let Doing::Asking(asking) = &mut self.doing else { return Ok(()) };
        asking.stalls_at = Self::after(stall_ms);
        asking.first_piece_at.get_or_insert_with(Instant::now);
        asking.pieces_count += 1;
        let task = asking.task.clone();
        match piece {
            Piece::Text(text) => {
                asking.said.push_str(&text);
                let is_full = asking.said.len() > bytes_max;
                self.tell(Event::Said { task, text });
                if is_full {
                    return self.cut_answer();
                }
            }
            Piece::Thinking(_) => self.tell(Event::Thinks { task }),
            Piece::Tool(_) => {}
        }
        // A steady stream never lets the time be looked at.
        if let Doing::Asking(asking) = &self.doing
            && asking.due() <= Instant::now()
        {
            return self.on_asking_due();
        }
        Ok(())
    }

    /// The answer is longer than any may be: it ends here.
    fn cut_answer(&mut self) -> Result<(), StoreError> {
        let Doing::Asking(asking) = &self.doing else { return Ok(()) };
        let answer = Answer {
            text: asking.said.clone(),
            tools: Vec::new(),
            stop: Stop::Length,
            usage: Usage::default(),
        };
        self.on_answered(Ok(answer))
    }

    /// Writes what was said, or ends an answer that does not come.
    pub(super) fn on_asking_due(&mut self) -> Result<(), StoreError> {
        let worked_ms = self.worked_ms();
        let every = self.bounds.partial_every_ms;
        let Doing::Asking(asking) = &mut self.doing else { return Ok(()) };
        let now = Instant::now();
        if asking.ends_at <= now || asking.stalls_at <= now {
            let is_over = asking.ends_at <= now;
            let partial = asking.partial();
            let id = asking.task.clone();
            self.doing = Doing::Nothing;
            self.store.set_partial(&id, &partial, worked_ms)?;
            if is_over {
                let task = self.store.task(&id)?;
                return self.fail(&task, &self.too_long());
            }
            let seconds = self.bounds.stall_ms_max / 1_000;
            return self.try_again(&format!(
                "the model sent nothing for {seconds} s; look whether its server hangs"
            ));
        }
        asking.write_at = now + Duration::from_millis(every);
        if asking.written < asking.said.len() {
            asking.written = asking.said.len();
            let (id, partial) = (asking.task.clone(), asking.partial());
            self.store.set_partial(&id, &partial, worked_ms)?;
        }
        Ok(())
    }

    /// The step was asked in vain: it is asked again, so many times.
    fn try_again(&mut self, why: &str) -> Result<(), StoreError> {
        self.doing = Doing::Nothing;
        let Some(turn) = &mut self.turn else { return Ok(()) };
        turn.tries += 1;
        turn.brought_back = None;
        if turn.tries < self.bounds.tries_max {
            self.wait_for_model(why);
            return Ok(());
        }
        let task = self.store.task(&turn.task.clone())?;
        self.fail(&task, why)
    }

    pub(super) fn on_answered(&mut self, answer: Result<Answer, ModelError>) -> Result<(), StoreError> {
        while let Doing::Asking(asking) = &mut self.doing {
            match asking.pieces.try_recv() {
                Ok(Piece::Text(text)) => {
                    asking.said.push_str(&text);
                    let task = asking.task.clone();
                    self.tell(Event::Said { task, text });
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        let Doing::Asking(asking) = std::mem::replace(&mut self.doing, Doing::Nothing) else { return Ok(()) };
        match answer {
            Ok(answer) => self.end_step(*asking, answer),
            Err(error) => {
                self.store.set_partial(&asking.task, &asking.partial(), self.worked_ms())?;
                self.on_model_error(&asking.task, &error)
            }
        }
    }

    fn on_model_error(&mut self, id: &TaskId, error: &ModelError) -> Result<(), StoreError> {
        match error {
            ModelError::Unreachable(why) => {
                if let Some(turn) = &mut self.turn {
                    turn.brought_back = None;
                }
                self.wait_for_model(why);
                Ok(())
            }
            ModelError::Stalled(why) | ModelError::Malformed(why) => self.try_again(why),
            // The server knows its context better than its facts said: what is too much is left out once.
            ModelError::TooLong { context: Some(context), .. }
                if self.facts.as_ref().is_some_and(|(facts, _)| facts.context_tokens.is_none()) =>
            {
                if let Some((facts, _)) = &mut self.facts {
                    facts.context_tokens = Some(*context);
                }
                self.store.stop_asking(id)
            }
            ModelError::TooLong { .. } | ModelError::Refused(_) => {
                let task = self.store.task(id)?;
                self.fail(&task, &error.to_string())
            }
        }
    }

    fn end_step(&mut self, asking: Asking, answer: Answer) -> Result<(), StoreError> {
        self.model_is_there();
        let elapsed = asking.first_piece_at.map_or(0.0, |at| at.elapsed().as_secs_f64());
        #[expect(clippy::cast_precision_loss, reason = "a speed needs no more")]
        let measured =
            (elapsed > 0.1 && answer.usage.output > 0).then(|| answer.usage.output as f64 / elapsed);
        self.tokens_per_second = answer.usage.tokens_per_second.or(measured).or(self.tokens_per_second);
        let tools = if asking.tools_offered { self.toolbox.tools() } else { Vec::new() };
        let mut notes = asking.notes;
        if answer.stop == Stop::Length {
            let note = "the model's answer was ended by its longest length".to_owned();
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        let requests: Vec<_> = answer.tools.into_iter().map(mended).collect();
        let at_once = self.bounds.calls_per_step_max;
        let judge = |(at, request)| {
            if at >= at_once {
                let says = format!("error: at most {at_once} tools are run at once; call this one again");
                return Some(refused(says));
            }
            refusal(request, &tools)
        };
        let refused: Vec<_> = requests.iter().enumerate().map(judge).collect();
        let brought_back = self.turn.as_ref().and_then(|turn| turn.brought_back) == Some(true);
        let is_exact =
            asking.resumed == Some(Resumption::Continued) && brought_back && is_proven(&answer.usage);
        let end = StepEnd {
            step: Step {
                step: asking.step,
                heard: asking.heard,
                text: format!("{}{}", asking.said_before, answer.text),
                requests,
            },
            refused,
            tokens: Tokens { input: answer.usage.input, output: answer.usage.output },
            resumed: is_exact.then_some(Resumption::Exact),
            notes,
        };
        self.store.end_step(&asking.task, &end, self.now_ms())?;
        if let Some(turn) = &mut self.turn {
            turn.tries = 0;
            turn.brought_back = None;
        }
        let percent = super::answers::percent(asking.step + 1);
        let says = if end.step.requests.is_empty() { "Finishing" } else { "Reading the answer" };
        self.tell(Event::Progress { task: asking.task, says: says.to_owned(), percent, call: None });
        Ok(())
    }
}

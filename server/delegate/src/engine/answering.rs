//! Takes the answer of a step as it comes, and ends the step with it.
//!
//! It must never call a step exactly resumed that the server did not prove, nor keep a stream open that the engine does not read.

use entraclaw_models::{Answer, ModelError, Piece, Stop, Usage};
use tokio::time::{Duration, Instant};

use super::asking::Asking;
use super::core::Core;
use super::doing::Doing;
use super::event::Event;
use super::malformed::{mended, refusal, refused};
use super::view::percent;
use crate::store::{StepEnd, StoreError};
use crate::task::{Resumption, Step, TaskId, Tokens};

/// The last tokens of a question, which every server computes anew.
const ANEW_TOKENS_MAX: u64 = 8;

/// The shortest answer whose speed is measured; of a shorter one the time on the wire would be measured.
const MEASURED_LEAST: Duration = Duration::from_millis(100);

/// The speed of an answer of so many tokens, from its first piece to its end.
fn tokens_per_second(tokens: u64, took: Duration) -> Option<f64> {
    #[expect(clippy::cast_precision_loss, reason = "a speed needs no more")]
    (took >= MEASURED_LEAST && tokens > 0).then(|| tokens as f64 / took.as_secs_f64())
}

/// Whether the server had kept all of the question.
fn is_proven(usage: &Usage) -> bool {
    usage.input > 0 && usage.cached.is_some_and(|cached| cached + ANEW_TOKENS_MAX >= usage.input)
}

impl Core {
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
        let elapsed = asking.first_piece_at.map(|at| at.elapsed()).unwrap_or_default();
        let measured = tokens_per_second(answer.usage.output, elapsed);
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
        let percent = percent(asking.step + 1);
        let says = if end.step.requests.is_empty() { "Finishing" } else { "Reading the answer" };
        self.tell(Event::Progress { task: asking.task, says: says.to_owned(), percent, call: None });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_of_an_answer_is_measured_where_it_takes_long_enough() {
        let at = |tokens, ms| tokens_per_second(tokens, Duration::from_millis(ms));
        assert_eq!((at(50, 2_000), at(12, 100)), (Some(25.0), Some(120.0)));
        assert_eq!((at(50, 99), at(0, 2_000)), (None, None));
    }
}

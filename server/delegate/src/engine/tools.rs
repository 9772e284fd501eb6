//! Runs the tools that a step asked for, one after the other, in their order.
//!
//! A result is written before anything else happens. It must never run a tool again that has ended, nor one that a person
//! has to approve first.

use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::Map;
use tokio::sync::watch;

use super::core::Core;
use super::doing::Doing;
use super::error::EngineError;
use super::event::Event;
use super::recover::unknown;
use super::running::{Running, Stopped};
use super::view::{Approval, percent, says};
use crate::store::StoreError;
use crate::task::{CallResult, CallState, Task, ToolCall};
use crate::tool::{Patience, ToolOutcome};

/// The status of a call that a person did not approve.
const REFUSED: &str = "refused";

impl Core {
    pub(super) fn advance_call(&mut self, task: &Task, call: ToolCall) -> Result<(), StoreError> {
        match call.state {
            CallState::Asked => match self.toolbox.needs_approval(&call.request) {
                Some(asks) => {
                    self.store.ask_approval(call.number, &asks)?;
                    self.doing = Doing::Approval(call.number, Self::after(self.bounds.approval_ms_max));
                    self.tell(Event::ApprovalAsked(Box::new(Approval {
                        number: call.number,
                        task: task.id.clone(),
                        source: task.source.clone(),
                        request: call.request,
                        asks,
                    })));
                    Ok(())
                }
                None => self.run_call(task, call),
            },
            CallState::AwaitsApproval => {
                self.doing = Doing::Approval(call.number, Self::after(self.bounds.approval_ms_max));
                Ok(())
            }
            CallState::Approved => self.run_call(task, call),
            CallState::Running => {
                // No tool runs while this is decided, so how this one has ended is not known.
                let result = unknown("it was lost while it ran");
                self.store.end_call(call.number, &result, self.now_ms())
            }
            CallState::Done => Ok(()),
        }
    }

    fn run_call(&mut self, task: &Task, call: ToolCall) -> Result<(), StoreError> {
        self.store.begin_call(call.number, self.now_ms())?;
        let percent = percent(task.step);
        let begun = Some(Arc::new(self.store.call(call.number)?));
        let says = says(&call.request);
        self.tell(Event::Progress { task: task.id.clone(), says, percent, call: begun });
        let (stop, stops) = watch::channel(false);
        let (toolbox, request, of) = (self.toolbox.clone(), call.request.clone(), task.clone());
        let work = Box::pin(async move { toolbox.run_for(&of, &request, stops).await });
        self.doing = Doing::Tool(Box::new(Running {
            task: task.id.clone(),
            number: call.number,
            request: call.request,
            work,
            stop,
            stopped: None,
            due: Self::after(self.bounds.tool_ms_max),
        }));
        Ok(())
    }

    /// Stops the tool that runs, if it may be stopped or `always` says so.
    pub(super) fn stop_tool(&mut self, why: Stopped, always: bool) {
        let due = Self::after(self.bounds.tool_stop_ms_max);
        let Doing::Tool(running) = &mut self.doing else { return };
        if running.stopped == Some(why) {
            return;
        }
        if !always && self.toolbox.patience(&running.request.name) == Patience::Wait {
            return;
        }
        if running.stopped.is_none() {
            running.due = due.min(running.due);
        }
        running.stopped = Some(why);
        let _ = running.stop.send(true);
    }

    pub(super) fn on_tool_ended(&mut self, outcome: ToolOutcome) -> Result<(), StoreError> {
        let Doing::Tool(running) = std::mem::replace(&mut self.doing, Doing::Nothing) else { return Ok(()) };
        if outcome.was_stopped && running.stopped == Some(Stopped::ForNow) {
            return self.store.call_again(running.number);
        }
        let mut text = outcome.text;
        cut(&mut text, self.bounds.result_bytes_max);
        if running.stopped == Some(Stopped::TimeIsUp) {
            let seconds = self.bounds.tool_ms_max / 1_000;
            let _ = write!(text, "\n[it was stopped after {seconds} s]");
        }
        let status = match (outcome.was_stopped, outcome.succeeded) {
            (true, _) => "stopped",
            (false, true) => "success",
            (false, false) => "error",
        };
        self.end_call(&running, &CallResult { text, status: status.to_owned(), shown: outcome.shown })
    }

    fn end_call(&mut self, running: &Running, result: &CallResult) -> Result<(), StoreError> {
        self.store.end_call(running.number, result, self.now_ms())?;
        if self.turn.as_ref().is_some_and(|turn| turn.task == running.task) {
            let task = self.store.task(&running.task)?;
            let says = format!("{}: {}", running.request.name, result.status);
            let call = Some(Arc::new(self.store.call(running.number)?));
            let percent = percent(task.step);
            self.tell(Event::Progress { task: task.id, says, percent, call });
        }
        Ok(())
    }

    /// The tool takes too long, or does not end although it was stopped.
    pub(super) fn on_tool_due(&mut self) -> Result<(), StoreError> {
        let Doing::Tool(running) = &self.doing else { return Ok(()) };
        if running.stopped.is_none() {
            self.stop_tool(Stopped::TimeIsUp, true);
            return Ok(());
        }
        let Doing::Tool(running) = std::mem::replace(&mut self.doing, Doing::Nothing) else { return Ok(()) };
        let writes = self.toolbox.writes(&running.request.name);
        if running.stopped == Some(Stopped::ForNow) && !writes {
            return self.store.call_again(running.number);
        }
        self.end_call(&running, &unknown("it did not end when it was stopped"))
    }

    /// A person decides on a tool call.
    pub(super) fn decide(
        &mut self,
        number: i64,
        may_run: bool,
    ) -> Result<Result<(), EngineError>, StoreError> {
        let waits = self.store.awaiting_approval()?.iter().any(|(_, call)| call.number == number);
        if !waits {
            let says = format!("no tool call {number} waits for a decision");
            return Ok(Err(EngineError::NotFound(says)));
        }
        if may_run {
            self.store.approve_call(number)?;
            self.decided(number, true);
        } else {
            self.refuse_call(number, "the person refused this; do without it, or ask them why")?;
        }
        Ok(Ok(()))
    }

    pub(super) fn refuse_call(&mut self, number: i64, why: &str) -> Result<(), StoreError> {
        let result =
            CallResult { text: format!("error: {why}"), status: REFUSED.to_owned(), shown: Map::new() };
        self.store.end_call(number, &result, self.now_ms())?;
        self.decided(number, false);
        Ok(())
    }

    fn decided(&mut self, number: i64, may_run: bool) {
        if matches!(self.doing, Doing::Approval(waits, _) if waits == number) {
            self.doing = Doing::Nothing;
        }
        self.tell(Event::ApprovalDecided { number, may_run });
    }
}

/// Cuts a text to so many bytes, and says so.
fn cut(text: &mut String, bytes_max: usize) {
    if text.len() <= bytes_max {
        return;
    }
    let whole = text.len();
    let end = (0..=bytes_max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.truncate(end);
    let _ = write!(text, "\n[cut: {end} of {whole} bytes]");
}

//! Tool calls: steps of the model, the parallel rule, limits, the background, outcomes. A call has exactly
//! one outcome. After it, only a background result of the call may reach the model.

use std::sync::Arc;

use host_profiles::{Parallel, ProgressTokens, Restart, Unallowed};
use serde_json::{Value, json};

use super::send::{Made, Shape};
use super::step::Step;
use super::{HostMachine, OPEN_MAX, Pending, Phase, Timer};
use crate::effect::{Carrier, HostEventKind, Outcome, ToolCall};
use crate::flatten::{self, Origin};
use crate::wire::{fill, id_key, uuid};

/// A call without an outcome so far, or whose result is still to come.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) wanted: ToolCall,
    pub(super) tool_use_id: String,
    /// Its place in its step.
    pub(super) place: usize,
    /// Id and key of the request, once sent.
    pub(super) sent: Option<(Value, String)>,
    /// The key of its progress token.
    pub(super) token: Option<String>,
    /// The number of its background task.
    task: Option<u64>,
}

impl HostMachine {
    pub(super) fn begin_step(&mut self, wanted: Vec<ToolCall>) {
        if wanted.is_empty() {
            return;
        }
        if self.calls.len() + wanted.len() > OPEN_MAX {
            for call in wanted {
                self.done_with(call.label, Outcome::Error, None);
            }
            return self.note(format!("refused a step: more than {OPEN_MAX} open calls"));
        }
        self.ensure_turn();
        self.steps_begun += 1;
        let mut step = Vec::with_capacity(wanted.len());
        for (place, call) in wanted.into_iter().enumerate() {
            let seq = self.next_call;
            self.next_call += 1;
            let tool_use_id =
                call.tool_use_id.clone().unwrap_or_else(|| format!("toolu_{:04}_{place}", self.steps_begun));
            self.calls
                .insert(seq, Call { wanted: call, tool_use_id, place, sent: None, token: None, task: None });
            step.push(seq);
        }
        self.steps.push_back(step);
    }

    /// Starts as many steps and calls as can start.
    pub(super) fn pump(&mut self) {
        loop {
            if self.over || self.link.phase == Phase::Closing || self.hooks.hold_the_model() {
                return;
            }
            if self.step.is_none() {
                let Some(next) = self.steps.front() else {
                    return self.end_turn_that_waited();
                };
                if next.iter().all(|seq| !self.calls.contains_key(seq)) {
                    self.steps.pop_front();
                    continue;
                }
                if !self.may_call() {
                    return;
                }
                if self.catalog.warm {
                    self.catalog.warm = false;
                    self.ask_tools_blocking();
                    return;
                }
                let waiting = self.steps.pop_front().unwrap_or_default().into();
                self.abort_finished();
                self.step = Some(Step { waiting, ..Step::default() });
            }
            if !self.start_calls() {
                return;
            }
        }
    }

    /// Whether calls can be sent; a server that has exited may be started for them.
    fn may_call(&mut self) -> bool {
        match self.link.phase {
            Phase::Open => self.catalog.blocking.is_empty() && self.link.ready_told,
            Phase::Gone => match self.options.mode.of(&self.profile.life.restart) {
                Restart::Never => true,
                rule => {
                    let quick = *rule == Restart::NextCall;
                    self.respawn(true, quick);
                    false
                }
            },
            Phase::Failed => true,
            // If the turn did not wait for the server, it has none of its tools yet.
            Phase::Probing | Phase::Initializing => self.link.ready_told,
            Phase::Down | Phase::Closing => false,
        }
    }

    /// Starts the calls of the running step that may start. Returns whether the step is over.
    fn start_calls(&mut self) -> bool {
        loop {
            let Some(step) = &self.step else {
                return true;
            };
            let Some(seq) = step.waiting.front().copied() else {
                if !step.open.is_empty() || !step.hooks.is_empty() {
                    return false;
                }
                self.step = None;
                self.step_over();
                return true;
            };
            let alone_running = step.open.iter().any(|open| !self.may_share(*open));
            let may_start = match *self.profile.calls.parallel {
                Parallel::All => true,
                Parallel::Serial => step.open.is_empty(),
                Parallel::ReadOnly => step.open.is_empty() || (!alone_running && self.may_share(seq)),
            };
            if !may_start {
                return false;
            }
            if !self.may_call() {
                return false;
            }
            if let Some(step) = &mut self.step {
                step.waiting.pop_front();
            }
            self.start_call(seq);
        }
    }

    fn may_share(&self, seq: u64) -> bool {
        self.calls
            .get(&seq)
            .and_then(|call| self.catalog.find(&call.wanted.tool))
            .is_some_and(|tool| tool.read_only)
    }

    fn start_call(&mut self, seq: u64) {
        let Some(call) = self.calls.get(&seq) else {
            return;
        };
        let wanted = call.wanted.clone();
        let profile = Arc::clone(&self.profile);
        let texts = &profile.texts;
        let task_only = self.profile.schemas.task_only.value.clone();
        let found = self.catalog.find(&wanted.tool).map(|tool| (tool.name.clone(), tool.task_only));
        let (found, task_only) = match found {
            Some((name, runs_as_task)) => (Some(name), task_only.filter(|_| runs_as_task)),
            None => (None, None),
        };
        let consent = found.as_ref().map_or(Unallowed::Runs, |name| self.consent_to(name));
        let refusal = if self.link.phase == Phase::Gone && found.is_some() {
            Some(&texts.gone.value)
        } else if found.is_none() {
            Some(&texts.no_such_tool.value)
        } else if !self.options.allow_tools || consent == Unallowed::Refuses {
            Some(&texts.denied.value)
        } else {
            task_only.as_ref()
        };
        if let Some(template) = refusal {
            let text = self.words(template, &wanted.tool, "");
            return self.finish(seq, Outcome::Error, None, text, true);
        }
        let name = found.unwrap_or_default();
        if let Some(call) = self.calls.get_mut(&seq) {
            call.wanted.tool.clone_from(&name);
        }
        if let Some(step) = &mut self.step {
            step.open.insert(seq);
        }
        if consent == Unallowed::Asks {
            return self.ask_consent(seq, &name, wanted.arguments);
        }
        self.send_call(seq);
    }

    /// The tool of a call that was not sent so far.
    pub(super) fn waiting_tool(&self, seq: u64) -> Option<String> {
        self.calls.get(&seq).filter(|call| call.sent.is_none()).map(|call| call.wanted.tool.clone())
    }

    /// Sends the call, unless the server has exited while the user was asked.
    pub(super) fn send_call(&mut self, seq: u64) {
        if self.link.phase == Phase::Gone {
            let tool = self.waiting_tool(seq).unwrap_or_default();
            let text = self.words(&self.profile.texts.gone.clone(), &tool, "");
            return self.finish(seq, Outcome::Error, None, text, true);
        }
        let Some(call) = self.calls.get(&seq) else {
            return;
        };
        let made = Made { tool_use_id: call.tool_use_id.clone(), place: call.place };
        let arguments = call.wanted.arguments.clone();
        let own = vec![("name", json!(call.wanted.tool)), ("arguments", arguments)];
        let id = json!(self.link.next_id);
        let token = self.next_call_token(&id);
        let pending = Pending::Call(seq);
        let key = self.request("tools/call", own, Some(&made), Shape::Call, pending);
        if let Some(call) = self.calls.get_mut(&seq) {
            call.sent = Some((id, key));
            call.token = token;
        }
        let limit_ms = self.call_limit_ms();
        self.set_timer(Timer::Call(seq), limit_ms);
        if let Some(idle_ms) = *self.profile.calls.idle_timeout_ms {
            self.set_timer(Timer::Idle(seq), idle_ms);
        }
        if let Some(background_ms) = self.background_ms() {
            self.set_timer(Timer::Background(seq), background_ms);
        }
    }

    /// The token of the next call, which is sent with this id.
    pub(super) fn next_call_token(&self, id: &Value) -> Option<String> {
        match *self.profile.wire.progress_tokens {
            ProgressTokens::None => None,
            ProgressTokens::CallsById => id_key(id),
            ProgressTokens::CallsByUuid => id_key(&json!(uuid(self.link.next_token))),
            ProgressTokens::AllByCounter => Some(self.link.next_token.to_string()),
        }
    }

    /// The limit of a call, in milliseconds.
    pub(super) fn call_limit_ms(&self) -> u64 {
        let calls = &self.profile.calls;
        match self.options.tool_timeout_ms {
            Some(set_ms) if *calls.timeout_configurable && !self.link.setting_lost => {
                set_ms.max(*calls.timeout_floor_ms)
            }
            _ => *calls.timeout_ms,
        }
    }

    fn background_ms(&self) -> Option<u64> {
        let calls = &self.profile.calls;
        let own = *self.options.mode.of(&calls.background_after_ms);
        match self.options.background_after_ms {
            Some(0) if own.is_some() || *calls.background_configurable => None,
            Some(set_ms) if own.is_some() || *calls.background_configurable => Some(set_ms),
            _ => own,
        }
    }

    /// Fills a template about a tool.
    pub(super) fn words(&self, template: &str, tool: &str, message: &str) -> String {
        let shown = self.catalog.find(tool).map_or_else(|| tool.to_owned(), |tool| tool.shown_name.clone());
        let seconds = (self.call_limit_ms() / 1000).to_string();
        fill(
            template,
            &[
                ("server", &self.options.server_name),
                ("tool", tool),
                ("name", &shown),
                ("message", message),
                ("seconds", &seconds),
            ],
        )
    }

    pub(super) fn on_call_answer(&mut self, seq: u64, body: Result<Value, Value>) {
        let Some(call) = self.calls.get(&seq) else {
            return;
        };
        let tool = call.wanted.tool.clone();
        if let Ok(result) = &body
            && self.follows_task(result)
        {
            return self.become_task(seq, result);
        }
        if let Ok(result) = &body
            && let Some((name, need)) = self.needs_of(result)
        {
            let state = result.get("requestState").cloned().unwrap_or_default();
            return self.ask_for(seq, &name, &need, &state);
        }
        let background = call.task.is_some();
        let profile = Arc::clone(&self.profile);
        let texts = &profile.texts;
        let (shown, outcome, raw) = match body {
            Ok(result) => {
                let promises = self.catalog.find(&tool).is_some_and(|tool| tool.promises_output);
                let refused = self.result_fails(&result, promises);
                let tool_meta = self.catalog.find(&tool).map(|tool| tool.meta.clone()).unwrap_or_default();
                let path = format!("/tmp/{}-output-{seq}.txt", self.options.server_name);
                let origin = Origin {
                    server: &self.options.server_name,
                    tool: &tool,
                    tool_meta: &tool_meta,
                    path: &path,
                };
                let shown = if refused {
                    flatten::refused(texts, origin)
                } else if background {
                    flatten::whole(texts, origin, &result)
                } else {
                    flatten::result(texts, origin, &result)
                };
                let outcome = if shown.is_error { Outcome::Error } else { Outcome::Result };
                ((shown.text, shown.is_error), outcome, result)
            }
            Err(error) => {
                let message = error.get("message").and_then(Value::as_str);
                let code = error.get("code").and_then(Value::as_i64).unwrap_or_default().to_string();
                let template = fill(&texts.rpc_error, &[("code", &code)]);
                let text = self.words(&template, &tool, message.unwrap_or_default());
                ((text, true), Outcome::Error, error)
            }
        };
        self.abort_later(seq);
        self.finish(seq, outcome, Some(raw), shown.0, shown.1);
    }

    /// Some hosts cancel a call once more after it has ended.
    fn abort_later(&mut self, seq: u64) {
        let sent = self.calls.get(&seq).and_then(|call| call.sent.clone());
        if let (Some(after_ms), Some((id, _))) = (*self.profile.calls.abort_after_ms, sent) {
            self.aborts.push_back(id);
            self.set_timer(Timer::Abort, after_ms);
        }
    }

    /// Cancels the calls that have ended.
    pub(super) fn abort_finished(&mut self) {
        self.timers.remove(&Timer::Abort);
        let reason = self.profile.calls.interrupt_reason.value.clone();
        while let Some(id) = self.aborts.pop_front() {
            self.cancel(&id, reason.as_deref());
        }
    }

    pub(super) fn call_too_slow(&mut self, seq: u64) {
        let Some((id, _)) = self.unsend(seq) else {
            return;
        };
        let reason = self.profile.calls.timeout_reason.value.clone();
        self.cancel(&id, Some(&reason));
        if self.profile.calls.abort_after_ms.is_some() {
            let reason = self.profile.calls.interrupt_reason.value.clone();
            self.cancel(&id, reason.as_deref());
        }
        let tool = self.calls.get(&seq).map(|call| call.wanted.tool.clone()).unwrap_or_default();
        let text = self.words(&self.profile.texts.timed_out.clone(), &tool, "");
        self.finish(seq, Outcome::TimedOut, None, text, true);
    }

    /// Removes the request of a call from the open ones, so that a late answer is dropped.
    fn unsend(&mut self, seq: u64) -> Option<(Value, String)> {
        let sent = self.calls.get_mut(&seq)?.sent.take()?;
        self.link.pending.remove(&sent.1);
        Some(sent)
    }

    /// Reports the outcome of a call: in place, or as a background result.
    pub(super) fn finish(&mut self, seq: u64, outcome: Outcome, raw: Option<Value>, text: String, bad: bool) {
        self.forget_timers_of(seq);
        self.close_dialog(seq);
        let Some(call) = self.calls.remove(&seq) else {
            return;
        };
        if let Some(step) = &mut self.step {
            step.open.remove(&seq);
            step.waiting.retain(|waiting| *waiting != seq);
        }
        let ToolCall { tool, label, .. } = call.wanted;
        if let Some(task) = call.task {
            return self.task_done(task, &tool, &label, &text, bad);
        }
        self.show(Carrier::ToolResult, Some(tool.clone()), Some(label.clone()), text, bad, false);
        self.tool_done(&tool);
        self.done_with(label, outcome, raw);
    }

    /// Lets the turn go on without a call that became a task. Returns its tool and label.
    pub(super) fn let_go(&mut self, seq: u64) -> Option<(String, String)> {
        self.forget_timers_of(seq);
        let call = self.calls.remove(&seq)?;
        if let Some(step) = &mut self.step {
            step.open.remove(&seq);
        }
        Some((call.wanted.tool, call.wanted.label))
    }

    fn forget_timers_of(&mut self, seq: u64) {
        self.timers.retain(|timer, _| {
            !matches!(timer, Timer::Call(one) | Timer::Idle(one) | Timer::Background(one) if *one == seq)
        });
    }

    pub(super) fn done_with(&mut self, label: String, outcome: Outcome, raw: Option<Value>) {
        self.tell(HostEventKind::CallDone { label, outcome, raw });
    }

    /// Lets the turn go on without a call that has run for long.
    pub(super) fn move_to_background(&mut self, seq: u64) {
        let task = self.turn.new_task();
        let Some(call) = self.calls.get_mut(&seq) else {
            return;
        };
        call.task = Some(task);
        let ToolCall { tool, label, .. } = call.wanted.clone();
        if let Some(step) = &mut self.step {
            step.open.remove(&seq);
        }
        let seconds = (self.background_ms().unwrap_or_default() / 1000).to_string();
        let text = fill(
            &self.profile.texts.backgrounded,
            &[
                ("server", &self.options.server_name),
                ("tool", &tool),
                ("task", &super::turn::task_name(task)),
                ("seconds", &seconds),
            ],
        );
        self.show(Carrier::ToolResult, Some(tool), Some(label.clone()), text, false, false);
        self.done_with(label, Outcome::Backgrounded, None);
    }

    /// Takes progress of one of the host's requests.
    pub(super) fn on_progress(&mut self, params: &Value) {
        let token = params.get("progressToken").cloned().unwrap_or_default();
        let seq = id_key(&token).and_then(|token| self.call_of_token(&token));
        let Some(seq) = seq else {
            return self.note("dropped progress of no open call");
        };
        if self.timers.contains_key(&Timer::Idle(seq))
            && let Some(idle_ms) = *self.profile.calls.idle_timeout_ms
        {
            self.set_timer(Timer::Idle(seq), idle_ms);
        }
        if *self.profile.calls.progress_extends {
            let limit_ms = self.call_limit_ms();
            self.set_timer(Timer::Call(seq), limit_ms);
        }
    }

    fn call_of_token(&self, token: &str) -> Option<u64> {
        self.calls
            .iter()
            .find(|(_, call)| call.sent.is_some() && call.token.as_deref() == Some(token))
            .map(|(seq, _)| *seq)
    }

    /// The user interrupts: open calls are cancelled and the turn ends.
    pub(super) fn interrupt(&mut self) {
        let reason = self.profile.calls.interrupt_reason.value.clone();
        let text = self.profile.texts.interrupted.clone();
        self.cancel_calls(reason.as_deref(), Some(&text));
        self.interrupt_turn();
    }

    /// Cancels every call that is not in the background.
    pub(super) fn cancel_calls(&mut self, reason: Option<&str>, text: Option<&str>) {
        self.steps.clear();
        let open: Vec<u64> =
            self.calls.iter().filter(|(_, call)| call.task.is_none()).map(|(seq, _)| *seq).collect();
        for seq in open {
            let sent = self.unsend(seq);
            if let (Some((id, _)), Some(reason)) = (&sent, reason) {
                self.cancel(id, Some(reason));
            }
            match (sent, text) {
                (Some(_), Some(text)) => {
                    self.finish(seq, Outcome::Cancelled, None, text.to_owned(), true);
                }
                _ => self.drop_call(seq),
            }
        }
        self.step = None;
    }

    /// Ends a call without a text for the model.
    fn drop_call(&mut self, seq: u64) {
        self.forget_timers_of(seq);
        self.close_dialog(seq);
        if let Some(call) = self.calls.remove(&seq)
            && call.task.is_none()
        {
            self.done_with(call.wanted.label, Outcome::Cancelled, None);
        }
    }

    /// The server has exited: every call that was sent fails.
    pub(super) fn fail_open_calls(&mut self) {
        let open: Vec<u64> =
            self.calls.iter().filter(|(_, call)| call.sent.is_some()).map(|(seq, _)| *seq).collect();
        for seq in open {
            let tool = self.calls.get(&seq).map(|call| call.wanted.tool.clone()).unwrap_or_default();
            let text = self.words(&self.profile.texts.closed.clone(), &tool, "");
            self.finish(seq, Outcome::Error, None, text, true);
        }
    }

    /// The host ends, so background calls are dropped too.
    pub(super) fn forget_calls(&mut self) {
        self.cancel_calls(None, None);
        self.calls.clear();
    }
}

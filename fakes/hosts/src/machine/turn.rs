//! The turns of the model and the texts that wait for one: prompts, channel messages, other arrivals. It
//! never interrupts a turn; a text that arrives meanwhile waits for the next boundary.

use std::collections::VecDeque;

use host_profiles::WhileBusy;

use super::HostMachine;
use super::step::Step;
use crate::effect::{Carrier, HostEventKind, ModelEntry};
use crate::wire::{fill, uuid};

/// Most texts that wait for a boundary; later ones are lost, with a note.
const WAITING_MAX: usize = 10_000;
/// The host's calendar at its start, in milliseconds since 1970: 2026-01-01.
const TURN_EPOCH_MS: u64 = 1_767_225_600_000;

/// The running turn, and the waiting texts.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) running: bool,
    /// The model has ended the turn, which waits for hooks.
    ends: bool,
    /// The number of turns, and when the last one began.
    count: u64,
    began_ms: u64,
    prompts: VecDeque<String>,
    channel: VecDeque<String>,
    /// Texts that wait for the next boundary.
    notices: VecDeque<Notice>,
    /// Texts that wait for the end of the turn.
    later: VecDeque<Notice>,
    tasks_begun: u64,
}

/// A text that arrived without a prompt of the user.
#[derive(Debug)]
pub(super) struct Notice {
    pub(super) carrier: Carrier,
    pub(super) tool: Option<String>,
    pub(super) label: Option<String>,
    pub(super) text: String,
    pub(super) bad: bool,
}

impl Notice {
    /// A text without a call.
    pub(super) fn new(carrier: Carrier, text: String) -> Self {
        Self { carrier, tool: None, label: None, text, bad: false }
    }
}

impl Turn {
    pub(super) fn new_task(&mut self) -> u64 {
        self.tasks_begun += 1;
        self.tasks_begun
    }

    /// The id of the turn, in the form of real hosts.
    pub(super) fn id(&self) -> String {
        uuid(self.count)
    }

    /// The start of the turn by the host's calendar, in milliseconds since 1970.
    pub(super) fn started_ms(&self) -> u64 {
        TURN_EPOCH_MS.saturating_add(self.began_ms)
    }

    fn begin(&mut self, now_ms: u64) {
        self.running = true;
        self.ends = false;
        self.count += 1;
        self.began_ms = now_ms;
    }

    fn waits(&self) -> usize {
        self.prompts.len() + self.channel.len() + self.notices.len() + self.later.len()
    }
}

/// The name of a background task, as the model sees it.
pub(super) fn task_name(task: u64) -> String {
    format!("mcp-task-{task}")
}

impl HostMachine {
    /// Shows the model a text.
    pub(super) fn show(
        &mut self,
        carrier: Carrier,
        tool: Option<String>,
        label: Option<String>,
        text: String,
        is_error: bool,
        woke: bool,
    ) {
        self.tell(HostEventKind::Model(ModelEntry {
            at_ms: self.now_ms,
            carrier,
            tool,
            label,
            text,
            is_error,
            woke,
        }));
    }

    pub(super) fn type_prompt(&mut self, prompt: String) {
        if self.turn.running {
            if self.has_room() {
                self.turn.prompts.push_back(prompt);
            }
            return;
        }
        self.turn_begins(false);
        if !self.ask_prompt_hook(&prompt) {
            self.show_prompt(prompt, None);
        }
    }

    /// Shows the model a prompt, the text that a hook added, and the waiting texts.
    pub(super) fn show_prompt(&mut self, prompt: String, added: Option<String>) {
        self.show(Carrier::Prompt, None, None, prompt, false, false);
        if let Some(text) = added {
            self.show(Carrier::Hook, None, None, text, false, false);
        }
        self.show_notices(true, false);
        self.before_model_request();
    }

    /// Begins a turn for an action of the model, if none is running.
    pub(super) fn ensure_turn(&mut self) {
        self.turn.ends = false;
        if !self.turn.running {
            self.turn_begins(false);
            self.show_notices(true, false);
            self.before_model_request();
        }
    }

    fn turn_begins(&mut self, by_itself: bool) {
        self.turn.begin(self.now_ms);
        self.tell(HostEventKind::Turn { running: true, by_itself });
    }

    /// The model ends its turn; a hook may prevent that.
    pub(super) fn end_turn(&mut self) {
        if !self.turn.running {
            return self.note("there was no turn to end");
        }
        if !self.steps.is_empty() || self.step.as_ref().is_some_and(Step::has_calls) {
            return self.note("the turn can't end while its calls run");
        }
        if self.hooks.end_the_turn() || self.waking.holds_turn() {
            return self.note("the turn waits for a hook");
        }
        // The model does nothing before the hooks for which it waits have ended.
        if self.step.is_some() || self.hooks.hold_the_model() {
            self.turn.ends = true;
        } else if !self.ask_turn_end_hook() && !self.hold_turn_for_waking_hook() {
            self.turn_over();
        }
    }

    /// Hooks have ended: the turn ends if it waited only for them.
    pub(super) fn end_turn_that_waited(&mut self) {
        let is_free = self.step.is_none() && self.steps.is_empty() && !self.hooks.hold_the_model();
        if self.turn.ends && is_free {
            self.turn.ends = false;
            self.end_turn();
        }
    }

    /// The user ended the turn; no hook is asked.
    pub(super) fn interrupt_turn(&mut self) {
        self.forget_hooks_of_the_turn();
        self.forget_held_turn();
        if self.turn.running {
            self.turn_over();
        } else {
            self.note("there was no turn to end");
        }
    }

    /// The turn has ended; waiting texts begin the next one at once.
    pub(super) fn turn_over(&mut self) {
        self.turn.running = false;
        self.tell(HostEventKind::Turn { running: false, by_itself: false });
        if self.turn.waits() > 0 {
            let alone = self.turn.prompts.is_empty();
            self.turn_begins(alone);
            self.show_notices(true, alone);
            self.show_prompts();
            while let Some(text) = self.turn.channel.pop_front() {
                self.show(Carrier::Channel, None, None, text, false, alone);
            }
            self.before_model_request();
        }
        if !self.steps.is_empty() {
            self.ensure_turn();
        }
    }

    /// A hook demands more: the turn goes on.
    pub(super) fn turn_goes_on(&mut self, text: String) {
        self.tell(HostEventKind::Turn { running: true, by_itself: true });
        self.show(Carrier::Hook, None, None, text, false, false);
        self.begin_session_again();
        self.before_model_request();
    }

    /// All calls of a step have ended, which is a boundary inside a turn.
    pub(super) fn step_over(&mut self) {
        if self.turn.running {
            self.show_notices(false, false);
            self.show_prompts();
            self.before_model_request();
        }
    }

    fn show_prompts(&mut self) {
        while let Some(text) = self.turn.prompts.pop_front() {
            self.show(Carrier::Prompt, None, None, text, false, false);
        }
    }

    /// Shows the texts that wait for a boundary; at the beginning of a turn, all waiting texts.
    fn show_notices(&mut self, begins: bool, woke: bool) {
        let mut due = std::mem::take(&mut self.turn.notices);
        if begins {
            due.append(&mut self.turn.later);
        }
        for notice in due {
            let Notice { carrier, tool, label, text, bad } = notice;
            self.show(carrier, tool, label, text, bad, woke);
        }
    }

    /// A text arrived: it begins a turn, or waits as the profile says.
    pub(super) fn comes_by_itself(&mut self, notice: Notice, wakes: bool, busy: WhileBusy) {
        let idle = !self.turn.running;
        if !(idle && wakes) {
            if busy == WhileBusy::Lost {
                return self.note(format!("lost a text of {:?}: the host does not show it", notice.carrier));
            }
            if !self.has_room() {
                return;
            }
        }
        match busy {
            WhileBusy::TurnEnd => self.turn.later.push_back(notice),
            WhileBusy::Boundary | WhileBusy::Lost => self.turn.notices.push_back(notice),
        }
        if idle && wakes {
            self.turn_begins(true);
            self.show_notices(true, true);
            self.before_model_request();
        }
    }

    /// Like [`Self::comes_by_itself`], with the text of a hook in the same model request.
    pub(super) fn comes_together(
        &mut self,
        notice: Notice,
        added: Option<String>,
        wakes: bool,
        busy: WhileBusy,
    ) {
        let Some(added) = added.filter(|_| self.turn.running || wakes) else {
            return self.comes_by_itself(notice, wakes, busy);
        };
        let begins = !self.turn.running;
        if begins {
            self.turn_begins(true);
        }
        for notice in [notice, Notice::new(Carrier::Hook, added)] {
            self.comes_by_itself(notice, false, busy);
        }
        if begins {
            self.show_notices(true, true);
            self.before_model_request();
        }
    }

    /// A background call has its result.
    pub(super) fn task_done(&mut self, task: u64, tool: &str, label: &str, text: &str, bad: bool) {
        let texts = &self.profile.texts;
        let result = if bad { fill(&texts.task_failed, &[("result", text)]) } else { text.to_owned() };
        let status = if bad { "failed" } else { "completed" };
        let summary = format!("{} of {} {status}", tool, self.options.server_name);
        let text = fill(
            &texts.task,
            &[("task", &task_name(task)), ("status", status), ("summary", &summary), ("result", &result)],
        );
        let (tool, label) = (Some(tool.to_owned()), Some(label.to_owned()));
        let notice = Notice { carrier: Carrier::TaskNotification, tool, label, text, bad };
        self.comes_by_itself(notice, true, WhileBusy::Boundary);
    }

    /// A channel message for the model has arrived.
    pub(super) fn channel_message(&mut self, text: String) {
        if !self.turn.running {
            self.turn_begins(true);
            self.show(Carrier::Channel, None, None, text, false, true);
            self.before_model_request();
        } else if self.has_room() {
            self.turn.channel.push_back(text);
        }
    }

    fn has_room(&mut self) -> bool {
        let room = self.turn.waits() < WAITING_MAX;
        if !room {
            self.note(format!("lost a text: {WAITING_MAX} wait already"));
        }
        room
    }
}

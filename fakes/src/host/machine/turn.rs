//! The model's turns and what waits for one: typed prompts, channel messages, background results.
//! It never interrupts a turn; what comes in between waits for its next boundary.

use std::collections::VecDeque;

use super::HostMachine;
use crate::host::effect::{Carrier, Effect, ModelEntry};
use crate::host::wire::{fill, uuid};

/// Most texts that wait for a boundary; later ones are lost, with a note.
const WAITING_MAX: usize = 10_000;
/// The host's own calendar at its start, in milliseconds: 2026-01-01.
const TURN_EPOCH_MS: u64 = 1_767_225_600_000;

/// The turn that runs, and what waits.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) running: bool,
    /// How many turns there were, and when the last one began.
    count: u64,
    began_ms: u64,
    prompts: VecDeque<String>,
    channel: VecDeque<String>,
    tasks: VecDeque<TaskResult>,
    tasks_begun: u64,
}

#[derive(Debug)]
struct TaskResult {
    tool: String,
    label: String,
    text: String,
    bad: bool,
}

impl Turn {
    pub(super) fn new_task(&mut self) -> u64 {
        self.tasks_begun += 1;
        self.tasks_begun
    }

    /// The turn's id as hosts write it.
    pub(super) fn id(&self) -> String {
        uuid(self.count)
    }

    /// When it began, in milliseconds since 1970 as the host would say.
    pub(super) fn started_ms(&self) -> u64 {
        TURN_EPOCH_MS.saturating_add(self.began_ms)
    }

    /// A turn begins.
    fn begin(&mut self, now_ms: u64) {
        self.running = true;
        self.count += 1;
        self.began_ms = now_ms;
    }

    fn waits(&self) -> usize {
        self.prompts.len() + self.channel.len() + self.tasks.len()
    }
}

/// The name of a background task for the model.
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
        self.effects.push(Effect::Model(ModelEntry {
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
        self.turn.begin(self.now_ms);
        self.show(Carrier::Prompt, None, None, prompt, false, false);
        self.before_model_request();
    }

    /// A call without a turn begins one.
    pub(super) fn ensure_turn(&mut self) {
        if !self.turn.running {
            self.turn.begin(self.now_ms);
            self.before_model_request();
        }
    }

    /// The turn is over; what waited begins the next one at once.
    pub(super) fn end_turn(&mut self) {
        if !self.turn.running {
            return self.note("there was no turn to end");
        }
        if !self.steps.is_empty() || self.step.is_some() {
            return self.note("the turn can't end while its calls run");
        }
        self.turn.running = false;
        if self.turn.waits() > 0 {
            let alone = self.turn.prompts.is_empty();
            self.turn.begin(self.now_ms);
            self.show_tasks(alone);
            self.show_prompts();
            while let Some(text) = self.turn.channel.pop_front() {
                self.show(Carrier::Channel, None, None, text, false, alone);
            }
            self.before_model_request();
        }
    }

    /// A step's calls are all done: the boundary inside a turn.
    pub(super) fn step_over(&mut self) {
        if self.turn.running {
            self.show_tasks(false);
            self.show_prompts();
            self.before_model_request();
        }
    }

    fn show_prompts(&mut self) {
        while let Some(text) = self.turn.prompts.pop_front() {
            self.show(Carrier::Prompt, None, None, text, false, false);
        }
    }

    fn show_tasks(&mut self, woke: bool) {
        while let Some(result) = self.turn.tasks.pop_front() {
            self.show(
                Carrier::TaskNotification,
                Some(result.tool),
                Some(result.label),
                result.text,
                result.bad,
                woke,
            );
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
        if !self.has_room() {
            return;
        }
        self.turn.tasks.push_back(TaskResult { tool: tool.to_owned(), label: label.to_owned(), text, bad });
        if !self.turn.running {
            self.turn.begin(self.now_ms);
            self.show_tasks(true);
            self.before_model_request();
        }
    }

    /// A channel message for the model.
    pub(super) fn channel_message(&mut self, text: String) {
        if !self.turn.running {
            self.turn.begin(self.now_ms);
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

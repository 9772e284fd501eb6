//! The state of the screen: what happens goes in, what is to be done comes out.
//!
//! It reads no clock and does nothing itself. It must never let a tool run by a key that was meant for something else.

mod approvals;
mod commands;
mod news;
mod notes;

use std::collections::VecDeque;

use crate::input::Input;
use crate::keys::Key;
use crate::news::{Approval, Model, News, Task, Who};
use crate::speed::Speed;
use crate::talk::Talk;

/// Something that happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Happens {
    /// A key was pressed.
    Key(Key),
    /// The engine tells something.
    News(Box<News>),
    /// Time has passed.
    Tick,
}

/// Something that is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Hand a message of the person to the engine.
    Submit(String),
    /// Cancel a task, by its id.
    Cancel(String),
    /// Decide on a tool call.
    Decide {
        /// The number of its approval.
        number: i64,
        /// Whether it may run.
        may_run: bool,
    },
    /// Read the conversation, with so many of the last messages.
    ReadHistory(usize),
    /// Read how the models have done.
    ReadQualities,
    /// Begin an empty conversation.
    BeginSession,
    /// Draw everything anew.
    Redraw,
    /// Leave.
    Quit,
}

/// Where the reader is in the conversation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scroll {
    /// Lines between the last one that is shown and the end.
    pub(crate) up: usize,
    /// Lines of the conversation when it was last drawn, at this width.
    pub(crate) drawn: Option<(usize, usize)>,
    /// Lines of a page.
    pub(crate) page: usize,
}

/// The state of the screen.
#[derive(Debug, Clone, Default)]
pub struct Screen {
    /// The project's name.
    pub(crate) project: String,
    pub(crate) talk: Talk,
    /// The tasks that have not ended, in their order.
    pub(crate) tasks: Vec<Task>,
    pub(crate) approvals: VecDeque<Approval>,
    /// The approval that the person was shown, and since when no key was pressed.
    shown_approval: Option<(i64, u64)>,
    pub(crate) model: Option<Model>,
    pub(crate) trouble: Option<String>,
    pub(crate) rate_limit: u32,
    pub(crate) input: Input,
    pub(crate) scroll: Scroll,
    /// What the screen has to say, in a line.
    pub(crate) notice: Option<String>,
    /// The task that is worked on, whether the model thinks, and since when its elapsed time counts.
    pub(crate) active: Option<Active>,
    speed: Speed,
    pub(crate) now_ms: u64,
    wants_to_leave: bool,
    is_changed: bool,
    shown_second: u64,
}

/// The task that is worked on.
#[derive(Debug, Clone)]
pub(crate) struct Active {
    pub(crate) task: String,
    pub(crate) thinks: bool,
    elapsed_ms: u64,
    since_ms: u64,
}

impl Screen {
    /// The screen of a project.
    pub fn new(project: &str) -> Self {
        Self {
            project: crate::glyph::line(project, 40),
            is_changed: true,
            scroll: Scroll { page: 10, ..Scroll::default() },
            ..Self::default()
        }
    }

    /// What is written.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Takes in what happens, `now_ms` after the start.
    pub fn update(&mut self, happens: Happens, now_ms: u64) -> Vec<Effect> {
        self.now_ms = self.now_ms.max(now_ms);
        match happens {
            Happens::Key(key) => {
                self.is_changed = true;
                self.press(key)
            }
            Happens::News(news) => {
                self.is_changed = true;
                self.hear(*news);
                Vec::new()
            }
            Happens::Tick => {
                self.is_changed |= self.active.is_some() && self.elapsed_ms() / 1_000 != self.shown_second;
                Vec::new()
            }
        }
    }

    /// Whether there is something new to draw; it is not new any more after that.
    pub fn take_change(&mut self) -> bool {
        self.shown_second = self.elapsed_ms() / 1_000;
        std::mem::take(&mut self.is_changed)
    }

    /// Whether something on the screen changes with the time.
    pub fn is_ticking(&self) -> bool {
        self.active.is_some()
    }

    /// How long the active task was worked on.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        self.active
            .as_ref()
            .map_or(0, |active| active.elapsed_ms + self.now_ms.saturating_sub(active.since_ms))
    }

    pub(crate) fn tokens_per_second(&self) -> Option<f64> {
        self.active.as_ref().and_then(|_| self.speed.per_second())
    }

    pub(crate) fn active_task(&self) -> Option<&Task> {
        let active = self.active.as_ref()?;
        self.tasks.iter().find(|task| task.id == active.task)
    }

    fn model_name(&self) -> Option<String> {
        self.model.as_ref().map(|model| model.name.clone())
    }

    /// The label of a speaker.
    pub(crate) fn label(&self, who: &Who) -> String {
        match who {
            Who::You => "[you]".to_owned(),
            Who::Host(name) => format!("[{name}]"),
            Who::Model(name) => {
                let name = name.clone().or_else(|| self.model_name());
                format!("[{}]", name.as_deref().unwrap_or("entraclaw").replace(['[', ']'], "-"))
            }
        }
    }

    fn press(&mut self, key: Key) -> Vec<Effect> {
        if let Some(effect) = self.decide_by(&key) {
            return vec![effect];
        }
        let wanted_to_leave = std::mem::take(&mut self.wants_to_leave);
        match key {
            Key::Send => return self.send(),
            Key::PageUp => self.scroll.up = self.scroll.up.saturating_add(self.scroll.page),
            Key::PageDown => self.scroll.up = self.scroll.up.saturating_sub(self.scroll.page),
            Key::Escape => {
                self.scroll.up = 0;
                self.notice = None;
            }
            Key::Redraw => return vec![Effect::Redraw],
            Key::Interrupt if !self.input.is_empty() => self.input.clear(),
            Key::Interrupt if wanted_to_leave => return vec![Effect::Quit],
            Key::Interrupt => {
                self.wants_to_leave = true;
                self.notice = Some("ctrl-c again leaves; /cancel ends the task that is worked on".to_owned());
            }
            Key::EndOfInput if self.input.is_empty() => return vec![Effect::Quit],
            Key::EndOfInput => {
                self.input.edit(&Key::Delete);
            }
            key => {
                self.input.edit(&key);
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests;

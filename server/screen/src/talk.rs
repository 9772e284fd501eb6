//! The conversation as it is shown: who said what, which tools ran for it, and where a task was paused.
//!
//! It must never grow without bound, and never show a text twice.

use std::collections::VecDeque;

use entraclaw_delegate::TaskState;

use crate::news::{Said, Task, Tool, Who};
use crate::wrap::Wrapped;

/// Most entries that are shown.
const ENTRIES_MAX: usize = 1_200;
/// Most bytes of one text that are shown.
const TEXT_BYTES_MAX: usize = 256 * 1024;

/// A part of an entry.
#[derive(Debug, Clone)]
pub(crate) enum Block {
    /// What is said.
    Text(Text),
    /// A tool that was used.
    Tool(Tool),
    /// What the screen says of it.
    Mark(String),
}

/// A text, and how it was last broken into lines.
#[derive(Debug, Clone, Default)]
pub(crate) struct Text {
    text: String,
    wrapped: Wrapped,
}

impl Text {
    fn new(text: &str) -> Self {
        let mut new = Self::default();
        new.push(text);
        new
    }

    fn push(&mut self, text: &str) {
        let room = TEXT_BYTES_MAX.saturating_sub(self.text.len());
        let end = (0..=room.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        self.text.push_str(&text[..end]);
    }

    fn set(&mut self, text: &str) {
        if self.text != text {
            self.text.clear();
            self.wrapped.forget();
            self.push(text);
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn lines(&mut self, width: usize) -> &[String] {
        self.wrapped.lines(&self.text, width)
    }
}

/// What one says at a time.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Who; `None` is the screen itself.
    pub(crate) who: Option<Who>,
    pub(crate) task: Option<String>,
    pub(crate) blocks: Vec<Block>,
    /// Whether more comes.
    pub(crate) is_live: bool,
    /// The width and the number of lines of the last drawing; `None` if it has changed since.
    pub(crate) drawn: Option<(usize, usize)>,
}

impl Entry {
    fn new(who: Option<Who>, task: Option<&str>, blocks: Vec<Block>) -> Self {
        Self { who, task: task.map(str::to_owned), blocks, is_live: false, drawn: None }
    }
}

/// The conversation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Talk {
    pub(crate) entries: VecDeque<Entry>,
}

impl Talk {
    /// The conversation with these messages, without what the screen said.
    pub(crate) fn of(said: &[Said]) -> Self {
        let mut talk = Self::default();
        for one in said {
            let mut blocks: Vec<Block> = one.tools.iter().cloned().map(Block::Tool).collect();
            blocks.push(Block::Text(Text::new(one.text.trim_end())));
            talk.add(Entry::new(Some(one.who.clone()), Some(&one.task), blocks));
        }
        talk
    }

    fn add(&mut self, entry: Entry) {
        self.entries.push_back(entry);
        while self.entries.len() > ENTRIES_MAX {
            self.entries.pop_front();
        }
    }

    /// Adds what is asked for, once.
    pub(crate) fn ask(&mut self, task: &Task) {
        let is_asked = |entry: &Entry| {
            entry.task.as_ref() == Some(&task.id) && !matches!(entry.who, None | Some(Who::Model(_)))
        };
        if !self.entries.iter().any(is_asked) {
            let text = Block::Text(Text::new(task.asks.trim_end()));
            self.add(Entry::new(Some(task.who.clone()), Some(&task.id), vec![text]));
        }
    }

    /// Adds what the screen itself says.
    pub(crate) fn note(&mut self, text: &str) {
        self.add(Entry::new(None, None, vec![Block::Text(Text::new(text))]));
    }

    fn live(&mut self, task: &str) -> Option<&mut Entry> {
        let is_live = |entry: &&mut Entry| entry.is_live && entry.task.as_deref() == Some(task);
        let live = self.entries.iter_mut().rev().find(is_live)?;
        live.drawn = None;
        Some(live)
    }

    /// Shows that a task is worked on. An answer that was paused moves to the end.
    pub(crate) fn begin(&mut self, task: &Task, model: Option<&str>, mark: Option<&str>) {
        let at = self.entries.iter().position(|entry| entry.is_live && entry.task.as_ref() == Some(&task.id));
        let moved = at.and_then(|at| {
            let entry = self.entries.get(at)?;
            let has_answer_between = self.entries.iter().skip(at + 1).any(|entry| entry.task.is_some());
            if !has_answer_between {
                return self.entries.remove(at);
            }
            let left = Entry::new(
                entry.who.clone(),
                Some(&task.id),
                vec![Block::Mark("paused here for you; it goes on below".to_owned())],
            );
            Some(std::mem::replace(self.entries.get_mut(at)?, left))
        });
        let name = task.model.as_deref().or(model).map(str::to_owned);
        let mut entry = moved.unwrap_or_else(|| {
            let mut blocks: Vec<Block> = task.tools.iter().cloned().map(Block::Tool).collect();
            if !task.partial.is_empty() {
                blocks.push(Block::Text(Text::new(&task.partial)));
            }
            Entry::new(Some(Who::Model(name)), Some(&task.id), blocks)
        });
        entry.blocks.retain(|block| !matches!(block, Block::Mark(_)));
        if let Some(mark) = mark {
            entry.blocks.insert(0, Block::Mark(mark.to_owned()));
        }
        entry.is_live = true;
        entry.drawn = None;
        self.add(entry);
    }

    /// Adds a part of an answer.
    pub(crate) fn say(&mut self, task: &str, text: &str) {
        let Some(live) = self.live(task) else { return };
        match live.blocks.last_mut() {
            Some(Block::Text(last)) => last.push(text),
            _ => live.blocks.push(Block::Text(Text::new(text.trim_start_matches('\n')))),
        }
    }

    /// The text of this step is void.
    pub(crate) fn start_again(&mut self, task: &str) {
        let Some(live) = self.live(task) else { return };
        if matches!(live.blocks.last(), Some(Block::Text(_))) {
            live.blocks.pop();
        }
    }

    /// Shows the tools of a task as they are now.
    pub(crate) fn update_tools(&mut self, task: &Task) {
        let Some(live) = self.live(&task.id) else { return };
        let mut tools = task.tools.iter();
        for block in &mut live.blocks {
            if let Block::Tool(shown) = block
                && let Some(now) = tools.next()
            {
                shown.clone_from(now);
            }
        }
        live.blocks.extend(tools.cloned().map(Block::Tool));
    }

    /// Marks that a task was paused.
    pub(crate) fn pause(&mut self, task: &Task) {
        self.update_tools(task);
        let Some(live) = self.live(&task.id) else { return };
        live.blocks.push(Block::Mark("paused for you; it goes on after your message".to_owned()));
    }

    /// Shows how a task has ended.
    pub(crate) fn end(&mut self, task: &Task, model: Option<&str>, mark: Option<&str>) {
        if self.live(&task.id).is_none() {
            self.begin(task, model, None);
        }
        self.update_tools(task);
        let Some(live) = self.live(&task.id) else { return };
        live.is_live = false;
        live.blocks.retain(|block| !matches!(block, Block::Mark(says) if says.starts_with("paused")));
        if let (Some(result), None) = (&task.result, mark) {
            match live.blocks.last_mut() {
                Some(Block::Text(last)) => last.set(result),
                _ => live.blocks.push(Block::Text(Text::new(result))),
            }
        }
        live.blocks.extend(mark.map(|mark| Block::Mark(mark.to_owned())));
        live.blocks.extend(task.notes.iter().cloned().map(Block::Mark));
    }

    /// Takes up what tasks have said that have not ended.
    pub(crate) fn take_up(&mut self, tasks: &[Task], model: Option<&str>) {
        for task in tasks {
            self.ask(task);
            if !task.partial.is_empty() || !task.tools.is_empty() || task.state == TaskState::InProgress {
                self.begin(task, model, None);
                if task.state == TaskState::Preempted {
                    self.pause(task);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(state: TaskState, partial: &str, tools: &[&str]) -> Task {
        let tool = |says: &&str| Tool { says: (*says).to_owned(), is_done: false };
        Task {
            id: "task_1".to_owned(),
            number: 1,
            who: Who::Host("codex".to_owned()),
            asks: "count the files".to_owned(),
            state,
            doing: String::new(),
            model: None,
            partial: partial.to_owned(),
            tools: tools.iter().map(tool).collect(),
            resumed: None,
            result: None,
            notes: Vec::new(),
            elapsed_ms: 0,
        }
    }

    fn shown(block: &Block) -> String {
        match block {
            Block::Text(text) => text.as_str().to_owned(),
            Block::Tool(tool) => format!("tool: {}", tool.says),
            Block::Mark(says) => format!("mark: {says}"),
        }
    }

    #[test]
    fn an_answer_is_taken_up_only_where_there_is_one() {
        const PAUSED: &str = "mark: paused for you; it goes on after your message";
        for (task, answer) in [
            (task(TaskState::Queued, "", &[]), None),
            (task(TaskState::Queued, "There are", &[]), Some(vec!["There are"])),
            (task(TaskState::InProgress, "", &[]), Some(vec![])),
            (task(TaskState::InProgress, "There are", &["ls"]), Some(vec!["tool: ls", "There are"])),
            (task(TaskState::InProgress, "", &["ls"]), Some(vec!["tool: ls"])),
            (task(TaskState::Preempted, "", &[]), None),
            (task(TaskState::Preempted, "There are", &[]), Some(vec!["There are", PAUSED])),
            (task(TaskState::Preempted, "", &["ls"]), Some(vec!["tool: ls", PAUSED])),
        ] {
            let mut talk = Talk::default();
            talk.take_up(std::slice::from_ref(&task), Some("qwen"));
            let story = format!("{task:?}");
            assert_eq!(talk.entries[0].who, Some(task.who), "{story}");
            let live = talk.entries.get(1);
            assert!(live.is_none_or(|entry| entry.is_live), "{story}");
            let found = live.map(|entry| entry.blocks.iter().map(shown).collect::<Vec<_>>());
            assert_eq!(
                found,
                answer.map(|blocks| blocks.into_iter().map(str::to_owned).collect()),
                "{story}"
            );
        }
    }
}

//! What Enter does: a message goes to the engine, a command is done.

use super::{Effect, Screen, notes};
use crate::command::{Command, HELP, parse};

/// Most messages that `/history` shows; the engine tells no more at a time.
const HISTORY_MAX: usize = 1_000;

impl Screen {
    pub(super) fn send(&mut self) -> Vec<Effect> {
        let text = self.input.text();
        if text.trim().is_empty() {
            return Vec::new();
        }
        match parse(text) {
            // What was written stays, to be mended.
            Some(Err(why)) => {
                self.notice = Some(why);
                Vec::new()
            }
            Some(Ok(command)) => {
                self.input.take();
                self.go_to_end();
                self.obey(command)
            }
            None => {
                self.go_to_end();
                vec![Effect::Submit(self.input.take())]
            }
        }
    }

    fn go_to_end(&mut self) {
        self.scroll.up = 0;
        self.notice = None;
    }

    fn obey(&mut self, command: Command) -> Vec<Effect> {
        let effect = match command {
            Command::Help => {
                self.talk.note(HELP);
                return Vec::new();
            }
            Command::Status => {
                let note = notes::status(self);
                self.talk.note(&note);
                return Vec::new();
            }
            Command::Cancel(named) => match self.named(named.as_deref()) {
                Ok(task) => Effect::Cancel(task),
                Err(why) => {
                    self.notice = Some(why);
                    return Vec::new();
                }
            },
            Command::History => Effect::ReadHistory(HISTORY_MAX),
            Command::Issues => Effect::ReadQualities,
            Command::New => Effect::BeginSession,
            Command::Quit => Effect::Quit,
        };
        vec![effect]
    }

    /// The id of the task that a person names by its number or id, or of the one that is worked on.
    fn named(&self, name: Option<&str>) -> Result<String, String> {
        let Some(name) = name else {
            let active = self.active.as_ref().map(|active| active.task.clone());
            return active
                .ok_or_else(|| "no task is worked on; /cancel NUMBER ends one that waits".to_owned());
        };
        let is_named = |number: i64, id: &str| number.to_string() == name || id == name;
        let task = self.tasks.iter().find(|task| is_named(task.number, &task.id));
        task.map(|task| task.id.clone()).ok_or_else(|| {
            format!("no task {} waits or is worked on; /status shows them", crate::glyph::line(name, 40))
        })
    }
}

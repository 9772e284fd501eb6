//! What becomes of the screen when the engine tells something.

use entraclaw_delegate::TaskState;
use entraclaw_delegate::sentences::{ASKING, WRITING};

use super::{Active, Screen, notes};
use crate::news::{Everything, News, Task};
use crate::talk::Talk;

/// Most tasks that are shown as waiting; the engine takes fewer.
const TASKS_MAX: usize = 1_000;
/// What is done while the model can't be asked; why, the screen says above.
const AWAY: &str = "Waiting for the model";

impl Screen {
    pub(super) fn hear(&mut self, news: News) {
        match news {
            News::Everything(everything) => self.renew(*everything),
            News::Queued(task) => {
                self.talk.ask(&task);
                self.keep(task);
            }
            News::Started(task) => {
                let model = self.model_name();
                self.talk.ask(&task);
                self.talk.begin(&task, model.as_deref(), None);
                self.work_on(task);
            }
            News::Resumed(task) => {
                let model = self.model_name();
                let mark = task.resumed.map(notes::resumption);
                self.talk.begin(&task, model.as_deref(), mark);
                self.work_on(task);
            }
            News::Paused(task) => {
                self.talk.pause(&task);
                self.rest(&task.id);
                self.keep(task);
            }
            News::Ended(task) => self.end(&task),
            News::Changed(task) => {
                self.talk.update_tools(&task);
                if self.tasks.iter().any(|known| known.id == task.id) && !task.state.is_ended() {
                    self.keep(task);
                }
            }
            News::Piece { task, text } => {
                self.speed.came(self.now_ms);
                self.thinks(&task, false);
                self.does(WRITING);
                self.talk.say(&task, &text);
            }
            News::Thinks { task } => self.thinks(&task, true),
            News::Doing { task, says } => {
                self.thinks(&task, false);
                if let Some(known) = self.tasks.iter_mut().find(|known| known.id == task) {
                    known.doing = says;
                }
            }
            News::StartsAgain { task } => self.talk.start_again(&task),
            News::Asks(approval) => self.ask(approval),
            News::Decided { number, may_run } => self.decided(number, may_run),
            News::Away { why } => {
                self.does(AWAY);
                self.trouble = Some(why);
            }
            News::Found(model) => {
                self.does(ASKING);
                (self.model, self.trouble) = (Some(model), None);
            }
            // A task that is worked on tells it itself, and a model that was found meanwhile is newer.
            News::NotFound { why } => {
                if self.model.is_none() && self.active.is_none() {
                    self.trouble = Some(why);
                }
            }
            News::SessionBegan => {
                self.talk = Talk::default();
                self.talk.note("a new conversation; the old one is kept");
                let model = self.model_name();
                self.talk.take_up(&self.tasks, model.as_deref());
                self.scroll.up = 0;
            }
            News::History { said, total } => {
                let model = self.model_name();
                self.talk = Talk::of(&said);
                self.talk.take_up(&self.tasks, model.as_deref());
                self.notice =
                    Some(format!("{} of {total} messages; pgup scrolls, esc is the end", said.len()));
            }
            News::Qualities(rows) => {
                let note = notes::issues(&rows);
                self.talk.note(&note);
            }
            News::Refused(why) => self.notice = Some(why),
            News::EngineEnded => {
                self.active = None;
                self.trouble = Some("the engine has ended; leave by /quit and start it again".to_owned());
            }
        }
    }

    fn renew(&mut self, everything: Everything) {
        let Everything { said, tasks, approvals, model, trouble, tokens_per_second, rate_limit, .. } =
            everything;
        self.talk = Talk::of(&said);
        (self.model, self.trouble, self.rate_limit) = (model, trouble, rate_limit);
        let name = self.model_name();
        self.talk.take_up(&tasks, name.as_deref());
        self.active = None;
        self.tasks.clear();
        for task in tasks {
            if task.state == TaskState::InProgress {
                self.work_on(task);
            } else {
                self.keep(task);
            }
        }
        self.speed.begin(tokens_per_second);
        self.approvals.clear();
        for approval in approvals {
            self.ask(approval);
        }
    }

    /// Keeps a task in its place, or behind the others of its lane.
    fn keep(&mut self, task: Task) {
        if let Some(known) = self.tasks.iter_mut().find(|known| known.id == task.id) {
            *known = task;
            return;
        }
        let is_person = task.who == crate::news::Who::You;
        let at = if is_person {
            self.tasks.iter().take_while(|known| known.who == crate::news::Who::You).count()
        } else {
            self.tasks.len()
        };
        if self.tasks.len() < TASKS_MAX {
            self.tasks.insert(at, task);
        }
    }

    fn work_on(&mut self, task: Task) {
        self.active = Some(Active {
            task: task.id.clone(),
            thinks: false,
            elapsed_ms: task.elapsed_ms,
            since_ms: self.now_ms,
        });
        let known = self.speed.per_second();
        self.speed.begin(known);
        self.keep(task);
    }

    fn rest(&mut self, task: &str) {
        if self.active.as_ref().is_some_and(|active| active.task == task) {
            self.active = None;
        }
    }

    /// Says what is done for the task that is worked on.
    fn does(&mut self, says: &str) {
        let Some(active) = &self.active else { return };
        if let Some(task) = self.tasks.iter_mut().find(|task| task.id == active.task)
            && task.doing != says
        {
            says.clone_into(&mut task.doing);
        }
    }

    fn thinks(&mut self, task: &str, thinks: bool) {
        if let Some(active) = self.active.as_mut().filter(|active| active.task == task) {
            active.thinks = thinks;
        }
    }

    fn end(&mut self, task: &Task) {
        let model = self.model_name();
        let why = task.result.as_deref().unwrap_or_default();
        let mark = match task.state {
            TaskState::Failed => Some(format!("failed: {why}")),
            TaskState::Cancelled if why.is_empty() => Some("cancelled".to_owned()),
            TaskState::Cancelled => Some(format!("cancelled: {why}")),
            _ => None,
        };
        self.talk.ask(task);
        self.talk.end(task, model.as_deref(), mark.as_deref());
        self.rest(&task.id);
        self.tasks.retain(|known| known.id != task.id);
        self.approvals.retain(|approval| approval.task != task.id);
    }
}

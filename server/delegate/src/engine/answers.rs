//! Takes tasks and issues, and tells where things stand.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::core::Core;
use super::doing::Doing;
use super::error::{EngineError, not_found};
use super::event::Event;
use super::parts::Submission;
use super::recover::lane;
use super::view::{
    Active, Approval, Capabilities, Entry, History, Snapshot, TaskView, percent, says, strengths,
};
use crate::issue::Issue;
use crate::message::Speaker;
use crate::sentences::{APPROVING, ASKING, LOOKING, WRITING};
use crate::store::{NewTask, Reported, StoreError};
use crate::task::{CallState, Task, TaskId, TaskState};

/// Most messages that are told at a time.
const MESSAGES_MAX: usize = 1_000;

impl Core {
    pub(super) fn submit(
        &mut self,
        submission: Submission,
    ) -> Result<Result<TaskView, EngineError>, StoreError> {
        if let Err(refused) = self.check(&submission) {
            return Ok(Err(refused));
        }
        let mut id = TaskId::of(self.random.next_u64());
        while self.store.find_task(&id)?.is_some() {
            id = TaskId::of(self.random.next_u64());
        }
        let Submission { source, message, context, hint, consumer } = submission;
        let lane = lane(&source);
        let new = NewTask { id: id.clone(), source, message, context, hint, consumer };
        self.store.add_task(&new, self.now_ms())?;
        self.queue.add(id.clone(), lane);
        let view = self.view(&id)?;
        self.tell(Event::Queued(view.clone()));
        Ok(Ok(TaskView::clone(&view)))
    }

    fn check(&mut self, submission: &Submission) -> Result<(), EngineError> {
        let (most, bytes) = (self.bounds.message_bytes_max, submission.message.len());
        if submission.message.trim().is_empty() {
            return Err(EngineError::Refused("message: it is empty; say what is to be done".to_owned()));
        }
        if bytes > most {
            let says = format!("message: it has {bytes} bytes, at most {most} are taken; name files instead");
            return Err(EngineError::Refused(says));
        }
        let (most, bytes) = (
            self.bounds.context_bytes_max,
            submission.context.iter().map(|file| file.path.len() + file.content.len()).sum::<usize>(),
        );
        if bytes > most {
            let says = format!(
                "context: the files have {bytes} bytes, at most {most} are taken; name them in the message"
            );
            return Err(EngineError::Refused(says));
        }
        let most = self.bounds.tasks_max;
        if self.queue.len() >= most && !submission.source.is_person() {
            let says = format!("{most} tasks wait already; wait for one, or cancel one");
            return Err(EngineError::Busy(says));
        }
        if submission.source.is_person() {
            return Ok(());
        }
        let taken = self.rate.take(submission.source.as_str(), Instant::now());
        taken.map_err(|wait| EngineError::RateLimited { per_minute: self.rate.per_minute(), wait })
    }

    pub(super) fn view(&self, id: &TaskId) -> Result<Arc<TaskView>, StoreError> {
        Ok(Arc::new(self.view_of(self.store.task(id)?)?))
    }

    pub(super) fn view_of(&self, mut task: Task) -> Result<TaskView, StoreError> {
        let calls = self.store.calls(&task.id)?;
        // The caller has the files; they may be long, and every event would carry them.
        task.context.clear();
        let position = self.queue.position(&task.id);
        let runs = self.turn.as_ref().is_some_and(|turn| turn.task == task.id);
        let elapsed_ms = if runs { self.worked_ms() } else { task.worked_ms };
        if let Doing::Asking(asking) = &self.doing
            && asking.task == task.id
        {
            task.partial = asking.partial();
        }
        let percent = if task.state == TaskState::Completed { 100 } else { percent(task.step) };
        let doing = self.doing_for(&task, runs, position)?;
        Ok(TaskView { task, calls, position, doing, percent, elapsed_ms })
    }

    fn doing_for(&self, task: &Task, runs: bool, position: Option<usize>) -> Result<String, StoreError> {
        if !runs {
            return Ok(match (task.state, position) {
                (TaskState::Preempted, _) => "Paused for the person".to_owned(),
                (_, Some(position)) => format!("Waiting behind {position} tasks"),
                (state, None) => state.as_str().to_owned(),
            });
        }
        Ok(match &self.doing {
            Doing::Nothing => self.next_for(task)?,
            Doing::Facts(..) | Doing::Waiting(_) => match &self.trouble {
                Some(why) => format!("Waiting for the model: {why}"),
                None => LOOKING.to_owned(),
            },
            Doing::BringingBack(..) | Doing::Holding(..) => "Going on where it was".to_owned(),
            Doing::Asking(asking) if asking.has_said() => WRITING.to_owned(),
            Doing::Asking(_) => ASKING.to_owned(),
            Doing::Reporting(..) => "Keeping what was done".to_owned(),
            Doing::Tool(running) => says(&running.request),
            Doing::Approval(..) => APPROVING.to_owned(),
        })
    }

    /// What `advance` is about to do for a task: a task that goes on is not one that begins.
    fn next_for(&self, task: &Task) -> Result<String, StoreError> {
        if let Some(call) = self.store.next_call(&task.id)? {
            let waits = call.state == CallState::AwaitsApproval;
            return Ok(if waits { APPROVING.to_owned() } else { says(&call.request) });
        }
        let has_answered = self.store.steps(&task.id)?.last().is_some_and(|last| last.requests.is_empty());
        let says = match (has_answered, &self.facts) {
            (true, _) => "Finishing",
            (false, None) => LOOKING,
            (false, Some(_)) => ASKING,
        };
        Ok(says.to_owned())
    }

    pub(super) fn history(&self, limit: usize, with_calls: bool) -> Result<History, StoreError> {
        let mut entries = Vec::new();
        for message in self.store.last_messages(limit.min(MESSAGES_MAX))? {
            let ends = with_calls && message.speaker == Speaker::Model;
            let calls = if ends { self.store.calls(&message.task)? } else { Vec::new() };
            entries.push(Entry { message, calls });
        }
        Ok(History { entries, total: self.store.message_count()? })
    }

    pub(super) fn snapshot(&self, messages: usize) -> Result<Snapshot, StoreError> {
        let mut queue = Vec::new();
        for id in self.queue.in_order() {
            queue.push(self.view_of(self.store.task(id)?)?);
        }
        let active = self.turn.as_ref().and_then(|turn| queue.iter().find(|view| view.task.id == turn.task));
        let speed = match &self.doing {
            Doing::Asking(asking) => asking.pieces_per_second().or(self.tokens_per_second),
            _ => self.tokens_per_second,
        };
        let active = active.map(|view| Active { view: view.clone(), tokens_per_second: speed });
        let mut approvals = Vec::new();
        for (task, call) in self.store.awaiting_approval()? {
            let source = self.store.task(&task)?.source;
            let asks = call.asks.unwrap_or_default();
            approvals.push(Approval { number: call.number, task, source, request: call.request, asks });
        }
        Ok(Snapshot {
            history: self.history(messages, true)?,
            queue,
            active,
            approvals,
            model: self.facts.as_ref().map(|(facts, _)| facts.clone()),
            trouble: self.trouble.clone(),
            quality: self.store.quality()?,
            rate_limit: self.rate.per_minute(),
            told: self.told.load(Ordering::Relaxed),
        })
    }

    pub(super) fn report(&mut self, issue: &Issue) -> Result<Result<Reported, EngineError>, StoreError> {
        if let Some(task) = &issue.task
            && self.store.find_task(task)?.is_none()
        {
            return Ok(Err(not_found(task)));
        }
        let reported = self.store.add_issue(issue, self.now_ms())?;
        self.renew_known()?;
        Ok(Ok(reported))
    }

    /// Makes anew what handles know without waiting.
    pub(super) fn renew_known(&mut self) -> Result<(), StoreError> {
        let quality = self.store.quality()?;
        let model = self.facts.as_ref().map(|(facts, _)| facts.clone());
        let mut known = Capabilities {
            trouble: self.trouble.clone(),
            tokens_per_second: self.tokens_per_second,
            tools: self.toolbox.tools().into_iter().map(|tool| tool.name).collect(),
            rate_limit: self.rate.per_minute(),
            ..Capabilities::default()
        };
        if let Some(facts) = &model {
            known.strengths = strengths(&quality, &facts.model);
            for row in quality.iter().filter(|row| row.model == facts.model) {
                for (kind, count) in &row.issues {
                    *known.issues.entry(kind.clone()).or_default() += count;
                }
            }
        }
        known.model = model;
        self.known.send_replace(Arc::new(known));
        Ok(())
    }

    /// Answers what is known, or looks at the model first.
    pub(super) fn look(&mut self, answer: oneshot::Sender<Arc<Capabilities>>) {
        let is_known = self.facts.is_some() || self.trouble.is_some();
        // While a task has its turn, the facts are read for it anyway.
        if is_known && self.turn.is_some() || self.facts.is_some() {
            let known = self.known.borrow().clone();
            let _ = answer.send(known);
            return;
        }
        self.lookers.push(answer);
    }

    pub(super) fn look_if_asked(&mut self) {
        if !self.lookers.is_empty() && matches!(self.doing, Doing::Nothing) {
            self.read_facts();
        }
    }
}

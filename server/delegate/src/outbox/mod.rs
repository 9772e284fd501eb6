//! Brings the results of hosts' tasks to the inbox when their hosts do not come for them: a host that has gone or sleeps
//! is woken by its inbox, as by every other message.
//!
//! From the ground up: `callers` knows which hosts may still come, `result` makes a result for the inbox of a task. Who has
//! a result is written with its task in the engine's store, by the states of a job's result, before it leaves either way. It must
//! never give a result to neither, nor to both without a mark.

mod callers;
mod result;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use entraclaw_inbox::journal::{ConsumerName, has_read};
use entraclaw_inbox::provider::reads_as;
use entraclaw_inbox::sessions::living_consumers;
use entraclaw_mcp::hosts::HOSTS;
use entraclaw_seams::storage::Storage;
use entraclaw_work::{Claim, Move, deliver};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, sleep_until};

pub(crate) use self::callers::{Answering, Callers, Connected};
pub(crate) use self::result::work_id;
use crate::engine::{Engine, EngineError, Event, TaskView};
use crate::task::{Task, TaskId};

/// The pause before a result is tried again that could not be written, or whose host has no inbox yet.
const AGAIN_AFTER: Duration = Duration::from_secs(30);

/// The way from an engine to the inbox of the same home folder. Clones are one.
#[derive(Clone)]
pub struct Outbox {
    storage: Arc<dyn Storage>,
    consumer: Option<ConsumerName>,
    pub(crate) callers: Callers,
}

impl Outbox {
    /// An outbox into this home folder; `consumer` is the one that the operator has fixed.
    pub fn new(storage: Arc<dyn Storage>, consumer: Option<ConsumerName>) -> Self {
        Self { storage, consumer, callers: Callers::default() }
    }

    /// Who reads the inbox for the host of a task: the session that asked knows best, then the operator, then the table of hosts.
    fn consumer_of(&self, task: &Task) -> Option<ConsumerName> {
        let fixed = task.consumer.as_ref().or(self.consumer.as_ref());
        reads_as(fixed, HOSTS, Some(task.source.as_str())).ok()
    }

    /// Whether the host of a task reads the inbox now, so that a result wakes it.
    pub(crate) fn wakes(&self, task: &Task) -> bool {
        let living = || living_consumers(&*self.storage);
        self.consumer_of(task).is_some_and(|name| living().iter().any(|one| one == name.as_str()))
    }

    /// Brings results until the engine ends.
    pub async fn run(self, engine: Engine) {
        let mut events = engine.events();
        // When each of them was first seen to have ended.
        let mut ended = BTreeMap::new();
        while let Ok(next) = self.look(&engine, &mut ended).await {
            tokio::select! {
                biased;
                goes_on = one_ends(&mut events) => if !goes_on { return },
                () = self.callers.changed() => {}
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            }
        }
    }

    /// Brings what is due, and says when to look again.
    async fn look(
        &self,
        engine: &Engine,
        ended: &mut BTreeMap<TaskId, Instant>,
    ) -> Result<Option<Instant>, EngineError> {
        let owed = engine.owed().await?;
        ended.retain(|task, _| owed.iter().any(|view| view.task.id == *task));
        let mut next: Option<Instant> = None;
        for view in owed {
            let since = *ended.entry(view.task.id.clone()).or_insert_with(Instant::now);
            if let Some(at) = self.bring(engine, &view, since).await? {
                next = Some(next.map_or(at, |next| next.min(at)));
            }
        }
        Ok(next)
    }

    /// Brings one result if it is due; otherwise says when to look again.
    async fn bring(
        &self,
        engine: &Engine,
        view: &TaskView,
        since: Instant,
    ) -> Result<Option<Instant>, EngineError> {
        let (task, source) = (&view.task.id, &view.task.source);
        let again = Some(Instant::now() + AGAIN_AFTER);
        let Some(consumer) = self.consumer_of(&view.task) else { return Ok(None) };
        let mut claim = view.task.claim;
        let step = match claim {
            Claim::Open => Some(Move::LetGo),
            Claim::Claimed => Some(Move::TakeBack),
            _ => None,
        };
        if let Some(step) = step {
            if self.callers.is_answering(task) {
                return Ok(None);
            }
            let until = self.callers.may_come_until(source, task, since);
            if until > Instant::now() {
                return Ok(Some(until));
            }
            // Without an inbox the result stays here, for a host that asks by the task's id.
            if !has_read(&*self.storage, &consumer) {
                return Ok(again);
            }
            claim = engine.claim(task, step).await?;
        }
        if !matches!(claim, Claim::Released | Claim::ReleasedLate) {
            return Ok(None);
        }
        let may_be_known = claim == Claim::ReleasedLate;
        if let Err(error) = deliver(&self.storage, result::delivery(view, consumer.to_string(), may_be_known))
        {
            tracing::warn!(%error, %task, "the result of a task could not be put on its way to the inbox");
            return Ok(again);
        }
        engine.claim(task, Move::Tell).await?;
        self.callers.settled(task);
        Ok(None)
    }
}

/// Waits until a task may have ended; `false` if the engine has.
async fn one_ends(events: &mut Receiver<Event>) -> bool {
    loop {
        match events.recv().await {
            Ok(Event::Ended(_)) | Err(RecvError::Lagged(_)) => return true,
            Ok(_) => {}
            Err(RecvError::Closed) => return false,
        }
    }
}

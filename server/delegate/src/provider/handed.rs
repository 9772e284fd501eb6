//! Results on their way to a host: each is written as claimed before its answer is made, and as seen when that has left.
//!
//! It must never let a result count as seen whose answer was not sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use entraclaw_mcp::{Answer, Receipt};
use entraclaw_work::{Claim, Move};
use serde_json::{Value, json};

use super::shapes;
use crate::engine::{Engine, EngineError, TaskView};
use crate::outbox::{Answering, Callers, Outbox, work_id};
use crate::task::{Task, TaskId};

/// Whose receipts the provider's are.
const READER: &str = "delegate";

/// Results whose answer has not left yet, by the number of their receipt. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Handed(Arc<Mutex<BTreeMap<u64, (TaskId, Answering)>>>);

impl Handed {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<u64, (TaskId, Answering)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a result until its answer has left.
    fn keep(&self, number: u64, task: &TaskId, answering: Answering) -> Receipt {
        self.locked().insert(number, (task.clone(), answering));
        Receipt { reader: READER.to_owned(), number }
    }

    /// The task whose answer has this receipt; while the second value is kept, the inbox leaves its result alone.
    pub(super) fn take(&self, receipt: &Receipt) -> Option<(TaskId, Answering)> {
        if receipt.reader == READER { self.locked().remove(&receipt.number) } else { None }
    }
}

/// Who has the result of a task that a client asked for.
pub(super) enum Taken {
    /// This client, by the answer with this receipt.
    Now(Receipt),
    /// The client had it before.
    Before,
    /// The inbox.
    ByInbox,
}

impl Taken {
    pub(super) fn receipt(self) -> Option<Receipt> {
        if let Self::Now(receipt) = self { Some(receipt) } else { None }
    }
}

/// The way of a result to the client that asked for its task.
pub(super) struct Handing {
    pub(super) engine: Engine,
    pub(super) callers: Callers,
    pub(super) handed: Handed,
    pub(super) outbox: Option<Outbox>,
    /// The number of the receipt.
    pub(super) number: u64,
}

impl Handing {
    /// Whether a result that comes after the answer wakes the host of this task by its inbox.
    pub(super) fn wakes(&self, task: &Task) -> bool {
        self.outbox.as_ref().is_some_and(|outbox| outbox.wakes(task))
    }

    /// The answer with a task of this client. If the task has ended, its result is the client's from now on, unless the inbox has it;
    /// then the answer says so.
    pub(super) async fn answer(&self, view: &TaskView, offset: usize) -> Result<Answer, EngineError> {
        let (value, receipt) = self.value(view, shapes::task(view, offset)).await?;
        let answer = Answer::json(&value);
        Ok(match receipt {
            Some(receipt) => answer.with_receipt(receipt),
            None => answer,
        })
    }

    /// The same for an answer of another form.
    pub(super) async fn value(
        &self,
        view: &TaskView,
        mut value: Value,
    ) -> Result<(Value, Option<Receipt>), EngineError> {
        let task = &view.task.id;
        if !view.task.state.is_ended() {
            self.callers.asked(task);
            return Ok((value, None));
        }
        let taken = self.claim(view).await?;
        if matches!(taken, Taken::ByInbox) {
            value["inbox"] = json!(format!("it comes to your inbox too, once, as {}", work_id(task)));
        }
        Ok((value, taken.receipt()))
    }

    /// Takes the result of a task that has ended for this client, unless the inbox has it.
    pub(super) async fn claim(&self, view: &TaskView) -> Result<Taken, EngineError> {
        let task = &view.task.id;
        let answering = self.callers.answering(task);
        Ok(match self.engine.claim(task, Move::Take).await? {
            Claim::Claimed => Taken::Now(self.handed.keep(self.number, task, answering)),
            Claim::Released | Claim::ReleasedLate | Claim::Told => Taken::ByInbox,
            Claim::Open | Claim::Seen => Taken::Before,
        })
    }
}

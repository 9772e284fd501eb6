//! Questions that go on as tasks of the protocol: where a caller without the extension gets a ticket, one with it gets a
//! task, whose id is the ticket.
//!
//! It must never keep a result from the inbox that its client does not fetch, nor give the inbox one that it has fetched.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use entraclaw_inbox::record::WORK_ID;
use entraclaw_mcp::message::{Object, RpcError};
use entraclaw_mcp::tasks::{TaskNow, named};
use entraclaw_mcp::{Answer, Caller, Connection, Era, Receipt};
use entraclaw_work::{Claimed, Ended, Events, Job, Look, Works, look};
use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::answered::Answered;
use crate::task::KIND;
use crate::ticket;

/// Most tasks of one connection whose result was not fetched; beyond it a call gets a ticket.
const TASKS_MAX: usize = 64;
/// How often a client should ask, in milliseconds.
const POLL_INTERVAL_MS: u64 = 1_000;
/// How long a client may not ask for a task; then its result goes to the inbox.
const IDLE_MAX: Duration = Duration::from_secs(300);
/// The pause between two looks whether a cancelled question has ended.
const CANCEL_LOOK: Duration = Duration::from_millis(200);
/// How long a cancelled question may take to end; then its end is told in the inbox.
const CANCEL_PATIENCE: Duration = Duration::from_secs(5);

/// The tasks of one connection. Clones share them. What is in it when the last one is dropped goes to the inbox.
#[derive(Clone, Default)]
pub(crate) struct Tasks(Arc<Mutex<BTreeMap<String, Held>>>);

struct Held {
    state: State,
    /// When the client last asked, or cancelled.
    since: Instant,
}

enum State {
    /// Its result is to come.
    Open(Box<Job>),
    /// Its result is here; the answer that had it was taken back.
    Taken(Box<Claimed>),
    /// The client wants no result.
    Cancelled(Box<Job>),
}

enum Fetched {
    Result(Box<Claimed>),
    Working,
    Cancelled,
    /// It is not one of this connection, or its result was fetched before.
    NotHeld,
}

impl Tasks {
    fn locked(&self) -> MutexGuard<'_, BTreeMap<String, Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds a question for the client that will ask for it; gives it back if there are too many.
    pub(crate) fn hold(&self, job: Box<Job>) -> Result<(), Box<Job>> {
        let mut held = self.locked();
        if held.len() >= TASKS_MAX {
            return Err(job);
        }
        let id = job.id().to_owned();
        held.insert(id, Held { state: State::Open(job), since: Instant::now() });
        Ok(())
    }

    /// Holds a result whose answer was taken back.
    pub(crate) fn hold_result(&self, claimed: Claimed) {
        let id = claimed.result().id.clone();
        let state = State::Taken(Box::new(claimed));
        self.locked().insert(id, Held { state, since: Instant::now() });
    }

    fn fetch(&self, id: &str) -> Fetched {
        let mut all = self.locked();
        let Some(held) = all.get_mut(id) else { return Fetched::NotHeld };
        let claimed = match &mut held.state {
            State::Cancelled(_) => return Fetched::Cancelled,
            State::Taken(_) => None,
            State::Open(job) => {
                let Some(claimed) = job.take() else {
                    held.since = Instant::now();
                    return Fetched::Working;
                };
                Some(Box::new(claimed))
            }
        };
        match (claimed, all.remove(id).map(|held| held.state)) {
            (Some(claimed), _) | (None, Some(State::Taken(claimed))) => Fetched::Result(claimed),
            _ => Fetched::NotHeld,
        }
    }

    fn cancel(&self, id: &str) {
        let mut all = self.locked();
        match all.remove(id) {
            Some(Held { state: State::Open(job), .. }) => {
                all.insert(id.to_owned(), Held { state: State::Cancelled(job), since: Instant::now() });
            }
            Some(other) => {
                all.insert(id.to_owned(), other);
            }
            None => {}
        }
    }

    /// Lets go what no client asks for, and settles what was cancelled.
    pub(crate) fn settle(&self) {
        let now = Instant::now();
        self.locked().retain(|_, held| {
            let patience = match &mut held.state {
                State::Cancelled(job) => {
                    // The inbox need not tell of what the caller ended.
                    if let Some(claimed) = job.take() {
                        claimed.hand_on();
                        return false;
                    }
                    CANCEL_PATIENCE
                }
                State::Open(_) | State::Taken(_) => IDLE_MAX,
            };
            held.since + patience > now
        });
    }

    /// When to settle them next.
    pub(crate) fn settle_at(&self) -> Option<Instant> {
        let at = |held: &Held| match &held.state {
            State::Cancelled(_) => Instant::now() + CANCEL_LOOK,
            State::Open(_) | State::Taken(_) => held.since + IDLE_MAX,
        };
        self.locked().values().map(at).min()
    }
}

/// What answers the methods of the tasks extension.
pub(crate) struct TaskCalls<'a> {
    pub(crate) tasks: &'a Tasks,
    pub(crate) works: &'a Works,
    pub(crate) answered: &'a Answered,
    pub(crate) has_inbox: bool,
}

impl TaskCalls<'_> {
    /// Answers a method; returns `false` if the task is no question.
    pub(crate) fn request(
        &self,
        caller: &Caller,
        method: &str,
        params: &Object,
        connection: &mut Connection,
    ) -> bool {
        let Ok(id) = named(caller, params) else { return false };
        if !id.starts_with(WORK_ID) {
            return false;
        }
        let looked = match look(self.works.storage(), id) {
            Ok(Some(looked)) if looked.request.ask.kind == KIND => looked,
            Ok(_) => return false,
            Err(error) => {
                let error = failed(format!("the jobs can't be read: {error}; ask again"));
                connection.answer(&caller.route, Err(error), Vec::new());
                return true;
            }
        };
        let mut receipts = Vec::new();
        let outcome = match method {
            "tasks/get" => Ok(self.task_now(&looked, connection, &mut receipts)),
            "tasks/cancel" => match self.works.cancel(id) {
                Ok(was_open) => {
                    if was_open {
                        self.tasks.cancel(id);
                    }
                    Ok(json!({}))
                }
                Err(error) => Err(failed(format!("it could not be asked to stop: {error}; ask again"))),
            },
            // No question asks its client for input, so an update has no effect.
            _ => Ok(json!({})),
        };
        connection.answer(&caller.route, outcome, receipts);
        true
    }

    /// The task as it is now, with its result if it has one.
    fn task_now(&self, looked: &Look, connection: &mut Connection, receipts: &mut Vec<Receipt>) -> Value {
        let storage = self.works.storage();
        let id = &looked.request.id;
        match self.tasks.fetch(id) {
            Fetched::Working => working(looked, &Events::of(storage, id).news()),
            Fetched::Cancelled => view(looked, "cancelled", None),
            Fetched::Result(claimed) => {
                let answer = ticket::answer_of(&claimed, self.works);
                let ended = Look { result: Some(claimed.result().clone()), ..looked.clone() };
                receipts.push(self.answered.keep_task(connection.next_number(), *claimed));
                ended_view(&ended, answer, connection)
            }
            Fetched::NotHeld if looked.result.is_none() && looked.runs => {
                working(looked, &Events::of(storage, id).news())
            }
            Fetched::NotHeld => {
                let answer = ticket::status(storage, id, 0, self.has_inbox);
                ended_view(looked, answer.unwrap_or_else(|refusal| Answer::error(&refusal)), connection)
            }
        }
    }
}

/// The task of a question that goes on.
pub(crate) fn working(looked: &Look, events: &[Value]) -> Value {
    let step = events.iter().rev().find_map(|event| event["says"].as_str());
    view(looked, "working", Some(step.unwrap_or(&looked.request.ask.title)))
}

fn ended_view(looked: &Look, answer: Answer, connection: &Connection) -> Value {
    let ended = looked.result.as_ref().map_or(Ended::Lost, |result| result.ended);
    match ended {
        Ended::Cancelled => view(looked, "cancelled", None),
        // An agent's error is an answer of its tool.
        Ended::Done | Ended::Failed => {
            let mut view = view(looked, "completed", None);
            view["result"] = connection.in_era(Era::Modern, answer.into_result());
            view
        }
        Ended::Lost => {
            let reason = looked.result.as_ref().and_then(|result| result.reason.clone());
            let message = reason.unwrap_or_else(|| "its process has ended without an answer".to_owned());
            let mut view = view(looked, "failed", Some(&message));
            view["error"] = json!({"code": ErrorCode::INTERNAL_ERROR.0, "message": message});
            view
        }
    }
}

fn view(looked: &Look, status: &'static str, message: Option<&str>) -> Value {
    let asked_at = &looked.request.asked_at;
    let task = TaskNow {
        id: looked.request.id.clone(),
        status,
        created_at: asked_at.clone(),
        updated_at: looked.result.as_ref().map_or(asked_at, |result| &result.ended_at).clone(),
        message: message.map(str::to_owned),
        ttl_ms: None,
        poll_interval_ms: POLL_INTERVAL_MS,
    };
    task.json(Era::Modern)
}

fn failed(message: String) -> RpcError {
    RpcError::new(ErrorCode::INTERNAL_ERROR, message)
}

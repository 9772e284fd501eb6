//! The tasks extension: a waiting call goes on as a task after its request, and the client asks for its
//! state.
//!
//! A task holds no message: messages are handed out when the client fetches the result, and given back when
//! that answer is cancelled. It must never be made for a request that did not declare the extension.

use std::time::Duration;

use entraclaw_mcp::message::{Id, Object};
use entraclaw_mcp::tasks::{self, TaskNow};
use entraclaw_mcp::{Answer, Caller, Connection, Era};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{InboxProvider, Reader};
use crate::carrier::wait;
use crate::journal::{ConsumerName, DeliveryId};

/// Tasks remembered on one connection, including ended ones.
const TASKS_MAX: usize = 16;
/// How long a task is kept that no client asks for, in milliseconds.
const IDLE_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// How often a client should ask, in milliseconds. A message waits this long at most, and an idle client asks all day.
const POLL_INTERVAL_MS: u64 = 2_000;

/// A waiting call that goes on after its request.
pub(super) struct Task {
    pub(super) consumer: ConsumerName,
    max_items: u64,
    created_at: Timestamp,
    updated_at: Timestamp,
    born: Instant,
    expires: Instant,
    state: State,
}

enum State {
    Working,
    /// The client fetched the result; its messages belong to this delivery.
    Completed {
        delivery: Option<DeliveryId>,
        result: Value,
    },
    Cancelled,
}

impl Task {
    pub(super) fn is_working(&self) -> bool {
        matches!(self.state, State::Working)
    }

    fn end(&mut self, state: State, now: Timestamp) {
        self.state = state;
        self.updated_at = now;
    }

    /// The task as the wire shows it.
    fn view(&self, id: &str) -> Value {
        let lives = self.expires.saturating_duration_since(self.born).as_millis();
        let (status, message) = match &self.state {
            State::Working => ("working", Some("listening; it completes when a person writes".to_owned())),
            State::Completed { .. } => ("completed", None),
            State::Cancelled => ("cancelled", None),
        };
        let now = TaskNow {
            id: id.to_owned(),
            status,
            created_at: self.created_at.to_string(),
            updated_at: self.updated_at.to_string(),
            message,
            ttl_ms: Some(u64::try_from(lives).unwrap_or(u64::MAX)),
            poll_interval_ms: POLL_INTERVAL_MS,
        };
        let mut view = now.json(Era::Modern);
        if let State::Completed { result, .. } = &self.state {
            view["result"] = result.clone();
        }
        view
    }
}

impl InboxProvider {
    /// Turns an open waiting call into a task, if its request allows that and there is room.
    pub(super) fn continue_as_task(&mut self, connection: &mut Connection, id: &Id) {
        let Some(wait) = self.waits.get(id) else { return };
        let (reader, max_items) = (wait.reader.clone(), wait.max_items);
        if !reader.caller.declares_tasks || !self.has_room_for_task() {
            return;
        }
        self.waits.remove(id);
        connection.release(id);
        let (now, born) = (self.options.clock.now(), Instant::now());
        let task = Task {
            consumer: reader.consumer.clone(),
            max_items,
            created_at: now,
            updated_at: now,
            born,
            expires: born + Duration::from_millis(IDLE_MS_MAX),
            state: State::Working,
        };
        let task_id = self.options.random.uuid();
        let mut result = task.view(&task_id);
        result["resultType"] = "task".into();
        self.tasks.insert(task_id, task);
        connection.answer(&reader.caller.route, Ok(result), Vec::new());
    }

    /// Removes expired tasks, and the oldest ended one when there are too many.
    fn has_room_for_task(&mut self) -> bool {
        self.forget_expired_tasks();
        if self.tasks.len() >= TASKS_MAX {
            let ended = self.tasks.iter().filter(|(_, task)| !task.is_working());
            let oldest = ended.min_by_key(|(_, task)| task.born).map(|(id, _)| id.clone());
            if let Some(oldest) = oldest {
                self.tasks.remove(&oldest);
            }
        }
        self.tasks.len() < TASKS_MAX
    }

    fn forget_expired_tasks(&mut self) {
        let now = Instant::now();
        self.tasks.retain(|_, task| task.expires > now);
    }

    /// Answers a method of the extension; returns `false` if the task is not one of the inbox.
    pub(super) fn tasks_request(
        &mut self,
        connection: &mut Connection,
        reader: &Reader,
        method: &str,
        params: &Object,
    ) -> bool {
        let Some(id) = self.known_task(&reader.caller, params) else { return false };
        if method == "tasks/get" {
            self.get_task(connection, reader, &id);
            return true;
        }
        // The server never asks a task's client for input, so an update has no effect.
        if method == "tasks/cancel"
            && let Some(task) = self.tasks.get_mut(&id).filter(|task| task.is_working())
        {
            task.end(State::Cancelled, self.options.clock.now());
        }
        connection.answer(&reader.caller.route, Ok(json!({})), Vec::new());
        true
    }

    /// The id of the task that a request names, if it is one of the inbox. Naming it extends its time.
    fn known_task(&mut self, caller: &Caller, params: &Object) -> Option<String> {
        let id = tasks::named(caller, params).ok()?;
        self.forget_expired_tasks();
        let task = self.tasks.get_mut(id)?;
        task.expires = Instant::now() + Duration::from_millis(IDLE_MS_MAX);
        Some(id.to_owned())
    }

    fn get_task(&mut self, connection: &mut Connection, reader: &Reader, id: &str) {
        let Some(task) = self.tasks.get(id) else { return };
        let mut receipts = Vec::new();
        if task.is_working() {
            let caller = Caller { log_level: None, ..reader.caller.clone() };
            let fetching = Reader { caller, consumer: task.consumer.clone() };
            if let Some((answer, taken)) = self.take_messages(connection, &fetching, task.max_items, true) {
                let delivery = taken.first().map(|receipt| DeliveryId(receipt.number));
                receipts = taken;
                self.complete_task(connection, id, answer, delivery);
            }
        }
        let Some(task) = self.tasks.get(id) else { return };
        let view = task.view(id);
        connection.answer(&reader.caller.route, Ok(view), receipts);
    }

    fn complete_task(
        &mut self,
        connection: &mut Connection,
        id: &str,
        answer: Answer,
        delivery: Option<DeliveryId>,
    ) {
        let result = connection.in_era(Era::Modern, answer.into_result());
        if let Some(task) = self.tasks.get_mut(id) {
            task.end(State::Completed { delivery, result }, self.options.clock.now());
        }
    }

    /// The messages of a fetched result were given back, so the task has no result again.
    pub(super) fn reopen_task(&mut self, given_back: DeliveryId) {
        let holds = |task: &&mut Task| matches!(&task.state, State::Completed { delivery, .. } if *delivery == Some(given_back));
        if let Some(task) = self.tasks.values_mut().find(holds) {
            task.end(State::Working, self.options.clock.now());
        }
    }

    /// Ends the older tasks of a consumer, because a newer call of it waits now.
    pub(super) fn supersede_tasks(&mut self, connection: &mut Connection, consumer: &ConsumerName) {
        let older = self.tasks.iter().filter(|(_, task)| task.is_working() && task.consumer == *consumer);
        let older: Vec<String> = older.map(|(id, _)| id.clone()).collect();
        for id in older {
            let answer = self.nothing(connection, wait::SUPERSEDED);
            self.complete_task(connection, &id, answer, None);
        }
    }
}

//! Which hosts are connected, and what they have asked for: whether the caller of a task may still come for its result.
//!
//! All of it is in memory: after a crash no host is connected. It must never count a host twice that has gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::source::Source;
use crate::task::TaskId;

/// How long a host that is connected may take to ask for a task that has ended.
const ASKED_WITHIN: Duration = Duration::from_secs(30);
/// How long a host whose connection is gone may take to come again.
const BACK_WITHIN: Duration = Duration::from_secs(5);
/// Most tasks of which it is known when they were last asked for; the oldest goes first.
const ASKED_MAX: usize = 1_024;

/// The callers of an engine. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Callers(Arc<Inner>);

#[derive(Default)]
struct Inner {
    known: Mutex<Known>,
    changed: Notify,
}

#[derive(Default)]
struct Known {
    /// How many connections each host has.
    connected: BTreeMap<Source, usize>,
    gone_at: BTreeMap<Source, Instant>,
    asked_at: BTreeMap<TaskId, Instant>,
    /// The tasks whose caller was told that the inbox brings their result.
    promised: BTreeSet<TaskId>,
    /// The tasks whose result is on its way to a caller, and how often.
    answering: BTreeMap<TaskId, usize>,
}

impl Callers {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a connection of this host until the returned value is dropped.
    pub(crate) fn connected(&self, source: &Source) -> Connected {
        *self.known().connected.entry(source.clone()).or_default() += 1;
        Connected { callers: self.clone(), source: source.clone() }
    }

    /// Notes that a task was asked for.
    pub(crate) fn asked(&self, task: &TaskId) {
        let mut known = self.known();
        known.asked_at.insert(task.clone(), Instant::now());
        if known.asked_at.len() > ASKED_MAX {
            let oldest = known.asked_at.iter().min_by_key(|(_, at)| **at).map(|(task, _)| task.clone());
            oldest.and_then(|oldest| known.asked_at.remove(&oldest));
        }
    }

    /// Notes that the caller of a task was told that the inbox brings its result.
    pub(crate) fn promised(&self, task: &TaskId) {
        let mut known = self.known();
        if known.promised.len() < ASKED_MAX {
            known.promised.insert(task.clone());
        }
        drop(known);
        self.0.changed.notify_one();
    }

    /// Notes that the result of a task is on its way to a caller until the returned value is dropped.
    pub(crate) fn answering(&self, task: &TaskId) -> Answering {
        *self.known().answering.entry(task.clone()).or_default() += 1;
        Answering { callers: self.clone(), task: task.clone() }
    }

    pub(super) fn is_answering(&self, task: &TaskId) -> bool {
        self.known().answering.contains_key(task)
    }

    /// Until when the caller of a task may come for its result, which has been there since `ended`.
    pub(super) fn may_come_until(&self, source: &Source, task: &TaskId, ended: Instant) -> Instant {
        let known = self.known();
        if known.promised.contains(task) {
            return ended;
        }
        let asked = known.asked_at.get(task).copied().unwrap_or(ended);
        if known.connected.contains_key(source) {
            return ended.max(asked) + ASKED_WITHIN;
        }
        known.gone_at.get(source).copied().unwrap_or(ended).max(ended) + BACK_WITHIN
    }

    pub(super) fn settled(&self, task: &TaskId) {
        let mut known = self.known();
        known.asked_at.remove(task);
        known.promised.remove(task);
    }

    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
    }
}

/// A connection of a host.
pub(crate) struct Connected {
    callers: Callers,
    source: Source,
}

impl Drop for Connected {
    fn drop(&mut self) {
        let mut known = self.callers.known();
        if let Some(count) = known.connected.get_mut(&self.source) {
            *count -= 1;
            if *count == 0 {
                known.connected.remove(&self.source);
                known.gone_at.insert(self.source.clone(), Instant::now());
                known.gone_at.retain(|_, at| at.elapsed() < BACK_WITHIN);
            }
        }
        drop(known);
        self.callers.0.changed.notify_one();
    }
}

/// The result of a task on its way to a caller.
pub(crate) struct Answering {
    callers: Callers,
    task: TaskId,
}

impl Drop for Answering {
    fn drop(&mut self) {
        let mut known = self.callers.known();
        if let Some(count) = known.answering.get_mut(&self.task) {
            *count -= 1;
            if *count == 0 {
                known.answering.remove(&self.task);
            }
        }
        drop(known);
        self.callers.0.changed.notify_one();
    }
}

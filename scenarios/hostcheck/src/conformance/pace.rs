//! How long the tools of a server take, and what they refused. A default run calls a slow one no more than it must: a
//! service that does not answer costs as much at every call. It decides nothing; the questions decide what to leave out.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::session::Reply;

/// A call that takes longer is slow.
const SLOW_AFTER: Duration = Duration::from_secs(1);
/// Time that the slow calls of a default run may take together, in all versions.
const SLOW_WITHIN: Duration = Duration::from_secs(8);

/// The calls so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pace {
    /// Whether a tool was slow in any call, by its name.
    slow: RefCell<BTreeMap<String, bool>>,
    spent: Cell<Duration>,
    /// The calls that a tool has refused, each with its answer, by the tool's name.
    refused: RefCell<BTreeMap<String, Vec<(Value, Reply)>>>,
}

/// So many different calls that a tool has refused are kept.
const REFUSED_MAX: usize = 8;

impl Pace {
    pub(crate) fn note(&self, tool: &str, params: Value, reply: &Reply, took: Duration) {
        let mut refused = self.refused.borrow_mut();
        let refused = refused.entry(tool.to_owned()).or_default();
        let is_known = refused.iter().any(|(known, _)| *known == params);
        if reply.is_refused() && !is_known && refused.len() < REFUSED_MAX {
            refused.push((params, reply.clone()));
        }
        let is_slow = took > SLOW_AFTER;
        if is_slow {
            self.spent.set(self.spent.get() + took);
        }
        *self.slow.borrow_mut().entry(tool.to_owned()).or_default() |= is_slow;
    }

    /// Whether a tool is slow; `None` where it was not called.
    pub(crate) fn is_slow(&self, tool: &str) -> Option<bool> {
        self.slow.borrow().get(tool).copied()
    }

    /// Whether a tool has refused another call in the same way.
    pub(crate) fn has_refused(&self, tool: &str, params: &Value, reply: &Reply) -> bool {
        let refused = self.refused.borrow();
        refused
            .get(tool)
            .is_some_and(|calls| calls.iter().any(|(known, answer)| known != params && answer == reply))
    }

    /// Whether the time for slow calls is used up.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent.get() >= SLOW_WITHIN
    }
}

//! How long the tools of a server take. A default run calls a slow one no more than it must: a service that does not
//! answer costs as much at every call. It holds times only; the questions decide what to leave out.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

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
}

impl Pace {
    pub(crate) fn note(&self, tool: &str, took: Duration) {
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

    /// Whether the time for slow calls is used up.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent.get() >= SLOW_WITHIN
    }
}

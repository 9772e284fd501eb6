//! News that somebody changed something in a folder.
//! It must never be needed for correctness: whoever waits for it looks from time to time as well, unless it is complete.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// Tells of changes for as long as it lives. It may tell of more than there were.
pub struct Changes {
    signal: Arc<Signal>,
    seen: u64,
    is_complete: bool,
    /// What has to live for the news to come.
    _source: Option<Box<dyn Any + Send>>,
}

/// What a medium notifies of every change. Each listener has one of its own, so that a simulated medium notifies them in the
/// same order each time.
#[derive(Debug, Default)]
pub struct Signal {
    changes: AtomicU64,
    woken: Notify,
}

impl Signal {
    /// Something changed.
    pub fn notify(&self) {
        self.changes.fetch_add(1, Ordering::Release);
        self.woken.notify_one();
    }
}

impl Changes {
    /// From a medium that tells of every attempt, of other processes too.
    pub fn complete(signal: Arc<Signal>) -> Self {
        Self { signal, seen: 0, is_complete: true, _source: None }
    }

    /// From a medium that may miss some, such as a network's file system.
    pub fn best_effort(signal: Arc<Signal>, source: impl Any + Send) -> Self {
        Self { signal, seen: 0, is_complete: false, _source: Some(Box::new(source)) }
    }

    /// Whether every change is told, so that nobody needs to look.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Comes back at the first change since the last call, at once if there was one.
    pub async fn next(&mut self) {
        while !self.is_news() {
            self.signal.woken.notified().await;
        }
        self.skip();
    }

    /// Whether there was a change since the last call of [`Changes::next`] or [`Changes::skip`].
    pub fn is_news(&self) -> bool {
        self.signal.changes.load(Ordering::Acquire) != self.seen
    }

    /// Takes all changes up to now as seen.
    pub fn skip(&mut self) {
        self.seen = self.signal.changes.load(Ordering::Acquire);
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("is_complete", &self.is_complete).finish_non_exhaustive()
    }
}

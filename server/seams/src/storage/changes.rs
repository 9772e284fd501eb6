//! News of changes in a folder.
//! It must never be needed for correctness: a listener also looks from time to time, unless the news are complete.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// A listener for changes. It may report more changes than there were.
pub struct Changes {
    signal: Arc<Signal>,
    seen: u64,
    is_complete: bool,
    /// Kept alive, because the news stop when it is dropped.
    _source: Option<Box<dyn Any + Send>>,
}

/// The signal by which a medium reports a change. Each listener has its own, so that a simulated medium notifies them in
/// the same order each time.
#[derive(Debug, Default)]
pub struct Signal {
    changes: AtomicU64,
    woken: Notify,
}

impl Signal {
    /// Reports a change.
    pub fn notify(&self) {
        self.changes.fetch_add(1, Ordering::Release);
        self.woken.notify_one();
    }
}

impl Changes {
    /// A listener on a medium that reports every change, also those of other processes.
    pub fn complete(signal: Arc<Signal>) -> Self {
        Self { signal, seen: 0, is_complete: true, _source: None }
    }

    /// A listener on a medium that may miss changes, such as a network's file system.
    pub fn best_effort(signal: Arc<Signal>, source: impl Any + Send) -> Self {
        Self { signal, seen: 0, is_complete: false, _source: Some(Box::new(source)) }
    }

    /// Whether every change is reported, so that the listener needs not look by itself.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Waits for the first change since the last call; returns at once if there was one.
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

    /// Treats all changes up to now as seen.
    pub fn skip(&mut self) {
        self.seen = self.signal.changes.load(Ordering::Acquire);
    }
}

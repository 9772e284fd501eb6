//! News that somebody changed something in a folder.
//! It must never be needed for correctness: whoever waits for it looks from time to time as well, unless it is complete.

use std::any::Any;
use std::fmt;

use tokio::sync::watch;

/// Tells of changes for as long as it lives. It may tell of more than there were.
pub struct Changes {
    count: watch::Receiver<u64>,
    is_complete: bool,
    /// What has to live for the news to come.
    _source: Option<Box<dyn Any + Send>>,
}

impl Changes {
    /// From a medium that tells of every attempt, of other processes too.
    pub fn complete(count: watch::Receiver<u64>) -> Self {
        Self { count, is_complete: true, _source: None }
    }

    /// From a medium that may miss some, such as a network's file system.
    pub fn best_effort(count: watch::Receiver<u64>, source: impl Any + Send) -> Self {
        Self { count, is_complete: false, _source: Some(Box::new(source)) }
    }

    /// Whether every change is told, so that nobody needs to look.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Comes back at the first change since the last call, at once if there was one; never after the source has ended.
    pub async fn next(&mut self) {
        if self.count.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Whether there was a change since the last call of [`Changes::next`] or [`Changes::skip`].
    pub fn is_news(&self) -> bool {
        self.count.has_changed().unwrap_or(true)
    }

    /// Takes all changes up to now as seen.
    pub fn skip(&mut self) {
        self.count.mark_unchanged();
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes").field("is_complete", &self.is_complete).finish_non_exhaustive()
    }
}

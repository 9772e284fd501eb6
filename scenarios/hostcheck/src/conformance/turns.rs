//! How many servers run at the same time. A question that was answered late among others is asked again while nothing
//! else of this program runs; this module only hands out the turns.

use tokio::sync::{Semaphore, SemaphorePermit};

/// The turns of one run.
pub(crate) struct Turns {
    permits: Semaphore,
    all: u32,
}

impl Turns {
    /// Turns for this many servers at once, at least one.
    pub(crate) fn new(at_once: usize) -> Self {
        let all = u32::try_from(at_once).unwrap_or(u32::MAX).max(1);
        Self { permits: Semaphore::new(all as usize), all }
    }

    /// A turn beside others. It ends when the value is dropped.
    pub(crate) async fn beside(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.acquire().await.ok()
    }

    /// A turn alone: it begins when all others have ended. Only questions that follow each other on a server that runs
    /// already go on meanwhile. The caller must hold no other turn.
    pub(crate) async fn alone(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.acquire_many(self.all).await.ok()
    }
}

//! How many servers run at the same time. A question that was answered late among others is asked again while nothing
//! else of this program runs; this module only hands out the turns.

use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore, SemaphorePermit};

use super::stop::Stop;

/// The turns of one run.
pub(crate) struct Turns {
    permits: Semaphore,
    all: u32,
    /// Read by questions that follow each other.
    in_turn: RwLock<()>,
    /// Ends what has a turn, and what waits for one, when the run is stopped.
    pub(crate) stop: Stop,
}

/// A turn while nothing else runs.
pub(crate) type Alone<'a> = (Option<SemaphorePermit<'a>>, RwLockWriteGuard<'a, ()>);

impl Turns {
    /// Turns for this many servers at once, at least one.
    pub(crate) fn new(at_once: usize, stop: Stop) -> Self {
        let all = u32::try_from(at_once).unwrap_or(u32::MAX).max(1);
        Self { permits: Semaphore::new(all as usize), all, in_turn: RwLock::new(()), stop }
    }

    /// A turn beside others. It ends when the value is dropped.
    pub(crate) async fn beside(&self) -> Option<SemaphorePermit<'_>> {
        self.permits.acquire().await.ok()
    }

    /// A turn of a question that follows others, mostly on a server that runs already: none but [`alone`](Self::alone) keeps
    /// it waiting.
    pub(crate) async fn in_turn(&self) -> RwLockReadGuard<'_, ()> {
        self.in_turn.read().await
    }

    /// A turn alone: it begins when all others have ended. The caller must hold no other turn.
    pub(crate) async fn alone(&self) -> Alone<'_> {
        let all = self.permits.acquire_many(self.all).await.ok();
        (all, self.in_turn.write().await)
    }
}

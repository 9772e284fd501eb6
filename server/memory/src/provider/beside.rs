//! Where files are touched: beside the connection, which must never wait for a disk.
//! It must never leave an answer out: work that breaks is an error of its call.

/// Where work on files is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// On a thread of the runtime for work that blocks.
    Thread,
    /// In the caller's own place, for files in memory: a simulated run has one thread.
    Here,
}

impl Beside {
    /// Does the work; `None` if it broke.
    pub(super) async fn run<T: Send + 'static>(self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        match self {
            Self::Thread => tokio::task::spawn_blocking(work).await.ok(),
            Self::Here => Some(work()),
        }
    }
}

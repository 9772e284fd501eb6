//! How a source is doing, for `status` and for error texts.
//! It must never hold what a person wrote.

use jiff::Timestamp;
use tokio::sync::watch;

/// What a source says about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceState {
    /// When it last asked.
    pub asked_at: Option<Timestamp>,
    /// When it was last told everything that it asked for.
    pub answered_at: Option<Timestamp>,
    /// What went wrong since then, with what helps.
    pub error: Option<String>,
    /// Failures in a row.
    pub failures: u32,
    /// Conversations that it knows of.
    pub conversations: usize,
    /// Conversations that have something new which was not read yet.
    pub behind: usize,
}

/// A handle to the state; a cheap clone.
#[derive(Debug, Clone, Default)]
pub struct SourceStatus(watch::Sender<SourceState>);

impl SourceStatus {
    /// The state now.
    pub fn get(&self) -> SourceState {
        self.0.borrow().clone()
    }

    /// Changes the state.
    pub(crate) fn update(&self, change: impl FnOnce(&mut SourceState)) {
        self.0.send_if_modified(|state| {
            let before = state.clone();
            change(state);
            *state != before
        });
    }

    /// Tells of changes.
    pub(crate) fn watch(&self) -> watch::Receiver<SourceState> {
        self.0.subscribe()
    }
}

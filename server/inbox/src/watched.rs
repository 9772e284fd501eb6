//! A state that one part tells and others look at or wait for.

use tokio::sync::watch;

/// A handle to a state; a cheap clone.
#[derive(Debug, Clone, Default)]
pub struct Watched<T>(watch::Sender<T>);

impl<T: Clone + PartialEq> Watched<T> {
    /// The state now.
    pub fn get(&self) -> T {
        self.0.borrow().clone()
    }

    /// Changes the state. A change that changes nothing is not told.
    pub fn update(&self, change: impl FnOnce(&mut T)) {
        self.0.send_if_modified(|state| {
            let before = state.clone();
            change(state);
            *state != before
        });
    }

    /// Tells of changes.
    pub fn watch(&self) -> watch::Receiver<T> {
        self.0.subscribe()
    }
}

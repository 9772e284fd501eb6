//! A state that one part of the program changes and other parts read or wait for. It must never report a
//! change that changes nothing.

use tokio::sync::watch;

/// A handle to a state; cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct Watched<T>(watch::Sender<T>);

impl<T: Clone + PartialEq> Watched<T> {
    /// The current state.
    pub fn get(&self) -> T {
        self.0.borrow().clone()
    }

    /// Whether the current state is so.
    pub fn is(&self, so: impl FnOnce(&T) -> bool) -> bool {
        so(&self.0.borrow())
    }

    /// Changes the state. Watchers are told only if the value is different.
    pub fn update(&self, change: impl FnOnce(&mut T)) {
        self.0.send_if_modified(|state| {
            let before = state.clone();
            change(state);
            *state != before
        });
    }

    /// Returns a receiver of changes.
    pub fn watch(&self) -> watch::Receiver<T> {
        self.0.subscribe()
    }
}

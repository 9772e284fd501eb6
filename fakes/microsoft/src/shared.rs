//! One fake that a transport and a scenario hold together.
//! It never keeps the lock longer than one call.

use std::sync::{Arc, Mutex, PoisonError};

/// A cheap handle on a fake: its in-memory skin.
#[derive(Debug, Default)]
pub struct Shared<F>(Arc<Mutex<F>>);

impl<F> Clone for Shared<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F> Shared<F> {
    /// Shares a fake.
    pub fn new(fake: F) -> Self {
        Self(Arc::new(Mutex::new(fake)))
    }

    /// Does something with the fake. `work` must not use this handle again.
    pub fn with<T>(&self, work: impl FnOnce(&mut F) -> T) -> T {
        // A thread that panicked has already failed its run; the fake itself stays usable.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

//! One fake that a transport and a scenario share.
//! It never keeps the lock longer than one call.

use std::sync::{Arc, Mutex, PoisonError};

/// A handle on a fake that is cheap to clone: the in-memory skin of the fake.
#[derive(Debug, Default)]
pub struct Shared<F>(Arc<Mutex<F>>);

impl<F> Clone for Shared<F> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<F> Shared<F> {
    /// Makes the first handle on a fake.
    pub fn new(fake: F) -> Self {
        Self(Arc::new(Mutex::new(fake)))
    }

    /// Runs `work` on the fake. `work` must not use this handle again.
    pub fn with<T>(&self, work: impl FnOnce(&mut F) -> T) -> T {
        // A thread that panicked has already failed its run; the fake itself is still usable.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

//! A key store in memory: for simulations and tests, and for configurations that keep nothing.
//! It must never touch a disk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{self, BoxFuture};

use super::{AuthError, KeyName, KeyStore};
use entraclaw_seams::secret::Secret;

/// Secrets in memory; a clone is cheap and shares the same store.
#[derive(Debug, Clone, Default)]
pub struct MemoryKeyStore(Arc<Mutex<BTreeMap<KeyName, Secret>>>);

impl MemoryKeyStore {
    fn all(&self) -> MutexGuard<'_, BTreeMap<KeyName, Secret>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a secret before the program runs.
    #[must_use]
    pub fn with(self, name: KeyName, secret: Secret) -> Self {
        self.all().insert(name, secret);
        self
    }
}

impl KeyStore for MemoryKeyStore {
    fn name(&self) -> String {
        "memory".to_owned()
    }

    fn get<'a>(&'a self, name: &'a KeyName) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        Box::pin(future::ready(Ok(self.all().get(name).cloned())))
    }

    fn put<'a>(&'a self, name: &'a KeyName, secret: &'a Secret) -> BoxFuture<'a, Result<(), AuthError>> {
        self.all().insert(name.clone(), secret.clone());
        Box::pin(future::ready(Ok(())))
    }

    fn remove<'a>(&'a self, name: &'a KeyName) -> BoxFuture<'a, Result<bool, AuthError>> {
        Box::pin(future::ready(Ok(self.all().remove(name).is_some())))
    }
}

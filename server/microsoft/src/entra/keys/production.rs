//! Builds the configured key store; the key files that the configuration names take precedence over it.
//! It must never use another store than that of the last sign-in without saying so.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::{self, BoxFuture};

use super::{AuthError, FileKeyStore, GivenFiles, KeyName, KeyStore, SystemKeyStore, store_error};
use crate::entra::SignInRecord;
use crate::entra::{Auth, KeyStoreKind, SignIn};
use entraclaw_seams::secret::Secret;
use entraclaw_seams::storage::Storage;

/// The store for a home folder, for `login` and `logout`. It opens nothing before its first use.
pub fn chosen_store(sign_in: &SignIn, storage: &Arc<dyn Storage>, home: PathBuf) -> Arc<dyn KeyStore> {
    match sign_in.key_store {
        KeyStoreKind::System => Arc::new(SystemKeyStore),
        KeyStoreKind::File => Arc::new(FileKeyStore::new(storage.clone(), home)),
    }
}

/// The store for all other commands: it gives nothing while the last sign-in is kept in another store.
pub fn production_store(
    sign_in: &SignIn,
    auth: &Auth,
    storage: &Arc<dyn Storage>,
    home: PathBuf,
) -> Arc<dyn KeyStore> {
    let chosen = sign_in.key_store;
    let store = chosen_store(sign_in, storage, home);
    match SignInRecord::read(&**storage).filter(|record| record.key_store != chosen.as_str()) {
        Some(record) => with_files(auth, Arc::new(Elsewhere { store, recorded: record.key_store, chosen })),
        None => with_files(auth, store),
    }
}

/// Gives the files that the configuration names precedence over a store.
pub fn with_files(auth: &Auth, store: Arc<dyn KeyStore>) -> Arc<dyn KeyStore> {
    match auth {
        Auth::AgentUser(who) => {
            let (key, certificate) = (who.key_file.clone(), who.certificate_file.clone());
            Arc::new(GivenFiles { key, certificate, behind: store })
        }
        _ => store,
    }
}

/// A store that was not used for the last sign-in, so its secrets are old or missing.
struct Elsewhere {
    store: Arc<dyn KeyStore>,
    recorded: String,
    chosen: KeyStoreKind,
}

impl KeyStore for Elsewhere {
    fn name(&self) -> String {
        self.store.name()
    }

    fn get<'a>(&'a self, _name: &'a KeyName) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        let problem = format!(
            "the last sign-in was kept in the key store \"{}\", but `auth.key_store` is \"{}\"",
            crate::http::one_line(&self.recorded),
            self.chosen.as_str()
        );
        let fix = "set `auth.key_store` back, or run `entraclaw login` again; then start the session again";
        Box::pin(future::ready(Err(store_error(problem, fix))))
    }

    fn put<'a>(&'a self, name: &'a KeyName, secret: &'a Secret) -> BoxFuture<'a, Result<(), AuthError>> {
        self.store.put(name, secret)
    }

    fn remove<'a>(&'a self, name: &'a KeyName) -> BoxFuture<'a, Result<bool, AuthError>> {
        self.store.remove(name)
    }
}

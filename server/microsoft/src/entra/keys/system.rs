//! The operating system's store: Keychain, Credential Manager or Secret Service, by the `keyring` crate.
//! It must never block the runtime: its calls block, some until a person has unlocked the store.

use std::time::Duration;

use futures_util::future::BoxFuture;
use keyring::{Entry, Error};

use super::{AuthError, KeyName, KeyStore, store_error};
use entraclaw_seams::secret::Secret;

/// The name of all secrets of this program in the system's own tools.
const SERVICE: &str = "entraclaw";
/// How long a person may take to unlock the store.
const ANSWER_MAX: Duration = Duration::from_secs(60);

/// The store of the logged-in user.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemKeyStore;

impl KeyStore for SystemKeyStore {
    fn name(&self) -> String {
        "the system's key store".to_owned()
    }

    fn get<'a>(&'a self, name: &'a KeyName) -> BoxFuture<'a, Result<Option<Secret>, AuthError>> {
        let name = name.text();
        Box::pin(aside(move || match entry(&name)?.get_secret() {
            Ok(bytes) => text(bytes).map(Some),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(explain(&error)),
        }))
    }

    fn put<'a>(&'a self, name: &'a KeyName, secret: &'a Secret) -> BoxFuture<'a, Result<(), AuthError>> {
        let (name, secret) = (name.text(), secret.clone());
        Box::pin(aside(move || {
            let entry = entry(&name)?;
            entry.set_secret(secret.expose().as_bytes()).map_err(|error| explain(&error))?;
            // Some stores accept a secret that they can't return.
            if entry.get_secret().is_ok_and(|bytes| bytes == secret.expose().as_bytes()) {
                return Ok(());
            }
            Err(store_error(
                "the system's key store does not give back what was put into it",
                "set `auth.key_store` to \"file\"",
            ))
        }))
    }

    fn remove<'a>(&'a self, name: &'a KeyName) -> BoxFuture<'a, Result<bool, AuthError>> {
        let name = name.text();
        Box::pin(aside(move || match entry(&name)?.delete_credential() {
            Ok(()) => Ok(true),
            Err(Error::NoEntry) => Ok(false),
            Err(error) => Err(explain(&error)),
        }))
    }
}

/// Runs a blocking call on a thread of its own. A call that never ends blocks that thread, not the server.
async fn aside<T: Send + 'static>(
    call: impl FnOnce() -> Result<T, AuthError> + Send + 'static,
) -> Result<T, AuthError> {
    match tokio::time::timeout(ANSWER_MAX, tokio::task::spawn_blocking(call)).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(store_error("the system's key store failed", FILE_FIX)),
        Err(_) => {
            let seconds = ANSWER_MAX.as_secs();
            Err(store_error(
                format!("the system's key store has not answered for {seconds} s"),
                "unlock it, it may wait for a password",
            ))
        }
    }
}

const FILE_FIX: &str = "start and unlock a keyring in your session (such as gnome-keyring or KWallet); where there is none, \
                        set `auth.key_store` to \"file\" to keep secrets in files with mode 0600";

fn entry(name: &str) -> Result<Entry, AuthError> {
    Entry::new(SERVICE, name).map_err(|error| match (error, Entry::store_status()) {
        (Error::NoDefaultStore, Err(cause)) => explain(cause),
        (error, _) => explain(&error),
    })
}

fn text(bytes: Vec<u8>) -> Result<Secret, AuthError> {
    String::from_utf8(bytes).map(Secret::new).map_err(|_| {
        store_error("what the system's key store holds is no text", "run `entraclaw login` again")
    })
}

/// Names the kind of an error, because the library's errors may hold the secret itself (`BadEncoding`).
fn explain(error: &Error) -> AuthError {
    let cause = |error: &dyn std::fmt::Display| crate::http::one_line(&error.to_string());
    match error {
        Error::NoStorageAccess(why) => {
            let problem = format!("the system's key store is not accessible: {}", cause(why));
            store_error(problem, format!("unlock it, or {FILE_FIX}"))
        }
        Error::PlatformFailure(why) => {
            store_error(format!("the system's key store can't be reached: {}", cause(why)), FILE_FIX)
        }
        Error::TooLong(what, most) => store_error(
            format!("the system's key store takes at most {most} bytes of {what}"),
            "use an RSA key of 2048 bits, or set `auth.key_store` to \"file\"",
        ),
        Error::Ambiguous(_) => store_error(
            "the system's key store has several entries of one name",
            "delete those of the service \"entraclaw\" in the system's own tool and run `entraclaw login` again",
        ),
        _ => store_error("the system's key store can't be used", FILE_FIX),
    }
}

//! Why there is no token, as far as it matters: may it be asked again by itself, and if not, what must a person do.
//! An error must never hold a token, a key, or more than one line of foreign text.

use std::time::Duration;

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthFailure {
    /// Nobody has signed in here.
    NotSignedIn,
    /// The key store can't be used, or what is in it is no key.
    KeyStore,
    /// Entra does not accept the certificate, its signature, or the secret.
    Credential,
    /// This machine's clock is so wrong that the assertion was never valid, and the server's `Date` did not help.
    Clock,
    /// Ids, scopes or grants do not fit each other.
    Setup,
    /// Nobody has consented to what the agent asks for.
    Consent,
    /// A person must sign in again.
    Interaction,
    /// A policy says no.
    Blocked,
    /// Entra says that it is asked too often in circles.
    Looping,
    /// 429.
    Throttled,
    /// 5xx, or Entra's own word for it.
    Unavailable,
    /// No connection.
    Unreachable,
    /// An answer that is none.
    Malformed,
}

impl AuthFailure {
    /// Whether the same question may succeed a moment later, without anybody doing anything.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Throttled | Self::Unavailable | Self::Unreachable | Self::Malformed)
    }
}

/// No token can be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {fix}")]
pub struct AuthError {
    /// The kind.
    pub failure: AuthFailure,
    /// What is wrong, with the `AADSTS…` code where there is one.
    pub problem: String,
    /// What somebody must do.
    pub fix: String,
    /// Entra's word for it (`invalid_grant`), which flows react to.
    pub word: Option<String>,
    /// How long to leave the server alone.
    pub retry_after: Option<Duration>,
}

impl AuthError {
    /// An error that is not Entra's.
    pub fn new(failure: AuthFailure, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { failure, problem: problem.into(), fix: fix.into(), word: None, retry_after: None }
    }

    /// Whether the same question may succeed a moment later.
    pub fn is_transient(&self) -> bool {
        self.failure.is_transient()
    }

    /// Whether Entra used this word.
    pub fn says(&self, word: &str) -> bool {
        self.word.as_deref() == Some(word)
    }
}

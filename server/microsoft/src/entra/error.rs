//! The failures of a sign-in: whether the program may try again by itself, and if not, what a person must do.
//! An error must never hold a token, a key, or more than one line of foreign text.

use std::time::Duration;

/// The kind of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthFailure {
    /// No person has signed in here.
    NotSignedIn,
    /// The key store can't be used, or its content is no key.
    KeyStore,
    /// Entra does not accept the certificate, its signature, or the secret.
    Credential,
    /// This machine's clock is so wrong that every assertion was invalid, and the server's `Date` did not
    /// help.
    Clock,
    /// Ids, scopes or grants do not match each other.
    Setup,
    /// No administrator or user has consented to the agent's scopes.
    Consent,
    /// A person must sign in again.
    Interaction,
    /// A policy blocks the sign-in.
    Blocked,
    /// Entra says that the program signs in in a loop.
    Looping,
    /// 429: too many requests.
    Throttled,
    /// 5xx, or Entra's own error code for it.
    Unavailable,
    /// No connection.
    Unreachable,
    /// The answer can't be read.
    Malformed,
}

impl AuthFailure {
    /// Whether the same request may succeed a moment later without a person's help.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Throttled | Self::Unavailable | Self::Unreachable | Self::Malformed)
    }
}

/// The reason why there is no token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {fix}")]
pub struct AuthError {
    /// The kind.
    pub failure: AuthFailure,
    /// What is wrong, with the `AADSTS…` code where there is one.
    pub problem: String,
    /// What a person must do.
    pub fix: String,
    /// Entra's OAuth error code (`invalid_grant`), which the sign-in flows react to.
    pub word: Option<String>,
    /// How long the server wants no more requests.
    pub retry_after: Option<Duration>,
}

impl AuthError {
    /// An error that does not come from Entra.
    pub fn new(failure: AuthFailure, problem: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { failure, problem: problem.into(), fix: fix.into(), word: None, retry_after: None }
    }

    /// Whether the same request may succeed a moment later.
    pub fn is_transient(&self) -> bool {
        self.failure.is_transient()
    }

    /// Whether Entra used this OAuth error code.
    pub fn says(&self, word: &str) -> bool {
        self.word.as_deref() == Some(word)
    }
}

//! Token sources: something that has an access token, or says why not and what to do.
//! An error must never hold a token.

use futures_util::future::{self, BoxFuture};

use crate::config::Secret;

/// No token can be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {fix}")]
pub struct AuthError {
    /// What is wrong.
    pub problem: String,
    /// What somebody must do.
    pub fix: String,
}

/// Gives access tokens for Graph.
pub trait TokenSource: Send + Sync {
    /// The current token.
    fn token(&self) -> BoxFuture<'_, Result<Secret, AuthError>>;
    /// A token other than `refused`, which Graph answered with 401.
    fn refresh<'a>(&'a self, refused: &'a Secret) -> BoxFuture<'a, Result<Secret, AuthError>>;
}

/// One token that somebody else got. It can't be renewed here.
#[derive(Debug, Clone)]
pub struct StaticToken(
    /// The token.
    pub Secret,
);

impl TokenSource for StaticToken {
    fn token(&self) -> BoxFuture<'_, Result<Secret, AuthError>> {
        Box::pin(future::ready(Ok(self.0.clone())))
    }

    fn refresh<'a>(&'a self, _refused: &'a Secret) -> BoxFuture<'a, Result<Secret, AuthError>> {
        Box::pin(future::ready(Err(AuthError {
            problem: "graph refused the access token".to_owned(),
            fix: "get a new one, set ENTRACLAW_ACCESS_TOKEN and start the server again".to_owned(),
        })))
    }
}

/// Nobody has signed in.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoToken;

impl TokenSource for NoToken {
    fn token(&self) -> BoxFuture<'_, Result<Secret, AuthError>> {
        Box::pin(future::ready(Err(AuthError {
            problem: "there is no sign-in".to_owned(),
            fix:
                "set ENTRACLAW_ACCESS_TOKEN to an access token for Microsoft Graph and start the server again"
                    .to_owned(),
        })))
    }

    fn refresh<'a>(&'a self, _refused: &'a Secret) -> BoxFuture<'a, Result<Secret, AuthError>> {
        self.token()
    }
}

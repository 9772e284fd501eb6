//! Token sources: each gives an access token, or says why it has none and what to do.
//! An error must never hold a token.

use std::convert::Infallible;

use futures_util::future::{self, BoxFuture};

use super::{AuthError, AuthFailure};
use entraclaw_seams::secret::Secret;

/// Gives access tokens for Graph.
pub trait TokenSource: Send + Sync {
    /// The current token.
    fn token(&self) -> BoxFuture<'_, Result<Secret, AuthError>>;

    /// A token other than `refused`, which Graph answered with 401.
    fn refresh<'a>(&'a self, refused: &'a Secret) -> BoxFuture<'a, Result<Secret, AuthError>>;

    /// A token with these claims (JSON), which Graph asked for when it answered `refused` with 401.
    fn challenged<'a>(
        &'a self,
        refused: &'a Secret,
        _claims: &'a str,
    ) -> BoxFuture<'a, Result<Secret, AuthError>> {
        self.refresh(refused)
    }

    /// Renews the used tokens before their end, for as long as it is polled.
    fn keep_fresh(&self) -> BoxFuture<'_, Infallible> {
        Box::pin(future::pending())
    }

    /// The reason why there is no token now, if only a person can change that.
    fn trouble(&self) -> Option<AuthError> {
        None
    }
}

/// One token that the operator got in another way. It can't be renewed here.
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
        Box::pin(future::ready(Err(AuthError::new(
            AuthFailure::Interaction,
            "graph refused the access token",
            "get a new one, set ENTRACLAW_ACCESS_TOKEN and start the server again",
        ))))
    }
}

/// The source of an agent that has no sign-in.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoToken;

impl TokenSource for NoToken {
    fn token(&self) -> BoxFuture<'_, Result<Secret, AuthError>> {
        Box::pin(future::ready(Err(AuthError::new(
            AuthFailure::NotSignedIn,
            "there is no sign-in",
            "set `auth.mode` in the configuration and run `entraclaw login`, or set ENTRACLAW_ACCESS_TOKEN to an access \
             token for Microsoft Graph; then start the server again",
        ))))
    }

    fn refresh<'a>(&'a self, _refused: &'a Secret) -> BoxFuture<'a, Result<Secret, AuthError>> {
        self.token()
    }
}

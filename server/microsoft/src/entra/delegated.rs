//! Signs in again without a person, by the refresh token that `entraclaw login` kept.
//! It must never open a browser or ask a person, and must keep every new refresh token.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::challenge::with_capability;
use super::exchange::Exchange;
use super::grant::Grant;
use super::keys::KeyStore;
use super::refusal::Step;
use super::renewing::Flow;
use super::{AuthError, AuthFailure};
use crate::entra::Delegated;

const REFRESH: Step = Step("the refresh of the sign-in");

/// The refresh token grant.
pub(super) struct Refresh {
    pub(super) exchange: Exchange,
    pub(super) keys: Arc<dyn KeyStore>,
    pub(super) who: Delegated,
}

impl Flow for Refresh {
    fn sign_in(self: Arc<Self>, claims: Option<String>) -> BoxFuture<'static, Result<Grant, AuthError>> {
        Box::pin(async move { self.once(claims.as_deref()).await })
    }
}

impl Refresh {
    async fn once(&self, claims: Option<&str>) -> Result<Grant, AuthError> {
        let name = self.who.key_name();
        let Some(kept) = self.keys.get(&name).await? else {
            let problem = format!("nobody has signed in: there is no refresh token in {}", self.keys.name());
            return Err(AuthError::new(AuthFailure::NotSignedIn, problem, "run `entraclaw login`"));
        };
        let claims = claims.map(with_capability);
        let mut fields = vec![
            ("client_id", self.who.client_id.as_str()),
            ("grant_type", "refresh_token"),
            ("refresh_token", kept.expose()),
            ("scope", self.who.scopes.as_str()),
        ];
        fields.extend(claims.as_deref().map(|claims| ("claims", claims)));
        let grant = Grant::read(REFRESH, &self.exchange.ask(REFRESH, "token", &fields).await?)?;
        if let Some(next) = grant.refresh_token.as_ref().filter(|next| **next != kept)
            && let Err(error) = self.keys.put(&name, next).await
        {
            // The old refresh token stays valid for a while; when it expires without a kept successor, the
            // sign-in ends.
            tracing::warn!(%error, "the new refresh token could not be kept");
        }
        Ok(grant)
    }
}

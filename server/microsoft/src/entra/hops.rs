//! The agent user's sign-in: the blueprint by certificate, the agent identity by the blueprint's token, the
//! agent user by both.
//! The form of each hop is data in one place; this module must never keep a token longer than the hops take.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::SignedDuration;

use super::assertion::Credential;
use super::authority::form;
use super::certificate::{Validity, day};
use super::challenge::with_capability;
use super::exchange::Exchange;
use super::grant::Grant;
use super::keys::{Kept, KeyStore};
use super::refusal::Step;
use super::renewing::Flow;
use super::{AuthError, AuthFailure};
use crate::entra::{AgentUser, AgentUserName};
use entraclaw_seams::secret::Secret;

const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const EXCHANGE_SCOPE: &str = "api://AzureADTokenExchange/.default";
const HOP_1: Step = Step("hop 1 of 3 (the blueprint's certificate)");
const HOP_2: Step = Step("hop 2 of 3 (the agent identity)");
const HOP_3: Step = Step("hop 3 of 3 (the agent user)");
/// After a refusal that revealed a skew larger than this, the hop is tried once more.
const SKEW_RETRY: SignedDuration = SignedDuration::from_secs(30);

/// The three hops.
pub(super) struct Hops {
    pub(super) exchange: Exchange,
    pub(super) keys: Arc<dyn KeyStore>,
    pub(super) who: AgentUser,
    /// `https://graph.microsoft.com/.default`.
    pub(super) scope: String,
}

impl Flow for Hops {
    fn sign_in(self: Arc<Self>, claims: Option<String>) -> BoxFuture<'static, Result<Grant, AuthError>> {
        Box::pin(async move { self.all(claims.as_deref()).await })
    }
}

impl Hops {
    async fn all(&self, claims: Option<&str>) -> Result<Grant, AuthError> {
        let (credential, certificate) = self.credential().await?;
        let believed = self.exchange.skew();
        let first = match self.blueprint(&credential).await {
            // The `Date` of the refusal may have shown that the clock is wrong.
            Err(error)
                if matches!(error.failure, AuthFailure::Clock | AuthFailure::Credential)
                    && (self.exchange.skew() - believed).abs() > SKEW_RETRY =>
            {
                self.blueprint(&credential).await
            }
            done => done,
        };
        let first = first.map_err(|error| self.explained(error, certificate.as_ref()))?;
        let second = self.identity(&first).await?;
        self.user(&first, &second, claims).await
    }

    /// Adds the certificate's place to the refusal, or that the certificate is not valid now, which Entra
    /// does not say plainly.
    fn explained(&self, error: AuthError, certificate: Option<&Secret>) -> AuthError {
        if error.failure != AuthFailure::Credential {
            return error;
        }
        let place = match (&self.who.certificate_file, certificate) {
            (Some(path), _) => format!("it is the one of `auth.certificate_file`, {}", path.display()),
            (None, Some(_)) => format!("it is kept in {}", self.keys.name()),
            (None, None) => "it is named by `auth.certificate_thumbprint`".to_owned(),
        };
        let dates = certificate.and_then(Validity::read);
        if let Some(Err(dated)) = dates.map(|dates| dates.check(self.exchange.server_now())) {
            let problem = format!("{}: {} ({place})", error.problem.trim_end_matches('.'), dated.problem);
            return AuthError { problem, fix: dated.fix, ..error };
        }
        let end = dates.map(|dates| format!(" and ends on {}", day(dates.until))).unwrap_or_default();
        AuthError { fix: format!("{} ({place}{end})", error.fix), ..error }
    }

    async fn credential(&self) -> Result<(Credential, Option<Secret>), AuthError> {
        let Some(key) = self.keys.get(&self.who.key_name(Kept::PrivateKey)).await? else {
            let problem = format!("there is no private key in {}", self.keys.name());
            let fix = "bring the blueprint certificate's key with `entraclaw login --key FILE`";
            return Err(AuthError::new(AuthFailure::NotSignedIn, problem, fix));
        };
        let certificate = self.keys.get(&self.who.key_name(Kept::Certificate)).await?;
        let (thumbprint, algorithm) = (self.who.thumbprint.as_ref(), self.who.algorithm);
        Ok((Credential::new(&key, certificate.as_ref(), thumbprint, algorithm)?, certificate))
    }

    async fn blueprint(&self, credential: &Credential) -> Result<Secret, AuthError> {
        let client_id = self.who.blueprint_id.as_str();
        let endpoint = self.exchange.endpoint("token");
        let body = self.exchange.ask_anew(HOP_1, "token", || {
            let (jti, now) = (self.exchange.parts.random.uuid(), self.exchange.server_now());
            let assertion = credential.assertion(&endpoint, client_id, &jti, now)?;
            Ok(form(&[
                ("client_id", client_id),
                ("grant_type", "client_credentials"),
                ("scope", EXCHANGE_SCOPE),
                ("fmi_path", self.who.agent_id.as_str()),
                ("client_assertion_type", ASSERTION_TYPE),
                ("client_assertion", assertion.expose()),
            ]))
        });
        Ok(Grant::read(HOP_1, &body.await?)?.access_token)
    }

    async fn identity(&self, first: &Secret) -> Result<Secret, AuthError> {
        let fields = [
            ("client_id", self.who.agent_id.as_str()),
            ("grant_type", "client_credentials"),
            ("scope", EXCHANGE_SCOPE),
            ("client_assertion_type", ASSERTION_TYPE),
            ("client_assertion", first.expose()),
        ];
        self.token(HOP_2, &fields).await.map(|grant| grant.access_token)
    }

    async fn user(&self, first: &Secret, second: &Secret, claims: Option<&str>) -> Result<Grant, AuthError> {
        let user = match &self.who.user {
            AgentUserName::ObjectId(id) => ("user_id", id.as_str()),
            AgentUserName::PrincipalName(name) => ("username", name.as_str()),
        };
        let claims = claims.map(with_capability);
        let mut fields = vec![
            ("client_id", self.who.agent_id.as_str()),
            ("grant_type", "user_fic"),
            ("scope", self.scope.as_str()),
            ("client_assertion_type", ASSERTION_TYPE),
            ("client_assertion", first.expose()),
            ("user_federated_identity_credential", second.expose()),
            user,
            ("requested_token_use", "on_behalf_of"),
        ];
        fields.extend(claims.as_deref().map(|claims| ("claims", claims)));
        self.token(HOP_3, &fields).await.map_err(|error| {
            // No person can sign in for an agent user, so the error must not ask for that.
            let fix = match error.failure {
                AuthFailure::Interaction if claims.is_some() => {
                    "a policy wants something that an agent user can't give; ask the administrator to except it"
                }
                AuthFailure::Interaction => {
                    "see that the agent user is enabled, belongs to `auth.agent_id` and may use Graph"
                }
                _ => return error,
            };
            AuthError { fix: fix.to_owned(), failure: AuthFailure::Blocked, ..error }
        })
    }

    async fn token(&self, step: Step, fields: &[(&str, &str)]) -> Result<Grant, AuthError> {
        Grant::read(step, &self.exchange.ask(step, "token", fields).await?)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::time::Duration;

    use rstest::rstest;

    use super::*;
    use crate::entra::keys::{KeyName, MemoryKeyStore};
    use crate::entra::{Algorithm, Authority, EntraParts};
    use crate::support::script::{Reply, Script};
    use entraclaw_inbox::gate::Guid;
    use entraclaw_seams::clock::TokioClock;
    use entraclaw_seams::random::SplitMix;

    const KEY: &str = include_str!("../../../../fakes/microsoft/src/entra/credentials/blueprint.key.pem");
    const CERTIFICATE: &str =
        include_str!("../../../../fakes/microsoft/src/entra/credentials/blueprint.cert.pem");

    fn guid(digit: char) -> Guid {
        Guid::parse(&format!("{}-0000-0000-0000-000000000001", digit.to_string().repeat(8))).unwrap()
    }

    const REFUSED: &str = r#"{"error":"invalid_client","error_description":"AADSTS700027: no such key."}"#;

    fn hops(transport: Arc<Script>, now: &str, file: Option<&str>) -> Hops {
        let parts = EntraParts {
            transport,
            clock: Arc::new(TokioClock::starting_at(now.parse().unwrap())),
            random: Arc::new(SplitMix::seeded(7)),
            authority: Authority::microsoft(),
            request_timeout: Duration::from_secs(20),
            retries_max: 0,
        };
        let who = AgentUser {
            tenant_id: guid('a'),
            blueprint_id: guid('b'),
            agent_id: guid('c'),
            user: AgentUserName::ObjectId(guid('d')),
            algorithm: Algorithm::Ps256,
            thumbprint: None,
            key_file: None,
            certificate_file: file.map(PathBuf::from),
        };
        let name = |kept| KeyName { kept, tenant_id: guid('a'), client_id: guid('b') };
        let keys = MemoryKeyStore::default()
            .with(name(Kept::PrivateKey), Secret::new(KEY))
            .with(name(Kept::Certificate), Secret::new(CERTIFICATE));
        let exchange = Exchange::new(parts, guid('a'));
        Hops { exchange, keys: Arc::new(keys), who, scope: String::new() }
    }

    /// The error for a refused certificate says which certificate it is, and whether it has expired.
    #[rstest]
    #[case::kept("2026-11-21T10:00:00Z", None, "(it is kept in ", "and ends on 2126-10-29 01:59 UTC)")]
    #[case::given(
        "2026-11-21T10:00:00Z",
        Some("/etc/agent.pem"),
        "(it is the one of `auth.certificate_file`, /etc/agent.pem ",
        "and ends on 2126-10-29 01:59 UTC)"
    )]
    #[case::ended("2127-01-01T00:00:00Z", None, "the certificate ended on 2126-10-29", "(it is kept in ")]
    #[tokio::test(start_paused = true)]
    async fn a_refused_certificate_is_named_with_its_end(
        #[case] now: &str,
        #[case] file: Option<&str>,
        #[case] first: &str,
        #[case] second: &str,
    ) {
        let hops = hops(Script::new(|_| Reply::raw(401, REFUSED)), now, file);
        let told = hops.all(None).await.err().unwrap().to_string();
        assert!(told.contains("AADSTS700027") && told.contains("login --key"), "{told}");
        assert!(told.contains(first) && told.contains(second), "{told}");
        assert_eq!(told.contains("make a new key"), told.contains("ended on"), "{told}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_is_tried_once_more_only_where_it_tells_a_new_time() {
        let script =
            Script::new(|_| Reply::raw(401, REFUSED).header("date", "Sat, 21 Nov 2026 11:00:00 GMT"));
        let hops = hops(script.clone(), "2026-11-21T10:00:00Z", None);
        assert!(hops.all(None).await.is_err());
        assert_eq!(script.seen().len(), 2);
        assert!(hops.all(None).await.is_err());
        assert_eq!(script.seen().len(), 3);
    }
}

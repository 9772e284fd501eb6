//! Each claim of the fake about Microsoft Entra, as data: its text, its source, and how sure it is.
//! The fake must have no behaviour that is not in this table; a test compares the two.

use crate::graph::Mark;

/// One claim about Entra.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntraRule {
    /// The rule that states the claim.
    pub id: EntraRuleId,
    /// The claim as text.
    pub says: &'static str,
    /// The source of the claim: a public page, or a heading of `docs/src/facts`.
    pub source: &'static str,
    /// How sure the claim is.
    pub mark: Mark,
}

macro_rules! rules {
    ($( $variant:ident $mark:ident $source:literal $says:literal; )*) => {
        /// The name of a rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum EntraRuleId {
            $( #[doc = concat!("`", stringify!($variant), "`; [`rules`] has what it says.")] $variant, )*
        }

        /// All claims, in the order of the file.
        pub fn rules() -> &'static [EntraRule] {
            &[$( EntraRule { id: EntraRuleId::$variant, says: $says, source: $source, mark: Mark::$mark }, )*]
        }
    };
}

rules! {
    // Transport and errors.
    ErrorBody Doc "https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes"
        "a refusal carries error, error_description with AADSTS number and ids, error_codes, timestamp, trace_id, correlation_id";
    DateHeader Doc "https://www.rfc-editor.org/rfc/rfc9110#section-6.6.1" "every answer has the server's Date";
    UnknownEndpoint Guess "facts/entra#what-entras-pages-do-not-say: any web server" "another path answers 404 with a page";
    TenantUnknown Doc "https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes: AADSTS90002"
        "a tenant that does not exist answers invalid_request";
    FormEncoded Doc "https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow"
        "parameters come as a form; each at most once";
    FieldMissing Doc "https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes: AADSTS900144"
        "a missing parameter answers invalid_request and names it";
    GrantUnknown Doc "https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes: AADSTS70003"
        "a grant that the application can't use answers unsupported_grant_type";
    ClientUnknown Doc "https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes: AADSTS700016"
        "an application that is not in the tenant answers unauthorized_client";

    // The assertion.
    AssertionType Doc "https://learn.microsoft.com/en-us/entra/identity-platform/certificate-credentials"
        "client_assertion_type is urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    AssertionForm Doc "https://learn.microsoft.com/en-us/entra/identity-platform/certificate-credentials" "an assertion is a JWT with typ JWT";
    AssertionAlgorithm Doc "https://learn.microsoft.com/en-us/entra/identity-platform/certificate-credentials" "PS256 is the algorithm";
    Rs256 Peer "facts/entra#rs256-works-too" "RS256 is accepted too";
    CertificateUnknown Doc "https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes: AADSTS700027"
        "x5t#S256 names a certificate of the application, else invalid_client";
    CertificateEnded Doc "https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes: AADSTS700027"
        "a certificate that is over is refused";
    AssertionSignature Doc "https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes: AADSTS700027"
        "the signature is verified with the registered certificate";
    AssertionGood Doc "https://learn.microsoft.com/en-us/entra/identity-platform/certificate-credentials"
        "a signature by the registered certificate's key is accepted";
    AssertionAudience Doc "https://learn.microsoft.com/en-us/entra/identity-platform/certificate-credentials"
        "aud is the URL of the token endpoint";
    AssertionIssuer Doc "https://learn.microsoft.com/en-us/entra/identity-platform/certificate-credentials" "iss and sub are the client id";
    AssertionTime Doc "https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes: AADSTS700024"
        "nbf and exp hold at the server's time, with five minutes of tolerance";
    AssertionLife Doc "https://learn.microsoft.com/en-us/entra/identity-platform/certificate-credentials"
        "an assertion lives at most ten minutes";
    AssertionReplayed Guess "facts/entra#an-assertion-counts-once"
        "a jti is good once";
    SecretRefused Doc "https://learn.microsoft.com/en-us/entra/agent-id/agent-oauth-protocols: agent blueprints"
        "a blueprint here has no secret: client_secret answers invalid_client";

    // The three hops.
    Hop1 Doc "https://learn.microsoft.com/en-us/entra/agent-id/agent-user-oauth-flow"
        "client_credentials by certificate with fmi_path gives T1 for the agent identity";
    ExchangeScope Doc "https://learn.microsoft.com/en-us/entra/agent-id/agent-user-oauth-flow"
        "the scope of hop 1 and 2 is api://AzureADTokenExchange/.default; another one gives a token that hop 2 refuses";
    Hop2 Doc "https://learn.microsoft.com/en-us/entra/agent-id/agent-user-oauth-flow"
        "client_credentials of the agent identity with T1 as assertion gives T2";
    FmiBound Peer "facts/entra#a-wrong-field-breaks-the-next-request: AADSTS700211"
        "T1 must be a live one for this agent identity, made with fmi_path, else hop 2 and 3 refuse";
    Hop3 Doc "https://learn.microsoft.com/en-us/entra/agent-id/agent-user-oauth-flow"
        "user_fic with T1, T2 and the user gives a delegated token with idtyp=user and no refresh token";
    UserFicOnly Peer "facts/entra#the-three-requests-of-an-agent-user: the page of October 2025 had another grant"
        "the grant of hop 3 is user_fic, with user_federated_identity_credential";
    T2Bound Doc "https://learn.microsoft.com/en-us/entra/agent-id/agent-user-oauth-flow"
        "T2 must be a live one whose audience is the agent identity";
    UserNamed Doc "https://learn.microsoft.com/en-us/entra/agent-id/agent-user-oauth-flow"
        "one of user_id and username names the agent user of this agent identity";
    TokenUse Doc "https://learn.microsoft.com/en-us/entra/agent-id/agent-user-oauth-flow"
        "requested_token_use, where it is given, is on_behalf_of";
    Consent Doc "https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes: AADSTS65001"
        "without a grant the answer is invalid_grant with suberror consent_required";
    GraphScope Doc "https://learn.microsoft.com/en-us/entra/identity-platform/scopes-oidc"
        "hop 3 asks for https://graph.microsoft.com/.default";

    // People.
    DeviceCode Doc "https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-device-code"
        "devicecode gives device_code, user_code, verification_uri, expires_in 900, interval 5 and a message";
    DevicePending Doc "https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-device-code"
        "until the person is done the answer is authorization_pending";
    DeviceSlowDown Doc "https://www.rfc-editor.org/rfc/rfc8628#section-3.5" "who asks sooner than the interval is told slow_down";
    DeviceDeclined Doc "https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-device-code"
        "a person who says no gives authorization_declined";
    DeviceExpired Doc "https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-device-code"
        "a code past its life gives expired_token";
    DeviceUnknown Doc "https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-device-code"
        "a device_code that was not given gives bad_verification_code";
    Authorize Doc "https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow"
        "authorize leads the browser back to the redirect URI with code and the same state";
    RedirectLoopback Doc "https://learn.microsoft.com/en-us/entra/identity-platform/reply-url"
        "http://localhost with any port is a redirect URI of a desktop application, others are refused";
    Pkce Doc "https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow"
        "code_challenge with S256 is checked against code_verifier";
    CodeOnce Doc "https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow"
        "a code is good once, for ten minutes, with the same redirect URI and client";
    Refresh Doc "https://learn.microsoft.com/en-us/entra/identity-platform/refresh-tokens"
        "a refresh token gives an access token and a new refresh token; the old one lives on";
    RefreshEnded Doc "https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes: AADSTS700082"
        "a refresh token past its life gives invalid_grant";
    RefreshRevoked Doc "https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes: AADSTS50173"
        "a revoked refresh token gives invalid_grant";
    RefreshUnknown Guess "facts/entra#what-entras-pages-do-not-say: any refresh token that was not given"
        "a refresh token that was not given gives invalid_grant";
    OfflineAccess Doc "https://learn.microsoft.com/en-us/entra/identity-platform/scopes-oidc"
        "a refresh token is given only where offline_access was asked for";
    Claims Doc "https://learn.microsoft.com/en-us/entra/identity-platform/claims-challenge" "claims that are asked for are in the token";
    ClaimsBlocked Doc "https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes: AADSTS53003"
        "a policy that is not met gives interaction_required";

    // Faults that a scenario asks for.
    FaultStatus Peer "facts/entra#entra-can-be-away: non-JSON answers and an empty 502 of the token endpoint"
        "a status at random, with or without Retry-After, with a page, nothing or JSON as body";
    FaultRefuse Doc "https://learn.microsoft.com/en-us/entra/identity-platform/reference-error-codes" "a refusal at random";
    ErrorInSuccess Peer "facts/entra#the-body-decides"
        "an error body can come with status 200";
    FaultReset Guess "facts/graph#faults-of-the-way: any network can do it" "the connection breaks before or after the request took effect";
    FaultSlow Guess "facts/graph#faults-of-the-way: any network can do it" "an answer comes late";
    FaultTruncated Guess "facts/graph#faults-of-the-way: any proxy can do it" "JSON that ends in the middle";
    RetriedEarly Peer "https://github.com/dotnet/dev-proxy: enforcement of Retry-After"
        "a retry before Retry-After has passed is recorded as a violation";
}

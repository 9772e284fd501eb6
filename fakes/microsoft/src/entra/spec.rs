//! The part of a scenario that is about signing in. Ids follow from handles, so a scenario contains no id.
//! Unknown keys must never be ignored: they are refused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::credential::Credential;
use super::fault::EntraFault;

/// The tenant's Entra at its start, and how the agent signs in to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EntraSpec {
    /// How the agent signs in.
    pub auth: AuthKind,
    /// The certificate whose key the agent signs with.
    pub agent_key: Credential,
    /// The certificate that is registered for the blueprint.
    pub registered: Credential,
    /// Whether the blueprint's certificate has expired.
    pub certificate_ended: bool,
    /// How the agent signs assertions.
    pub algorithm: SignatureAlgorithm,
    /// How long an access token is valid, in seconds.
    pub token_life_s: u64,
    /// How long a refresh token is valid, in seconds.
    pub refresh_life_s: u64,
    /// Whether consent to the agent's permissions is missing.
    pub without_consent: bool,
    /// Whether a policy refuses every sign-in that asks for further claims.
    pub policy_blocks_claims: bool,
    /// How long every answer takes, in milliseconds.
    pub latency_ms: u64,
    /// Faults, tried in this order.
    pub faults: Vec<EntraFault>,
}

impl Default for EntraSpec {
    fn default() -> Self {
        Self {
            auth: AuthKind::default(),
            agent_key: Credential::default(),
            registered: Credential::default(),
            certificate_ended: false,
            algorithm: SignatureAlgorithm::default(),
            token_life_s: 3_599,
            refresh_life_s: 90 * 24 * 3_600,
            without_consent: false,
            policy_blocks_claims: false,
            latency_ms: 0,
            faults: Vec::new(),
        }
    }
}

/// How the agent signs in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AuthKind {
    /// By a token that Graph accepts without Entra.
    #[default]
    Static,
    /// As an agent user, by the three hops.
    AgentUser,
    /// As an account that has signed in by device code before.
    DeviceCode,
}

/// How an assertion is signed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SignatureAlgorithm {
    /// RSA-PSS with SHA-256.
    #[default]
    #[serde(rename = "PS256")]
    Ps256,
    /// RSA PKCS#1 with SHA-256.
    #[serde(rename = "RS256")]
    Rs256,
}

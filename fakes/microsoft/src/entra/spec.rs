//! What a scenario writes about signing in. Ids follow from handles, so nothing else needs to be said.
//! Unknown keys are refused.

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
    /// The key that the agent has.
    pub agent_key: Credential,
    /// The certificate that the blueprint has.
    pub registered: Credential,
    /// The blueprint's certificate is over.
    pub certificate_ended: bool,
    /// How the agent signs.
    pub algorithm: SignatureAlgorithm,
    /// Life of an access token in seconds.
    pub token_life_s: u64,
    /// Life of a refresh token in seconds.
    pub refresh_life_s: u64,
    /// Nobody has consented to the agent's permissions.
    pub without_consent: bool,
    /// A policy refuses every sign-in that is asked for further claims.
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
    /// By a token that is simply accepted; Entra is not asked.
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

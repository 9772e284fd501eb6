//! What the endpoints give out, and what is kept of it: tokens, codes, devices that wait.

use serde_json::Value;

/// What an endpoint gives.
#[derive(Debug)]
pub(super) enum Given {
    Json(Value),
    Redirect(String),
}

/// An access token that Graph must know of.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Issued {
    /// The token.
    pub(super) token: String,
    pub(super) ends_ms: i64,
    pub(super) claims: Option<Value>,
}

/// A token with a purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Minted {
    /// T1: for the agent identity that `fmi_path` named.
    First { fmi_path: Option<String> },
    /// T2: for the agent identity.
    Second { audience: String },
}

/// A refresh token's life.
#[derive(Debug, Clone)]
pub(super) struct RefreshToken {
    pub(super) ends_ms: i64,
    pub(super) revoked: bool,
}

/// A device that waits for a person.
#[derive(Debug, Clone)]
pub(super) struct Device {
    pub(super) user_code: String,
    pub(super) verdict: Option<bool>,
    pub(super) scope: String,
    pub(super) ends_ms: i64,
    pub(super) may_ask_ms: i64,
}

/// A browser's code.
#[derive(Debug, Clone)]
pub(super) struct BrowserCode {
    pub(super) challenge: String,
    pub(super) redirect_uri: String,
    pub(super) scope: String,
    pub(super) ends_ms: i64,
    pub(super) used: bool,
}

/// Seconds in milliseconds.
pub(super) fn seconds(s: u64) -> i64 {
    i64::try_from(s).unwrap_or(i64::MAX).saturating_mul(1_000)
}

//! The answers of the endpoints, and the records that the fake keeps: tokens, codes, waiting devices.

use serde_json::Value;

/// The content of an endpoint's successful answer.
#[derive(Debug)]
pub(super) enum Given {
    Json(Value),
    Redirect(String),
}

/// An access token that the fake Graph must accept.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Issued {
    pub(super) token: String,
    pub(super) ends_ms: i64,
    pub(super) claims: Option<Value>,
}

/// A token of a hop, with its purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Minted {
    /// T1: for the agent identity that `fmi_path` named.
    First { fmi_path: Option<String> },
    /// T2: for the agent identity.
    Second { audience: String },
}

/// Until when a refresh token is valid.
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

/// An authorization code that a browser got.
#[derive(Debug, Clone)]
pub(super) struct BrowserCode {
    pub(super) challenge: String,
    pub(super) redirect_uri: String,
    pub(super) scope: String,
    pub(super) ends_ms: i64,
    pub(super) used: bool,
}

/// Converts seconds to milliseconds.
pub(super) fn seconds(s: u64) -> i64 {
    i64::try_from(s).unwrap_or(i64::MAX).saturating_mul(1_000)
}

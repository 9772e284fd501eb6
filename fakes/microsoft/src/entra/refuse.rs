//! Refusals: each names the rule that it follows, and becomes an error body in Entra's form.
//! A request must never be refused without a rule.

use serde_json::{Value, json};

use super::rules::EntraRuleId;
use crate::graph::{guid_of, iso_instant};

/// A request that is refused.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub(super) rule: EntraRuleId,
    pub(super) status: u16,
    pub(super) error: String,
    /// The number after `AADSTS`; the waiting states of the device flow have numbers too.
    pub(super) number: u64,
    pub(super) message: String,
    pub(super) suberror: Option<&'static str>,
}

impl Refusal {
    pub(super) fn new(
        rule: EntraRuleId,
        status: u16,
        error: &str,
        number: u64,
        message: impl Into<String>,
    ) -> Self {
        let error = error.to_owned();
        Self { rule, status, error, number, message: message.into(), suberror: None }
    }

    pub(super) fn body(&self, seed: u64, seq: u64, now_ms: i64) -> Value {
        let trace = guid_of(seed, &format!("entra/trace/{seq}"));
        let correlation = guid_of(seed, &format!("entra/correlation/{seq}"));
        let timestamp = iso_instant(now_ms);
        let description = format!(
            "AADSTS{}: {} Trace ID: {trace} Correlation ID: {correlation} Timestamp: {timestamp}",
            self.number, self.message
        );
        let mut body = json!({
            "error": self.error,
            "error_description": description.replace(" Trace ID", "\r\nTrace ID").replace(" Correlation ID", "\r\nCorrelation ID").replace(" Timestamp", "\r\nTimestamp"),
            "error_codes": [self.number],
            "timestamp": timestamp,
            "trace_id": trace,
            "correlation_id": correlation,
            "error_uri": format!("https://login.microsoftonline.com/error?code={}", self.number),
        });
        if let Some(suberror) = self.suberror {
            body["suberror"] = json!(suberror);
        }
        body
    }
}

//! Faults as data: which requests, when, how often, and what happens to them.
//! They break answers; of the state they hide at most that a request took effect.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grant::Grant;

/// Faults of one tenant.
pub(super) const FAULTS_MAX: usize = 100;

/// One fault. Every condition that is given must hold; instants count from the start of the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntraFault {
    /// Only this kind of request.
    #[serde(default)]
    pub grant: Option<Grant>,
    /// Not before, in milliseconds.
    #[serde(default)]
    pub from_ms: Option<u64>,
    /// No longer from, in milliseconds.
    #[serde(default)]
    pub until_ms: Option<u64>,
    /// Lets this many matching requests pass first.
    #[serde(default)]
    pub skip: u32,
    /// Only this many matching requests after that; absent means all.
    #[serde(default)]
    pub first: Option<u32>,
    /// What happens.
    #[serde(rename = "do")]
    pub action: EntraFaultAction,
}

impl EntraFault {
    /// A fault on every request.
    pub fn always(action: EntraFaultAction) -> Self {
        Self { grant: None, from_ms: None, until_ms: None, skip: 0, first: None, action }
    }
}

/// What a fault does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum EntraFaultAction {
    /// Answers an error status instead of doing anything.
    Status {
        /// 400 to 599.
        code: u16,
        /// Seconds of `Retry-After`; absent means no such header.
        #[serde(default)]
        retry_after_s: Option<u32>,
        /// The form of the body.
        #[serde(default)]
        body: EntraFaultBody,
    },
    /// Refuses in Entra's own form.
    Refuse {
        /// `invalid_grant`, …
        error: String,
        /// The number after `AADSTS`.
        number: u64,
        /// The HTTP status; 400 when left out.
        #[serde(default)]
        status: Option<u16>,
    },
    /// Breaks the connection; nothing took effect.
    ResetBeforeApply,
    /// Breaks the connection after the request was served.
    ResetAfterApply,
    /// Takes this much longer.
    Slow {
        /// Milliseconds.
        delay_ms: u64,
    },
    /// Cuts the body in the middle.
    Truncated,
}

/// The body of an error status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntraFaultBody {
    /// A gateway's page.
    #[default]
    Html,
    /// None.
    Empty,
    /// Entra's own `temporarily_unavailable`.
    Json,
}

/// A fault with the number of requests that it has matched.
#[derive(Debug, Clone)]
pub(super) struct Struck {
    pub(super) spec: EntraFault,
    matched: u64,
}

impl Struck {
    pub(super) fn new(spec: EntraFault) -> Self {
        Self { spec, matched: 0 }
    }

    /// Whether it strikes this request. Counts the request when it matches.
    pub(super) fn strikes(&mut self, grant: Grant, elapsed_ms: i64) -> bool {
        let span = |ms: u64| i64::try_from(ms).unwrap_or(i64::MAX);
        let spec = &self.spec;
        let matches = spec.grant.is_none_or(|wanted| wanted == grant)
            && spec.from_ms.is_none_or(|from| elapsed_ms >= span(from))
            && spec.until_ms.is_none_or(|until| elapsed_ms < span(until));
        if !matches {
            return false;
        }
        let number = self.matched;
        self.matched += 1;
        let Some(number) = number.checked_sub(u64::from(spec.skip)) else { return false };
        spec.first.is_none_or(|first| number < u64::from(first))
    }
}

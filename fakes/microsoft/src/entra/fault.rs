//! Faults as data: which requests they strike, when, how often, and what happens to these requests.
//! They only break answers; they must never change the state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::grant::Grant;

/// How many faults a tenant can have.
pub(super) const FAULTS_MAX: usize = 100;

/// One fault. It strikes when all given conditions hold; instants count from the start of the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EntraFault {
    /// Strikes only this kind of request; absent means every kind.
    pub grant: Option<Grant>,
    /// The instant at which the fault begins, in milliseconds.
    pub from_ms: Option<u64>,
    /// The instant at which the fault ends, in milliseconds.
    pub until_ms: Option<u64>,
    /// Lets this many matching requests pass first.
    #[serde(default)]
    pub skip: u32,
    /// Strikes only this many matching requests after that; absent means all.
    pub first: Option<u32>,
    /// What happens to the request.
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
    /// Answers with an error status; the request has no effect.
    Status {
        /// The status, 400 to 599.
        code: u16,
        /// Seconds of `Retry-After`; absent means no such header.
        retry_after_s: Option<u32>,
        /// The form of the body.
        #[serde(default)]
        body: EntraFaultBody,
    },
    /// Refuses the request in Entra's own form.
    Refuse {
        /// `invalid_grant`, …
        error: String,
        /// The number after `AADSTS`.
        number: u64,
        /// The HTTP status; 400 when left out.
        status: Option<u16>,
    },
    /// Breaks the connection; the request has no effect.
    ResetBeforeApply,
    /// Breaks the connection after the request was served.
    ResetAfterApply,
    /// Delays the answer.
    Slow {
        /// The additional time in milliseconds.
        delay_ms: u64,
    },
    /// Cuts the body in the middle.
    Truncated,
}

/// The body of an error status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntraFaultBody {
    /// An HTML page from a gateway.
    #[default]
    Html,
    /// An empty body.
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

    /// Whether the fault strikes this request. Counts the request when it matches.
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

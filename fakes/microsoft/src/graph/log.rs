//! The record of every call, and of calls that a well-behaved client would not have made.
//! It must never hold a token or a body.

use std::collections::{BTreeSet, VecDeque};

use jiff::Timestamp;
use serde::Serialize;

use super::route::Operation;
use super::rules::RuleId;
use super::throttle::Bucket;
use crate::wire::Fate;

/// How many calls are remembered; the oldest ones are forgotten first.
pub const CALLS_KEPT_MAX: usize = 200_000;
/// How many violations are remembered; later ones are only counted.
pub const VIOLATIONS_KEPT_MAX: usize = 10_000;

/// The record of one call.
#[derive(Debug, Clone, Serialize)]
pub struct CallRecord {
    /// The number of the call, counted from 1.
    pub seq: u64,
    /// The instant of the call.
    pub at: Timestamp,
    /// The verb.
    pub method: String,
    /// Path and query as the caller sent them.
    pub path: String,
    /// The operation that the caller asked for.
    pub operation: Operation,
    /// The handle of the chat, if the call named a known chat.
    pub chat: Option<String>,
    /// The status of the answer, even if the answer was lost.
    pub status: u16,
    /// The fake's id for the call.
    pub request_id: String,
    /// The caller's id for the call.
    pub client_request_id: Option<String>,
    /// The rules that shaped the answer.
    pub rules: BTreeSet<RuleId>,
    /// Whether the caller got the answer.
    pub fate: Fate,
    /// How long the call took, in milliseconds.
    pub delay_ms: u64,
}

/// A kind of call that a well-behaved client does not make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ViolationKind {
    /// The client called again before it was allowed to. A wait on one chat covers every call on that chat.
    RetriedEarly {
        /// The limit that the client must wait for.
        bucket: Bucket,
        /// The instant from which the client is allowed to call.
        until: Timestamp,
    },
    /// The client called another origin, e.g. because it followed a hostile link.
    ForeignOrigin {
        /// The other origin.
        origin: String,
        /// Whether the client sent its token there.
        with_token: bool,
    },
}

/// A violation and its call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The instant of the call.
    pub at: Timestamp,
    /// The call's number.
    pub call: u64,
    /// The kind of violation.
    pub kind: ViolationKind,
}

#[derive(Debug, Clone, Default)]
pub(super) struct CallLog {
    pub(super) calls: VecDeque<CallRecord>,
    pub(super) total: u64,
    pub(super) violations: Vec<Violation>,
    pub(super) violations_total: u64,
}

impl CallLog {
    pub(super) fn push(&mut self, call: CallRecord) {
        while self.calls.len() >= CALLS_KEPT_MAX {
            self.calls.pop_front();
        }
        self.calls.push_back(call);
    }

    pub(super) fn violation(&mut self, violation: Violation) {
        self.violations_total += 1;
        if self.violations.len() < VIOLATIONS_KEPT_MAX {
            self.violations.push(violation);
        }
    }
}

//! What the service saw: every call, and what a well-behaved client would not have done.
//! Never holds a token or a body.

use std::collections::{BTreeSet, VecDeque};

use jiff::Timestamp;
use serde::Serialize;

use super::route::Operation;
use super::rules::RuleId;
use super::throttle::Bucket;
use crate::wire::Fate;

/// Calls remembered; older ones are forgotten first.
pub const CALLS_KEPT_MAX: usize = 200_000;
/// Violations remembered; later ones are only counted.
pub const VIOLATIONS_KEPT_MAX: usize = 10_000;

/// One call.
#[derive(Debug, Clone, Serialize)]
pub struct CallRecord {
    /// Counts from 1.
    pub seq: u64,
    /// When it came.
    pub at: Timestamp,
    /// The verb.
    pub method: String,
    /// Path and query as sent.
    pub path: String,
    /// What it wanted.
    pub operation: Operation,
    /// The chat's handle, when it named a known one.
    pub chat: Option<String>,
    /// The status of the answer, also of one that was lost.
    pub status: u16,
    /// Our id for it.
    pub request_id: String,
    /// The caller's id for it.
    pub client_request_id: Option<String>,
    /// The rules that shaped the answer.
    pub rules: BTreeSet<RuleId>,
    /// Whether the caller got it.
    pub fate: Fate,
    /// How long it took, in milliseconds.
    pub delay_ms: u64,
}

/// What a well-behaved client does not do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ViolationKind {
    /// It came back before it was allowed to: a wait on one chat covers every call on that chat.
    RetriedEarly {
        /// Where.
        bucket: Bucket,
        /// When it would have been allowed to.
        until: Timestamp,
    },
    /// It went to another origin, e.g. along a hostile link.
    ForeignOrigin {
        /// Where to.
        origin: String,
        /// Whether it took its token there.
        with_token: bool,
    },
}

/// A violation with the call that was one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// When.
    pub at: Timestamp,
    /// The call's number.
    pub call: u64,
    /// What.
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

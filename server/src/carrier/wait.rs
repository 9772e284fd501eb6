//! The long poll: a call that stays open until a message comes or its time is up.
//!
//! A waiting call is data, not a task, and holds no message: what was never handed out can't be lost with it.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::tool::arguments::{Arguments, Refusal};
use crate::tool::catalog::{ASKED_MAX, ITEMS_MAX, WAIT_DEFAULT_S, WAIT_ITEMS_DEFAULT};

/// What the model asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WaitArguments {
    pub(crate) timeout_s: u64,
    pub(crate) max_items: u64,
}

/// Reads the arguments.
pub(crate) fn arguments(given: Map<String, Value>) -> Result<WaitArguments, Refusal> {
    let mut given = Arguments::new(given);
    let timeout_s = given.integer("timeout_s", WAIT_DEFAULT_S, 0, ASKED_MAX)?;
    let max_items = given.integer("max_items", WAIT_ITEMS_DEFAULT, 1, ASKED_MAX)?.min(ITEMS_MAX);
    given.finish()?;
    Ok(WaitArguments { timeout_s, max_items })
}

/// Progress notifications that keep a host's timer from firing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heartbeat {
    pub(crate) token: Value,
    pub(crate) every: Duration,
    pub(crate) next: Instant,
    pub(crate) sent: u64,
}

/// Advice that goes with an answer.
pub(crate) fn next_step(messages: usize, unread_remaining: u64) -> &'static str {
    match (messages, unread_remaining) {
        (0, _) => "nobody wrote in this time; call wait_for_inbound_message again to keep listening",
        (_, 0) => {
            "handle these messages, answer each in its chat_id, then call wait_for_inbound_message again"
        }
        _ => "more is unread: handle these messages, then call wait_for_inbound_message again at once",
    }
}

/// Advice for a call that a newer one replaced.
pub(crate) const SUPERSEDED: &str =
    "a newer wait_for_inbound_message call is listening now; this one is over, do not repeat it";

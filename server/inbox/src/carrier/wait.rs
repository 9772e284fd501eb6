//! The long poll: a call that stays open until a message comes or its time is up.
//!
//! A waiting call is data, not a task. It must never hold a message, so that no message is lost with the
//! call.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::tool::catalog::{ASKED_MAX, ITEMS_MAX, WAIT_DEFAULT_S, WAIT_ITEMS_DEFAULT};
use entraclaw_mcp::{Arguments, Refusal};

/// The arguments of `wait_for_inbound_message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WaitArguments {
    pub(crate) timeout_s: u64,
    pub(crate) max_items: u64,
}

/// The `timeout_s` of a call that waits until a message arrives.
pub(crate) const UNTIL_SOMETHING: u64 = 0;

pub(crate) fn arguments(given: Map<String, Value>) -> Result<WaitArguments, Refusal> {
    let mut given = Arguments::new(given);
    let timeout_s = given.integer("timeout_s", WAIT_DEFAULT_S, 0, ASKED_MAX)?;
    let max_items = given.integer("max_items", WAIT_ITEMS_DEFAULT, 1, ASKED_MAX)?.min(ITEMS_MAX);
    given.finish()?;
    Ok(WaitArguments { timeout_s, max_items })
}

/// The state of the progress notifications that keep a host's timer from firing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heartbeat {
    pub(crate) token: Value,
    pub(crate) every: Duration,
    pub(crate) began: Instant,
    pub(crate) next: Instant,
    pub(crate) sent: u64,
}

/// The advice that goes with messages. With `may_park`, it says that a call may wait without a limit.
pub(crate) fn next_step(unread_remaining: u64, may_park: bool) -> &'static str {
    match (unread_remaining, may_park) {
        (0, false) => {
            "handle these messages, answer each in its chat_id, then call wait_for_inbound_message again"
        }
        (0, true) => {
            "handle these messages, answer each in its chat_id, then call wait_for_inbound_message again, with timeout_s 0 to \
             wait until something arrives"
        }
        _ => "more is unread: handle these messages, then call wait_for_inbound_message again at once",
    }
}

/// The advice for a call whose time is up.
pub(crate) const NOBODY_WROTE: &str =
    "nobody wrote in this time; call wait_for_inbound_message again to keep listening";

/// The advice for a call that should wait until a message arrives, where calls can't wait longer.
pub(crate) const CUT_SHORT: &str = "nobody wrote, and here a call can't wait longer; call wait_for_inbound_message again to \
                                    keep listening, or run `entraclaw wait` in a background shell if your host wakes you at its end";

/// The words that a person reads while a call waits: how long it has waited, and for what.
pub(crate) fn listening(elapsed: Duration, to: &[&str]) -> String {
    let minutes = elapsed.as_secs() / 60;
    let time = match minutes {
        0 => format!("{} s", elapsed.as_secs()),
        1..60 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    };
    let to = if to.is_empty() { "other sessions' sources".to_owned() } else { to.join(", ") };
    format!("listening for {time}: {to}")
}

/// The advice for a call that a newer call replaced.
pub(crate) const SUPERSEDED: &str =
    "a newer wait_for_inbound_message call is listening now; this one is over, do not repeat it";

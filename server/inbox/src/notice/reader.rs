//! The consumers for which a command may wait or look: existing ones, and those of hosts that have had no
//! session yet. It must never let a mistyped name become a consumer.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use crate::journal::{ConsumerName, Look};
use entraclaw_mcp::hosts::HOSTS;
use entraclaw_mcp::nearest::nearest;
use entraclaw_seams::storage::Storage;

/// Whether a command may wait as `wanted`: it has a cursor, a running session reads as it, or it is the name
/// of a known host.
///
/// # Errors
/// The inner error says that there is no such consumer, and which ones there are; the outer one says that the
/// journal can't be read.
pub fn may_wait(storage: &Arc<dyn Storage>, wanted: &ConsumerName) -> io::Result<Result<(), String>> {
    if HOSTS.iter().any(|host| host.family == wanted.as_str()) {
        return Ok(Ok(()));
    }
    let sessions = crate::sessions::living_consumers(&**storage);
    let mut known: BTreeSet<String> = sessions.into_iter().collect();
    known.extend(Look::at(storage)?.consumers().iter().map(ToString::to_string));
    if known.contains(wanted.as_str()) {
        return Ok(Ok(()));
    }
    Ok(Err(unknown(wanted, &known.into_iter().collect::<Vec<_>>())))
}

/// The words about a consumer that no session reads as.
pub fn unknown(wanted: &ConsumerName, known: &[String]) -> String {
    let families: BTreeSet<&str> = HOSTS.iter().map(|host| host.family).collect();
    let names: Vec<&str> = known.iter().map(String::as_str).chain(families.iter().copied()).collect();
    let close = nearest(wanted.as_str(), &names);
    let meant = close.map_or_else(String::new, |close| format!("did you mean {close}? "));
    if known.is_empty() {
        return format!(
            "no consumer is named {wanted}; {meant}there is none yet: the first session of a host makes its own"
        );
    }
    format!(
        "no consumer is named {wanted}; {meant}there are {}, and a new one begins with a session of `entraclaw serve \
         --consumer {wanted}`",
        known.join(", ")
    )
}

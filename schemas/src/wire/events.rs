//! Event streams of the draft extension: the order of notifications on an open `events/stream`. It never
//! looks at an event's content, which has its own schema.

use serde_json::Value;

use super::requests::{Id, Requests};
use super::stateless::tag;
use crate::rules;
use crate::verdict::Findings;

/// Whether a notification belongs to an event stream.
pub(crate) fn is_told(method: &str) -> bool {
    method.strip_prefix("notifications/events/").is_some_and(|kind| kind != "list_changed")
}

/// Judges a notification of an event stream.
pub(crate) fn on_stream(
    host: &mut Requests,
    message: &Value,
    method: &str,
    races: bool,
    at: &str,
    found: &mut Findings,
) {
    let id = tag(message).and_then(Id::of);
    let open = id.as_ref().and_then(|id| host.get_mut(id));
    let Some((told, cancelled)) = open.and_then(|open| Some((open.events.as_mut()?, open.cancelled))) else {
        let said = "`io.modelcontextprotocol/subscriptionId` names no open `events/stream`";
        found.breaks(&rules::EVENTS_STREAM, (at, "/params/_meta"), said);
        return;
    };
    if cancelled && !races {
        found.breaks(&rules::AFTER_CANCEL, (at, ""), "the event stream was cancelled");
    }
    if told.terminated {
        found.breaks(&rules::EVENTS_STREAM, (at, ""), "the event stream is terminated");
    }
    told.active |= method == "notifications/events/active";
    if !told.active {
        found.breaks(&rules::EVENTS_STREAM, (at, ""), "the event stream has not said that it is active");
    }
    told.terminated |= method == "notifications/events/terminated";
}

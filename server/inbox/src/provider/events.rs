//! `events/list`, `events/poll` and `events/stream`: the draft extension of MCP Events on this connection.
//!
//! A stream is plain data, like every open request, and only its own notifications are sent for it. It must
//! never delay the rest: it reads a bounded piece, and only while the host reads what is written.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rmcp::model::ErrorCode;
use serde::Serialize;
use serde_json::{Value, json, to_value};
use tokio::time::Instant;

use entraclaw_mcp::era::META_SUBSCRIPTION;
use entraclaw_mcp::message::{Id, Object, RpcError, text};
use entraclaw_mcp::page::page;
use entraclaw_mcp::{Connection, Era, Route};

use super::{InboxProvider, Reader};
use crate::carrier::events::{
    self, Asked, Cursor, EventActive, EventError, EventFailed, EventHeartbeat, EventPolled, EventType,
};
use crate::journal::JournalError;

/// An open `events/stream`.
pub(super) struct Stream {
    route: Route,
    asked: Asked,
    cursor: Cursor,
    oldest: Option<Timestamp>,
    /// `Some` until the first notification: whether messages before the beginning of the stream are missing.
    begins_truncated: Option<bool>,
    beats_at: Instant,
    /// Reads that failed in a row; after a failure the next read is made at the next heartbeat.
    failures: u32,
    /// The last warning that was sent.
    told: Option<String>,
}

/// The arguments of a poll or a stream.
struct Subscription {
    asked: Asked,
    cursor: Cursor,
    truncated: bool,
    oldest: Option<Timestamp>,
}

impl InboxProvider {
    /// Answers a method of the extension.
    pub(super) fn events_request(
        &mut self,
        connection: &mut Connection,
        reader: &Reader,
        method: &str,
        params: &Object,
    ) {
        let outcome = match method {
            // The list is one page, and the draft does not say that a client may keep it.
            "events/list" => page(Era::Legacy, params, "events", events::list()),
            "events/poll" => self.poll_events(connection, reader, params),
            "events/stream" => match self.open_stream(connection, reader, params) {
                Ok(()) => return,
                Err(error) => Err(error),
            },
            "events/subscribe" | "events/unsubscribe" => Err(RpcError {
                code: events::UNSUPPORTED,
                message: "webhooks are for servers on a network; use events/poll or events/stream".to_owned(),
                data: Some(json!({"feature": "delivery", "value": "webhook"})),
            }),
            _ => Err(RpcError::unknown_method(method)),
        };
        connection.answer(&reader.caller.route, outcome, Vec::new());
    }

    fn poll_events(
        &mut self,
        connection: &mut Connection,
        reader: &Reader,
        params: &Object,
    ) -> Result<Value, RpcError> {
        let subscription = self.subscription(connection, reader, params)?;
        let asked_max = number(params, "maxEvents", 1)?.and_then(|number| usize::try_from(number).ok());
        self.options.presence.used("events");
        let mut bounds = events::POLL;
        bounds.events = bounds.events.min(asked_max.unwrap_or(usize::MAX));
        let Subscription { asked, cursor, truncated, oldest } = subscription;
        let piece = events::replay(&self.options.journal, cursor, &asked, oldest, bounds);
        let mut piece = piece.map_err(|error| unreadable(&error))?;
        // A poll has one cursor for all its events.
        piece.events.iter_mut().for_each(|event| event.cursor = None);
        let polled = EventPolled {
            events: piece.events,
            cursor: piece.cursor.to_string(),
            truncated: truncated || piece.truncated,
            has_more: piece.has_more,
            next_poll_ms: events::NEXT_POLL_MS,
        };
        to_value(polled).map_err(|error| RpcError::new(ErrorCode::INTERNAL_ERROR, error.to_string()))
    }

    fn open_stream(
        &mut self,
        connection: &mut Connection,
        reader: &Reader,
        params: &Object,
    ) -> Result<(), RpcError> {
        if reader.caller.route.is_batched() {
            return Err(RpcError::invalid_request("events/stream must not stand in a batch"));
        }
        let Subscription { asked, cursor, truncated, oldest } =
            self.subscription(connection, reader, params)?;
        let open = self.streams.len();
        if open >= events::STREAMS_MAX {
            return Err(RpcError {
                code: events::RESOURCE_EXHAUSTED,
                message: format!("at most {} streams may be open; cancel one first", events::STREAMS_MAX),
                data: Some(json!({"limit": "streams", "max": events::STREAMS_MAX})),
            });
        }
        self.options.presence.used("events");
        let stream = Stream {
            route: reader.caller.route.clone(),
            asked,
            cursor,
            oldest,
            begins_truncated: Some(truncated),
            beats_at: next_beat(),
            failures: 0,
            told: None,
        };
        connection.hold(&reader.caller.route);
        self.streams.insert(reader.caller.route.id.clone(), stream);
        Ok(())
    }

    fn subscription(
        &self,
        connection: &mut Connection,
        reader: &Reader,
        params: &Object,
    ) -> Result<Subscription, RpcError> {
        let name = text(params, "name")?;
        let kind = EventType::named(name).ok_or_else(|| RpcError {
            code: events::NOT_FOUND,
            message: format!(
                "params.name: no such event type; there are {}",
                EventType::ALL.map(EventType::name).join(", ")
            ),
            data: Some(json!({"kind": "event"})),
        })?;
        let arguments = match params.get("arguments") {
            None | Some(Value::Null) => Object::new(),
            Some(Value::Object(arguments)) => arguments.clone(),
            Some(other) => return Err(RpcError::wrong_kind("arguments", "an object", other)),
        };
        let asked = Asked::read(kind, arguments, reader.consumer.as_str())
            .map_err(|refusal| RpcError::invalid_params(format!("params.arguments.{refusal}")))?;
        let max_age_ms = number(params, "maxAgeMs", 0)?;
        let given = match params.get("cursor") {
            None | Some(Value::Null) => None,
            Some(Value::String(cursor)) => Some(cursor),
            Some(other) => return Err(RpcError::wrong_kind("cursor", "a string or null", other)),
        };
        if let Some(trouble) = &connection.options.trouble {
            return Err(RpcError::new(ErrorCode::INTERNAL_ERROR, trouble.clone()));
        }
        let journal = &self.options.journal;
        let Some(given) = given else {
            let cursor = Cursor::now(journal).map_err(|error| unreadable(&error))?;
            return Ok(Subscription { asked, cursor, truncated: false, oldest: None });
        };
        let (cursor, truncated) = Cursor::resume(given, journal).map_err(|error| unreadable(&error))?;
        let age = max_age_ms.map(|age| SignedDuration::from_millis(i64::try_from(age).unwrap_or(i64::MAX)));
        let oldest = age.and_then(|age| self.options.clock.now().checked_sub(age).ok());
        Ok(Subscription { asked, cursor, truncated, oldest })
    }

    /// Sends to every stream what is new, as far as the host reads it.
    pub(super) fn feed_streams(&mut self, connection: &mut Connection) {
        let ids: Vec<Id> = self.streams.keys().cloned().collect();
        for id in ids {
            if !connection.has_room() {
                return;
            }
            let Some(mut stream) = self.streams.remove(&id) else { continue };
            if !may_tell(connection, &stream) || self.feed(connection, &mut stream) {
                self.streams.insert(id, stream);
            } else {
                connection.release(&id);
                connection.answer(&stream.route, Ok(json!({"_meta": {}})), Vec::new());
            }
        }
    }

    /// Sends one piece of a stream, and its heartbeat when that is due. Returns whether the stream goes on.
    fn feed(&mut self, connection: &mut Connection, stream: &mut Stream) -> bool {
        if let Some(truncated) = stream.begins_truncated.take() {
            tell(
                connection,
                stream,
                events::METHOD_ACTIVE,
                &EventActive { cursor: stream.cursor.to_string(), truncated },
            );
            self.tell_warning(connection, stream);
        }
        let beats = stream.beats_at <= Instant::now();
        let is_behind = stream.cursor.seq() < *self.grown.borrow();
        if is_behind && (stream.failures == 0 || beats) {
            let piece = events::replay(
                &self.options.journal,
                stream.cursor,
                &stream.asked,
                stream.oldest,
                events::PAGE,
            );
            match piece {
                Ok(piece) => tell_piece(connection, stream, &piece),
                Err(error) => {
                    stream.failures += 1;
                    stream.beats_at = next_beat();
                    let ends = stream.failures == events::FAILURES_MAX;
                    let method = if ends { events::METHOD_TERMINATED } else { events::METHOD_ERROR };
                    tell(connection, stream, method, &failed(&unreadable(&error)));
                    return !ends;
                }
            }
        }
        if beats {
            self.tell_warning(connection, stream);
            tell(
                connection,
                stream,
                events::METHOD_HEARTBEAT,
                &EventHeartbeat { cursor: stream.cursor.to_string() },
            );
            stream.beats_at = next_beat();
        }
        true
    }

    /// Sends the reason why messages may not be coming, once for each reason.
    fn tell_warning(&mut self, connection: &mut Connection, stream: &mut Stream) {
        let warning = self.warning(connection);
        if let Some(warning) = warning.as_ref().filter(|warning| stream.told.as_ref() != Some(*warning)) {
            let error = RpcError::new(ErrorCode::INTERNAL_ERROR, warning.clone());
            tell(connection, stream, events::METHOD_ERROR, &failed(&error));
        }
        stream.told = warning;
    }

    /// When a stream must be fed next, even without a new message.
    pub(super) fn stream_deadline(&self, connection: &Connection, stream: &Stream) -> Option<Instant> {
        let is_behind = stream.failures == 0 && stream.cursor.seq() < *self.grown.borrow();
        may_tell(connection, stream).then(|| if is_behind { Instant::now() } else { stream.beats_at })
    }
}

/// In a session nothing is sent before the host has said that it is initialized.
fn may_tell(connection: &Connection, stream: &Stream) -> bool {
    stream.route.era == Era::Modern || connection.opened.as_ref().is_some_and(|session| session.ready)
}

fn tell(connection: &mut Connection, stream: &Stream, method: &str, params: &impl Serialize) {
    let mut params = to_value(params).unwrap_or_default();
    params["_meta"] = json!({META_SUBSCRIPTION: stream.route.id});
    connection.notify_about(&stream.route.id, method, &params);
}

fn tell_piece(connection: &mut Connection, stream: &mut Stream, piece: &events::Replay) {
    stream.failures = 0;
    if piece.truncated {
        let cursor = stream.cursor.to_string();
        tell(connection, stream, events::METHOD_ACTIVE, &EventActive { cursor, truncated: true });
    }
    for event in &piece.events {
        tell(connection, stream, events::METHOD_EVENT, event);
    }
    stream.cursor = piece.cursor;
}

fn next_beat() -> Instant {
    Instant::now() + Duration::from_millis(events::HEARTBEAT_MS)
}

fn failed(error: &RpcError) -> EventFailed {
    EventFailed { error: EventError { code: error.code.0, message: error.message.clone() } }
}

fn unreadable(error: &JournalError) -> RpcError {
    let said =
        format!("the inbox could not be read: {error}; nothing is lost, ask again with the same cursor");
    RpcError::new(ErrorCode::INTERNAL_ERROR, said)
}

/// A whole number of at least `min`, if it is given.
fn number(params: &Object, field: &str, min: u64) -> Result<Option<u64>, RpcError> {
    match params.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().filter(|number| *number >= min) {
            Some(number) => Ok(Some(number)),
            None => {
                Err(RpcError::invalid_params(format!("params.{field}: must be a whole number from {min} on")))
            }
        },
    }
}

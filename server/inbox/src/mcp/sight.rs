//! What a door of the host must know of this connection, told as it changes.
//! It must never tell what anybody wrote.

use serde_json::Value;

use super::hosts::numbers;
use super::message::Object;
use super::session::{Caller, OpenCall, Session};
use crate::knock::Met;

/// Where Codex says which thread a call comes from.
const META_THREAD: &str = "threadId";

impl Session {
    /// Tells who is there and whether a waiting call is open. Cheap when nothing changed.
    pub(super) fn tell_sight(&self) {
        let mut host = self.options.sight.host();
        if host.is_none()
            && let Some(session) = self.legacy.as_ref().filter(|session| session.ready)
        {
            self.met(&session.client);
            host = self.options.sight.host();
        }
        let waits = |call: &OpenCall| match (call, &host) {
            (OpenCall::Wait(wait), Some(host)) => wait.caller.consumer == host.consumer,
            _ => false,
        };
        self.options.sight.waits(self.open.values().any(waits));
    }

    /// A tool was called: the host is there, and may say from where.
    pub(super) fn see_call(&self, caller: &Caller, params: &Object) {
        if let Some(client) = &caller.client {
            self.met(client);
        }
        self.options.sight.called();
        let meta = params.get("_meta").and_then(|meta| meta.get(META_THREAD));
        if let Some(thread) = meta.and_then(Value::as_str) {
            self.options.sight.called_by(thread);
        }
    }

    fn met(&self, client: &str) {
        if let (Some(row), Ok(consumer)) = (self.host(Some(client)), self.consumer_of(Some(client))) {
            let version = self.legacy.as_ref().map_or("", |session| session.client_version.as_str());
            self.options.sight.met(Met { family: row.family, version: numbers(version), consumer });
        }
    }
}

//! Reports what a wake-up of the host must know of this connection, each time it changes. It must never
//! report the text of a message.

use serde_json::Value;

use entraclaw_mcp::hosts::numbers;
use entraclaw_mcp::message::Object;
use entraclaw_mcp::{Caller, Connection};

use super::{InboxProvider, Wait};
use crate::wake_up::Met;

/// The member in which Codex names the thread of a call.
const META_THREAD: &str = "threadId";

impl InboxProvider {
    /// Reports the host and whether a waiting call is open. Cheap when nothing changed.
    pub(super) fn tell_activity(&self, connection: &Connection) {
        let mut host = self.options.activity.host();
        if host.is_none()
            && let Some(session) = connection.ready()
        {
            self.met(connection, &session.client);
            host = self.options.activity.host();
        }
        let waits = |wait: &Wait| host.as_ref().is_some_and(|host| wait.reader.consumer == host.consumer);
        self.options.activity.waits(self.waits.values().any(waits));
    }

    /// Reports that the host called a tool, and from which thread, if the host names it.
    pub(super) fn see_call(&self, connection: &Connection, caller: &Caller, params: &Object) {
        if let Some(client) = &caller.client {
            self.met(connection, client);
        }
        self.options.activity.called();
        let meta = params.get("_meta").and_then(|meta| meta.get(META_THREAD));
        if let Some(thread) = meta.and_then(Value::as_str) {
            self.options.activity.called_by(thread);
        }
    }

    fn met(&self, connection: &Connection, client: &str) {
        if let (Some(row), Ok(consumer)) =
            (connection.host(Some(client)), self.consumer_of(connection, Some(client)))
        {
            let version = connection.opened.as_ref().map_or("", |session| session.client_version.as_str());
            self.options.activity.met(Met { family: row.family, version: numbers(version), consumer });
        }
    }
}

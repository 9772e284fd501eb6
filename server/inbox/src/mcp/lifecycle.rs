//! How a client makes itself known: `initialize` and `notifications/initialized`, or `server/discover`.
//!
//! A session begins once: a second `initialize` must change nothing. Neither touches a disk or the network.

use serde_json::{Value, json};

use super::dispatch::{cacheable, text};
use super::era::{MODERN_VERSIONS, negotiate};
use super::hosts::numbers;
use super::message::{Object, RpcError, kind_of};
use super::session::{Caller, LegacySession, Session};
use super::tasks;
use crate::carrier::log_ping::Level;
use crate::carrier::{channel, events};
use crate::knock::gives_inbox_socket;
use crate::permission;
use crate::rules;

/// The family that must be served by `initialize`: its channel does not exist in the modern era.
const LEGACY_ONLY_FAMILY: &str = "claude-code";

/// How long a client may keep the answer to `server/discover`, in milliseconds.
const DISCOVER_TTL_MS: u64 = 600_000;

impl Session {
    pub(super) fn initialize(&mut self, params: &Object) -> Result<Value, RpcError> {
        if self.legacy.is_some() {
            return Err(RpcError::invalid_request(
                "initialize: this session has begun already; it goes on unchanged",
            ));
        }
        let version = negotiate(text(params, "protocolVersion")?);
        let capabilities = object(params, "capabilities")?;
        let info = object(params, "clientInfo")?;
        let client = match info.get("name") {
            Some(Value::String(name)) => name.clone(),
            _ => return Err(RpcError::invalid_params("params.clientInfo.name: must be a string")),
        };
        let declares_channel = capabilities
            .get("experimental")
            .and_then(Value::as_object)
            .is_some_and(|experimental| experimental.contains_key(channel::CAPABILITY));
        let client_version = info.get("version").and_then(Value::as_str).unwrap_or("").to_owned();
        self.options.presence.met(&client, &client_version);
        let last_seq = *self.grown.borrow();
        let family = self.host(Some(&client)).map(|row| row.family);
        self.legacy = Some(LegacySession {
            version,
            client,
            client_version,
            declares_channel,
            ready: false,
            level: Level::INFO,
            subscribed: false,
            pushed_seq: last_seq.saturating_sub(channel::BACKLOG_RECORDS_MAX),
            push_failed_seq: None,
        });
        let mut experimental = json!({channel::CAPABILITY: {}});
        if self.options.permission.is_some() {
            experimental[permission::CAPABILITY] = json!({});
        }
        let mut capabilities = json!({
            "experimental": experimental,
            "logging": {},
            "resources": {"subscribe": true, "listChanged": false},
            "tools": {"listChanged": false}
        });
        if self.options.events {
            events::declare(&mut capabilities);
        }
        Ok(json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "serverInfo": self.server_info(),
            "instructions": rules::instructions(family, &self.options.wait)
        }))
    }

    pub(super) fn on_initialized(&mut self) {
        let Some(session) = &mut self.legacy else { return };
        session.ready = true;
        let host = self.legacy.as_ref().and_then(|session| self.host(Some(&session.client)));
        tracing::info!(
            family = host.map(|row| row.family),
            channel = self.pushes_channel(),
            "a session has begun"
        );
    }

    /// Whether a channel push may reach this session's model: the client said so, or its version is known to show it.
    /// Of nobody else: what is pushed is marked, and a model may pass by what is marked and was never shown.
    /// Where the host's inbox socket or a hook wakes the session, it takes the place of a channel that was not declared: most
    /// accounts have none, and what was pushed there would be marked and start no turn.
    pub(super) fn pushes_channel(&self) -> bool {
        let Some(session) = self.legacy.as_ref().filter(|session| session.ready) else { return false };
        let Some(row) = self.host(Some(&session.client)) else { return session.declares_channel };
        let has_socket =
            self.options.inbox_socket && gives_inbox_socket(row.family, numbers(&session.client_version));
        let is_woken = has_socket || self.options.sight.can_be_woken_by_hook();
        session.declares_channel || (!is_woken && row.takes_channel(&session.client_version))
    }

    pub(super) fn discover(&self, caller: &Caller) -> Result<Value, RpcError> {
        let family = self.host(caller.client.as_deref()).map(|row| row.family);
        if family == Some(LEGACY_ONLY_FAMILY) {
            return Err(RpcError::unknown_method("server/discover"));
        }
        let mut capabilities = json!({
            "extensions": {tasks::EXTENSION: {}},
            "logging": {},
            "resources": {"subscribe": true, "listChanged": false},
            "tools": {"listChanged": false}
        });
        if self.options.events {
            events::declare(&mut capabilities);
        }
        let result = json!({
            "supportedVersions": MODERN_VERSIONS,
            "capabilities": capabilities,
            "instructions": rules::instructions(family, &self.options.wait)
        });
        Ok(cacheable(caller.route.era, result, DISCOVER_TTL_MS))
    }
}

/// An object that must be there.
fn object<'a>(params: &'a Object, name: &str) -> Result<&'a Object, RpcError> {
    match params.get(name) {
        Some(Value::Object(members)) => Ok(members),
        Some(other) => {
            Err(RpcError::invalid_params(format!("params.{name}: must be an object, got {}", kind_of(other))))
        }
        None => Err(RpcError::invalid_params(format!("params.{name}: missing; it must be an object"))),
    }
}

//! The start of a connection: `initialize` and `notifications/initialized`, or `server/discover`.
//!
//! A session begins once: a second `initialize` must never change anything. No method here uses a disk or the network.

use serde_json::{Value, json};

use std::collections::BTreeSet;

use crate::connection::{Caller, Opened};
use crate::era::{Era, MODERN_VERSIONS, negotiate};
use crate::level::Level;
use crate::message::{Object, RpcError, object, text};
use crate::page::cacheable;
use crate::session::Session;
use crate::tasks;

/// The family that must use `initialize`, because its channel does not exist in the modern era.
const LEGACY_ONLY_FAMILY: &str = "claude-code";

/// How long a client may keep the answer to `server/discover`, in milliseconds.
const DISCOVER_TTL_MS: u64 = 600_000;

impl Session {
    pub(crate) fn initialize(&mut self, params: &Object) -> Result<Value, RpcError> {
        if self.connection.opened.is_some() {
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
        let client_version = info.get("version").and_then(Value::as_str).unwrap_or("").to_owned();
        let family = self.connection.host(Some(&client)).map(|row| row.family);
        self.connection.opened = Some(Opened {
            version,
            client,
            client_version,
            capabilities: Value::Object(capabilities.clone()),
            ready: false,
            level: Level::INFO,
            subscribed: BTreeSet::new(),
        });
        for provider in &mut self.providers {
            provider.opened(&self.connection);
        }
        Ok(json!({
            "protocolVersion": version,
            "capabilities": self.capabilities(Era::Legacy),
            "serverInfo": self.connection.server_info(),
            "instructions": self.instructions(family)
        }))
    }

    pub(crate) fn on_initialized(&mut self) {
        let Some(opened) = &mut self.connection.opened else { return };
        opened.ready = true;
        for provider in &mut self.providers {
            provider.opened(&self.connection);
        }
        self.ask_roots();
    }

    pub(crate) fn discover(&self, caller: &Caller) -> Result<Value, RpcError> {
        let family = self.connection.host(caller.client.as_deref()).map(|row| row.family);
        if family == Some(LEGACY_ONLY_FAMILY) {
            return Err(RpcError::unknown_method("server/discover"));
        }
        let result = json!({
            "supportedVersions": MODERN_VERSIONS,
            "capabilities": self.capabilities(Era::Modern),
            "instructions": self.instructions(family)
        });
        Ok(cacheable(caller.route.era, result, DISCOVER_TTL_MS))
    }

    /// The capabilities of this server, by its providers' offers and declarations.
    fn capabilities(&self, era: Era) -> Value {
        let mut capabilities = json!({"logging": {}, "tools": {"listChanged": false}});
        if !(self.resources.is_empty() && self.templates.is_empty()) {
            capabilities["resources"] = json!({"subscribe": true, "listChanged": false});
        }
        if !self.prompts.is_empty() {
            capabilities["prompts"] = json!({"listChanged": false});
        }
        if self.offers_tasks(era) {
            match era {
                Era::Modern => capabilities["extensions"] = json!({tasks::EXTENSION: {}}),
                Era::Legacy => capabilities["tasks"] = tasks::capability(),
            }
        }
        for provider in &self.providers {
            provider.declare(era, &mut capabilities);
        }
        if let Value::Object(members) = &mut capabilities {
            members.sort_keys();
        }
        capabilities
    }

    fn instructions(&self, family: Option<&'static str>) -> String {
        let said: Vec<String> =
            self.providers.iter().filter_map(|provider| provider.instructions(family)).collect();
        said.join("\n\n")
    }
}

//! From a line to the method that answers it, in the era that the request belongs to.
//!
//! Every request gets exactly one answer unless it was cancelled; nothing else is ever answered.

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use super::era::{self, BATCH_VERSION, Era};
use super::framing::Frame;
use super::id_scan::IdScan;
use super::message::{Id, Incoming, Object, RpcError, kind_of};
use super::session::{Batch, Caller, Route, Session};
use super::tasks;
use crate::carrier::log_ping::Level;
use crate::carrier::resource;
use crate::permission;
use crate::tool::catalog;

/// Most messages in a batch of 2025-03-26.
pub(super) const BATCH_ITEMS_MAX: usize = 100;

/// How long a client may keep the list of tools and resources, in milliseconds: they change with the program only.
const LIST_TTL_MS: u64 = 600_000;

impl Session {
    /// Takes what stood on one line.
    pub(super) fn on_frame(&mut self, frame: Frame) {
        match frame {
            Frame::Line(line) => match serde_json::from_slice::<Value>(&line) {
                Ok(Value::Array(items)) => self.on_batch(items),
                Ok(message) => self.on_message(message, None),
                Err(error) => {
                    let error =
                        RpcError::new(ErrorCode::PARSE_ERROR, format!("this line is no json: {error}"));
                    self.refuse_line(IdScan::request_id_in(&line), error);
                }
            },
            Frame::Oversize { id } => {
                let bytes_max = self.options.limits.line_bytes_max;
                let error = RpcError::invalid_request(format!(
                    "a line may have {bytes_max} bytes; this one has more"
                ));
                self.refuse_line(id, error);
            }
        }
    }

    /// An error needs an id in every version of the schema; without one the line is only logged. An id in use is
    /// left alone: the answer would end the request that has it.
    fn refuse_line(&mut self, id: Option<Id>, error: RpcError) {
        if let Some(id) = id.filter(|id| !self.open.contains_key(id)) {
            self.answer(&Route { id, era: Era::Legacy, batch: None }, Err(error), Vec::new());
        } else {
            tracing::warn!(reason = error.message, "ignored a line");
        }
    }

    fn on_batch(&mut self, items: Vec<Value>) {
        let allowed = self.legacy.as_ref().is_some_and(|session| session.version == BATCH_VERSION);
        let refusal = if !allowed {
            Some(format!("batches belong to protocol version {BATCH_VERSION} only; send one message a line"))
        } else if items.len() > BATCH_ITEMS_MAX {
            Some(format!("a batch may have {BATCH_ITEMS_MAX} messages; this one has {}", items.len()))
        } else {
            None
        };
        if let Some(refusal) = refusal {
            for item in items {
                if let Incoming::Request { id, .. } | Incoming::Refused { id, .. } = Incoming::classify(item)
                {
                    self.refuse_line(Some(id), RpcError::invalid_request(refusal.clone()));
                }
            }
            return;
        }
        let number = self.next_number();
        // One more than there are, so that it is not sent before the last message was read.
        self.batches.insert(number, Batch::of(items.len() + 1));
        for item in items {
            self.on_message(item, Some(number));
        }
        self.leave_batch(Some(number));
    }

    fn on_message(&mut self, message: Value, batch: Option<u64>) {
        let route = |id: Id| Route { id, era: Era::Legacy, batch };
        match Incoming::classify(message) {
            Incoming::Request { id, method, params } => {
                let route = route(id);
                if self.open.contains_key(&route.id) {
                    let error = RpcError::invalid_request("id: belongs to a request that is still open");
                    return self.answer(&route, Err(error), Vec::new());
                }
                match params {
                    Ok(params) => self.on_request(route, &method, params),
                    Err(error) => self.answer(&route, Err(error), Vec::new()),
                }
            }
            Incoming::Refused { id, error } => self.answer(&route(id), Err(error), Vec::new()),
            other => {
                match other {
                    Incoming::Notification { method, params } => self.on_notification(&method, &params),
                    Incoming::Unanswerable(reason) => tracing::warn!(reason, "ignored a message"),
                    _ => {}
                }
                // Nothing of its own to wait for.
                self.leave_batch(batch);
            }
        }
    }

    fn on_notification(&mut self, method: &str, params: &Object) {
        match method {
            "notifications/initialized" => self.on_initialized(),
            "notifications/cancelled" => self.on_cancelled(params),
            permission::REQUEST_METHOD => self.on_permission_request(params),
            _ => {}
        }
    }

    fn on_request(&mut self, mut route: Route, method: &str, params: Object) {
        if method == "initialize" {
            let outcome = if route.batch.is_some() {
                Err(RpcError::invalid_request("initialize must not stand in a batch"))
            } else {
                self.initialize(&params)
            };
            return self.answer(&route, outcome, Vec::new());
        }
        // These two exist in the modern era only, so they must say so.
        let is_modern =
            era::claims_modern(&params) || matches!(method, "server/discover" | "subscriptions/listen");
        let client = if is_modern {
            match era::modern_client(&params) {
                Ok(client) => {
                    if let Some(name) = &client {
                        self.options.presence.met(name, era::modern_client_version(&params));
                    }
                    client
                }
                Err(error) => return self.answer(&route, Err(error), Vec::new()),
            }
        } else if let Some(session) = &self.legacy {
            Some(session.client.clone())
        } else if method == "ping" {
            return self.answer(&route, Ok(json!({})), Vec::new());
        } else {
            let error = RpcError::invalid_request(
                "send initialize first, or give params._meta the keys of protocol version 2026-07-28",
            );
            return self.answer(&route, Err(error), Vec::new());
        };
        let (mut log_level, mut declares_tasks) = (None, false);
        if is_modern {
            route.era = Era::Modern;
            declares_tasks = era::declares_extension(&params, tasks::EXTENSION);
            match era::modern_log_level(&params) {
                Ok(asked) => log_level = asked,
                Err(error) => return self.answer(&route, Err(error), Vec::new()),
            }
        }
        let consumer = match self.consumer_of(client.as_deref()) {
            Ok(consumer) => consumer,
            Err(error) => {
                let error = RpcError::new(ErrorCode::INTERNAL_ERROR, error.to_string());
                return self.answer(&route, Err(error), Vec::new());
            }
        };
        if client.is_some() {
            // From now on its mail counts as waiting for somebody. A failure is told by the first call.
            let _ = self.inbox(&consumer);
        }
        self.on_method(&Caller { route, consumer, client, log_level, declares_tasks }, method, params);
    }

    fn on_method(&mut self, caller: &Caller, method: &str, params: Object) {
        let era = caller.route.era;
        let outcome = match (era, method) {
            (_, "tools/call") => return self.call_tool(caller, params),
            (_, "resources/read") => return self.read_resource(caller, &params),
            (_, method) if self.options.events && method.starts_with("events/") => {
                return self.events_request(caller, method, &params);
            }
            (Era::Modern, "subscriptions/listen") => return self.listen(caller, &params),
            (Era::Modern, "tasks/get" | "tasks/update" | "tasks/cancel") => {
                return self.tasks_request(caller, method, &params);
            }
            (_, "tools/list") => list(era, &params, || {
                let mut tools =
                    json!({"tools": catalog::tools(&self.options.doors, &self.options.tool_sets)});
                if caller.declares_tasks {
                    tasks::mark_tools(&mut tools);
                }
                tools
            }),
            (_, "resources/list") => list(era, &params, resource::list),
            (_, "resources/templates/list") => list(era, &params, || json!({"resourceTemplates": []})),
            (Era::Modern, "server/discover") => self.discover(caller),
            (Era::Legacy, "ping") => Ok(json!({})),
            (Era::Legacy, "logging/setLevel") => self.set_level(&params),
            (Era::Legacy, "resources/subscribe") => self.subscribe(&params, true),
            (Era::Legacy, "resources/unsubscribe") => self.subscribe(&params, false),
            // Not declared, yet some hosts ask without looking and show an error as a broken server.
            (Era::Legacy, "prompts/list") => Ok(json!({"prompts": []})),
            _ => Err(RpcError::unknown_method(method)),
        };
        self.answer(&caller.route, outcome, Vec::new());
    }

    fn set_level(&mut self, params: &Object) -> Result<Value, RpcError> {
        let name = text(params, "level")?;
        let level = Level::parse(name).ok_or_else(|| {
            RpcError::invalid_params(format!("params.level: expected one of {}", Level::names()))
        })?;
        if let Some(session) = &mut self.legacy {
            session.level = level;
        }
        Ok(json!({}))
    }

    fn subscribe(&mut self, params: &Object, on: bool) -> Result<Value, RpcError> {
        known_uri(Era::Legacy, params)?;
        if let Some(session) = &mut self.legacy {
            session.subscribed = on;
        }
        Ok(json!({}))
    }
}

/// One page without a cursor: we never give one out, so none can come back.
pub(super) fn list(era: Era, params: &Object, make: impl FnOnce() -> Value) -> Result<Value, RpcError> {
    match params.get("cursor") {
        None | Some(Value::Null) => Ok(cacheable(era, make(), LIST_TTL_MS)),
        Some(_) => Err(RpcError::invalid_params("params.cursor: unknown cursor; the list has one page")),
    }
}

/// Adds what the modern era asks of results that may be cached.
pub(super) fn cacheable(era: Era, mut result: Value, ttl_ms: u64) -> Value {
    if era == Era::Modern {
        result["ttlMs"] = ttl_ms.into();
        result["cacheScope"] = "private".into();
    }
    result
}

/// A string parameter that must be there.
pub(super) fn text<'a>(params: &'a Object, name: &str) -> Result<&'a str, RpcError> {
    match params.get(name) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => {
            Err(RpcError::invalid_params(format!("params.{name}: must be a string, got {}", kind_of(other))))
        }
        None => Err(RpcError::invalid_params(format!("params.{name}: missing; it must be a string"))),
    }
}

/// Checks that `params.uri` names our one resource.
pub(super) fn known_uri(era: Era, params: &Object) -> Result<(), RpcError> {
    if text(params, "uri")? == resource::URI {
        return Ok(());
    }
    let code = match era {
        Era::Legacy => ErrorCode::RESOURCE_NOT_FOUND,
        Era::Modern => ErrorCode::INVALID_PARAMS,
    };
    Err(RpcError::new(code, format!("params.uri: no such resource; there is {}", resource::URI)))
}

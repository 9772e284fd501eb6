//! Builds and sends the host's messages: ids, member order, `_meta`. It never decides whether a message is
//! due.

use host_profiles::{IdRule, ProgressTokens};
use serde_json::{Map, Value, json};

use super::{Era, HostMachine, Pending};
use crate::effect::Effect;
use crate::wire::{fill_all, id_key, ordered, uuid};

/// Most ids of the probe and of streams that are remembered.
const SPECIAL_IDS_MAX: usize = 1_000;

/// The kind of a request, which decides the order of its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// The probe and the stream.
    Opening,
    /// `initialize`: like any other, but without `_meta`.
    Handshake,
    /// Any other request.
    Plain,
    /// `tools/call`, with the model's id of the call.
    Call,
}

/// The model's data of a call.
#[derive(Debug, Clone)]
pub(super) struct Made {
    /// The id of the call.
    pub(super) tool_use_id: String,
    /// Its place in its step.
    pub(super) place: usize,
}

impl HostMachine {
    /// Sends a request with the next id of the counter and remembers it. Returns its key.
    pub(super) fn request(
        &mut self,
        method: &str,
        own: Vec<(&str, Value)>,
        made: Option<&Made>,
        shape: Shape,
        pending: Pending,
    ) -> String {
        let id = json!(self.link.next_id);
        self.link.next_id += 1;
        self.request_with(&id, method, own, made, shape, pending)
    }

    /// Sends a request with a given id and remembers it.
    pub(super) fn request_with(
        &mut self,
        id: &Value,
        method: &str,
        own: Vec<(&str, Value)>,
        made: Option<&Made>,
        shape: Shape,
        pending: Pending,
    ) -> String {
        let bare = own.is_empty();
        let mut members = own;
        if let Some(meta) = self.meta(id, made, shape, &pending) {
            members.push(("_meta", meta));
        }
        let wire = &self.profile.wire;
        let params_order = if shape == Shape::Call { &wire.call_params_order } else { &wire.params_order };
        let message_order = match shape {
            Shape::Opening => &wire.opening_order,
            _ if bare => &wire.bare_request_order,
            _ => &wire.request_order,
        };
        let mut message = vec![("jsonrpc", json!("2.0")), ("id", id.clone()), ("method", json!(method))];
        if !members.is_empty() || *wire.empty_params {
            message.push(("params", ordered(params_order, members)));
        }
        let message = ordered(message_order, message);
        self.send(&message);
        let key = id_key(id).unwrap_or_default();
        self.link.pending.insert(key.clone(), pending);
        key
    }

    /// The `_meta` of a request, or `None`.
    fn meta(&mut self, id: &Value, made: Option<&Made>, shape: Shape, pending: &Pending) -> Option<Value> {
        let mut meta = Map::new();
        if shape == Shape::Handshake {
            return None;
        }
        let probe = *pending == Pending::Probe;
        if probe || self.link.era == Era::Modern {
            let facts = [
                ("protocolVersion", json!(*self.profile.opening.modern_version)),
                ("clientInfo", self.client_info()),
                ("clientCapabilities", self.modern_capabilities()),
            ];
            for (name, value) in facts {
                meta.insert(format!("io.modelcontextprotocol/{name}"), value);
            }
        }
        if let Some(made) = made {
            if let Some(key) = self.profile.wire.tool_use_id_key.as_ref() {
                meta.insert(key.clone(), json!(made.tool_use_id));
            }
            self.add_call_meta(&mut meta, made);
        }
        match *self.profile.wire.progress_tokens {
            ProgressTokens::CallsById if shape == Shape::Call => {
                meta.insert("progressToken".to_owned(), id.clone());
            }
            ProgressTokens::CallsByUuid if shape == Shape::Call => {
                meta.insert("progressToken".to_owned(), json!(uuid(self.link.next_token)));
                self.link.next_token += 1;
            }
            ProgressTokens::AllByCounter if !probe => {
                meta.insert("progressToken".to_owned(), json!(self.link.next_token));
                self.link.next_token += 1;
            }
            _ => {}
        }
        (!meta.is_empty()).then_some(Value::Object(meta))
    }

    /// Adds the turn and the thread of a call, as the host writes them.
    fn add_call_meta(&self, meta: &mut Map<String, Value>, made: &Made) {
        let Value::Object(template) = self.options.mode.of(&self.profile.wire.call_meta) else {
            return;
        };
        let place = made.place.to_string();
        let turn = self.turn.id();
        let values = [
            ("thread", self.options.thread.as_str()),
            ("turn", &turn),
            ("call", &made.tool_use_id),
            ("place", &place),
        ];
        let numbers = [("turn_started_ms", self.turn.started_ms())];
        for (name, value) in template {
            meta.insert(name.clone(), fill_all(value, &values, &numbers));
        }
    }

    /// `clientInfo`, with the server's name if the host puts it there.
    pub(super) fn client_info(&self) -> Value {
        let info = &self.profile.identity.client_info;
        fill_all(info, &[("server", &self.options.server_name)], &[])
    }

    /// The id of the probe or of a stream.
    pub(super) fn special_id(&mut self, rule: &IdRule) -> Value {
        let id = self.next_special_id(rule);
        if self.link.special_ids.len() < SPECIAL_IDS_MAX {
            self.link.special_ids.push(id.clone());
        }
        id
    }

    fn next_special_id(&mut self, rule: &IdRule) -> Value {
        match rule {
            IdRule::Fixed(text) => json!(text),
            IdRule::Prefix(text) => {
                let id = json!(format!("{text}{}", self.link.next_listen));
                self.link.next_listen += 1;
                id
            }
            IdRule::Counter => {
                let id = json!(self.link.next_id);
                self.link.next_id += 1;
                id
            }
        }
    }

    pub(super) fn notify(&mut self, method: &str, params: Option<Value>) {
        let mut members = vec![("jsonrpc", json!("2.0")), ("method", json!(method))];
        let wire = &self.profile.wire;
        let order = if params.is_some() { &wire.notification_order } else { &wire.bare_notification_order };
        members.extend(params.map(|params| ("params", params)));
        let message = ordered(order, members);
        self.send(&message);
    }

    /// Cancels one of the host's requests.
    pub(super) fn cancel(&mut self, id: &Value, reason: Option<&str>) {
        let mut params = Map::new();
        params.insert("requestId".to_owned(), id.clone());
        if let Some(reason) = reason {
            params.insert("reason".to_owned(), json!(reason));
        }
        self.notify("notifications/cancelled", Some(Value::Object(params)));
    }

    pub(super) fn answer(&mut self, id: Value, result: Value) {
        let message = ordered(
            &self.profile.wire.result_order,
            vec![("jsonrpc", json!("2.0")), ("id", id), ("result", result)],
        );
        self.send(&message);
    }

    pub(super) fn answer_error(&mut self, id: Value, code: i64, message: &str) {
        let error = json!({"code": code, "message": message});
        let message = ordered(
            &self.profile.wire.error_order,
            vec![("jsonrpc", json!("2.0")), ("id", id), ("error", error)],
        );
        self.send(&message);
    }

    fn send(&mut self, message: &Value) {
        self.effects.push(Effect::Send(message.to_string().into_bytes()));
    }
}

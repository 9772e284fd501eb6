//! The permission relay: the host tells the server of a dialog, and the answer may come from there. An answer
//! without an open dialog is dropped; it never reaches the model.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Era, HostMachine};
use crate::effect::PermissionAsk;

impl HostMachine {
    pub(super) fn ask_permission(&mut self, ask: PermissionAsk) {
        let profile = Arc::clone(&self.profile);
        let facts = &profile.channel;
        let refusal = if !self.mode(&facts.permission_relayed) {
            Some("the host does not relay it")
        } else if !self.is_open() || self.link.era == Era::Modern {
            Some("there is no connection of the older era")
        } else if !self.options.channels {
            Some("the session does not name the server as a channel")
        } else if !self.experiments_with(&facts.capability)
            || !self.experiments_with(&facts.permission_capability)
        {
            Some("the server does not declare the capabilities")
        } else {
            None
        };
        if let Some(reason) = refusal {
            return self.note(format!("a permission dialog stays in the terminal: {reason}"));
        }
        let params = json!({
            "request_id": ask.request_id,
            "tool_name": ask.tool_name,
            "description": ask.description,
            "input_preview": ask.input_preview,
        });
        self.link.permissions.insert(ask.request_id);
        self.notify(&facts.permission_request_method, Some(params));
    }

    pub(super) fn on_permission(&mut self, params: &Value) {
        let text = |name: &str| params.get(name).and_then(Value::as_str);
        let (Some(id), Some(behavior @ ("allow" | "deny"))) = (text("request_id"), text("behavior")) else {
            return self.note("dropped a permission answer of another shape");
        };
        if self.link.permissions.remove(id) {
            self.note(format!("the permission dialog {id} is closed: {behavior}"));
        } else {
            self.note(format!("dropped a permission answer: no dialog {id} is open"));
        }
    }
}

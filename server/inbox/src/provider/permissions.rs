//! Permission requests of the host to the operator, and the operator's answers.
//!
//! It must never decide a request: one that can't be sent is left to the host's own dialog.

use serde_json::{Value, to_value};

use entraclaw_mcp::Connection;
use entraclaw_mcp::message::Object;

use super::InboxProvider;
use crate::permission::{self, PermissionAnswer, PermissionRequest, is_code};

impl InboxProvider {
    pub(super) fn on_permission_request(&mut self, connection: &Connection, params: &Object) {
        if let Some(code) = params.get("request_id").and_then(Value::as_str).filter(|code| is_code(code)) {
            self.options.activity.asks(code);
        }
        let Some(port) = &self.options.permission else { return };
        if connection.ready().is_none() {
            return tracing::warn!("ignored a permission request before the session has begun");
        }
        let request: PermissionRequest = match serde_json::from_value(Value::Object(params.clone())) {
            Ok(request) => request,
            Err(error) => return tracing::warn!(%error, "ignored a permission request of another shape"),
        };
        if !is_code(&request.request_id) {
            return tracing::warn!(
                "ignored a permission request whose id is not five letters a to z without l"
            );
        }
        if port.requests.try_send(request).is_err() {
            tracing::warn!("too many permission requests at once; this one is left to the host's own dialog");
        }
    }

    pub(super) fn on_permission_answer(&mut self, connection: &mut Connection, answer: &PermissionAnswer) {
        self.options.activity.answered(&answer.request_id);
        connection.notify(permission::ANSWER_METHOD, &to_value(answer).unwrap_or_default());
    }
}

//! The effect of a notification of the server: none, a list request, a prompt, more time. A notification
//! without a rule is dropped with a note.

use std::sync::Arc;

use host_profiles::ListKind;
use serde_json::Value;

use super::{Era, HostMachine, Phase, Timer};
use crate::channel;
use crate::effect::Carrier;
use crate::names;

impl HostMachine {
    pub(super) fn on_notification(&mut self, method: &str, params: &Value) {
        if self.breaks_the_stream(method, params) {
            return self.leave_the_stream();
        }
        match method {
            "notifications/progress" => self.on_progress(params),
            "notifications/tools/list_changed" => self.list_changed(ListKind::Tools),
            "notifications/prompts/list_changed" => self.list_changed(ListKind::Prompts),
            "notifications/resources/list_changed" => self.list_changed(ListKind::Resources),
            "notifications/subscriptions/acknowledged" => self.on_acknowledged(),
            "notifications/message" => self.on_log(),
            _ if method == *self.profile.channel.method => self.on_channel(params),
            _ if method == *self.profile.channel.permission_answer_method => self.on_permission(params),
            _ => self.note(format!("dropped {method}")),
        }
    }

    /// No host that was tried shows its model a log message.
    fn on_log(&mut self) {
        // Before the answer to `initialize` it is not known yet what the server declares, and the newer era has another
        // rule for log messages.
        let in_session = self.link.phase == Phase::Open && self.link.era == Era::Legacy;
        if in_session && self.link.capabilities.get("logging").is_none() {
            let fact = self.profile.faults.undeclared_logs.clone();
            if self.fails_at_once(&fact, "faults.undeclared_logs") {
                return;
            }
        }
        self.note("dropped notifications/message");
    }

    fn on_channel(&mut self, params: &Value) {
        let profile = Arc::clone(&self.profile);
        let facts = &profile.channel;
        let declared = self.experiments_with(&facts.capability);
        let refusal = if !declared {
            Some("the server does not declare the capability")
        } else if self.link.era == Era::Modern && !*facts.modern {
            Some("the modern era has no channel")
        } else if !self.mode(&facts.delivered) {
            Some("the host does not deliver it")
        } else if !self.options.channels {
            Some("the session does not name the server as a channel")
        } else {
            None
        };
        if let Some(reason) = refusal {
            return self.note(format!("dropped {}: {reason}", *facts.method));
        }
        match channel::text(facts, &self.options.server_name, params) {
            Ok((text, left_out)) => {
                for key in left_out {
                    self.note(format!("left out the channel attribute {key:?}"));
                }
                self.channel_message(text);
            }
            Err(reason) => self.note(format!("dropped {}: {reason}", *facts.method)),
        }
    }

    /// Whether the server declares an experimental capability.
    pub(super) fn experiments_with(&self, capability: &str) -> bool {
        let experimental = self.link.capabilities.get("experimental");
        experimental.and_then(|declared| declared.get(capability)).is_some()
    }

    /// Whether a notification came on the host's stream although the filter does not name it.
    fn breaks_the_stream(&self, method: &str, params: &Value) -> bool {
        let Some(stream) = &self.link.stream else {
            return false;
        };
        let on_stream =
            params.get("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/subscriptionId"))
                == Some(&stream.id);
        *self.profile.modern.strict_stream
            && on_stream
            && !matches!(
                method,
                "notifications/subscriptions/acknowledged"
                    | "notifications/tools/list_changed"
                    | "notifications/prompts/list_changed"
                    | "notifications/resources/list_changed"
            )
    }

    fn leave_the_stream(&mut self) {
        let Some(stream) = self.link.stream.take() else {
            return;
        };
        let reason = self.profile.modern.strict_stream_reason.value.clone();
        self.cancel(&stream.id, Some(&reason));
        if let Some(key) = crate::wire::id_key(&stream.id) {
            self.link.pending.remove(&key);
        }
        let waits = &self.profile.modern.strict_stream_retry_ms;
        if let Some(wait_ms) = waits.get(self.link.strict_refusals).copied() {
            self.link.strict_refusals += 1;
            self.set_timer(Timer::Listen, wait_ms);
        }
    }

    /// Shows the server's instructions to the model, if the host does so.
    pub(super) fn show_instructions(&mut self, opening: &Value) {
        let Some(text) = opening.get("instructions").and_then(Value::as_str) else {
            return;
        };
        if !(*self.profile.names.instructions || self.options.allow_instructions) {
            return self.note("dropped the server's instructions");
        }
        if self.link.quick || text.is_empty() {
            return;
        }
        let text = names::cut(&self.profile.names, text);
        self.show(Carrier::Instructions, None, None, text, false, false);
    }
}

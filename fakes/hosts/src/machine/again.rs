//! Calls that the server answers with what they need of the user, in the newer era: the user is asked, and the call is sent
//! again with what they said. A host that does not know this takes the answer for a result.

use host_profiles::OnAsk;
use serde_json::{Value, json};

use super::send::{Made, Shape};
use super::{ASKED_MAX, Asked, Era, HostMachine, Pending, Timer};

impl HostMachine {
    /// What an answer to a call needs, if this host knows how to get it: the name and the question.
    pub(super) fn needs_of(&self, result: &Value) -> Option<(String, Value)> {
        let knows = !matches!(self.mode(&self.profile.requests.input_required), OnAsk::NoSuchMethod);
        let asks_back = result.get("resultType").and_then(Value::as_str) == Some("input_required");
        let needs = result.get("inputRequests").and_then(Value::as_object)?;
        let (name, need) = needs.iter().next()?;
        let is_form = need.get("method").and_then(Value::as_str) == Some("elicitation/create");
        (self.link.era == Era::Modern && knows && asks_back && is_form && needs.len() == 1)
            .then(|| (name.clone(), need.clone()))
    }

    /// Asks the user for what a call needs.
    pub(super) fn ask_for(&mut self, seq: u64, name: &str, need: &Value, state: &Value) {
        self.timers.retain(|timer, _| !matches!(timer, Timer::Call(one) | Timer::Idle(one) if *one == seq));
        let call = json!({"seq": seq, "name": name, "state": state});
        match self.mode(&self.profile.requests.input_required) {
            OnAsk::Answer(action) => self.send_again(&call, &json!({"action": action})),
            OnAsk::Ask if self.asked.len() < ASKED_MAX => {
                let message = need.pointer("/params/message").and_then(Value::as_str).unwrap_or("no message");
                self.note(format!("a call waits for the user: {message}"));
                self.asked.push_back((call, Asked::Again, message.to_owned()));
                self.tell_forms();
            }
            _ => self.note("a call waits for the user, who is not asked"),
        }
    }

    /// Sends a call again with what the user said.
    pub(super) fn send_again(&mut self, waiting: &Value, said: &Value) {
        let Some(seq) = waiting["seq"].as_u64() else { return };
        let Some(call) = self.calls.get(&seq) else { return self.note("the call that waited is gone") };
        let made = Made { tool_use_id: call.tool_use_id.clone(), place: call.place };
        let name = waiting["name"].as_str().unwrap_or_default().to_owned();
        let own = vec![
            ("name", json!(call.wanted.tool)),
            ("arguments", call.wanted.arguments.clone()),
            ("requestState", waiting["state"].clone()),
            ("inputResponses", json!({ name: said })),
        ];
        let id = json!(self.link.next_id);
        let token = self.next_call_token(&id);
        let key = self.request("tools/call", own, Some(&made), Shape::Call, Pending::Call(seq));
        if let Some(call) = self.calls.get_mut(&seq) {
            call.sent = Some((id, key));
            call.token = token;
        }
        let limit_ms = self.call_limit_ms();
        self.set_timer(Timer::Call(seq), limit_ms);
    }
}

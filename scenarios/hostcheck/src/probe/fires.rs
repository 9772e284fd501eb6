//! Messages that the probe sends on its own: one notification of each kind, and requests to the host. It
//! requests only what the host declared, except for `unknown`, which no host knows.

use serde_json::{Value, json};

use super::answers::RESOURCE;
use super::tracer::{Due, META_STREAM, Tracer};

/// Longest wait for an answer of the host, in milliseconds.
const ASK_MS_MAX: u64 = 45_000;
/// The levels of log messages.
pub(super) const LEVELS: [&str; 8] =
    ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

impl Tracer {
    /// Sends one notification of each kind, each with a word of its own.
    pub(super) fn fire_all(&mut self) {
        if self.modern {
            // That era allows no unsolicited notification; only the channel is tried, because it was observed
            // there.
            return self.channel();
        }
        for level in LEVELS {
            let data = format!("MARK-log-{level}");
            self.notify(
                "notifications/message",
                Some(json!({"level": level, "logger": "probe", "data": data})),
            );
        }
        let progress = json!({"progressToken": "no-such-token", "progress": 1, "message": "MARK-progress"});
        self.notify("notifications/progress", Some(progress));
        self.notify("notifications/resources/updated", Some(json!({"uri": RESOURCE})));
        if !self.is_quiet() {
            self.channel();
        }
        self.notify("notifications/hostcheck/unknown", Some(json!({"word": "MARK-unknown"})));
    }

    fn channel(&mut self) {
        let params = json!({"content": "MARK-channel", "meta": {"chat_id": "probe"}});
        self.notify("notifications/claude/channel", Some(params));
    }

    /// Sends a notification on the stream that its filter does not name.
    pub(super) fn stray(&mut self, id: &Value) {
        let Some(stream) = self.stream.clone() else {
            return self.text(id, "there is no stream of changes, so nothing was sent");
        };
        let params = json!({"level": "info", "data": "MARK-stray", "_meta": {META_STREAM: stream}});
        self.notify("notifications/message", Some(params));
        self.text(id, "sent");
    }

    /// Sends a request to the host. The call is answered after the host's answer, or after the time limit.
    pub(super) fn ask(&mut self, call: &Value, what: &str) {
        let declares = |pointer: &str| self.client.pointer(pointer).is_some();
        let forms =
            declares("/elicitation/form") || (declares("/elicitation") && !declares("/elicitation/url"));
        let (method, params, declared) = match what {
            "ping" => ("ping", None, true),
            "roots" => ("roots/list", None, declares("/roots")),
            "elicitation" => {
                let schema =
                    json!({"type": "object", "properties": {"ok": {"type": "boolean", "title": "OK"}}});
                let params = json!({"message": "A question of the probe.", "requestedSchema": schema});
                ("elicitation/create", Some(params), forms)
            }
            "elicitation_url" => {
                let params = json!({"mode": "url", "message": "A page of the probe.", "elicitationId": "probe-1",
                    "url": "https://contoso.com/probe"});
                ("elicitation/create", Some(params), declares("/elicitation/url"))
            }
            "sampling" => {
                let content = json!({"type": "text", "text": "Answer with the one word MARK-sampled."});
                let params = json!({"messages": [{"role": "user", "content": content}], "maxTokens": 20});
                ("sampling/createMessage", Some(params), declares("/sampling"))
            }
            "unknown" => ("hostcheck/unknown", Some(json!({})), true),
            other => {
                let names = "ping, roots, elicitation, elicitation_url, sampling and unknown";
                return self.refuse(call, -32602, &format!("no request `{other}`; there are {names}"));
            }
        };
        if !declared {
            return self.text(call, "the host did not declare it, so it was not asked");
        }
        let id = format!("probe-{}", self.next_ask);
        self.next_ask += 1;
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        let key = json!(id).to_string();
        self.asked.insert(key.clone(), call.clone());
        self.send(message);
        self.after(ASK_MS_MAX, Due::Unanswered(key));
    }
}

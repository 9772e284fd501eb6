//! A session of the protocol: what is stored of it, and the turn that runs.

use serde_json::{Value, json};

use crate::copilot::{Events, Permissions, Version, workspace_file};
use crate::invocation::{Invocation, Outside};
use crate::pen::Pen;
use crate::script::Script;

use super::answers;
use super::message;
use super::turn::AcpTurn;

/// One session.
pub(super) struct AcpSession {
    id: String,
    cwd: String,
    /// The turn that runs.
    pub turn: Option<AcpTurn>,
    /// Every tool may run.
    pub allows_all: bool,
    events: Events,
    is_titled: bool,
    input_tokens: u64,
    output_tokens: u64,
}

impl AcpSession {
    /// A session without a turn.
    pub(super) fn new(id: &str, cwd: &str, version: Version) -> Self {
        Self {
            id: id.to_owned(),
            cwd: cwd.to_owned(),
            turn: None,
            allows_all: false,
            events: Events::new(id, false, version),
            is_titled: false,
            input_tokens: 0,
            output_tokens: 0,
        }
    }

    /// Stores that it is there, or that it goes on.
    pub(super) fn stores(&mut self, pen: &mut Pen, script: &Script, resumed: bool) {
        let context = json!({"cwd": self.cwd});
        if resumed {
            self.is_titled = true;
            let data = json!({"resumeTime": pen.now(), "context": context});
            self.events.hidden(pen, "session.resume", data);
        } else {
            let data = json!({"sessionId": self.id, "version": 1, "producer": "copilot-agent",
                "copilotVersion": script.version(), "startTime": pen.now(), "context": context});
            self.events.hidden(pen, "session.start", data);
        }
    }

    /// A prompt begins.
    pub(super) fn begins(
        &mut self,
        pen: &mut Pen,
        script: &Script,
        invocation: &Invocation,
        permissions: &Permissions,
        request: Value,
        prompt: &str,
    ) {
        if !self.is_titled {
            self.is_titled = true;
            let title = prompt.lines().next().unwrap_or_default();
            let text = format!("id: {}\ncwd: {}\nname: {title}\n", self.id, self.cwd);
            pen.store(&workspace_file(&self.id), text);
            let options = answers::options(self.allows_all);
            let update = json!({"sessionUpdate": "config_option_update", "configOptions": options});
            pen.out(message::update(&self.id, update));
            let update =
                json!({"sessionUpdate": "session_info_update", "title": title, "updatedAt": pen.now()});
            pen.out(message::update(&self.id, update));
        }
        self.events.hidden(pen, "user.message", json!({"content": prompt}));
        let answer = script.answer(prompt);
        self.input_tokens += answer.usage.input_tokens;
        self.output_tokens += answer.usage.output_tokens;
        let allows_all = self.allows_all;
        self.turn = Some(AcpTurn::new(request, answer, prompt, script, invocation, permissions, allows_all));
    }

    /// The client cancels the turn.
    pub(super) fn cancelled(&mut self, pen: &mut Pen) {
        if let Some(turn) = self.turn.take() {
            self.events.hidden(pen, "abort", json!({"reason": "user_initiated"}));
            self.finishes(pen, &turn, "cancelled");
        }
    }

    /// The client answered a request for a permission, maybe of this session.
    pub(super) fn permitted(&mut self, pen: &mut Pen, id: &Value, result: &Value) {
        if let Some(turn) = &mut self.turn {
            let always = turn.permitted(&self.id, pen, &mut self.events, id, &result["outcome"]);
            self.allows_all |= always;
        }
    }

    /// Does what is due.
    pub(super) fn advance(&mut self, pen: &mut Pen, now_ms: u64, requests: &mut u64) {
        let Some(turn) = &mut self.turn else { return };
        if turn.advance(&self.id, pen, &mut self.events, now_ms, requests)
            && let Some(turn) = self.turn.take()
        {
            self.finishes(pen, &turn, "end_turn");
        }
    }

    fn finishes(&self, pen: &mut Pen, turn: &AcpTurn, reason: &str) {
        let result = json!({"stopReason": reason, "usage": {
            "inputTokens": self.input_tokens, "outputTokens": self.output_tokens,
            "totalTokens": self.input_tokens + self.output_tokens,
            "cachedReadTokens": 0, "cachedWriteTokens": 0}});
        pen.out(message::line(&message::result(&turn.request, result)));
    }
}

/// The updates that tell a client what was in a stored session.
pub(super) fn replay(events: &str) -> Vec<Value> {
    let events = events.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let updates = events.filter_map(|event| {
        let data = &event["data"];
        let (kind, text) = match event["type"].as_str()? {
            "user.message" => ("user_message_chunk", data["content"].as_str()?.to_owned()),
            "assistant.message" => ("agent_message_chunk", data["content"].as_str()?.to_owned()),
            "session.error" => ("agent_message_chunk", format!("Error: {}", data["message"].as_str()?)),
            _ => return None,
        };
        (!text.is_empty()).then(|| message::chunk(kind, &text))
    });
    updates.collect()
}

/// What a list says of a stored session.
pub(super) fn summary(id: &str, outside: &dyn Outside) -> Option<Value> {
    let text = outside.stored(&workspace_file(id))?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let events = outside.stored(&crate::copilot::events_file(id))?;
    let last: Value = serde_json::from_str(events.lines().last()?).ok()?;
    Some(
        json!({"sessionId": id, "cwd": field("cwd")?, "title": field("name")?, "updatedAt": last["timestamp"]}),
    )
}

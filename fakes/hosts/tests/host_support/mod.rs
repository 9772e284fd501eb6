//! A fake host with a hand-driven server, for tests of single rules.

use std::sync::Arc;

use fake_hosts::drive::HostEventKind;
use fake_hosts::{
    Action, Carrier, Effect, HostMachine, HostOptions, Mode, ModelEntry, Profile, Signal, ToolCall, profile,
};
use serde_json::{Value, json};

/// A host, its clock, and its effects so far.
pub(crate) struct TestSession {
    pub(crate) host: HostMachine,
    pub(crate) now_ms: u64,
    pub(crate) done: Vec<(u64, Effect)>,
}

impl TestSession {
    /// A host whose server declares every capability and has these tools; names that begin with `read` are
    /// read-only.
    pub(crate) fn open(host: &str, mode: Mode, tools: &[&str]) -> Self {
        Self::open_with(host, HostOptions { mode, ..HostOptions::default() }, tools)
    }

    pub(crate) fn open_with(host: &str, options: HostOptions, tools: &[&str]) -> Self {
        Self::open_as(profile(host).unwrap(), options, tools)
    }

    pub(crate) fn open_as(profile: Arc<Profile>, mut options: HostOptions, tools: &[&str]) -> Self {
        options.server_name.replace_range(.., "claw");
        let mut session = Self { host: HostMachine::new(profile, options), now_ms: 0, done: Vec::new() };
        let effects = session.host.start(0);
        session.keep(effects);
        session.serve(tools);
        assert!(session.host.is_open());
        session
    }

    /// A host whose server speaks the newer era and follows tasks.
    pub(crate) fn modern(host: &str, options: HostOptions, tools: &[&str]) -> Self {
        let mut session =
            Self { host: HostMachine::new(profile(host).unwrap(), options), now_ms: 0, done: Vec::new() };
        let effects = session.host.start(0);
        session.keep(effects);
        let offer = json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}});
        session.reply(&session.last_id("server/discover"), json!({"result": offer}));
        session.notify("notifications/subscriptions/acknowledged", &json!({}));
        let items: Vec<Value> =
            tools.iter().map(|name| json!({"name": name, "inputSchema": {"type": "object"}})).collect();
        session.reply(&session.last_id("tools/list"), json!({"result": {"tools": items, "ttlMs": 600_000}}));
        assert!(session.host.is_open());
        session
    }

    /// The id of the last request with a method.
    pub(crate) fn last_id(&self, method: &str) -> Value {
        let sent = self.sent();
        let request = sent.iter().rev().find(|message| message["method"] == method);
        request.unwrap_or_else(|| panic!("{method} was not sent"))["id"].clone()
    }

    /// The hook that was run last: its event and its input.
    pub(crate) fn hook(&self) -> (String, Value) {
        let (_, event, input) = self.last_hook().unwrap();
        (event, serde_json::from_str(&input).unwrap())
    }

    fn last_hook(&self) -> Option<(u64, String, String)> {
        self.done.iter().rev().find_map(|(_, effect)| match effect {
            Effect::Hook { id, event, input } => Some((*id, event.clone(), input.clone())),
            _ => None,
        })
    }

    /// Gives the last hook this output.
    pub(crate) fn answer_hook(&mut self, answer: &str) {
        let (id, ..) = self.last_hook().unwrap();
        let effects = self.host.on_hook_answer(self.now_ms, id, answer);
        self.keep(effects);
    }

    /// Gives the last hook, if any, an empty output.
    pub(crate) fn silence(&mut self) {
        if self.last_hook().is_some() {
            self.answer_hook("");
        }
    }

    /// Answers all open requests of the opening, until there are no new ones.
    pub(crate) fn serve(&mut self, tools: &[&str]) {
        let mut answered = 0;
        loop {
            let asked: Vec<Value> = self.sent().into_iter().skip(answered).collect();
            if asked.is_empty() {
                return;
            }
            answered += asked.len();
            for message in asked {
                let id = message["id"].clone();
                let Some(method) = message["method"].as_str().filter(|_| !id.is_null()) else {
                    continue;
                };
                let items: Vec<Value> = tools
                    .iter()
                    .map(|name| json!({"name": name, "description": format!("does {name}"), "inputSchema": {"type": "object"},
                        "annotations": {"readOnlyHint": name.starts_with("read")}}))
                    .collect();
                let answer = match method {
                    "server/discover" => json!({"error": {"code": -32601, "message": "no"}}),
                    "initialize" => {
                        json!({"result": {"protocolVersion": message["params"]["protocolVersion"], "serverInfo": {"name": "s", "version": "1"},
                        "capabilities": {"tools": {"listChanged": true}, "prompts": {"listChanged": true},
                            "resources": {"listChanged": true}, "experimental": {"claude/channel": {}, "claude/channel/permission": {}}}}})
                    }
                    "tools/list" => json!({"result": {"tools": items}}),
                    "prompts/list" => json!({"result": {"prompts": []}}),
                    "resources/list" => json!({"result": {"resources": []}}),
                    _ => continue,
                };
                self.reply(&id, answer);
            }
        }
    }

    /// Starts the server's process.
    pub(crate) fn start(&mut self) {
        let effects = self.host.start(self.now_ms);
        self.keep(effects);
    }

    pub(crate) fn keep(&mut self, effects: Vec<Effect>) {
        self.done.extend(effects.into_iter().map(|effect| (self.now_ms, effect)));
    }

    /// Lets time pass; due timers run at their time.
    pub(crate) fn until(&mut self, ms: u64) {
        while let Some(due_ms) = self.host.next_timer_ms().filter(|due_ms| *due_ms <= ms) {
            self.now_ms = self.now_ms.max(due_ms);
            let effects = self.host.on_timer(self.now_ms);
            self.keep(effects);
        }
        self.now_ms = self.now_ms.max(ms);
    }

    /// Lets the server write a message.
    pub(crate) fn line(&mut self, message: &Value) {
        let effects = self.host.on_line(self.now_ms, message.to_string().as_bytes());
        self.keep(effects);
    }

    /// Lets the server answer a request.
    pub(crate) fn reply(&mut self, id: &Value, mut answer: Value) {
        answer["jsonrpc"] = json!("2.0");
        answer["id"] = id.clone();
        self.line(&answer);
    }

    /// Lets the server answer the last call of a tool with a text.
    pub(crate) fn result(&mut self, tool: &str, text: &str) {
        let id = self.call_id(tool);
        self.reply(&id, json!({"result": {"content": [{"type": "text", "text": text}]}}));
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.line(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    pub(crate) fn act(&mut self, action: Action) {
        let effects = self.host.act(self.now_ms, action);
        self.keep(effects);
    }

    pub(crate) fn call(&mut self, tool: &str) {
        self.act(Action::Call(ToolCall::new(tool, json!({}), tool)));
    }

    pub(crate) fn calls(&mut self, tools: &[&str]) {
        let calls = tools.iter().map(|tool| ToolCall::new(*tool, json!({}), *tool)).collect();
        self.act(Action::Calls(calls));
    }

    pub(crate) fn exit(&mut self) {
        let effects = self.host.on_server_exit(self.now_ms, Some(1));
        self.keep(effects);
    }

    /// Every message so far.
    pub(crate) fn sent(&self) -> Vec<Value> {
        self.done
            .iter()
            .filter_map(|(_, effect)| match effect {
                Effect::Send(line) => Some(serde_json::from_slice(line).unwrap()),
                _ => None,
            })
            .collect()
    }

    /// The tools that were called on the wire, in order.
    pub(crate) fn called(&self) -> Vec<String> {
        let calls = self.sent().into_iter().filter(|message| message["method"] == "tools/call");
        calls.map(|message| message["params"]["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The number of messages with this method.
    pub(crate) fn count(&self, method: &str) -> usize {
        self.sent().iter().filter(|message| message["method"] == method).count()
    }

    /// The params of each `notifications/cancelled`.
    pub(crate) fn cancels(&self) -> Vec<Value> {
        let sent = self.sent().into_iter();
        sent.filter(|message| message["method"] == "notifications/cancelled")
            .map(|message| message["params"].clone())
            .collect()
    }

    pub(crate) fn call_id(&self, tool: &str) -> Value {
        let sent = self.sent();
        let call = sent.iter().rev().find(|message| message["params"]["name"] == tool);
        call.unwrap_or_else(|| panic!("{tool} was not called"))["id"].clone()
    }

    /// The texts that the model was shown by one carrier.
    pub(crate) fn shown(&self, carrier: Carrier) -> Vec<ModelEntry> {
        self.done
            .iter()
            .filter_map(|(_, effect)| match effect {
                Effect::Tell(HostEventKind::Model(entry)) if entry.carrier == carrier => Some(entry.clone()),
                _ => None,
            })
            .collect()
    }

    /// All texts that the model was shown, except for the tools.
    pub(crate) fn model(&self) -> Vec<ModelEntry> {
        self.done
            .iter()
            .filter_map(|(_, effect)| match effect {
                Effect::Tell(HostEventKind::Model(entry)) if entry.carrier != Carrier::Tools => {
                    Some(entry.clone())
                }
                _ => None,
            })
            .collect()
    }

    /// Signals with their times; `None` for the closing of stdin.
    pub(crate) fn stops(&self) -> Vec<(u64, Option<Signal>)> {
        self.done
            .iter()
            .filter_map(|(ms, effect)| match effect {
                Effect::Signal(signal) => Some((*ms, Some(*signal))),
                Effect::CloseStdin => Some((*ms, None)),
                _ => None,
            })
            .collect()
    }

    /// The facts about broken rules that it told of: name, whether known, whether harmless.
    pub(crate) fn faults(&self) -> Vec<(&'static str, bool, bool)> {
        self.done
            .iter()
            .filter_map(|(_, effect)| match effect {
                Effect::Tell(HostEventKind::Fault { fact, known, harmless })
                    if fact.starts_with("faults.") =>
                {
                    Some((*fact, *known, *harmless))
                }
                _ => None,
            })
            .collect()
    }

    /// Outcomes by label.
    pub(crate) fn outcomes(&self) -> Vec<(String, fake_hosts::Outcome)> {
        self.done
            .iter()
            .filter_map(|(_, effect)| match effect {
                Effect::Tell(HostEventKind::CallDone { label, outcome, .. }) => {
                    Some((label.clone(), *outcome))
                }
                _ => None,
            })
            .collect()
    }
}

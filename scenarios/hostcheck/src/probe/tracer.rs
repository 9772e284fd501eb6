//! The server of the probe: a state machine that receives lines and time, and says what to write and when to
//! end. It speaks raw JSON-RPC in both eras. It requests from a host only what the host declared, except for
//! `unknown`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::opening::Opening;

/// The version of the newer era.
pub(super) const MODERN: &str = "2026-07-28";
/// The member of `_meta` with the version of a request of that era.
pub(super) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(super) const META_STREAM: &str = "io.modelcontextprotocol/subscriptionId";
/// Delay of the first page of a list, in milliseconds: a host that requests all lists at once has done so by
/// then.
pub(super) const LIST_DELAY_MS: u64 = 150;
/// Delay of the acknowledgement of a stream of changes, in milliseconds.
const LISTEN_DELAY_MS: u64 = 150;
/// Time for which the probe goes on after it was told to end, to see what the host does next, in
/// milliseconds.
pub(super) const LINGER_MS: u64 = 30_000;
/// How often it reports in the first second of that time that it still runs, in milliseconds.
pub(super) const ALIVE_MS: u64 = 5;
pub(super) const ALIVE_LATER_MS: u64 = 100;
pub(super) const ALIVE_OFTEN_MS: u64 = 1_000;
/// Most timers at once; only a host that floods needs more.
const TIMERS_MAX: usize = 10_000;

/// An action of the tracer.
#[derive(Debug, Clone, PartialEq)]
pub enum Out {
    /// Write this message.
    Send(Value),
    /// Note that the process still runs.
    Alive,
    /// End with this code.
    Exit(i32),
}

/// An event that is due at a time.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Due {
    /// An answer is sent, unless its request was cancelled.
    Answer(Value, Value),
    /// The next progress notification of a call is sent, unless it was cancelled.
    Progress {
        id: Value,
        token: Value,
        count: u64,
        every_ms: u64,
    },
    /// A list has changed.
    Change(&'static str),
    /// The stream of changes is acknowledged.
    Acknowledge(Value, Value),
    /// A request of the probe got no answer.
    Unanswered(String),
    Alive,
    /// The time after the end is over.
    Leave,
}

/// The server.
#[derive(Debug)]
pub struct Tracer {
    pub(super) opening: Opening,
    pub(super) now_ms: u64,
    out: Vec<Out>,
    timers: BTreeMap<(u64, u64), Due>,
    next_timer: u64,
    /// What the host declared.
    pub(super) client: Value,
    pub(super) modern: bool,
    /// The id of the stream of changes.
    pub(super) stream: Option<Value>,
    /// Requests of the host without an answer so far, by id as JSON.
    open: BTreeSet<String>,
    /// Requests of the probe: the call of the host that waits for the answer.
    pub(super) asked: BTreeMap<String, Value>,
    pub(super) next_ask: u64,
    /// Number of tools that were added.
    pub(super) grown: u32,
    leaving_since_ms: Option<u64>,
}

impl Tracer {
    /// A process that has just started.
    pub fn new(opening: Opening) -> Self {
        Self {
            opening,
            now_ms: 0,
            out: Vec::new(),
            timers: BTreeMap::new(),
            next_timer: 0,
            client: Value::Null,
            modern: false,
            stream: None,
            open: BTreeSet::new(),
            asked: BTreeMap::new(),
            next_ask: 0,
            grown: 0,
            leaving_since_ms: None,
        }
    }

    /// Takes the actions that are to be done.
    pub fn take_out(&mut self) -> Vec<Out> {
        std::mem::take(&mut self.out)
    }

    /// When to call [`Self::on_timer`] next, in milliseconds since the start.
    pub fn next_timer_ms(&self) -> Option<u64> {
        self.timers.keys().next().map(|(due_ms, _)| *due_ms)
    }

    /// Takes a line of the host, without its newline.
    pub fn on_line(&mut self, now_ms: u64, line: &[u8]) {
        self.now_ms = now_ms;
        let Ok(message) = serde_json::from_slice::<Value>(line) else { return };
        let id = message.get("id").cloned();
        match (message.get("method").and_then(Value::as_str), id) {
            (Some(method), Some(id)) => self.on_request(&id, method, &message["params"]),
            (Some("notifications/cancelled"), None) => {
                let id = &message["params"]["requestId"];
                self.open.remove(&id.to_string());
                if self.stream.as_ref() == Some(id) {
                    self.stream = None;
                }
            }
            (None, Some(id)) => {
                if let Some(call) = self.asked.remove(&id.to_string()) {
                    let kind = if message.get("error").is_some() { "an error" } else { "a result" };
                    self.text(&call, &format!("the host answered with {kind}"));
                }
            }
            _ => {}
        }
    }

    /// The time of [`Self::next_timer_ms`] has come.
    pub fn on_timer(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        while let Some(entry) = self.timers.first_entry().filter(|entry| entry.key().0 <= now_ms) {
            let due = entry.remove();
            self.on_due(due);
        }
    }

    /// The host closed the probe's stdin, or sent a signal. The probe watches it for a while, then exits.
    pub fn on_end(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        if self.leaving_since_ms.is_none() {
            self.leaving_since_ms = Some(now_ms);
            self.timers.clear();
            self.after(LINGER_MS, Due::Leave);
            self.after(ALIVE_MS, Due::Alive);
        }
    }

    fn on_due(&mut self, due: Due) {
        match due {
            Due::Answer(id, result) => self.answer(&id, result),
            Due::Progress { id, token, count, every_ms } => {
                if self.open.contains(&id.to_string()) {
                    let params =
                        json!({"progressToken": token, "progress": count, "message": "still running"});
                    self.notify("notifications/progress", Some(params));
                    self.after(every_ms, Due::Progress { id, token, count: count + 1, every_ms });
                }
            }
            Due::Change(what) => self.change(what),
            Due::Acknowledge(id, filter) => {
                if self.stream.as_ref() == Some(&id) {
                    let params = json!({"notifications": filter, "_meta": {META_STREAM: id}});
                    self.notify("notifications/subscriptions/acknowledged", Some(params));
                }
            }
            Due::Unanswered(id) => {
                if let Some(call) = self.asked.remove(&id) {
                    self.text(&call, "the host did not answer in 45 s");
                }
            }
            Due::Alive => {
                self.out.push(Out::Alive);
                let since_ms = self.leaving_since_ms.unwrap_or(self.now_ms);
                let often = self.now_ms.saturating_sub(since_ms) < ALIVE_OFTEN_MS;
                self.after(if often { ALIVE_MS } else { ALIVE_LATER_MS }, Due::Alive);
            }
            Due::Leave => self.out.push(Out::Exit(0)),
        }
    }

    fn on_request(&mut self, id: &Value, method: &str, params: &Value) {
        let modern = params.pointer(&format!("/_meta/{}", META_VERSION.replace('/', "~1"))).is_some();
        if modern && let Some(client) = params["_meta"].get(META_CAPABILITIES) {
            self.client = client.clone();
        }
        self.open.insert(id.to_string());
        match method {
            "server/discover" => self.discover(id),
            "initialize" => self.initialize(id, params),
            "subscriptions/listen" => self.listen(id, params),
            "tools/call" => self.call(id, params),
            "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
                self.answer(id, json!({}));
            }
            _ => match self.listed(method, params) {
                Some((result, first)) => {
                    let wait_ms = if first { LIST_DELAY_MS } else { 0 };
                    self.after(wait_ms, Due::Answer(id.clone(), result));
                }
                None => self.refuse(id, -32601, &format!("Method not found: {method}")),
            },
        }
    }

    fn discover(&mut self, id: &Value) {
        match self.opening {
            Opening::ProbeSilent => {}
            Opening::ProbeExit => self.out.push(Out::Exit(1)),
            Opening::Modern | Opening::ModernRefuseListen => {
                self.modern = true;
                let result = json!({
                    "supportedVersions": [MODERN],
                    "capabilities": self.capabilities(),
                    "instructions": super::runbook::INSTRUCTIONS,
                });
                self.answer(id, result);
            }
            _ => self.refuse(id, -32601, "Method not found: server/discover"),
        }
    }

    fn initialize(&mut self, id: &Value, params: &Value) {
        if self.opening == Opening::InitializeSilent {
            return;
        }
        self.client = params["capabilities"].clone();
        let asked = params["protocolVersion"].as_str().unwrap_or("2025-11-25");
        let version = match &self.opening {
            Opening::Version(version) => version.clone(),
            _ if asked == MODERN => "2025-11-25".to_owned(),
            _ => asked.to_owned(),
        };
        self.modern = version == MODERN;
        let result = json!({
            "protocolVersion": version,
            "capabilities": self.capabilities(),
            "serverInfo": {"name": "hostcheck-probe", "version": env!("CARGO_PKG_VERSION")},
            "instructions": super::runbook::INSTRUCTIONS,
        });
        self.answer(id, result);
    }

    fn capabilities(&self) -> Value {
        let changes = json!({"listChanged": true});
        match self.opening {
            Opening::NoCapabilities => json!({}),
            Opening::Quiet => json!({"tools": {}, "prompts": {}, "resources": {}, "logging": {}}),
            _ if self.modern => json!({"tools": changes, "prompts": changes,
                "resources": {"subscribe": true, "listChanged": true}}),
            _ => {
                json!({"tools": changes, "prompts": changes, "resources": {"subscribe": true, "listChanged": true},
                "logging": {}, "experimental": {"claude/channel": {}}})
            }
        }
    }

    fn listen(&mut self, id: &Value, params: &Value) {
        if !self.opening.is_modern() && !self.modern || self.opening == Opening::ModernRefuseListen {
            return self.refuse(id, -32601, "Method not found: subscriptions/listen");
        }
        self.stream = Some(id.clone());
        self.after(LISTEN_DELAY_MS, Due::Acknowledge(id.clone(), params["notifications"].clone()));
    }

    /// Sends an answer as soon as it can, once, and not after a cancellation.
    pub(super) fn answer(&mut self, id: &Value, mut result: Value) {
        if self.open.remove(&id.to_string()) {
            if self.modern {
                for (name, value) in [
                    ("resultType", json!("complete")),
                    ("ttlMs", json!(600_000)),
                    ("cacheScope", json!("private")),
                ] {
                    let always = name == "resultType";
                    let plain = result.get("content").is_some()
                        || result.as_object().is_some_and(serde_json::Map::is_empty);
                    if always || !plain {
                        result[name] = value;
                    }
                }
            }
            self.send(json!({"jsonrpc": "2.0", "id": id, "result": result}));
        }
    }

    pub(super) fn text(&mut self, id: &Value, text: &str) {
        self.answer(id, json!({"content": [{"type": "text", "text": text}]}));
    }

    pub(super) fn refuse(&mut self, id: &Value, code: i64, message: &str) {
        if self.open.remove(&id.to_string()) {
            self.send(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}));
        }
    }

    pub(super) fn notify(&mut self, method: &str, params: Option<Value>) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        self.send(message);
    }

    pub(super) fn send(&mut self, message: Value) {
        self.out.push(Out::Send(message));
    }

    pub(super) fn exit(&mut self, code: i32) {
        self.out.push(Out::Exit(code));
    }

    pub(super) fn after(&mut self, wait_ms: u64, due: Due) {
        if self.timers.len() < TIMERS_MAX {
            self.timers.insert((self.now_ms.saturating_add(wait_ms), self.next_timer), due);
            self.next_timer += 1;
        }
    }
}

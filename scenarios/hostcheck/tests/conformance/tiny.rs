//! A tiny MCP server of both eras that keeps every rule, and the faults that can be added to it one by one.
//! It shares no code with the server of this project, nor with the suite that judges it.

use std::cell::Cell;
use std::rc::Rc;

use hostcheck::conformance::Target;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::time::{Instant, sleep_until};

use crate::fault::Fault;
use crate::message::{LASTS, META_SUBSCRIPTION, changed, error, result};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const MODERN: &str = "2026-07-28";
/// The number of calls that a server with a fault of many calls bears.
const CALLS_BORNE: u64 = 5;
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The server for the suite. Each start is a new connection.
pub(crate) fn target(fault: Fault) -> Target {
    let starts = Rc::new(Cell::new(0));
    Target::Inside(Rc::new(move |input, output| {
        starts.set(starts.get() + 1);
        Box::pin(serve(Tiny { fault, connection: starts.get(), ..Tiny::default() }, input, output))
    }))
}

impl Default for Tiny {
    fn default() -> Self {
        Self {
            fault: Fault::None,
            connection: 0,
            session: None,
            modern: false,
            changed: false,
            lists: 0,
            calls: 0,
            streams: Vec::new(),
            waiting: Vec::new(),
            late: None,
            dead: false,
            hangs: false,
        }
    }
}

struct Tiny {
    fault: Fault,
    connection: u64,
    session: Option<String>,
    modern: bool,
    /// A second `initialize` has started another session.
    changed: bool,
    lists: u64,
    calls: u64,
    streams: Vec<Value>,
    /// Long calls: ids, the times of their ends, and their params.
    waiting: Vec<(Value, Instant, Value)>,
    /// A cancelled stream on which a notification is sent after the next answer.
    late: Option<Value>,
    dead: bool,
    /// It reads and says nothing more.
    hangs: bool,
}

async fn serve(mut tiny: Tiny, input: DuplexStream, mut output: DuplexStream) -> i32 {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    if tiny.fault == Fault::PrintsToStdout {
        let _ = output.write_all(b"tiny server ready\n").await;
    }
    loop {
        let ends = tiny.waiting.first().map(|(_, ends, _)| *ends);
        let size = tokio::select! {
            biased;
            size = input.read_until(b'\n', &mut line) => size,
            () = sleep_until(ends.unwrap_or_else(Instant::now)), if ends.is_some() => {
                let (id, _, params) = tiny.waiting.remove(0);
                let out = tiny.waited(&id, &params);
                if output.write_all(&out).await.is_err() {
                    return 1;
                }
                continue;
            }
        };
        if !size.is_ok_and(|size| size > 0) || !line.ends_with(b"\n") {
            break;
        }
        if tiny.fault == Fault::ReadsOneLineAtATime {
            // The other bytes of the same read are dropped.
            let more = input.buffer().len();
            input.consume(more);
        }
        let out = tiny.take(&line);
        line.clear();
        if output.write_all(&out).await.is_err() || tiny.dead {
            return 1;
        }
    }
    let out = tiny.end();
    let _ = output.write_all(&out).await;
    if tiny.fault == Fault::SaysGoodbye {
        let _ = output.write_all(b"goodbye\n").await;
    }
    0
}

impl Tiny {
    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    fn take(&mut self, line: &[u8]) -> Vec<u8> {
        if self.has(Fault::DiesOfCarriageReturns) && line.ends_with(b"\r\n") {
            self.dead = true;
            return Vec::new();
        }
        let text = String::from_utf8_lossy(line);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() || text.starts_with("[[") {
            return Vec::new();
        }
        let Ok(message) = serde_json::from_str::<Value>(text) else {
            self.dead = self.has(Fault::DiesOfNoise);
            let says = if self.has(Fault::PrintsAtNoise) { "can't read this line\n" } else { "" };
            return says.into();
        };
        if self.has(Fault::RefusesToOpen) {
            let refused = message.get("id").map(|id| error(id, -32603, "not configured"));
            return self.lines(&Vec::from_iter(refused));
        }
        let mut out = self.on_message(&message);
        if message.get("id").is_some() {
            out.extend(self.late.take().map(|id| changed(&id)));
        }
        self.lines(&out)
    }

    fn lines(&self, messages: &[Value]) -> Vec<u8> {
        let mut out = Vec::new();
        if self.has(Fault::WritesBatches) && messages.len() == 1 && messages[0].get("id").is_some() {
            return format!("{}\n", Value::Array(messages.to_vec())).into_bytes();
        }
        for message in messages {
            if self.has(Fault::MarksByteOrder) {
                out.extend(b"\xef\xbb\xbf");
            }
            let text = if self.has(Fault::SpreadsMessages) {
                serde_json::to_string_pretty(message).expect("JSON")
            } else {
                message.to_string()
            };
            if self.has(Fault::WritesLatin1) {
                out.extend(
                    text.replace("caf\u{e9}", "caf?")
                        .bytes()
                        .map(|byte| if byte == b'?' { 0xe9 } else { byte }),
                );
            } else {
                out.extend(text.into_bytes());
            }
            if self.has(Fault::RepeatsNames) && out.ends_with(b"}") {
                out.pop();
                out.extend(br#","jsonrpc":"2.0"}"#);
            }
            out.push(b'\n');
            if self.has(Fault::TiresOfCalls) && self.calls > CALLS_BORNE {
                out.extend(b"that was a lot of calls\n");
            }
            if self.has(Fault::AnswersTwice) && message.get("id").is_some() && message.get("method").is_none()
            {
                out.extend(format!("{message}\n").into_bytes());
            }
        }
        out
    }

    fn end(&mut self) -> Vec<u8> {
        if self.has(Fault::ForgetsStreams) {
            return Vec::new();
        }
        let ended: Vec<Value> = self
            .streams
            .iter()
            .map(|id| result(id, self.modern_result(json!({"_meta": {META_SUBSCRIPTION: id}}))))
            .collect();
        self.lines(&ended)
    }

    fn on_message(&mut self, message: &Value) -> Vec<Value> {
        if self.hangs {
            return Vec::new();
        }
        let Some(method) = message.get("method").and_then(Value::as_str) else { return Vec::new() };
        let params = message.get("params").cloned().unwrap_or_else(|| json!({}));
        let Some(id) = message.get("id").filter(|id| id.is_string() || id.is_i64()) else {
            return self.on_notification(method, &params);
        };
        let id = if self.has(Fault::ChangesIds) && id.is_string() { json!(0) } else { id.clone() };
        let id = if self.has(Fault::AnswersTextIds) && method != "server/discover" {
            json!(id.to_string())
        } else {
            id
        };
        let asks_modern = params
            .pointer("/_meta")
            .is_some_and(|meta| meta.get(META_VERSION).is_some() || meta.get(META_CAPABILITIES).is_some());
        if asks_modern || method == "server/discover" {
            self.dead = self.has(Fault::DiesOfProbes) && self.session.is_none();
            return self.on_modern(&id, method, &params);
        }
        if self.has(Fault::RemembersTheHost)
            && self.modern
            && self.session.is_none()
            && method != "initialize"
        {
            let answer = self.shared(&id, method, &params, true);
            return self.with_modern(answer);
        }
        if self.has(Fault::IgnoresBareRequests) && self.modern && method != "initialize" {
            return Vec::new();
        }
        self.on_legacy(&id, method, &params)
    }

    fn on_notification(&mut self, method: &str, params: &Value) -> Vec<Value> {
        self.dead = self.has(Fault::DiesOfNotifications) && method != "notifications/initialized";
        match method {
            "notifications/cancelled" => {
                let id = params.get("requestId").cloned().unwrap_or_default();
                self.dead |= self.has(Fault::DiesOfCancels);
                let stream = self.streams.iter().position(|open| *open == id);
                if let Some(place) = stream {
                    self.streams.remove(place);
                    self.late = self.has(Fault::TellsTooLate).then(|| id.clone());
                    match self.fault {
                        Fault::AnswersCancelledStreams => {
                            return vec![result(&id, self.modern_result(json!({})))];
                        }
                        Fault::TellsAsItIsCancelled => return vec![changed(&id)],
                        _ => {}
                    }
                }
                if let Some(place) = self.waiting.iter().position(|(open, ..)| *open == id)
                    && !self.has(Fault::IgnoresCancels)
                {
                    self.waiting.remove(place);
                    if self.has(Fault::AnswersCancelledCalls) {
                        return vec![result(
                            &id,
                            json!({"content": [{"type": "text", "text": "cancelled"}]}),
                        )];
                    }
                }
                Vec::new()
            }
            "notifications/initialized" if self.has(Fault::PingsAtOnce) => {
                vec![json!({"jsonrpc": "2.0", "id": "at once", "method": "ping"})]
            }
            "notifications/initialized" => Vec::new(),
            "ping" | "server/discover" if self.has(Fault::AnswersWithoutAnId) => {
                vec![result(&Value::Null, json!({}))]
            }
            _ => {
                if self.has(Fault::AnswersNotifications) {
                    return vec![error(&json!("nobody"), -32601, "no such notification")];
                }
                Vec::new()
            }
        }
    }

    fn on_legacy(&mut self, id: &Value, method: &str, params: &Value) -> Vec<Value> {
        match method {
            "initialize" => self.initialize(id, params),
            "ping" if self.has(Fault::IgnoresPings) => Vec::new(),
            "ping" if self.has(Fault::HoldsPings) && !self.waiting.is_empty() => Vec::new(),
            "ping" if self.has(Fault::RefusesPings) => vec![error(id, -32601, "no pings")],
            "ping" => vec![result(id, json!({}))],
            _ if self.session.is_none() => vec![error(id, -32600, "initialize first")],
            "resources/subscribe"
                if self.has(Fault::HearsSomeResources) && params["uri"] == "tiny://text" =>
            {
                vec![error(id, -32602, "nothing is told of this resource")]
            }
            "resources/subscribe" | "resources/unsubscribe"
                if !self.has(Fault::RefusesSubscriptions) && !self.has(Fault::ReadsNoResources) =>
            {
                vec![result(id, json!({}))]
            }
            "logging/setLevel" if !self.has(Fault::SetsNoLogLevel) => self.set_level(id, params),
            _ => self.shared(id, method, params, false),
        }
    }

    fn set_level(&self, id: &Value, params: &Value) -> Vec<Value> {
        if self.has_level(&params["level"]) {
            return vec![result(id, json!({}))];
        }
        vec![error(id, -32602, "no such level")]
    }

    fn has_level(&self, level: &Value) -> bool {
        let known = level.as_str().is_some_and(|level| LEVELS.contains(&level));
        known || self.has(Fault::TakesAnyLogLevel)
    }

    fn initialize(&mut self, id: &Value, params: &Value) -> Vec<Value> {
        if self.session.is_some() {
            self.changed = self.has(Fault::OpensTwice);
            return vec![error(id, -32600, "the session is open already")];
        }
        let asked = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
        if asked == MODERN && self.has(Fault::RefusesTheNewestVersion) {
            return vec![error(id, -32601, "invalid method initialize")];
        }
        let newest = if self.has(Fault::OffersAnOldVersion) { LEGACY[0] } else { LEGACY[3] };
        let known = LEGACY.contains(&asked)
            || self.has(Fault::EchoesAnyVersion)
            || self.has(Fault::EchoesOlderVersions) && asked < LEGACY[0];
        let version = if known { asked } else { newest };
        self.session = Some(version.to_owned());
        let capabilities = self.capabilities();
        let mut out = vec![result(
            id,
            json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": {"name": "tiny", "version": "1"}}),
        )];
        if self.has(Fault::SpeaksTooEarly) {
            out.push(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
        }
        out
    }

    fn capabilities(&self) -> Value {
        let mut capabilities = json!({
            "tools": {"listChanged": true}, "resources": {"subscribe": true}, "prompts": {}, "completions": {}, "logging": {}
        });
        let hidden = match self.fault {
            Fault::HidesItsTools if !self.modern => Some("tools"),
            Fault::HidesItsPrompts => Some("prompts"),
            _ => None,
        };
        if let Some(hidden) = hidden {
            capabilities.as_object_mut().expect("an object").remove(hidden);
        }
        capabilities
    }

    fn on_modern(&mut self, id: &Value, method: &str, params: &Value) -> Vec<Value> {
        let meta = &params["_meta"];
        let Some(version) = meta.get(META_VERSION).and_then(Value::as_str) else {
            return vec![error(id, -32602, "_meta names no version")];
        };
        if version != MODERN && !self.has(Fault::TakesAnyVersion) {
            let named = if self.has(Fault::NamesNoVersions) { json!([]) } else { json!([MODERN]) };
            let data = json!({"supported": named, "requested": version});
            return vec![
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32022, "message": "unsupported version", "data": data}}),
            ];
        }
        let needs_capabilities = method == "server/discover" || !self.has(Fault::ListsWithoutCapabilities);
        if needs_capabilities && !meta.get(META_CAPABILITIES).is_some_and(Value::is_object) {
            return vec![error(id, -32602, "_meta names no capabilities")];
        }
        self.modern = true;
        let level = meta.get(META_LOG_LEVEL);
        if level.is_some_and(|level| !self.has_level(level)) {
            return vec![error(id, -32602, "no such level")];
        }
        let mut out = match method {
            "server/discover" => {
                let capabilities = self.capabilities();
                vec![result(
                    id,
                    json!({"supportedVersions": [MODERN], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private"}),
                )]
            }
            "subscriptions/listen" => return self.listen(id, params),
            _ => self.shared(id, method, params, true),
        };
        if self.has(Fault::SpeaksUnasked) {
            out.push(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
        }
        if self.has(Fault::AsksWithoutASession) {
            out.push(json!({"jsonrpc": "2.0", "id": "q1", "method": "roots/list"}));
        }
        self.with_modern(out)
    }

    fn with_modern(&self, mut out: Vec<Value>) -> Vec<Value> {
        for message in &mut out {
            if let Some(body) = message.get("result").cloned() {
                message["result"] = self.modern_result(body);
            }
        }
        out
    }

    fn modern_result(&self, mut body: Value) -> Value {
        if !self.has(Fault::LeavesOutTheType) {
            body["resultType"] = json!("complete");
        }
        if self.has(Fault::LeavesOutTheCaching) {
            let members = body.as_object_mut().expect("a result");
            members.retain(|name, _| !["ttlMs", "cacheScope"].contains(&name.as_str()));
        }
        if body.get("_meta").is_none() {
            body["_meta"] = json!({});
        }
        body["_meta"]["io.modelcontextprotocol/serverInfo"] = json!({"name": "tiny", "version": "1"});
        body
    }

    fn listen(&mut self, id: &Value, params: &Value) -> Vec<Value> {
        let wanted = &params["notifications"]["resourceSubscriptions"];
        let names_text = wanted.as_array().is_some_and(|uris| uris.contains(&json!("tiny://text")));
        if self.has(Fault::RefusesStreams) || (self.has(Fault::HearsSomeResources) && names_text) {
            return vec![error(id, -32602, "nothing is told of this resource")];
        }
        self.streams.push(id.clone());
        if self.has(Fault::NeverAcknowledges) {
            return Vec::new();
        }
        let mut promised = params["notifications"].clone();
        if self.has(Fault::PromisesMore) {
            promised["promptsListChanged"] = json!(true);
        }
        let tag =
            if self.has(Fault::AcknowledgesWithoutId) { json!({}) } else { json!({META_SUBSCRIPTION: id}) };
        vec![json!({
            "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
            "params": {"_meta": tag, "notifications": promised}
        })]
    }

    /// Methods that both eras have.
    fn shared(&mut self, id: &Value, method: &str, params: &Value, modern: bool) -> Vec<Value> {
        let changed = self.changed;
        let cached = move |mut body: Value| {
            if changed {
                body["resultType"] = json!("complete");
            }
            if modern {
                body["ttlMs"] = json!(0);
                body["cacheScope"] = json!("private");
            }
            body
        };
        match method {
            "tools/list" => self.list(id, params, cached),
            "tools/call" => self.call(id, params),
            "resources/list" if self.has(Fault::ReadsNoResources) => {
                vec![result(id, cached(json!({"resources": []})))]
            }
            "resources/list" => {
                let listed =
                    json!([{"uri": "tiny://text", "name": "text"}, {"uri": "tiny://blob", "name": "blob"}]);
                vec![result(id, cached(json!({"resources": listed})))]
            }
            "resources/templates/list" => {
                let listed = json!([{"uriTemplate": "tiny://{name}", "name": "any"}]);
                vec![result(id, cached(json!({"resourceTemplates": listed})))]
            }
            "prompts/list" if self.has(Fault::DropsThePrompts) => vec![error(id, -32603, "dropped")],
            "prompts/list" => vec![result(id, cached(json!({"prompts": self.prompts()})))],
            "prompts/get" if !self.has(Fault::GetsNoPrompts) => self.prompt(id, params),
            "completion/complete" if !self.has(Fault::DeclaresCompletions) => self.complete(id, params),
            "resources/read" if !self.has(Fault::ReadsNoResources) => self.read(id, params, modern, cached),
            _ if self.has(Fault::KnowsEveryMethod) => vec![result(id, json!({}))],
            _ if self.has(Fault::IgnoresUnknownMethods) => Vec::new(),
            _ if self.has(Fault::HangsOfUnknownMethods) => {
                self.hangs = true;
                Vec::new()
            }
            _ if self.has(Fault::UsesReservedCodes) => vec![error(id, -32050, "no such method")],
            _ => vec![error(id, -32601, "no such method")],
        }
    }

    fn prompts(&self) -> Vec<Value> {
        if self.has(Fault::GetsNoPrompts) {
            return Vec::new();
        }
        let word = json!({"name": "word", "required": true});
        let mut prompts = vec![
            json!({"name": "greet"}),
            json!({"name": "explain", "arguments": [word, {"name": "style"}]}),
        ];
        if self.has(Fault::RepeatsAPrompt) {
            prompts.push(json!({"name": "greet"}));
        }
        if self.has(Fault::PromptsByConnection) && self.connection.is_multiple_of(2) {
            prompts.pop();
        }
        prompts
    }

    fn prompt(&self, id: &Value, params: &Value) -> Vec<Value> {
        if self.has(Fault::WantsEmptyArguments) && params.get("arguments").is_none() {
            return vec![error(id, -32602, "arguments: expected an object")];
        }
        let word = params.pointer("/arguments/word").and_then(Value::as_str);
        let text = match (params["name"].as_str(), word) {
            (Some("greet"), _) if !self.has(Fault::RefusesItsPrompts) => "Say hello.".to_owned(),
            (Some("explain"), Some(word)) => format!("Explain {word}."),
            (Some("explain"), None) if self.has(Fault::FillsInArguments) => "Explain nothing.".to_owned(),
            (Some("explain"), None) => return vec![error(id, -32602, "word is missing")],
            _ if self.has(Fault::KnowsEveryPrompt) => String::new(),
            _ => return vec![error(id, -32602, "no such prompt")],
        };
        let said = json!([{"role": "user", "content": {"type": "text", "text": text}}]);
        vec![result(id, json!({"messages": said}))]
    }

    fn complete(&self, id: &Value, params: &Value) -> Vec<Value> {
        let of = &params["ref"];
        let known = match of["type"].as_str() {
            Some("ref/prompt") => of["name"] == "explain" || self.has(Fault::CompletesAnything),
            _ => of["uri"] == "tiny://{name}",
        };
        if !known {
            return vec![error(id, -32602, "nothing of that name")];
        }
        if self.has(Fault::RefusesCompletions) {
            return vec![error(id, -32603, "not today")];
        }
        let count = if self.has(Fault::CompletesWithTooMany) { 101 } else { 2 };
        let values: Vec<String> = (0..count).map(|place| format!("value {place}")).collect();
        vec![result(id, json!({"completion": {"values": values}}))]
    }

    fn list(&mut self, id: &Value, params: &Value, cached: impl Fn(Value) -> Value) -> Vec<Value> {
        if self.has(Fault::DropsTheList) {
            return Vec::new();
        }
        if self.has(Fault::ListsNothing) {
            return vec![error(id, -32603, "fetch failed")];
        }
        self.lists += 1;
        if self.has(Fault::ListsWithoutEnd) {
            return vec![result(id, cached(json!({"tools": [], "nextCursor": format!("{}", self.lists)})))];
        }
        if params.get("cursor").is_some() {
            return vec![error(id, -32602, "no such cursor")];
        }
        let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
        let read_only = json!({"readOnlyHint": true});
        let out_schema =
            json!({"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]});
        let add_schema = if self.has(Fault::HasABrokenSchema) {
            json!({"type": "object", "properties": {"a": {"type": "numeral"}}})
        } else {
            schema.clone()
        };
        let name = if self.has(Fault::NamesWithSpaces) { "add one" } else { "add" };
        let mut tools = vec![
            json!({"name": name, "inputSchema": add_schema, "outputSchema": out_schema, "annotations": read_only, "description": "adds one, caf\u{e9}"}),
            json!({"name": "note", "inputSchema": {"type": "object"}}),
            json!({"name": "twice", "inputSchema": schema, "annotations": read_only}),
            json!({"name": "wait", "inputSchema": {"type": "object"}, "annotations": read_only}),
        ];
        if self.has(Fault::RepeatsATool) {
            tools.push(tools[1].clone());
        }
        if self.has(Fault::ShufflesTools) && self.lists.is_multiple_of(2) {
            tools.reverse();
        }
        if self.has(Fault::ListsByConnection) {
            tools
                .push(json!({"name": format!("tool{}", self.connection), "inputSchema": {"type": "object"}}));
        }
        vec![result(id, cached(json!({"tools": tools})))]
    }

    fn call(&mut self, id: &Value, params: &Value) -> Vec<Value> {
        let Some(name) = params.get("name").and_then(Value::as_str) else {
            return vec![error(id, -32602, "name must be a string")];
        };
        let arguments = &params["arguments"];
        match name {
            "add" | "add one" | "twice" => {}
            "wait" => {
                self.waiting.push((id.clone(), Instant::now() + LASTS, params.clone()));
                return Vec::new();
            }
            _ if self.has(Fault::KnowsEveryTool) => {}
            _ if self.has(Fault::DiesOfUnknownTools) => {
                self.dead = true;
                return Vec::new();
            }
            _ => return vec![error(id, -32602, "no such tool")],
        }
        let lax = self.has(Fault::ValidatesNothing) || self.has(Fault::ValidatesTheFirst) && name == "twice";
        self.calls += 1;
        if self.has(Fault::DiesOfCalls) && self.calls > CALLS_BORNE {
            self.dead = true;
            return Vec::new();
        }
        if self.has(Fault::NeedsANetwork) {
            return vec![error(id, -32603, "getaddrinfo ENOTFOUND charts.contoso.com")];
        }
        if self.has(Fault::ThrowsFromTools) && arguments["a"].is_i64() {
            return vec![error(id, -32603, "the tool failed")];
        }
        if self.has(Fault::RefusesArguments) && !arguments["a"].is_i64() {
            return vec![error(id, -32602, "a must be an integer")];
        }
        let Some(a) = arguments["a"].as_i64().or(lax.then_some(0)) else {
            let blocks = json!([{"type": "text", "text": "a must be an integer"}]);
            return vec![result(id, json!({"content": blocks, "isError": true}))];
        };
        let sum = json!({"sum": a + 1});
        let structured = if self.has(Fault::StructuresWrongly) { json!({"sum": "two"}) } else { sum };
        let text = if self.has(Fault::StructuresWithoutText) {
            "the sum".to_owned()
        } else {
            structured.to_string()
        };
        let mut out = self.progress(params);
        out.push(result(
            id,
            json!({"content": [{"type": "text", "text": text}], "structuredContent": structured}),
        ));
        out
    }

    /// The lines at the end of a long call.
    fn waited(&self, id: &Value, params: &Value) -> Vec<u8> {
        let done = result(id, json!({"content": [{"type": "text", "text": "waited"}]}));
        let mut out = self.progress(params);
        let place = if self.has(Fault::TellsAfterTheEnd) { 0 } else { out.len() };
        out.insert(place, if self.modern { self.with_modern(vec![done]).remove(0) } else { done });
        self.lines(&out)
    }

    fn progress(&self, params: &Value) -> Vec<Value> {
        let Some(token) = params.pointer("/_meta/progressToken") else { return Vec::new() };
        let token = if self.has(Fault::TellsProgressOfNothing) { json!("of nothing") } else { token.clone() };
        let steps = if self.has(Fault::GoesBackwards) { [2, 1] } else { [1, 2] };
        let told = steps.map(|step| {
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": step}})
        });
        told.into_iter().take(if self.has(Fault::TellsOnce) { 1 } else { 2 }).collect()
    }

    fn read(&self, id: &Value, params: &Value, modern: bool, cached: impl Fn(Value) -> Value) -> Vec<Value> {
        let uri = params["uri"].as_str().unwrap_or_default();
        let not_found = if modern ^ self.has(Fault::UsesAnotherCode) { -32602 } else { -32002 };
        let blob = if self.has(Fault::BreaksBase64) { "not base64!" } else { "AAECAw==" };
        let contents = match uri {
            "tiny://text" if self.has(Fault::LosesResources) => return vec![error(id, not_found, "lost")],
            "tiny://text" | "tiny://blob" if self.has(Fault::LacksItsSources) => {
                return vec![error(id, -32603, "no connection")];
            }
            "tiny://text" => json!([{"uri": uri, "text": "hello"}]),
            "tiny://blob" => json!([{"uri": uri, "blob": blob}]),
            _ if self.has(Fault::FindsEverything) => json!([]),
            _ => return vec![error(id, not_found, "no such resource")],
        };
        vec![result(id, cached(json!({"contents": contents})))]
    }
}

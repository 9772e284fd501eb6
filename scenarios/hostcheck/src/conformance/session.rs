//! A plain host without a profile: it opens a connection in either era, asks, and waits for answers. It never
//! hides an answer, a refusal or a silence from its caller.

use std::time::Duration;

use schemas::Version;
use serde_json::{Map, Value, json};

use super::outcome::{Observed, Seen as _};
use super::wire::Wire;

/// Time limit of an answer.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// Time limit of the first answer of a new process: some programs are downloaded first.
pub(crate) const START_WITHIN: Duration = Duration::from_secs(30);
/// Time limit of the first answer of a server that did not answer in [`START_WITHIN`] before.
pub(crate) const MUTE_START_WITHIN: Duration = Duration::from_secs(4);
/// Time after which hosts take silence as an answer.
pub(crate) const SILENCE_AFTER: Duration = Duration::from_secs(3);
/// Time for which unwanted messages are awaited.
pub(crate) const GRACE: Duration = Duration::from_millis(250);

pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";

/// How a request was answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    /// Its `result`.
    Result(Value),
    /// Its `error`.
    Error(Value),
    /// An answer with the id of no request: the line.
    Misaddressed(String),
    /// No answer within the time.
    Silent,
    /// The server ended, or closed its stdout, before an answer.
    Gone,
}

impl Reply {
    pub(crate) fn result(&self) -> Option<&Value> {
        match self {
            Self::Result(result) => Some(result),
            _ => None,
        }
    }

    pub(crate) fn code(&self) -> Option<i64> {
        match self {
            Self::Error(error) => error.get("code").and_then(Value::as_i64),
            _ => None,
        }
    }

    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Result(_) | Self::Error(_))
    }

    /// Whether a call was refused, by an error or within a result.
    pub(crate) fn is_refused(&self) -> bool {
        self.code().is_some() || self.result().is_some_and(|result| result["isError"] == true)
    }

    /// What happened to a request that should have been refused with a code, as the end of a sentence.
    pub(crate) fn instead_of_the_code(&self, code: &str) -> String {
        match self {
            Self::Error(_) => format!("is refused with another code than {code}"),
            Self::Result(_) => "is not refused".to_owned(),
            Self::Misaddressed(_) | Self::Silent => "is not answered".to_owned(),
            Self::Gone => "ends the server".to_owned(),
        }
    }

    /// The answer, as a text.
    pub(crate) fn say(&self) -> Observed {
        let text = match self {
            Self::Result(result) => format!("result {result}"),
            // A result is the plain opposite of what was expected, but an error may tell why it came.
            Self::Error(error) => return Observed::telling(format!("error {error}")),
            Self::Misaddressed(line) => {
                format!("an answer whose id is not that of the request, which hosts drop: {line}")
            }
            Self::Silent => "no answer in the time that hosts wait".to_owned(),
            Self::Gone => GONE.to_owned(),
        };
        text.observed()
    }

    /// The same where a result may say only what an error should, so that its words tell something too.
    pub(crate) fn say_all(&self) -> Observed {
        match self {
            Self::Result(_) => Observed::telling(self.say().text),
            _ => self.say(),
        }
    }
}

/// What is seen of a server that ended, or closed its stdout, where an answer was due.
const GONE: &str = "no answer: the server ended or closed its stdout";
/// Before the last line of its stderr, where it has one.
const LAST_WORDS: &str = "; its stderr ends with: ";

/// Whether what was seen is the end of the server.
pub(crate) fn is_end(seen: &str) -> bool {
    seen.starts_with(GONE)
}

/// The name of this client. It belongs to no real host, so that no server treats it as one that it knows.
pub(crate) fn client_info() -> Value {
    json!({"name": "hostcheck", "version": env!("CARGO_PKG_VERSION")})
}

/// `_meta` of a request of the newer era.
pub(crate) fn modern_meta(version: &str) -> Value {
    json!({META_VERSION: version, META_CLIENT: client_info(), META_CAPABILITIES: {}})
}

/// Params of `initialize`.
pub(crate) fn initialize_params(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": client_info()})
}

/// A connection in one version of the protocol.
pub(crate) struct Session {
    pub(crate) wire: Wire,
    pub(crate) version: Version,
    pub(crate) capabilities: Value,
    /// The result of the handshake: of `initialize`, or of `server/discover`.
    pub(crate) opening: Value,
    /// Time limit of the handshake's answer.
    pub(crate) opens_within: Duration,
    /// Whether a handshake was made, so that any question can follow.
    pub(crate) is_open: bool,
    /// The question that used it last.
    pub(crate) question: &'static str,
    next_id: i64,
}

impl Session {
    /// A connection without a message so far.
    pub(crate) fn new(wire: Wire, version: Version) -> Self {
        let (capabilities, opening) = (json!({}), Value::Null);
        Self {
            wire,
            version,
            capabilities,
            opening,
            opens_within: START_WITHIN,
            is_open: false,
            question: "",
            next_id: 1,
        }
    }

    /// Makes the handshake of the version: `initialize` and `initialized`, or `server/discover`.
    pub(crate) async fn open(&mut self) -> Reply {
        let (method, params) = if self.version.is_modern() {
            ("server/discover", json!({}))
        } else {
            ("initialize", initialize_params(self.version.as_str()))
        };
        let from = self.wire.received.len();
        let id = self.start(method, params);
        // There was no other request, so an answer with another id is meant for this one.
        let answers = |message: &Value| {
            message.get("method").is_none()
                && ["result", "error"].iter().any(|name| message.get(name).is_some())
        };
        let first = self.wire.next_where(from, self.opens_within, answers).await;
        // If the server wrote nothing at all, there is nothing more to wait for.
        let more = if first.is_some() { SILENCE_AFTER } else { Duration::ZERO };
        let reply = match (self.answer_to(&id, from, more).await, first) {
            (Reply::Silent | Reply::Gone, Some(other)) => Reply::Misaddressed(other.to_string()),
            (reply, _) => reply,
        };
        if let Reply::Result(result) = &reply {
            self.opened(result);
            if !self.version.is_modern() {
                self.notify("notifications/initialized", None);
            }
        }
        reply
    }

    /// Takes what a handshake said: of [`open`](Self::open), or of another one that has the same effect.
    pub(crate) fn opened(&mut self, result: &Value) {
        self.capabilities = result.get("capabilities").cloned().unwrap_or_default();
        self.opening = result.clone();
        self.is_open = true;
    }

    pub(crate) fn declares(&self, capability: &str) -> bool {
        self.capabilities.get(capability).is_some_and(|value| !value.is_null())
    }

    /// Whether this connection has used this numeric id.
    pub(crate) fn has_asked(&self, id: Option<&Value>) -> bool {
        id.and_then(Value::as_i64).is_some_and(|id| (1..self.next_id).contains(&id))
    }

    pub(crate) fn new_id(&mut self) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        Value::from(id)
    }

    /// Adds to params what the version requires.
    pub(crate) fn params(&self, mut params: Value) -> Value {
        if self.version.is_modern() {
            let mut meta = modern_meta(self.version.as_str());
            if let (Some(Value::Object(own)), Some(meta)) = (params.get("_meta"), meta.as_object_mut()) {
                meta.extend(own.clone());
            }
            params["_meta"] = meta;
        }
        params
    }

    /// Sends a request and gives its id.
    pub(crate) fn start(&mut self, method: &str, params: Value) -> Value {
        let id = self.new_id();
        let request = self.request(&id, method, params);
        self.wire.send(&request);
        id
    }

    /// Builds a request without sending it.
    pub(crate) fn request(&self, id: &Value, method: &str, params: Value) -> Value {
        let params = self.params(params);
        let mut request = Map::new();
        request.insert("jsonrpc".to_owned(), json!("2.0"));
        request.insert("id".to_owned(), id.clone());
        request.insert("method".to_owned(), json!(method));
        if params.as_object().is_some_and(|params| !params.is_empty()) {
            request.insert("params".to_owned(), params);
        }
        Value::Object(request)
    }

    pub(crate) fn notify(&mut self, method: &str, params: Option<Value>) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        self.wire.send(&message);
    }

    /// Lets no other question use the connection: a server may finish a call although it was cancelled, and no other
    /// question should wait for that.
    pub(crate) fn retire(&mut self) {
        self.wire.close_input();
    }

    /// Cancels a request.
    pub(crate) fn cancel(&mut self, id: &Value, reason: &str) {
        self.notify("notifications/cancelled", Some(json!({"requestId": id, "reason": reason})));
    }

    /// Sends a request and waits for the answer.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Reply {
        self.ask_within(method, params, ANSWER_WITHIN).await
    }

    /// Sends a request and waits for the answer within a limit.
    pub(crate) async fn ask_within(&mut self, method: &str, params: Value, limit: Duration) -> Reply {
        let from = self.wire.received.len();
        let id = self.start(method, params);
        self.answer_to(&id, from, limit).await
    }

    /// Sends a request with exactly these params and waits for the answer within a limit.
    pub(crate) async fn ask_bare(&mut self, method: &str, params: Value, limit: Duration) -> Reply {
        let (id, from) = (self.new_id(), self.wire.received.len());
        self.wire.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.answer_to(&id, from, limit).await
    }

    /// The answer to a request, among the messages from `from` on.
    pub(crate) async fn answer_to(&mut self, id: &Value, from: usize, limit: Duration) -> Reply {
        let fits = |message: &Value| message.get("id") == Some(id) && message.get("method").is_none();
        let Some(message) = self.wire.next_where(from, limit, fits).await else {
            return if self.wire.is_silent_for_good() { Reply::Gone } else { Reply::Silent };
        };
        match message.get("result") {
            Some(result) => Reply::Result(result.clone()),
            None => Reply::Error(message.get("error").cloned().unwrap_or_default()),
        }
    }

    /// A method that every server answers and that changes nothing: `ping`, or `server/discover` in the newer
    /// era.
    pub(crate) fn sign_of_life(&self) -> &'static str {
        if self.version.is_modern() { "server/discover" } else { "ping" }
    }

    /// Sends a request that every server answers, and gives its id.
    pub(crate) fn start_sign_of_life(&mut self) -> Value {
        self.start(self.sign_of_life(), json!({}))
    }

    /// What came; where the server ended, the last line of its stderr tells why.
    pub(crate) fn say(&self, reply: &Reply) -> Observed {
        let stderr = self.wire.stderr();
        // A frame around a traceback has a last line without words.
        match stderr.lines().rfind(|line| line.contains(char::is_alphanumeric)) {
            Some(last) if *reply == Reply::Gone => {
                Observed::telling(format!("{GONE}{LAST_WORDS}{}", last.trim()))
            }
            _ => reply.say(),
        }
    }

    /// Whether the server still answers.
    pub(crate) async fn is_alive(&mut self) -> bool {
        let method = self.sign_of_life();
        self.ask(method, json!({})).await.is_answer()
    }

    /// This string member of every item of a list; nothing where a page has no result.
    pub(crate) async fn names(&mut self, method: &str, items: &str, member: &str) -> Vec<String> {
        self.list(method, items).await.map(|listed| listed.names(member)).unwrap_or_default()
    }

    /// The messages of the server from a place on.
    pub(crate) fn later(&self, from: usize) -> impl Iterator<Item = &Value> {
        self.wire.received.iter().skip(from).filter_map(|line| line.message.as_ref())
    }

    /// All items of a list over all its pages, or the first page without a result.
    pub(crate) async fn list(&mut self, method: &str, member: &str) -> Result<Listed, NoPage> {
        let mut listed = Listed::default();
        let mut cursor: Option<String> = None;
        while listed.pages < PAGES_MAX {
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
            let reply = self.ask(method, params).await;
            let Reply::Result(result) = reply else {
                return Err(NoPage { page: listed.pages + 1, cursor, reply });
            };
            listed.pages += 1;
            listed.items.extend(result.get(member).and_then(Value::as_array).into_iter().flatten().cloned());
            listed.scopes.extend(result.get("cacheScope").and_then(Value::as_str).map(str::to_owned));
            cursor = result.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            if cursor.is_none() {
                return Ok(listed);
            }
        }
        listed.endless = true;
        Ok(listed)
    }
}

/// Most pages of one list that are read.
const PAGES_MAX: usize = 200;

/// A page of a list without a result.
#[derive(Debug)]
pub(crate) struct NoPage {
    /// Counted from 1.
    page: usize,
    /// The cursor from the page before.
    cursor: Option<String>,
    /// What came instead of a result.
    pub(crate) reply: Reply,
}

impl NoPage {
    /// The fault, in a sentence.
    pub(crate) fn message(&self, capability: &str, method: &str) -> String {
        match &self.cursor {
            None => format!("`{capability}` is declared, and `{method}` has no result"),
            Some(cursor) => format!(
                "page {} of `{method}`, asked for with the server's own cursor {cursor:?}, has no result",
                self.page
            ),
        }
    }
}

/// A list with all its pages.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listed {
    pub(crate) items: Vec<Value>,
    pub(crate) pages: usize,
    /// The pages did not end.
    pub(crate) endless: bool,
    /// The `cacheScope` of each page.
    pub(crate) scopes: Vec<String>,
}

impl Listed {
    /// This string member of every item, in order.
    pub(crate) fn names(&self, member: &str) -> Vec<String> {
        self.items
            .iter()
            .filter_map(|item| item.get(member).and_then(Value::as_str))
            .map(str::to_owned)
            .collect()
    }
}

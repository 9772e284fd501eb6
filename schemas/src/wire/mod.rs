//! Judges one connection, every line in both directions: the version of each message, and the order of
//! messages. It never changes, delays or answers a message, and never panics on one.

mod events;
mod judge;
mod missed;
mod requests;
mod session;
mod stateless;

use std::collections::BTreeSet;

use serde_json::Value;

pub(crate) use requests::Id;

use requests::{Answers, Open, Progress, Requests, Stream};
use session::Session;

use crate::catalog::{Asked, catalog};
use crate::down::down;
use crate::message::{self, Kind};
use crate::verdict::{Findings, Verdict};
use crate::version::{Direction, Version};

/// The name of this project's server.
const OUR_SERVER: &str = "entraclaw";
/// Most names of declared experimental and extension capabilities that are kept.
const DECLARED_MAX: usize = 256;
const MODERN_VERSION: &[&str] = &["params", "_meta", "io.modelcontextprotocol/protocolVersion"];
const MODERN_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const MODERN_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

/// Judges a connection line by line, in the order in which the server read and wrote them.
///
/// Both eras may share the connection. A request with a version in `_meta` is judged by that version.
/// Everything else is judged by the version of the session, and before its answer by the one for which
/// `initialize` asks.
#[derive(Debug, Default)]
pub struct WireValidator {
    host: Requests,
    server: Requests,
    session: Option<Session>,
    /// Whether there was a request without a session.
    modern: bool,
    /// The capabilities in the answer to `server/discover`.
    discovered: Option<Value>,
    /// Experimental and extension capabilities that either side has declared.
    declared: BTreeSet<String>,
    /// Whether the lines are in the host's order, so that a message that crosses a cancellation is no fault.
    races: bool,
    /// Whether lines are missing, so that the order of messages is not known.
    gaps: bool,
    /// Whether the server is this project's own, so that its schemas apply.
    ours: bool,
}

impl WireValidator {
    /// A new connection, observed at the server.
    pub fn new() -> Self {
        Self::default()
    }

    /// A new connection, observed at the host: a message may cross a cancellation.
    pub fn at_host() -> Self {
        Self { races: true, ..Self::default() }
    }

    /// Judges the next line, with or without its newline.
    pub fn feed(&mut self, direction: Direction, line: &str) -> Verdict {
        self.feed_bytes(direction, line.as_bytes())
    }

    /// Judges the next line as bytes of the pipe.
    pub fn feed_bytes(&mut self, direction: Direction, line: &[u8]) -> Verdict {
        self.read(direction, line).0
    }

    /// Judges the next line as bytes of the pipe, and gives the parsed message; `None` if it is no JSON.
    pub fn read(&mut self, direction: Direction, line: &[u8]) -> (Verdict, Option<Value>) {
        let mut found = Findings::default();
        let message = message::read(line, &mut found);
        match &message {
            Some(message) => self.judge(direction, message, &mut found),
            None => self.unreadable(direction),
        }
        self.forgive(&mut found);
        (found.verdict(), message)
    }

    /// Judges the next message, which is already parsed.
    pub fn feed_value(&mut self, direction: Direction, message: &Value) -> Verdict {
        let mut found = Findings::default();
        self.judge(direction, message, &mut found);
        self.forgive(&mut found);
        found.verdict()
    }

    /// The current version for a message without one of its own.
    pub fn version(&self) -> Version {
        match &self.session {
            Some(session) => session.version,
            None if self.modern => Version::NEWEST,
            None => Version::NEWEST_LEGACY,
        }
    }

    fn judge(&mut self, direction: Direction, message: &Value, found: &mut Findings) {
        match message {
            Value::Array(batch) => {
                message::judge_batch(self.version(), batch, found);
                for (index, message) in batch.iter().enumerate() {
                    self.one(direction, message, &format!("/{index}"), found);
                }
            }
            _ => found.definition = self.one(direction, message, "", found),
        }
    }

    /// Judges one message; gives the name of its definition.
    fn one(&mut self, direction: Direction, message: &Value, at: &str, found: &mut Findings) -> &'static str {
        match message::kind(message) {
            Kind::Request | Kind::Notification => {
                let method = message::method(message).unwrap_or_default();
                let version = self.version_of_call(direction, message, method);
                let asked = None;
                let definition = message::judge_one(version, Some(direction), message, asked, at, found);
                let known = catalog(version).method(method);
                let request = known.map_or_else(
                    || message.get("id").is_some() && !method.starts_with("notifications/"),
                    |known| known.result.is_some(),
                );
                let meta = down(message, &["params", "_meta"]);
                if request {
                    self.remember_declared(version, message, meta);
                }
                if known.is_none_or(|known| known.extension.is_some()) {
                    self.undefined(version, message, method, at, found);
                }
                if request {
                    self.request(direction, version, message, method, at, found);
                } else {
                    self.notification(direction, version, message, method, at, found);
                }
                definition
            }
            Kind::Result | Kind::Error => {
                let id = message.get("id").and_then(Id::of);
                let ended = id.and_then(|id| {
                    let open = self.asker(direction.reverse()).end(&id)?;
                    Some((id, open))
                });
                let version = match &ended {
                    Some((_, open)) => answered_in(open, message),
                    None => self.version(),
                };
                let asked = ended.as_ref().map(|(_, open)| &open.asked);
                let definition = message::judge_one(version, Some(direction), message, asked, at, found);
                self.response(direction, version, message, ended, at, found);
                definition
            }
            Kind::Nothing => {
                self.unreadable(direction);
                message::judge_one(self.version(), Some(direction), message, None, at, found)
            }
        }
    }

    fn asker(&mut self, direction: Direction) -> &mut Requests {
        match direction {
            Direction::HostToServer => &mut self.host,
            Direction::ServerToHost => &mut self.server,
        }
    }

    fn unreadable(&mut self, direction: Direction) {
        let asker = self.asker(direction);
        asker.unreadable = asker.unreadable.saturating_add(1);
    }

    /// The version for a request or notification.
    fn version_of_call(&mut self, direction: Direction, message: &Value, method: &str) -> Version {
        if method == "initialize" {
            let named = down(message, &["params", "protocolVersion"]).and_then(Value::as_str);
            return legacy(named).unwrap_or(Version::NEWEST_LEGACY);
        }
        if direction == Direction::HostToServer
            && let Some(named) = down(message, MODERN_VERSION)
        {
            let named = named.as_str().and_then(|text| text.parse::<Version>().ok());
            return named.filter(|version| version.is_modern()).unwrap_or(Version::NEWEST);
        }
        if method == "server/discover" || method == "notifications/subscriptions/acknowledged" {
            return Version::NEWEST;
        }
        let params = &message["params"];
        let concerns = match method {
            "notifications/cancelled" => {
                params.get("requestId").and_then(Id::of).and_then(|id| {
                    // The server may end streams that the host has requested.
                    let own = self.asker(direction).get(&id).map(|open| open.version);
                    own.or_else(|| self.host.get(&id).map(|open| open.version))
                })
            }
            "notifications/progress" => params.get("progressToken").and_then(Id::of).and_then(|token| {
                self.asker(direction.reverse()).with_token(&token).map(|open| open.version)
            }),
            _ if direction == Direction::ServerToHost && stateless::tag(message).is_some() => {
                Some(Version::NEWEST)
            }
            _ => None,
        };
        concerns.unwrap_or_else(|| self.version())
    }

    /// Keeps the names under `experimental` and `extensions`.
    fn declare(&mut self, capabilities: &Value) {
        for kind in ["experimental", "extensions"] {
            for name in capabilities[kind].as_object().into_iter().flatten().map(|(name, _)| name) {
                if self.declared.len() < DECLARED_MAX && !self.declared.contains(name) {
                    self.declared.insert(name.clone());
                }
            }
        }
    }

    /// Whether a method belongs to a declared capability: `notifications/claude/channel` to `claude/channel`,
    /// `tasks/get` to `io.modelcontextprotocol/tasks`.
    fn stands_behind(&self, method: &str) -> bool {
        let method = method.strip_prefix("notifications/").unwrap_or(method);
        self.declared.iter().any(|name| {
            let family = match name.split_once('/') {
                Some((vendor, family)) if vendor.contains('.') => family,
                _ => name.as_str(),
            };
            method.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }
}

fn legacy(named: Option<&str>) -> Option<Version> {
    named?.parse::<Version>().ok().filter(|version| !version.is_modern())
}

/// The version of an answer: that of its request; the answer to `initialize` names its own.
fn answered_in(open: &Open, message: &Value) -> Version {
    if open.asked.method == "initialize" {
        let named = down(message, &["result", "protocolVersion"]).and_then(Value::as_str);
        return legacy(named).unwrap_or(open.version);
    }
    open.version
}

/// The state that is kept of a request.
fn opened(version: Version, message: &Value, method: &str) -> Open {
    let params = &message["params"];
    let meta = params.get("_meta");
    let told = |name: &str| meta.and_then(|meta| meta.get(name));
    let token = told("progressToken").and_then(Id::of);
    let listens = version.is_modern() && method == "subscriptions/listen";
    Open {
        asked: Asked { method: method.to_owned(), task: params.get("task").is_some() },
        version,
        cancelled: false,
        progress: token.map(|token| Progress { token, last: None }),
        events: (method == "events/stream").then(requests::Told::default),
        stream: listens.then(|| Stream { asked: params["notifications"].clone(), promised: None }),
        log: told(MODERN_LOG_LEVEL).is_some(),
        uri: params.get("uri").and_then(Value::as_str).map(str::to_owned),
        answers: told(MODERN_CAPABILITIES).map(Answers::of).unwrap_or_default(),
    }
}

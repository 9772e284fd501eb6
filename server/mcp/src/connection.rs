//! The state of one connection: the client, the open requests, and the queued output.
//!
//! All of it is plain state that one loop changes; it must never wait, read or write.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::answer::{ANSWER_BYTES_MAX, Answer};
use crate::asking::Asking;
use crate::era::{Era, META_SERVER};
use crate::framing::LINE_BYTES_MAX;
use crate::hosts::{self, HOSTS, HostRow, why_missing};
use crate::level::Level;
use crate::message::{Id, RpcError, notification, response};
use crate::outgoing::{OUT_BYTES_MAX, Outgoing};
use crate::paused::Paused;
use crate::receipt::Receipt;
use crate::roots::Roots;

/// The options of a connection, beside its providers.
pub struct Options {
    /// The name of this server for clients.
    pub name: &'static str,
    /// The version of this server for clients.
    pub version: String,
    /// The sets whose tools are not offered. A set that is not named here is offered, whatever its provider calls it.
    pub left_out_sets: BTreeSet<&'static str>,
    /// Why there may be no tool at all, in words that follow "there is none". It depends on the configuration.
    pub why_no_tools: &'static str,
    /// A problem that keeps the server from its work, with the fix; every tool then answers with it and does nothing.
    pub trouble: Option<String>,
    /// Our environment variables that a trouble may name. If the host is known to withhold one from its servers, the answer
    /// says that too.
    pub variables: &'static [&'static str],
    /// The bounds of the connection.
    pub limits: Limits,
    /// The table of known hosts.
    pub hosts: &'static [HostRow],
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "entraclaw",
            version: env!("CARGO_PKG_VERSION").to_owned(),
            left_out_sets: BTreeSet::new(),
            why_no_tools: "",
            trouble: None,
            variables: &[],
            limits: Limits::default(),
            hosts: HOSTS,
        }
    }
}

/// Bounds of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Longest line that is read, in bytes.
    pub line_bytes_max: usize,
    /// Most output queued for a slow host, in bytes; beyond it no more is made.
    pub out_bytes_max: usize,
    /// How long a host may read nothing while both directions are full, in milliseconds, before it counts as gone.
    pub stall_ms_max: u64,
    /// Most bytes of one tool answer's text.
    pub answer_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line_bytes_max: LINE_BYTES_MAX,
            out_bytes_max: OUT_BYTES_MAX,
            stall_ms_max: 60_000,
            answer_bytes_max: ANSWER_BYTES_MAX,
        }
    }
}

/// The session that `initialize` opened.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The version of the protocol.
    pub version: &'static str,
    /// The name that the client gives.
    pub client: String,
    /// The version that the client gives.
    pub client_version: String,
    /// The capabilities that the client declares.
    pub capabilities: Value,
    /// Whether the client has sent `notifications/initialized`; before that, nothing is sent unasked.
    pub ready: bool,
    /// The lowest level of log messages that the client wants.
    pub level: Level,
    /// The resources that the client has subscribed to.
    pub subscribed: BTreeSet<String>,
}

/// The request that an answer belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The request's id.
    pub id: Id,
    /// The rules that the answer follows.
    pub era: Era,
    pub(crate) batch: Option<u64>,
}

impl Route {
    /// Whether the request is part of a batch, whose answers are sent together.
    pub fn is_batched(&self) -> bool {
        self.batch.is_some()
    }
}

/// The client that makes a request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The request that the answer belongs to.
    pub route: Route,
    /// The name that the client gives; `None` if a request of the modern era gives none.
    pub client: Option<String>,
    /// The version that the client gives, or empty.
    pub version: String,
    /// The lowest level of log messages that the request itself asks for, in the modern era.
    pub log_level: Option<Level>,
    /// Whether the request declares the tasks extension.
    pub declares_tasks: bool,
    /// Whether the client shows its user forms.
    pub shows_forms: bool,
}

/// A request without an answer yet.
pub(crate) enum Open {
    /// Its provider answers it later.
    Held(Route),
    /// Its work is done beside the connection.
    Work {
        route: Route,
        number: u64,
        cancel: watch::Sender<bool>,
        /// The request that began it, if the client has sent it again since, and that one's token for progress.
        first: Option<Id>,
        token: Option<Value>,
    },
    /// A subscription to changes of these resources.
    Listen { resources: BTreeSet<String> },
}

/// A batch of requests, whose answers are sent together.
#[derive(Default)]
pub(crate) struct Batch {
    open: usize,
    answers: Vec<Value>,
    receipts: Vec<Receipt>,
}

impl Batch {
    /// A batch that is sent when `open` of its messages are handled.
    pub(crate) fn of(open: usize) -> Self {
        Self { open, ..Self::default() }
    }
}

/// Work that is done beside the connection, with its number.
pub(crate) type Work = BoxFuture<'static, (u64, Answer)>;

/// The state of one connection. Providers answer and notify through it.
pub struct Connection {
    /// The options of this connection.
    pub options: Options,
    /// The session that `initialize` opened; `None` before that, and in the modern era.
    pub opened: Option<Opened>,
    pub(crate) out: Outgoing<Receipt>,
    pub(crate) open: BTreeMap<Id, Open>,
    pub(crate) works: FuturesUnordered<Work>,
    pub(crate) batches: BTreeMap<u64, Batch>,
    pub(crate) asking: Asking,
    pub(crate) paused: Paused,
    counter: u64,
}

impl Connection {
    /// The folders of the client. There are none where it did not declare them or no provider wants them.
    pub fn roots(&self) -> Roots {
        self.asking.roots()
    }

    pub(crate) fn new(options: Options) -> Self {
        Self {
            opened: None,
            out: Outgoing::new(options.limits.out_bytes_max),
            open: BTreeMap::new(),
            works: FuturesUnordered::new(),
            batches: BTreeMap::new(),
            asking: Asking::default(),
            paused: Paused::new(),
            counter: 0,
            options,
        }
    }

    /// A number that was not used before on this connection.
    pub fn next_number(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// Whether the host reads the output. While it does not, no unasked message is made for it.
    pub fn has_room(&self) -> bool {
        self.out.has_room()
    }

    /// The session that `initialize` opened, once its client is ready for notifications.
    pub fn ready(&self) -> Option<&Opened> {
        self.opened.as_ref().filter(|opened| opened.ready)
    }

    /// The row of a client's host in the table, if it is known.
    pub fn host(&self, client: Option<&str>) -> Option<&'static HostRow> {
        hosts::row(self.options.hosts, client?)
    }

    /// Keeps a request open. Its provider answers it later, or is told that it was cancelled.
    pub fn hold(&mut self, route: &Route) {
        self.open.insert(route.id.clone(), Open::Held(route.clone()));
    }

    /// Closes a held request, which is about to be answered. Returns `false` if it was not open any more.
    pub fn release(&mut self, id: &Id) -> bool {
        self.open.remove(id).is_some()
    }

    /// Queues the one answer of a request. The receipts come back when it was sent.
    pub fn answer(&mut self, route: &Route, outcome: Result<Value, RpcError>, receipts: Vec<Receipt>) {
        let outcome = outcome.map(|result| self.in_era(route.era, result));
        let message = response(&route.id, outcome);
        match route.batch {
            None => self.out.push(&message, Some(route.id.clone()), receipts),
            Some(number) => {
                if let Some(batch) = self.batches.get_mut(&number) {
                    batch.answers.push(message);
                    batch.receipts.extend(receipts);
                }
                self.leave_batch(route.batch);
            }
        }
    }

    /// Queues a tool's answer.
    pub fn answer_tool(&mut self, route: &Route, answer: Answer, receipts: Vec<Receipt>) {
        self.answer(route, Ok(answer.into_result()), receipts);
    }

    /// Queues a notification that belongs to no request.
    pub fn notify(&mut self, method: &str, params: &Value) {
        self.out.push(&notification(method, params), None, Vec::new());
    }

    /// Queues a notification that belongs to the open request `id`, and is dropped if that is cancelled.
    pub fn notify_about(&mut self, id: &Id, method: &str, params: &Value) {
        self.out.push_about(&notification(method, params), id);
    }

    /// Takes one request out of its batch, and sends the batch after the last one.
    pub(crate) fn leave_batch(&mut self, number: Option<u64>) {
        let Some(number) = number else { return };
        let Some(batch) = self.batches.get_mut(&number) else { return };
        batch.open = batch.open.saturating_sub(1);
        if batch.open > 0 {
            return;
        }
        if let Some(Batch { answers, receipts, .. }) = self.batches.remove(&number)
            && !answers.is_empty()
        {
            self.out.push(&Value::Array(answers), None, receipts);
        }
    }

    /// Adds the members that the modern era requires in every result.
    pub fn in_era(&self, era: Era, mut result: Value) -> Value {
        if era == Era::Modern
            && let Value::Object(members) = &mut result
        {
            members.entry("resultType").or_insert_with(|| "complete".into());
            if let Value::Object(meta) = members.entry("_meta").or_insert_with(|| json!({})) {
                meta.insert(META_SERVER.to_owned(), self.server_info());
            }
        }
        result
    }

    /// Name and version of this server.
    pub(crate) fn server_info(&self) -> Value {
        json!({"name": self.options.name, "version": self.options.version})
    }

    /// A trouble, with its likely cause if the host is known to withhold a variable that it names from its servers.
    pub fn with_cause(&self, client: Option<&str>, trouble: String) -> String {
        let Some(variable) = self.options.variables.iter().find(|name| trouble.contains(**name)) else {
            return trouble;
        };
        let version = self.opened.as_ref().map_or("", |opened| opened.client_version.as_str());
        let why = self.host(client).and_then(|row| why_missing(row, version, variable));
        why.map_or(trouble.clone(), |why| format!("{trouble} ({why})"))
    }

    /// How long a host may read nothing.
    pub(crate) fn stall_limit(&self) -> Duration {
        Duration::from_millis(self.options.limits.stall_ms_max)
    }
}

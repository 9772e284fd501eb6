//! What one connection knows: who is there, which requests are open, and what is on its way out.
//!
//! All of it is plain state changed by one loop; nothing here waits, reads or writes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::answer::{ANSWER_BYTES_MAX, Answer};
use crate::era::{Era, META_SERVER};
use crate::framing::LINE_BYTES_MAX;
use crate::hosts::{self, HOSTS, HostRow, why_missing};
use crate::level::Level;
use crate::message::{Id, RpcError, notification, response};
use crate::outgoing::{OUT_BYTES_MAX, Outgoing};
use crate::receipt::Receipt;

/// What a connection needs beside its providers.
pub struct Options {
    /// This server's name, as it tells it to clients.
    pub name: &'static str,
    /// This server's version, as it tells it to clients.
    pub version: String,
    /// Which sets of tools there are; `None` for all.
    pub tool_sets: Option<BTreeSet<&'static str>>,
    /// Why there may be no tool at all, in words that follow "there is none"; the composer knows what was configured.
    pub why_no_tools: &'static str,
    /// What keeps the server from its work, with the fix; every tool then answers with it and does nothing.
    pub trouble: Option<String>,
    /// Variables of ours that a trouble may name. Where the host is known to keep one from its servers, that is said too.
    pub variables: &'static [&'static str],
    /// Bounds.
    pub limits: Limits,
    /// What is known of hosts.
    pub hosts: &'static [HostRow],
}

impl Default for Options {
    fn default() -> Self {
        Self {
            name: "entraclaw",
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tool_sets: None,
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
    /// Longest line read, in bytes.
    pub line_bytes_max: usize,
    /// Output queued for a slow host, in bytes, before nothing more is made for it.
    pub out_bytes_max: usize,
    /// How long a host may take nothing while both directions are full, in milliseconds, before it counts as gone.
    pub stall_ms_max: u64,
    /// Text of one tool answer, in bytes.
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
    /// The client's name, its own word.
    pub client: String,
    /// The client's version, its own word.
    pub client_version: String,
    /// What the client says it can do.
    pub capabilities: Value,
    /// The client has said `notifications/initialized`; nothing unasked is sent before.
    pub ready: bool,
    /// The lowest level of log messages that the client wants.
    pub level: Level,
    /// Resources whose changes it wants to be told of.
    pub subscribed: BTreeSet<String>,
}

/// Where an answer goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The request's id.
    pub id: Id,
    /// The rules that the answer follows.
    pub era: Era,
    pub(crate) batch: Option<u64>,
}

impl Route {
    /// Whether the request stands in a batch, whose answers leave together.
    pub fn is_batched(&self) -> bool {
        self.batch.is_some()
    }
}

/// Who makes a request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Where the answer goes.
    pub route: Route,
    /// The client's name, its own word; none in a request of the modern era that gives none.
    pub client: Option<String>,
    /// The client's version, its own word; empty when it gives none.
    pub version: String,
    /// The lowest level of log messages that the request asked for itself; the modern era's, else nothing.
    pub log_level: Option<Level>,
    /// The request declared the tasks extension.
    pub declares_tasks: bool,
}

/// A request without an answer yet.
pub(crate) enum Open {
    /// A provider answers it by itself.
    Held(Route),
    /// Its work is driven beside the connection.
    Work { route: Route, number: u64, cancel: watch::Sender<bool> },
    /// A subscription to changes of these resources.
    Listen { resources: BTreeSet<String> },
}

/// A batch of requests, answered together.
#[derive(Default)]
pub(crate) struct Batch {
    open: usize,
    answers: Vec<Value>,
    receipts: Vec<Receipt>,
}

impl Batch {
    /// A batch that is sent when `open` of its messages are dealt with.
    pub(crate) fn of(open: usize) -> Self {
        Self { open, ..Self::default() }
    }
}

/// Work that is done beside the connection, by its number.
pub(crate) type Work = BoxFuture<'static, (u64, Answer)>;

/// The state of one connection. Providers answer and tell through it.
pub struct Connection {
    /// What it was made with.
    pub options: Options,
    /// The session that `initialize` opened; none before, and none in the modern era.
    pub opened: Option<Opened>,
    pub(crate) out: Outgoing<Receipt>,
    pub(crate) open: BTreeMap<Id, Open>,
    pub(crate) works: FuturesUnordered<Work>,
    pub(crate) batches: BTreeMap<u64, Batch>,
    counter: u64,
}

impl Connection {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            opened: None,
            out: Outgoing::new(options.limits.out_bytes_max),
            open: BTreeMap::new(),
            works: FuturesUnordered::new(),
            batches: BTreeMap::new(),
            counter: 0,
            options,
        }
    }

    /// A number not used before on this connection.
    pub fn next_number(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// Whether the host takes what is written. While it does not, nothing unasked is made for it.
    pub fn has_room(&self) -> bool {
        self.out.has_room()
    }

    /// The session that `initialize` opened, once its client is ready to be told things.
    pub fn ready(&self) -> Option<&Opened> {
        self.opened.as_ref().filter(|opened| opened.ready)
    }

    /// What is known of a client's host.
    pub fn host(&self, client: Option<&str>) -> Option<&'static HostRow> {
        hosts::row(self.options.hosts, client?)
    }

    /// Keeps a request open. The provider that holds it answers it later, or hears that it was cancelled.
    pub fn hold(&mut self, route: &Route) {
        self.open.insert(route.id.clone(), Open::Held(route.clone()));
    }

    /// A request that was held open is about to have its answer. `false` when it was not open any more.
    pub fn release(&mut self, id: &Id) -> bool {
        self.open.remove(id).is_some()
    }

    /// Queues the one answer of a request. The receipts come back when it has left.
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

    /// Queues a notification that belongs to the open request `id`, and goes with it when that is cancelled.
    pub fn notify_about(&mut self, id: &Id, method: &str, params: &Value) {
        self.out.push_about(&notification(method, params), id);
    }

    /// One request less in its batch; the last one sends it.
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

    /// Adds what the modern era asks of every result.
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

    /// A trouble, with why it may be there where the host is known to keep a variable that it names from its servers.
    pub fn with_cause(&self, client: Option<&str>, trouble: String) -> String {
        let Some(variable) = self.options.variables.iter().find(|name| trouble.contains(**name)) else {
            return trouble;
        };
        let version = self.opened.as_ref().map_or("", |opened| opened.client_version.as_str());
        let why = self.host(client).and_then(|row| why_missing(row, version, variable));
        why.map_or(trouble.clone(), |why| format!("{trouble} ({why})"))
    }

    /// How long a host may take nothing.
    pub(crate) fn stall_limit(&self) -> Duration {
        Duration::from_millis(self.options.limits.stall_ms_max)
    }
}

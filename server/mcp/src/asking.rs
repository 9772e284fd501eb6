//! Requests of this server to the client of a session that `initialize` opened, and the folders that it tells.
//!
//! It must never ask for what the client did not declare, ask before the client is ready, nor wait: an answer that does
//! not come is given up, and one that is not waited for is ignored.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::connection::Connection;
use crate::message::Id;
use crate::session::Session;

/// The beginning of the ids of these requests. They are a space of their own: the client's ids are for its requests.
const ID: &str = "server-";
/// Most requests without an answer.
const OPEN_MAX: usize = 8;
/// How long a client may take to tell its folders; then it counts as one that tells none.
const ROOTS_PATIENCE: Duration = Duration::from_secs(10);
/// Most folders of a client that are kept, and most bytes of one's address.
const ROOTS_MAX: usize = 32;
const ROOT_BYTES_MAX: usize = 4 * 1024;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Roots,
}

impl What {
    fn method(self) -> &'static str {
        match self {
            Self::Roots => "roots/list",
        }
    }
}

#[derive(Debug)]
struct Open {
    what: What,
    until: Instant,
}

/// The requests of one connection that have no answer yet.
#[derive(Debug)]
pub(crate) struct Asking {
    open: BTreeMap<String, Open>,
    count: u64,
    roots: watch::Sender<Option<Vec<String>>>,
}

impl Default for Asking {
    fn default() -> Self {
        Self { open: BTreeMap::new(), count: 0, roots: watch::Sender::new(Some(Vec::new())) }
    }
}

impl Asking {
    /// When the next request is given up.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.open.values().map(|open| open.until).min()
    }

    fn overdue(&self, now: Instant) -> Option<String> {
        self.open.iter().find(|(_, open)| open.until <= now).map(|(id, _)| id.clone())
    }

    fn end(&mut self, what: What, result: Option<&Value>) {
        match what {
            What::Roots => {
                let roots = result.and_then(|result| result.get("roots")).and_then(Value::as_array);
                let uris = roots.into_iter().flatten().filter_map(|root| root.get("uri")?.as_str());
                let uris = uris.filter(|uri| uri.len() <= ROOT_BYTES_MAX).take(ROOTS_MAX);
                self.roots.send_replace(Some(uris.map(str::to_owned).collect()));
            }
        }
    }
}

/// The folders that the client of a session tells as its own, as they become known. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Roots(watch::Receiver<Option<Vec<String>>>);

impl Roots {
    /// Their addresses, in the client's order. It waits at most so long for an answer that is on its way, and is empty
    /// without one.
    pub async fn within(mut self, patience: Duration) -> Vec<String> {
        let known = tokio::time::timeout(patience, self.0.wait_for(Option::is_some)).await;
        known.ok().and_then(Result::ok).and_then(|known| known.clone()).unwrap_or_default()
    }
}

impl Connection {
    /// The folders of the client. There are none where it did not declare them or no provider wants them.
    pub fn roots(&self) -> Roots {
        Roots(self.asking.roots.subscribe())
    }

    fn ask(&mut self, what: What, patience: Duration) -> bool {
        if self.ready().is_none() || self.asking.open.len() >= OPEN_MAX {
            return false;
        }
        self.asking.count += 1;
        let id = format!("{ID}{}", self.asking.count);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": what.method()});
        self.asking.open.insert(id, Open { what, until: Instant::now() + patience });
        self.out.push(&message, None, Vec::new());
        true
    }
}

impl Session {
    /// Asks the client for its folders, if it declared that and a provider wants them.
    pub(crate) fn ask_roots(&mut self) {
        let Some(opened) = self.connection.ready() else { return };
        let declares = opened.capabilities.get("roots").is_some_and(Value::is_object);
        if !declares || !self.providers.iter().any(|provider| provider.wants_roots()) {
            return;
        }
        // An answer that is on its way may be older than the change.
        self.connection.asking.open.retain(|_, open| open.what != What::Roots);
        if self.connection.ask(What::Roots, ROOTS_PATIENCE) {
            self.connection.asking.roots.send_replace(None);
        }
    }

    /// Takes the client's answer to a request of this server.
    pub(crate) fn on_answered(&mut self, id: Option<&Id>, result: Option<&Value>) {
        let Some(Id::Text(id)) = id else { return };
        if let Some(open) = self.connection.asking.open.remove(id) {
            self.connection.asking.end(open.what, result);
        }
    }

    /// Gives up the requests whose time is over.
    pub(crate) fn give_up_asking(&mut self) {
        let now = Instant::now();
        while let Some(id) = self.connection.asking.overdue(now) {
            if let Some(open) = self.connection.asking.open.remove(&id) {
                tracing::info!(method = open.what.method(), "the client did not answer");
                self.connection.asking.end(open.what, None);
            }
        }
    }
}

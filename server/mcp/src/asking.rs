//! Requests of this server to the client of a session that `initialize` opened: for its folders, and for a word of its
//! user.
//!
//! It must never ask for what the client did not declare, ask before the client is ready, nor wait: an answer that does
//! not come is given up, and one that is not waited for is ignored.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::message::Id;
use crate::roots::Roots;
use crate::user::{Form, Word};

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
#[derive(Debug)]
enum What {
    Roots,
    /// A word of the user, and where it goes.
    Word(oneshot::Sender<Word>),
}

impl What {
    fn method(&self) -> &'static str {
        match self {
            Self::Roots => "roots/list",
            Self::Word(_) => "elicitation/create",
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
    /// The folders, as they become known.
    pub(crate) fn roots(&self) -> Roots {
        Roots::new(self.roots.subscribe())
    }

    /// The request for the client's folders; `None` if too many requests are open.
    pub(crate) fn ask_roots(&mut self) -> Option<Value> {
        // An answer that is on its way may be older than a change.
        self.open.retain(|_, open| !matches!(open.what, What::Roots));
        let request = self.ask(What::Roots, None, ROOTS_PATIENCE)?;
        self.roots.send_replace(None);
        Some(request)
    }

    /// The request for a word of the user. Where too many are open, there is no word.
    pub(crate) fn ask_user(&mut self, form: Form) -> Option<Value> {
        let Form { params, patience, word, .. } = form;
        if word.is_closed() {
            return None;
        }
        self.ask(What::Word(word), Some(params), patience)
    }

    fn ask(&mut self, what: What, params: Option<Value>, patience: Duration) -> Option<Value> {
        if self.open.len() >= OPEN_MAX {
            return None;
        }
        self.count += 1;
        let id = format!("{ID}{}", self.count);
        let mut request = json!({"jsonrpc": "2.0", "id": id, "method": what.method()});
        if let Some(params) = params {
            request["params"] = params;
        }
        self.open.insert(id, Open { what, until: Instant::now() + patience });
        Some(request)
    }

    /// Takes the client's answer to a request of this server.
    pub(crate) fn answered(&mut self, id: Option<&Id>, result: Option<&Value>) {
        let Some(Id::Text(id)) = id else { return };
        if let Some(open) = self.open.remove(id) {
            self.end(open.what, result);
        }
    }

    /// When the next request is given up.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.open.values().map(|open| open.until).min()
    }

    /// Gives up the requests whose time is over, and those for a word that is not wanted any more. Returns the ids of those
    /// that the client should stop asking its user.
    pub(crate) fn give_up(&mut self) -> Vec<String> {
        let now = Instant::now();
        let is_over =
            |open: &Open| open.until <= now || matches!(&open.what, What::Word(word) if word.is_closed());
        let mut withdrawn = Vec::new();
        while let Some(id) = self.open.iter().find(|(_, open)| is_over(open)).map(|(id, _)| id.clone()) {
            if let Some(open) = self.open.remove(&id) {
                tracing::info!(method = open.what.method(), "the client did not answer");
                if matches!(open.what, What::Word(_)) {
                    withdrawn.push(id);
                }
                self.end(open.what, None);
            }
        }
        withdrawn
    }

    fn end(&mut self, what: What, result: Option<&Value>) {
        match what {
            What::Roots => {
                let roots = result.and_then(|result| result.get("roots")).and_then(Value::as_array);
                let uris = roots.into_iter().flatten().filter_map(|root| root.get("uri")?.as_str());
                let uris = uris.filter(|uri| uri.len() <= ROOT_BYTES_MAX).take(ROOTS_MAX);
                self.roots.send_replace(Some(uris.map(str::to_owned).collect()));
            }
            What::Word(word) => {
                let _ = word.send(result.map_or(Word::None, Word::of));
            }
        }
    }
}

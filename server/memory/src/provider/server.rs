//! The provider itself: begins calls and readings, and answers when their work is done.
//! It must never answer a request twice, nor one that was cancelled.

use std::sync::Arc;
use std::time::Duration;

use entraclaw_mcp::connection::Route;
use entraclaw_mcp::message::{Object, RpcError};
use entraclaw_mcp::page::cacheable;
use entraclaw_mcp::{Answer, Begun, Call, Caller, Connection, Offer, Offers, Provider, Refusal};
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use rmcp::model::ErrorCode;
use serde_json::Value;
use tokio::time::{Instant, timeout_at};

use super::calls;
use super::failure::Failure;
use super::prompts::{READ, prompts, read_and_continue, result, summarize_and_save};
use super::resources::{CURRENT, Wanted, contents, resources, rpc_error, templates};
use super::shared::{ContextParts, From, Shared, agent_of};
use super::tools::{SET, tools};
use super::watch::{Looked, Watch};

/// How long a call waits for the host's answer about its folders.
const ROOTS_WAIT: Duration = Duration::from_secs(1);
/// How long before the host's limit a call answers that is not done.
const BEFORE_LIMIT: Duration = Duration::from_secs(2);
/// Most readings of resources and prompts at a time.
const READINGS_MAX: usize = 16;

/// What was done beside the connection.
enum Done {
    /// The answer of a request that was held open.
    Read(Route, Result<Value, RpcError>),
    /// A look at what clients listen to; `None` if it broke.
    Looked(Option<Looked>),
}

/// The provider `context`.
pub struct ContextProvider {
    shared: Arc<Shared>,
    /// Readings of resources and prompts, and looks.
    under_way: FuturesUnordered<BoxFuture<'static, Done>>,
    /// Readings that are done and not answered yet.
    done: Vec<Done>,
    watch: Watch,
}

impl ContextProvider {
    /// The provider from its parts. It touches no file.
    pub fn new(parts: ContextParts) -> Self {
        Self {
            shared: Arc::new(Shared::new(parts)),
            under_way: FuturesUnordered::new(),
            done: Vec::new(),
            watch: Watch::default(),
        }
    }

    /// Holds a request open and reads beside the connection.
    fn hold(
        &mut self,
        caller: &Caller,
        connection: &mut Connection,
        read: impl FnOnce(&Shared, &From) -> Result<Value, Failure> + Send + 'static,
    ) {
        let route = caller.route.clone();
        if self.under_way.len() + self.done.len() >= READINGS_MAX {
            let says =
                format!("{READINGS_MAX} readings are on their way already; wait for one, then try again");
            return connection.answer(&route, Err(RpcError::invalid_request(says)), Vec::new());
        }
        connection.hold(&route);
        let (work, era) = (self.work(connection, caller, read), caller.route.era);
        let work = async move {
            let read = work.await.unwrap_or_else(|| Err(broke()));
            Done::Read(route, read.map_err(|failure| rpc_error(&failure, era)))
        };
        self.under_way.push(work.boxed());
    }

    /// Does work beside the connection, with what the host tells of its folders.
    fn work<T: Send + 'static>(
        &self,
        connection: &Connection,
        caller: &Caller,
        work: impl FnOnce(&Shared, &From) -> T + Send + 'static,
    ) -> impl Future<Output = Option<T>> + Send + 'static {
        let (shared, client) = (self.shared.clone(), caller.client.clone());
        let family = connection.host(client.as_deref()).map(|row| row.family);
        let (agent, roots) = (family.and_then(agent_of), connection.roots());
        async move {
            let from = From { roots: roots.folders_within(ROOTS_WAIT).await, client, agent };
            shared.parts.beside.run(move || work(&shared, &from)).await
        }
    }
}

fn broke() -> Failure {
    Failure::new(
        "READ_ERROR",
        "the server failed within itself; the log says more, and a next call may succeed",
    )
}

impl Provider for ContextProvider {
    fn offers(&self) -> Offers {
        Offers {
            tools: tools().into_iter().map(|tool| Offer::new(SET, tool)).collect(),
            resources: resources(),
            templates: templates(),
            prompts: prompts(),
        }
    }

    fn call(&mut self, call: Call<'_>, connection: &mut Connection) -> Result<Begun, Refusal> {
        let work = calls::begin(call.tool, call.arguments).map_err(|says| Failure::params(says).text())?;
        let (until, tool) = (call.until - BEFORE_LIMIT, call.tool.to_owned());
        let work = self.work(connection, call.caller, work);
        Ok(Begun::work(async move {
            // A thread that has begun goes on if its time is over.
            match timeout_at(until, work).await {
                Ok(Some(done)) => done.unwrap_or_else(|failure| failure.answer()),
                Ok(None) => broke().answer(),
                Err(_) => Answer::error(&format!(
                    "READ_ERROR: {tool} takes longer than this call may; it goes on by itself (the first search reads all \
                     sessions), so look in a minute before you call it again"
                )),
            }
        }))
    }

    fn read(&mut self, uri: &str, caller: &Caller, connection: &mut Connection) -> bool {
        let Some(wanted) = Wanted::parse(uri) else { return false };
        let (uri, era) = (uri.to_owned(), caller.route.era);
        self.hold(caller, connection, move |shared, from| {
            let content = wanted?.read(shared, from)?;
            // It changes at any time, so no copy of it is worth keeping.
            Ok(cacheable(era, contents(&uri, &content), 0))
        });
        true
    }

    fn answer_prompt(
        &mut self,
        name: &str,
        _arguments: &Object,
        caller: &Caller,
        connection: &mut Connection,
    ) -> bool {
        if name != READ {
            return false;
        }
        let wanted = Wanted::parse(CURRENT);
        self.hold(caller, connection, move |shared, from| {
            let content = wanted.ok_or_else(broke)??.read(shared, from)?;
            Ok(result(&read_and_continue(&content.text)))
        });
        true
    }

    fn prompt(&mut self, name: &str, arguments: &Object, _caller: &Caller) -> Result<Value, RpcError> {
        if name == READ {
            return Err(RpcError::new(ErrorCode::INTERNAL_ERROR, broke().text()));
        }
        Ok(result(&summarize_and_save(arguments)?))
    }

    fn wants_roots(&self) -> bool {
        true
    }

    fn pump(&mut self, connection: &mut Connection) {
        for done in self.done.drain(..) {
            match done {
                Done::Read(route, outcome) => {
                    if connection.release(&route.id) {
                        connection.answer(&route, outcome, Vec::new());
                    }
                }
                Done::Looked(Some(looked)) => {
                    for uri in self.watch.looked(looked) {
                        connection.resource_changed(&uri);
                    }
                }
                Done::Looked(None) => self.watch = Watch::default(),
            }
        }
        self.watch.listen_to(connection.listened(), self.shared.parts.clock.now());
        if let Some(look) = self.watch.due_look() {
            let (shared, roots) = (self.shared.clone(), connection.roots());
            let work = async move {
                let from = From { roots: roots.folders_within(ROOTS_WAIT).await, ..From::default() };
                let beside = shared.parts.beside;
                Done::Looked(beside.run(move || look.take(&shared, &from)).await)
            };
            self.under_way.push(work.boxed());
        }
    }

    fn deadline(&self, _connection: &Connection) -> Option<Instant> {
        self.watch.deadline()
    }

    fn changed(&mut self, _has_room: bool) -> BoxFuture<'_, ()> {
        async move {
            if !self.done.is_empty() {
                return;
            }
            tokio::select! {
                biased;
                Some(done) = self.under_way.next(), if !self.under_way.is_empty() => self.done.push(done),
                () = self.watch.news() => {}
            }
        }
        .boxed()
    }
}

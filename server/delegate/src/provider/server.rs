//! The provider itself: begins calls, and sends what its client has to be told.
//! It must never answer a call twice, nor wait for the engine on the connection.

use entraclaw_inbox::journal::ConsumerName;
use entraclaw_mcp::message::Object;
use entraclaw_mcp::{Begun, Call, Caller, Connection, Era, Offers, Provider, Receipt, Refusal};
use entraclaw_work::Move;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout_at;

use super::calls::{At, begin, ended};
use super::handed::{Handed, Handing};
use super::notices::{self, Heard, Owned};
use super::tasks::TaskCalls;
use super::tools::{META_CONSUMER, offers};
use super::wait::Waiting;
use crate::engine::{Engine, Event, TaskView};
use crate::outbox::{Callers, Connected, Outbox};
use crate::source::Source;

/// The provider `delegate` of one connection.
pub struct DelegateProvider {
    engine: Engine,
    events: Option<Receiver<Event>>,
    heard: Heard,
    owned: Owned,
    handed: Handed,
    tasks: TaskCalls,
    outbox: Option<Outbox>,
    callers: Callers,
    /// This client among the callers, once it has called.
    connected: Option<Connected>,
    /// A look at the client's tasks after events were lost.
    catches_up: Option<BoxFuture<'static, Vec<TaskView>>>,
}

impl DelegateProvider {
    /// The provider over an engine.
    pub fn new(engine: Engine) -> Self {
        let events = Some(engine.events());
        Self {
            engine,
            events,
            heard: Heard::default(),
            owned: Owned::default(),
            handed: Handed::default(),
            tasks: TaskCalls::default(),
            outbox: None,
            callers: Callers::default(),
            connected: None,
            catches_up: None,
        }
    }

    /// The provider whose results go to the inbox by this outbox, which runs beside it, when their host does not come for them.
    pub fn with_outbox(engine: Engine, outbox: Outbox) -> Self {
        let callers = outbox.callers.clone();
        Self { outbox: Some(outbox), callers, ..Self::new(engine) }
    }

    fn handing(&self, connection: &mut Connection) -> Handing {
        Handing {
            engine: self.engine.clone(),
            callers: self.callers.clone(),
            handed: self.handed.clone(),
            outbox: self.outbox.clone(),
            number: connection.next_number(),
        }
    }

    fn catch_up(&mut self) {
        let (engine, tasks) = (self.engine.clone(), self.owned.all());
        self.catches_up = Some(
            async move {
                let mut views = Vec::new();
                for task in tasks {
                    views.extend(engine.poll(&task).await.ok());
                }
                views
            }
            .boxed(),
        );
    }
}

/// The consumer that a session of another process names.
fn reader(params: &Object) -> Option<ConsumerName> {
    let name = params.get("_meta")?.get(META_CONSUMER)?.as_str()?;
    ConsumerName::new(name).ok()
}

impl Provider for DelegateProvider {
    fn offers(&self) -> Offers {
        offers(&self.engine.capabilities())
    }

    fn declare(&self, era: Era, capabilities: &mut Value) {
        notices::declare(era, capabilities);
    }

    fn call(&mut self, call: Call<'_>, connection: &mut Connection) -> Result<Begun, Refusal> {
        let waits = call.tool == "chat";
        let until = call.until;
        let source = Source::host(call.caller.client.as_deref().unwrap_or_default());
        if self.connected.is_none() {
            self.connected = Some(self.callers.connected(&source));
        }
        let at = At {
            engine: self.engine.clone(),
            source,
            consumer: reader(call.params),
            owned: self.owned.clone(),
            handing: self.handing(connection),
            task: call.task,
            waiting: Waiting {
                takes_task: call.task == Some(Era::Modern),
                until: call.until,
                beyond: call.beyond,
                progress: call.progress,
                cancellation: call.cancellation,
            },
        };
        let work = begin(call.tool, call.arguments, at).map_err(|failure| failure.text())?;
        Ok(Begun::work(async move {
            let done = if waits {
                work.await
            } else {
                timeout_at(until, work).await.unwrap_or_else(|_| Err(ended()))
            };
            done.unwrap_or_else(|failure| failure.answer())
        }))
    }

    fn request(
        &mut self,
        caller: &Caller,
        method: &str,
        params: &Object,
        connection: &mut Connection,
    ) -> bool {
        if !method.starts_with("tasks/") {
            return false;
        }
        let handing = self.handing(connection);
        self.tasks.request(caller, method, params, (handing, self.owned.listed()), connection)
    }

    fn written(&mut self, receipt: &Receipt) {
        if let Some((task, answering)) = self.handed.take(receipt) {
            let engine = self.engine.clone();
            tokio::spawn(async move {
                // If it can't be written, the inbox brings the result with a mark.
                let _ = engine.claim(&task, Move::HandOn).await;
                drop(answering);
            });
        }
    }

    fn taken_back(&mut self, receipt: &Receipt) {
        drop(self.handed.take(receipt));
    }

    fn pump(&mut self, connection: &mut Connection) {
        for receipt in self.tasks.send(connection) {
            drop(self.handed.take(&receipt));
        }
        if connection.ready().is_none() {
            // A client that is not to be told anything unasked polls.
            self.heard = Heard::default();
            return;
        }
        while connection.has_room()
            && let Some((method, params)) = self.heard.next(&self.owned)
        {
            connection.notify(method, &params);
        }
    }

    fn changed(&mut self, has_room: bool) -> BoxFuture<'_, ()> {
        async move {
            loop {
                if has_room && (!self.heard.is_empty() || self.tasks.has_answers()) {
                    return;
                }
                if let Some(looking) = &mut self.catches_up {
                    let views = looking.await;
                    self.catches_up = None;
                    for view in views {
                        self.heard.catch_up(view);
                    }
                    continue;
                }
                let Some(events) = &mut self.events else {
                    self.tasks.next().await;
                    continue;
                };
                let heard = tokio::select! {
                    biased;
                    () = self.tasks.next() => continue,
                    heard = events.recv() => heard,
                };
                match heard {
                    Ok(event) => self.heard.hear(event),
                    Err(RecvError::Lagged(_)) => self.catch_up(),
                    Err(RecvError::Closed) => self.events = None,
                }
            }
        }
        .boxed()
    }
}

//! Tests the bot against a fake channel, on a paused clock, and its endpoint on real sockets.

mod answers;
mod endpoint;
mod intake;
mod messages;
mod people;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fake_microsoft::bot::{BotDelivery, BotEvent, BotPerson, BotSaying, FakeBot, SharedBot};
use futures_util::StreamExt as _;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use url::Url;

use super::*;
use crate::support::graph::{AGENT, ALICE, MALLORY, TENANT, asked, reply, start_of_time};
use crate::support::script::{Reply, Script, Seen};
use entraclaw_inbox::journal::JournalOptions;
use entraclaw_inbox::record::Record;
use entraclaw_inbox::source::SourceState;
use entraclaw_seams::clock::TokioClock;
use entraclaw_seams::storage::MemoryStorage;

/// A conversation of two, and one of several, by the fake's handles.
const PERSONAL: &str = "alice";
const GROUP: &str = "group-lunch";

type Fault = Box<dyn FnMut(&Seen) -> Option<Reply> + Send>;
type Waiting = (BotRequest, oneshot::Sender<BotReply>);

/// An endpoint whose requests come from the test.
struct Door {
    requests: mpsc::UnboundedSender<Waiting>,
    waiting: tokio::sync::Mutex<mpsc::UnboundedReceiver<Waiting>>,
}

impl Door {
    fn new() -> Self {
        let (requests, waiting) = mpsc::unbounded_channel();
        Self { requests, waiting: tokio::sync::Mutex::new(waiting) }
    }

    async fn bring(&self, request: BotRequest) -> BotReply {
        let (answer, answered) = oneshot::channel();
        self.requests.send((request, answer)).unwrap();
        answered.await.unwrap()
    }
}

impl Endpoint for Door {
    fn serve<'a>(&'a self, _: SocketAddr, reception: &'a dyn Reception) -> LocalBoxFuture<'a, io::Error> {
        Box::pin(async move {
            reception.listening();
            let mut waiting = self.waiting.lock().await;
            let mut at_work = FuturesUnordered::new();
            loop {
                tokio::select! {
                    biased;
                    Some((request, answer)) = waiting.recv() => at_work.push(async move {
                        // A client that went away reads no answer.
                        let _ = answer.send(reception.receive(request).await);
                    }),
                    Some(()) = at_work.next() => {}
                }
            }
        })
    }
}

/// A home folder with its journal, and the fake channel that the bot of this home is registered with.
struct House {
    fake: SharedBot,
    script: Arc<Script>,
    fault: Arc<Mutex<Option<Fault>>>,
    storage: MemoryStorage,
    journal: Journal,
    door: Arc<Door>,
    parts: BotParts,
    status: SourceStatus,
}

impl House {
    fn new() -> Self {
        let clock = Arc::new(TokioClock::starting_at(start_of_time()));
        let (fake, fault) = (SharedBot::new(FakeBot::default()), Arc::new(Mutex::new(None)));
        let (answering, faults, time) = (fake.clone(), fault.clone(), clock.clone());
        let script = Script::new(move |seen| {
            let broken: &mut Option<Fault> = &mut faults.lock().unwrap_or_else(PoisonError::into_inner);
            let broken = broken.as_mut().and_then(|fault| fault(seen));
            broken.unwrap_or_else(|| reply(answering.handle(time.now(), &asked(seen))))
        });
        let storage = MemoryStorage::new();
        let shared: Arc<dyn Storage> = Arc::new(storage.clone());
        let (journal, _) = Journal::open(shared.clone(), clock.clone(), JournalOptions::default()).unwrap();
        let door = Arc::new(Door::new());
        let parts = BotParts {
            transport: script.clone(),
            endpoint: door.clone(),
            storage: shared.clone(),
            clock,
            gate: Arc::new(Gate::new([(guid(TENANT), guid(ALICE))]).with_policy(shared)),
            agent: Agent { tenant_id: Some(guid(TENANT)), object_id: Some(guid(AGENT)) },
            options: settings(&fake),
        };
        let status = SourceStatus::default();
        Self { fake, script, fault, storage, journal, door, parts, status }
    }

    fn source(&self) -> BotSource {
        let credentials = Credentials::of(&self.parts.options).unwrap();
        BotSource::new(self.parts.clone(), credentials, self.status.clone())
    }

    /// Does something while the bot listens.
    async fn listening<T>(&self, work: impl Future<Output = T>) -> T {
        let mut source = self.source();
        tokio::select! {
            biased;
            never = source.run(&self.journal) => match never {},
            done = work => done,
        }
    }

    fn delivery(&self, from: &BotPerson, saying: &BotSaying) -> BotDelivery {
        let now = self.parts.clock.now();
        self.fake.with(|bot| bot.deliver(now, from, saying))
    }

    /// Brings an activity of a person and returns the status of the answer.
    async fn bring(&self, from: &BotPerson, saying: &BotSaying) -> u16 {
        let delivery = self.delivery(from, saying);
        self.door.bring(request(&delivery)).await.status
    }

    /// Brings an activity whose body was changed; the token says nothing of most of it.
    async fn bring_changed(&self, saying: &BotSaying, change: impl FnOnce(&mut Value)) -> u16 {
        let mut delivery = self.delivery(&person(ALICE), saying);
        let mut activity: Value = serde_json::from_slice(&delivery.body).unwrap();
        change(&mut activity);
        delivery.body = activity.to_string().into_bytes();
        self.door.bring(request(&delivery)).await.status
    }

    /// Answers what `fault` answers, instead.
    fn fault(&self, fault: impl FnMut(&Seen) -> Option<Reply> + Send + 'static) {
        *self.fault.lock().unwrap() = Some(Box::new(fault));
    }

    fn records(&self) -> Vec<Record> {
        self.journal.read_after(0, 100_000).unwrap()
    }

    fn texts(&self) -> Vec<String> {
        self.records().into_iter().map(|record| record.content_text_sanitized).collect()
    }

    fn state(&self) -> SourceState {
        self.status.get()
    }

    /// The details of the audit log's lines of one kind.
    fn details(&self, kind: &str) -> Vec<String> {
        let lines = self.interactions();
        let lines = lines.iter().filter(|line| line["kind"] == kind);
        lines.map(|line| line["detail"].as_str().unwrap_or_default().to_owned()).collect()
    }

    fn interactions(&self) -> Vec<Value> {
        let paths = self.storage.paths().into_iter().filter(|path| path.starts_with("interactions/"));
        let bytes: Vec<u8> = paths.flat_map(|path| self.storage.bytes(&path).unwrap()).collect();
        let text = String::from_utf8(bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn sent(&self) -> Vec<String> {
        self.fake.with(|bot| bot.sent().iter().map(|sent| sent.text.clone()).collect())
    }
}

fn settings(fake: &SharedBot) -> Settings {
    fake.with(|bot| {
        let ((app_id, tenant_id, secret), (openid_url, login_url)) = (bot.registration(), bot.urls());
        Settings {
            enabled: true,
            listen: "127.0.0.1:3978".parse().unwrap(),
            app_id: Some(guid(app_id)),
            tenant_id: Some(guid(tenant_id)),
            secret: Some(Secret::new(secret)),
            openid_url: Url::parse(openid_url).unwrap(),
            login_url: Url::parse(login_url).unwrap(),
        }
    })
}

fn request(delivery: &BotDelivery) -> BotRequest {
    BotRequest {
        method: "POST".to_owned(),
        path: "/api/messages".to_owned(),
        headers: delivery.headers.clone(),
        body: delivery.body.clone(),
        oversized: false,
    }
}

fn guid(text: &str) -> Guid {
    Guid::parse(text).unwrap()
}

fn person(object_id: &str) -> BotPerson {
    BotPerson { object_id: object_id.to_owned(), tenant_id: TENANT.to_owned(), name: "A person".to_owned() }
}

/// A message in the conversation of two.
fn text(text: &str) -> BotSaying {
    BotSaying { conversation: PERSONAL.to_owned(), text: text.to_owned(), ..BotSaying::default() }
}

/// A message in the group.
fn in_group(text: &str) -> BotSaying {
    BotSaying { conversation: GROUP.to_owned(), group: true, text: text.to_owned(), ..BotSaying::default() }
}

fn event(event: BotEvent) -> BotSaying {
    BotSaying { event, ..text("") }
}

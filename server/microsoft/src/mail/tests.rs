//! The source and the service against the fake Graph, on a paused clock.

mod service;
mod source;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fake_microsoft::graph::{ALL_SCOPES, FakeGraph, MailAuth, MailSpec, MailboxSpec, Request};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::*;
use crate::support::graph::{TestGraph, start_of_time};
use crate::support::script::Reply;
use entraclaw_inbox::journal::JournalOptions;
use entraclaw_inbox::record::Record;
use entraclaw_seams::clock::TokioClock;
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::MemoryStorage;

/// The agent's mailbox in the fake Graph. A test names a mail by its handle, also in the lines of requests.
#[derive(Clone)]
struct Mailbox {
    graph: TestGraph,
    /// The handles of the mails by id.
    handles: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Mailbox {
    fn new(spec: &MailboxSpec) -> Self {
        let graph = TestGraph::new();
        graph.with(|fake, now| fake.open_mailbox(now, spec).unwrap());
        Self { graph, handles: Arc::default() }
    }

    /// Alice's mail that is received in this second after the start, which may be over.
    async fn mail(&self, handle: &str, second: i64, spec: MailSpec) {
        self.mail_of("alice", handle, second, spec).await;
    }

    async fn mail_of(&self, from: &str, handle: &str, second: i64, spec: MailSpec) {
        let received = start_of_time() + SignedDuration::from_secs(second);
        let early = Duration::try_from(received.duration_since(self.graph.now()));
        tokio::time::sleep(early.unwrap_or_default()).await;
        let auth = if spec.auth == MailAuth::Auto { MailAuth::Pass } else { spec.auth };
        let text = spec.text.clone().or_else(|| Some(format!("text of {handle}")));
        let spec = MailSpec {
            handle: Some(handle.to_owned()),
            internet_id: spec.internet_id.clone().or_else(|| Some(format!("<{handle}@contoso.com>"))),
            text: text.filter(|_| spec.html.is_none()),
            auth,
            ..spec
        };
        let id = self.graph.with(|fake, now| {
            let received_ago_ms = u64::try_from(now.duration_since(received).as_millis()).unwrap();
            fake.mail(now, from, &MailSpec { received_ago_ms, ..spec }).unwrap()
        });
        self.handles.lock().unwrap().insert(id, handle.to_owned());
    }

    fn id(&self, handle: &str) -> String {
        let handles = self.handles.lock().unwrap();
        handles.iter().find_map(|(id, of)| (of == handle).then(|| id.clone())).unwrap()
    }

    /// Does something to the fake, whatever its time is.
    fn with<T>(&self, work: impl FnOnce(&mut FakeGraph) -> T) -> T {
        self.graph.with(|fake, _| work(fake))
    }

    fn remove(&self, handle: &str) {
        self.graph.with(|fake, now| fake.remove_mail(now, handle, true).unwrap());
    }

    /// The row of a mail that the delta tells.
    fn row(&self, handle: &str) -> Value {
        let url = format!("/v1.0/me/messages/{}?$select=id,receivedDateTime,from", self.id(handle));
        let asked = Request::new("GET", &url).bearer("token-1").header("Prefer", "IdType=\"ImmutableId\"");
        let row = self.graph.with(|fake, now| fake.handle(now, &asked)).json();
        assert!(row["id"] == self.id(handle) && row["receivedDateTime"].is_string(), "{row}");
        row
    }

    /// Puts rows before those of the next page of the delta.
    fn also_tell(&self, mut rows: Vec<Value>) {
        self.change_pages(move |page| {
            let own = page["value"].as_array_mut().unwrap();
            own.splice(0..0, rows.drain(..));
        });
    }

    /// Changes the pages of the delta.
    fn change_pages(&self, mut change: impl FnMut(&mut Value) + Send + 'static) {
        self.graph.change(move |line, mut reply| {
            if let Ok(response) = reply.outcome.as_mut()
                && response.status == 200
                && line.contains("/delta")
            {
                let mut page = serde_json::from_slice(&response.body).unwrap();
                change(&mut page);
                response.body = page.to_string().into_bytes();
            }
            reply
        });
    }

    /// Answers what `fault` answers, instead.
    fn fault(&self, mut fault: impl FnMut(&str) -> Option<Reply> + Send + 'static) {
        let handles = self.handles.clone();
        self.graph.fault(move |line| fault(&named(&handles.lock().unwrap(), line)));
    }

    /// Ends all faults and changes.
    fn heal(&self) {
        self.graph.fault(|_| None);
        self.graph.change(|_, reply| reply);
        self.with(|fake| fake.set_scopes(&ALL_SCOPES));
    }

    fn lines(&self) -> Vec<String> {
        let handles = self.handles.lock().unwrap();
        self.graph.lines().iter().map(|line| named(&handles, line)).collect()
    }
}

/// A text with the handles of mails in place of their ids.
fn named(handles: &BTreeMap<String, String>, text: &str) -> String {
    handles.iter().fold(text.to_owned(), |text, (id, handle)| text.replace(id, handle))
}

/// A home folder with its journal, a source and a service.
struct House {
    mailbox: Mailbox,
    storage: MemoryStorage,
    journal: Journal,
    parts: MailParts,
}

/// The defaults of the configuration, but switched on.
fn settings() -> Settings {
    Settings {
        enabled: true,
        poll_interval: Duration::from_secs(60),
        look_back: Duration::ZERO,
        authserv_id: None,
        messages_per_hour: 10,
    }
}

impl House {
    /// A house whose source has looked at the empty inbox, so that every later mail is news.
    async fn new() -> Self {
        Self::with(&MailboxSpec::default()).await
    }

    async fn with(spec: &MailboxSpec) -> Self {
        let house = Self::untouched(spec);
        house.run_ms(200).await;
        house
    }

    /// A house whose source was never started.
    fn untouched(spec: &MailboxSpec) -> Self {
        Self::at(&Mailbox::new(spec), MemoryStorage::new())
    }

    fn at(mailbox: &Mailbox, storage: MemoryStorage) -> Self {
        let clock = Arc::new(TokioClock::starting_at(mailbox.graph.now()));
        let shared: Arc<dyn Storage> = Arc::new(storage.clone());
        let (journal, _) = Journal::open(shared.clone(), clock.clone(), JournalOptions::default()).unwrap();
        let parts = MailParts {
            client: Arc::new(mailbox.graph.script.client_at(clock.clone())),
            storage: shared,
            clock,
            gate: Arc::new(MailGate::new(["alice@contoso.com"])),
            known: Arc::default(),
            options: settings(),
        };
        Self { mailbox: mailbox.clone(), storage, journal, parts }
    }

    /// Lets the source run for a while, then drops it in the middle of its work.
    async fn run_s(&self, seconds: u64) -> SourceStatus {
        self.run_ms(seconds * 1_000).await
    }

    async fn run_ms(&self, ms: u64) -> SourceStatus {
        let mut source = MailSource::new(self.parts.clone(), SourceStatus::default());
        let status = source.status();
        let _ = tokio::time::timeout(Duration::from_millis(ms), source.run(&self.journal)).await;
        status
    }

    /// A new process in the same home.
    fn restarted(self) -> Self {
        let storage = self.storage.new_process();
        self.storage.kill();
        drop(self.journal);
        Self::at(&self.mailbox, storage)
    }

    fn service(&self) -> GraphMailService {
        GraphMailService {
            client: self.parts.client.clone(),
            journal: self.journal.clone(),
            gate: self.parts.gate.clone(),
            random: Arc::new(SplitMix::seeded(1)),
            quota: Arc::new(Quota::new(2)),
        }
    }

    fn records(&self) -> Vec<Record> {
        self.journal.read_after(0, 100_000).unwrap()
    }

    /// The handles of the delivered mails.
    fn news(&self) -> Vec<String> {
        let handles = self.mailbox.handles.lock().unwrap();
        self.records().iter().map(|record| named(&handles, &record.id)).collect()
    }

    fn interactions(&self, kind: &str) -> Vec<Value> {
        let paths = self.storage.paths().into_iter().filter(|p| p.starts_with("interactions/"));
        let bytes: Vec<u8> = paths.flat_map(|p| self.storage.bytes(&p).unwrap()).collect();
        let all = String::from_utf8(bytes).unwrap();
        let lines = all.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["kind"] == kind).collect()
    }
}

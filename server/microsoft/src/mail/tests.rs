//! The source and the service against a small simulated mailbox, on a paused clock.

mod service;
mod source;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::support::script::{Reply, Script, Seen};
use entraclaw_inbox::journal::JournalOptions;
use entraclaw_inbox::record::Record;
use entraclaw_seams::clock::TokioClock;
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::MemoryStorage;

const EPOCH: &str = "2026-11-21T10:00:00Z";
const PASS: &str = "dmarc=pass header.from=contoso.com";

type Fault = Box<dyn FnMut(&str) -> Option<Reply> + Send>;

/// The state of the simulated Graph.
#[derive(Default)]
struct State {
    mails: BTreeMap<String, Value>,
    /// The rows of all pages; a link names one page, so asking again gives the same answer.
    pages: Vec<Vec<Value>>,
    /// A series has begun; another one returns everything again.
    begun: bool,
    fault: Option<Fault>,
    sent: Vec<String>,
    drafts: BTreeMap<String, Value>,
}

/// A mailbox that returns its pages behind links.
#[derive(Clone)]
struct Mini {
    script: Arc<Script>,
    state: Arc<Mutex<State>>,
}

impl Mini {
    fn new() -> Self {
        let state: Arc<Mutex<State>> = Arc::default();
        let answering = state.clone();
        let script =
            Script::new(move |seen| answering.lock().unwrap().answer(seen).after(Duration::from_millis(20)));
        Self { script, state }
    }

    /// A mail that was just received, and its row.
    fn mail(&self, id: &str, second: u32, change: &Value) -> Value {
        let person = json!({"emailAddress": {"name": "Alice", "address": "alice@contoso.com"}});
        let mut mail = json!({
            "id": id, "internetMessageId": format!("<{id}@contoso.com>"), "conversationId": "AAQk=",
            "subject": "", "receivedDateTime": format!("2026-11-21T10:{:02}:{:02}Z", second / 60, second % 60),
            "from": person, "sender": person, "body": {"contentType": "text", "content": format!("text of {id}")},
            "internetMessageHeaders": [{"name": "Authentication-Results", "value": PASS}],
        });
        for (name, value) in change.as_object().into_iter().flatten() {
            mail[name] = value.clone();
        }
        self.state.lock().unwrap().mails.insert(id.to_owned(), mail.clone());
        json!({"id": id, "receivedDateTime": mail["receivedDateTime"], "from": mail["from"]})
    }

    /// Sets the pages of the next round.
    fn round(&self, pages: Vec<Vec<Value>>) {
        self.state.lock().unwrap().pages.extend(pages);
    }

    fn fault(&self, fault: impl FnMut(&str) -> Option<Reply> + Send + 'static) {
        self.state.lock().unwrap().fault = Some(Box::new(fault));
    }

    fn heal(&self) {
        self.state.lock().unwrap().fault = None;
    }

    fn lines(&self) -> Vec<String> {
        self.script.seen().iter().map(Seen::line).collect()
    }
}

impl State {
    fn answer(&mut self, seen: &Seen) -> Reply {
        let line = seen.line();
        if let Some(reply) = self.fault.as_mut().and_then(|fault| fault(&line)) {
            return reply;
        }
        let url = url::Url::parse(&seen.request.url).unwrap();
        let path: Vec<String> = url.path_segments().unwrap().skip(1).map(str::to_owned).collect();
        let body: Value =
            seen.request.body.as_deref().map(|b| serde_json::from_slice(b).unwrap()).unwrap_or_default();
        match (seen.request.method.as_str(), path.iter().map(String::as_str).collect::<Vec<_>>().as_slice()) {
            ("GET", ["me"]) => Reply::json(200, &json!({"id": "x", "mail": "agent@contoso.com"})),
            ("GET", ["me", "mailFolders", "inbox", "messages", "delta"]) => self.page(&url),
            ("GET", ["me", "messages", id]) => match self.mails.get(*id).or_else(|| self.drafts.get(*id)) {
                Some(mail) => Reply::json(200, mail),
                None => Reply::error(404, "ErrorItemNotFound"),
            },
            ("POST", ["me", "messages"]) => self.draft(&body),
            ("POST", ["me", "messages", _, "createReply"]) => self.draft(&json!({"subject": "RE: x"})),
            ("PATCH", ["me", "messages", id]) => {
                for (name, value) in body.as_object().unwrap() {
                    self.drafts.get_mut(*id).unwrap()[name] = value.clone();
                }
                Reply::json(200, &json!({}))
            }
            ("POST", ["me", "messages", id, "send"]) => {
                let draft = self.drafts.get_mut(*id).unwrap();
                if draft["isDraft"] == false {
                    return Reply::error(400, "ErrorInvalidOperation");
                }
                draft["isDraft"] = json!(false);
                self.sent.push((*id).to_owned());
                Reply::raw(202, "")
            }
            _ => Reply::error(404, "NoSuchRoute"),
        }
    }

    fn draft(&mut self, body: &Value) -> Reply {
        let id = format!("draft-{}", self.drafts.len());
        let mut draft = body.clone();
        draft["id"] = json!(id);
        draft["isDraft"] = json!(true);
        self.drafts.insert(id, draft.clone());
        Reply::json(201, &draft)
    }

    fn page(&mut self, url: &url::Url) -> Reply {
        let asked =
            url.query_pairs().find_map(|(name, n)| (name == "$t").then(|| n.parse::<usize>().unwrap()));
        let again = asked.is_none() && std::mem::replace(&mut self.begun, true);
        let (rows, next) = match asked.unwrap_or(0) {
            _ if again => (self.pages.concat(), self.pages.len()),
            n => (self.pages.get(n).cloned().unwrap_or_default(), self.pages.len().min(n + 1)),
        };
        let name = if next < self.pages.len() { "@odata.nextLink" } else { "@odata.deltaLink" };
        let link = format!("https://graph.microsoft.com/v1.0/me/mailFolders/inbox/messages/delta?$t={next}");
        Reply::json(200, &json!({"value": rows, name: link}))
    }
}

/// A home folder with its journal, a source and a service.
struct House {
    mini: Mini,
    storage: MemoryStorage,
    journal: Journal,
    parts: MailParts,
    clock: Arc<TokioClock>,
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
    fn new() -> Self {
        let mini = Mini::new();
        let clock = Arc::new(TokioClock::starting_at(EPOCH.parse().unwrap()));
        Self::at(&mini, MemoryStorage::new(), clock)
    }

    fn at(mini: &Mini, storage: MemoryStorage, clock: Arc<TokioClock>) -> Self {
        let shared: Arc<dyn Storage> = Arc::new(storage.clone());
        let (journal, _) = Journal::open(shared.clone(), clock.clone(), JournalOptions::default()).unwrap();
        let parts = MailParts {
            client: Arc::new(mini.script.client_at(clock.clone())),
            storage: shared,
            clock: clock.clone(),
            gate: Arc::new(MailGate::new(["alice@contoso.com"])),
            known: Arc::default(),
            options: settings(),
        };
        Self { mini: mini.clone(), storage, journal, parts, clock }
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
        Self::at(&self.mini, storage, self.clock)
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

    fn ids(&self) -> Vec<String> {
        self.records().into_iter().map(|record| record.id).collect()
    }

    fn interactions(&self, kind: &str) -> Vec<Value> {
        let paths = self.storage.paths().into_iter().filter(|p| p.starts_with("interactions/"));
        let bytes: Vec<u8> = paths.flat_map(|p| self.storage.bytes(&p).unwrap()).collect();
        let all = String::from_utf8(bytes).unwrap();
        let lines = all.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.filter(|line| line["kind"] == kind).collect()
    }
}

//! A host made of raw lines, a journal in memory, and an outbox that remembers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use entraclaw_inbox::journal::{Journal, JournalOptions};
use entraclaw_inbox::provider::{SessionOptions, serve};
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_inbox::tool::{MailProvider, MailService, Outbox, OutgoingTeams, SendError, Sent};
use entraclaw_mcp::Exit;
use entraclaw_seams::clock::{Clock, TokioClock};
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::MemoryStorage;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// The version that a host tells: new enough for a push, too old to park a call.
const VERSION: &str = "2.1.80";

/// Longer than anything here should take.
const PATIENCE: Duration = Duration::from_secs(1_000);

/// An outbox that answers what it was told to, after a while.
#[derive(Default)]
pub(crate) struct FakeOutbox {
    pub(crate) sent: Mutex<Vec<OutgoingTeams>>,
    pub(crate) outcomes: Mutex<VecDeque<Result<Sent, SendError>>>,
    pub(crate) takes: Mutex<Duration>,
}

impl Outbox for FakeOutbox {
    fn send_teams_message(&self, message: OutgoingTeams) -> BoxFuture<'static, Result<Sent, SendError>> {
        self.sent.lock().unwrap().push(message);
        let number = self.sent.lock().unwrap().len();
        let sent = Sent { message_id: format!("sent-{number}"), ts: "2026-01-01T00:00:00Z".to_owned() };
        let outcome = self.outcomes.lock().unwrap().pop_front().unwrap_or(Ok(sent));
        let takes = *self.takes.lock().unwrap();
        async move {
            tokio::time::sleep(takes).await;
            outcome
        }
        .boxed()
    }
}

/// A home folder with a journal in it; it outlives sessions.
pub(crate) struct Home {
    pub(crate) journal: Journal,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) outbox: Arc<FakeOutbox>,
    pub(crate) mail: Option<Arc<dyn MailService>>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let clock: Arc<dyn Clock> =
            Arc::new(TokioClock::starting_at("2026-01-01T00:00:00Z".parse().unwrap()));
        let (journal, _) =
            Journal::open(Arc::new(MemoryStorage::new()), clock.clone(), JournalOptions::default()).unwrap();
        Self { journal, clock, outbox: Arc::default(), mail: None }
    }

    /// Messages `m<n>` from Alice arrive in one go.
    pub(crate) fn receive(&self, numbers: impl IntoIterator<Item = u32>) {
        self.receive_texts(numbers.into_iter().map(|n| (format!("m{n}"), format!("text {n}"))));
    }

    pub(crate) fn receive_texts(&self, messages: impl IntoIterator<Item = (String, String)>) {
        let drafts = messages.into_iter().map(|(id, text)| draft(&id, &text)).collect();
        self.journal.append(drafts).unwrap();
    }

    pub(crate) fn options(&self) -> SessionOptions {
        let mut options = SessionOptions::new(
            self.journal.clone(),
            Arc::new(SplitMix::seeded(7)),
            self.clock.clone(),
            self.outbox.clone(),
        );
        "0.0.0".clone_into(&mut options.connection.version);
        if let Some(mail) = &self.mail {
            options.providers.push(Box::new(MailProvider(mail.clone())));
        }
        options
    }

    /// A host that has said nothing yet.
    pub(crate) fn connect(&self) -> Host {
        Host::start(self.options(), 64 * 1024)
    }

    /// A host that has opened a session and been answered.
    pub(crate) async fn host(&self, client: &str) -> Host {
        self.host_of(client, VERSION).await
    }

    pub(crate) async fn host_of(&self, client: &str, client_version: &str) -> Host {
        let mut host = self.connect();
        let mut opening = initialize(client, "2025-11-25");
        opening["params"]["clientInfo"]["version"] = client_version.into();
        host.open_with(opening).await;
        host
    }
}

pub(crate) fn draft(id: &str, text: &str) -> Draft {
    let meta = [("chat_id", "chat-1"), ("message_id", id), ("user", "Alice"), ("ts", "2026-01-01T00:00:00Z")];
    Draft {
        key: format!("teams/chat-1/{id}"),
        id: id.to_owned(),
        channel: Channel::Teams,
        chat_id: "chat-1".to_owned(),
        from: "Alice".to_owned(),
        ts: "2026-01-01T00:00:00Z".to_owned(),
        content_text_sanitized: text.to_owned(),
        meta: meta
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
        edit_of: None,
        deleted: false,
    }
}

/// The far end of the pipes.
pub(crate) struct Host {
    pub(crate) to_server: Option<DuplexStream>,
    pub(crate) from_server: BufReader<DuplexStream>,
    pub(crate) server: JoinHandle<Exit>,
}

impl Host {
    pub(crate) fn start(options: SessionOptions, pipe_bytes: usize) -> Self {
        let (to_server, server_in) = tokio::io::duplex(pipe_bytes);
        let (server_out, from_server) = tokio::io::duplex(pipe_bytes);
        let server = tokio::spawn(serve(options, server_in, server_out));
        Self { to_server: Some(to_server), from_server: BufReader::new(from_server), server }
    }

    pub(crate) async fn open(&mut self, client: &str, version: &str) {
        self.open_with(initialize(client, version)).await;
    }

    pub(crate) async fn open_with(&mut self, opening: Value) {
        let version = opening["params"]["protocolVersion"].clone();
        self.send(opening).await;
        let answer = self.next().await;
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        self.settle().await;
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.send_bytes(format!("{message}\n").as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        self.to_server.as_mut().unwrap().write_all(bytes).await.unwrap();
    }

    pub(crate) async fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        self.send(json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})).await;
    }

    /// Calls a tool; `id` is any JSON id.
    pub(crate) async fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: Value) {
        self.request(id, "tools/call", json!({"name": tool, "arguments": arguments})).await;
    }

    /// Calls a tool and returns what its text holds.
    pub(crate) async fn ask(&mut self, id: impl Into<Value>, tool: &str, arguments: Value) -> Value {
        self.call(id, tool, arguments).await;
        tool_json(&self.next_answer().await)
    }

    pub(crate) async fn cancel(&mut self, id: impl Into<Value>, reason: Option<&str>) {
        let mut params = json!({"requestId": id.into()});
        if let Some(reason) = reason {
            params["reason"] = reason.into();
        }
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
        self.settle().await;
    }

    /// The next message, whatever it is.
    pub(crate) async fn next(&mut self) -> Value {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.from_server.read_line(&mut line)).await.expect("nothing came");
        assert!(read.unwrap() > 0, "the server has ended");
        assert!(line.ends_with('\n') && !line.ends_with("\r\n"), "{line:?}");
        serde_json::from_str(&line).unwrap()
    }

    /// The next answer; notifications before it are passed over.
    pub(crate) async fn next_answer(&mut self) -> Value {
        loop {
            let message = self.next().await;
            if message.get("id").is_some() {
                return message;
            }
        }
    }

    /// Whether nothing comes for so long.
    pub(crate) async fn quiet(&mut self, seconds: u64) {
        let came = timeout(Duration::from_secs(seconds), self.from_server.fill_buf()).await;
        if let Ok(bytes) = came {
            panic!("came: {}", String::from_utf8_lossy(bytes.unwrap()));
        }
    }

    /// Lets the server do all that it can do now.
    pub(crate) async fn settle(&mut self) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    /// Closes the server's input and returns what it still wrote.
    pub(crate) async fn finish(mut self) -> (Vec<Value>, Exit) {
        drop(self.to_server.take());
        let mut text = String::new();
        self.from_server.read_to_string(&mut text).await.unwrap();
        let lines = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        (lines, self.server.await.unwrap())
    }
}

pub(crate) fn initialize(client: &str, version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": client, "version": VERSION}
    }})
}

/// The `_meta` of a modern request.
pub(crate) fn modern_meta(client: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": client, "version": "1"}
    })
}

/// What the text block of a tool's answer holds.
#[track_caller]
pub(crate) fn tool_json(answer: &Value) -> Value {
    let result = &answer["result"];
    assert!(result.get("isError").is_none(), "{answer}");
    assert!(result.get("structuredContent").is_none(), "{answer}");
    serde_json::from_str(tool_text(answer)).unwrap()
}

/// The text block of a tool's answer.
#[track_caller]
pub(crate) fn tool_text(answer: &Value) -> &str {
    let content = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(content.len(), 1, "{answer}");
    let text = content[0]["text"].as_str().unwrap();
    assert!(text.ends_with('\n'));
    text
}

/// Ids of the messages in a tool's answer, with marks: `m1`, `m1 redelivered`, `m1 pushed`.
pub(crate) fn ids(answer: &Value) -> Vec<String> {
    let shown = |message: &Value| {
        let mut id = message["id"].as_str().unwrap().to_owned();
        for mark in ["redelivered", "pushed"] {
            if message.get(mark).is_some() {
                assert_eq!(message[mark], true);
                id = format!("{id} {mark}");
            }
        }
        id
    };
    answer["messages"].as_array().unwrap().iter().map(shown).collect()
}

/// Sends `input` after a session of `version` was opened (none when empty), closes the input, and compares every
/// line that came with `expected`: objects may have more members, strings ending in `…` are beginnings.
#[track_caller]
pub(crate) fn check(version: &str, input: &[&str], expected: &[&str]) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let got = runtime.block_on(async {
        let mut host = Home::new().connect();
        if !version.is_empty() {
            host.open("some-host", version).await;
        }
        for line in input {
            host.send_bytes(format!("{line}\n").as_bytes()).await;
        }
        host.settle().await;
        let (lines, exit) = host.finish().await;
        assert_eq!(exit, Exit::InputClosed);
        lines
    });
    let shown: Vec<String> = got.iter().map(Value::to_string).collect();
    assert_eq!(got.len(), expected.len(), "answers:\n{}", shown.join("\n"));
    for (got, expected) in got.iter().zip(expected) {
        let wanted: Value = serde_json::from_str(expected).unwrap();
        assert!(matches(&wanted, got), "expected {wanted}\ngot      {got}");
    }
}

fn matches(wanted: &Value, got: &Value) -> bool {
    match (wanted, got) {
        (Value::Object(wanted), Value::Object(got)) => {
            wanted.iter().all(|(key, value)| got.get(key).is_some_and(|got| matches(value, got)))
        }
        (Value::Array(wanted), Value::Array(got)) => {
            wanted.len() == got.len() && wanted.iter().zip(got).all(|(wanted, got)| matches(wanted, got))
        }
        (Value::String(wanted), Value::String(got)) => match wanted.strip_suffix('…') {
            Some(beginning) => got.starts_with(beginning),
            None => wanted == got,
        },
        (wanted, got) => wanted == got,
    }
}

//! The server's rooms as they are joined in one machine: three sessions of two consumers, each in a process of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use entraclaw_inbox::journal::{ConsumerName, Journal, JournalError, JournalOptions, Look, RetentionPolicy};
use entraclaw_inbox::notice::{HookAsk, NoticeParts, hook};
use entraclaw_inbox::provider::{SessionOptions, serve};
use entraclaw_inbox::record::Draft;
use entraclaw_mcp::Exit;
use entraclaw_seams::clock::{Clock, TokioClock};
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::{Crash, MemoryStorage, Storage};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::model::{Model, Sight};
use crate::support::{FakeOutbox, draft, initialize};

/// The sessions' hosts: two of one consumer, which pushes reach, and one which they don't.
pub(super) const CLIENTS: [&str; 3] = ["claude-code", "copilot-cli", "claude-code"];
/// The consumers, and the hook that each host runs when a turn ends.
const CONSUMERS: [(&str, &str); 2] = [("claude-code", "Stop"), ("copilot-cli", "agentStop")];
/// Texts that every poll asks for again.
const OVERLAP: usize = 2;
/// Pulls that must be enough to get everything.
const PULLS_MAX: usize = 60;

/// A calendar that can be turned.
struct Calendar {
    clock: TokioClock,
    ahead_h: AtomicI64,
}

impl Clock for Calendar {
    fn now(&self) -> Timestamp {
        self.clock.now() + SignedDuration::from_hours(self.ahead_h.load(Ordering::Relaxed))
    }
}

/// One process with its connection.
struct Live {
    process: MemoryStorage,
    journal: Journal,
    to_server: DuplexStream,
    from_server: DuplexStream,
    unread: Vec<u8>,
    server: JoinHandle<Exit>,
    /// The last answer with messages: the id of its call, and what it showed.
    last: Option<(u64, Vec<Sight>)>,
}

pub(super) struct World {
    disk: MemoryStorage,
    calendar: Arc<Calendar>,
    sessions: [Option<Live>; 3],
    /// What people wrote, as the source gives it out.
    source: Vec<Draft>,
    /// How much of it the source needs not ask for again.
    polled: usize,
    /// How much of it is of an earlier day: a poll asks for the last minute again, not for yesterday.
    yesterdays: usize,
    disk_fails: bool,
    /// Whether fewer may be read than were.
    set_back: bool,
    calls: u64,
    pub(super) model: Model,
}

impl World {
    pub(super) async fn new() -> Self {
        let clock = TokioClock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
        let mut world = Self {
            disk: MemoryStorage::new(),
            calendar: Arc::new(Calendar { clock, ahead_h: AtomicI64::new(0) }),
            sessions: [None, None, None],
            source: Vec::new(),
            polled: 0,
            yesterdays: 0,
            disk_fails: false,
            set_back: false,
            calls: 0,
            model: Model::default(),
        };
        world.start_all().await;
        world
    }

    fn options() -> JournalOptions {
        JournalOptions {
            window_messages_max: 7,
            segment_bytes_max: 4_000,
            consumer_bytes_max: 1_500,
            ..JournalOptions::default()
        }
    }

    /// Starts what does not run; on a disk that fails it may stay so.
    async fn start_all(&mut self) {
        for (at, client) in CLIENTS.iter().enumerate() {
            if self.sessions[at].is_none() {
                self.sessions[at] = self.start(client).await;
            }
        }
    }

    async fn start(&mut self, client: &str) -> Option<Live> {
        let process = self.disk.new_process();
        let clock: Arc<dyn Clock> = self.calendar.clone();
        let opened = Journal::open(Arc::new(process.clone()), clock.clone(), Self::options());
        let (journal, _) = opened.inspect_err(|error| assert!(self.disk_fails, "{error}")).ok()?;
        let outbox: Arc<FakeOutbox> = Arc::default();
        let random = Arc::new(SplitMix::seeded(self.calls));
        let options = SessionOptions::new(journal.clone(), random, clock, outbox);
        let (mut to_server, server_in) = tokio::io::duplex(64 * 1024);
        let (server_out, from_server) = tokio::io::duplex(256 * 1024);
        let server = tokio::spawn(serve(options, server_in, server_out));
        let mut initialize = initialize(client, "2025-11-25");
        // One whose channel is known.
        initialize["params"]["clientInfo"]["version"] = json!("2.1.330");
        let opening =
            format!("{initialize}\n{}\n", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        to_server.write_all(opening.as_bytes()).await.unwrap();
        Some(Live { process, journal, to_server, from_server, unread: Vec::new(), server, last: None })
    }

    /// People write; what they wrote is with the source.
    pub(super) fn arrive(&mut self, count: usize) {
        for _ in 0..count {
            let number = self.source.len() + 1;
            self.source.push(draft(&format!("m{number}"), &format!("text {number}")));
        }
    }

    /// Somebody changes a message, or takes it back: another text of the same id.
    pub(super) fn change(&mut self, which: usize, deleted: bool) {
        if self.source.is_empty() {
            return;
        }
        let of = self.source[which % self.source.len()].id.clone();
        let number = self.source.len() + 1;
        let changed = draft(&of, &format!("text {number}"));
        let key = format!("{}@{number}", changed.key);
        self.source.push(Draft { key, edit_of: Some(of), deleted, ..changed });
    }

    /// Whoever leads asks the source, and moves its cursor when the journal has what it covers.
    pub(super) fn poll(&mut self) {
        let Some(leader) = self.sessions.iter().flatten().find(|live| live.journal.is_leader()) else {
            return;
        };
        let from = self.polled.saturating_sub(OVERLAP).max(self.yesterdays.min(self.polled));
        let page = self.source[from..].to_vec();
        let numbers = || (from + 1..=self.source.len()).map(|number| u32::try_from(number).unwrap());
        match leader.journal.append(page) {
            Ok(_) => {
                self.model.kept.extend(numbers());
                self.polled = self.source.len();
            }
            Err(JournalError::NotDurable { .. }) => {
                assert!(self.disk_fails);
                self.model.declared.extend(numbers());
            }
            Err(error) => assert!(self.disk_fails, "{error}"),
        }
    }

    /// Every process looks what the others have written, and takes the lead where nobody has it.
    pub(super) async fn look(&mut self) {
        self.start_all().await;
        for live in self.sessions.iter().flatten() {
            let looked = live.journal.refresh().and_then(|_| live.journal.try_lead());
            assert!(looked.is_ok() || self.disk_fails, "{looked:?}");
        }
        if !self.disk_fails {
            assert_eq!(self.sessions.iter().flatten().filter(|live| live.journal.is_leader()).count(), 1);
        }
    }

    /// Time passes, and hosts read what came.
    pub(super) async fn pass(&mut self, ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        for at in 0..CLIENTS.len() {
            self.read(at).await;
        }
        self.cursors();
    }

    /// A call of a tool; whatever comes is read when time passes.
    pub(super) async fn call(&mut self, at: usize, tool: &str, arguments: Value) {
        self.calls += 1;
        let id = self.calls;
        let Some(live) = &mut self.sessions[at] else { return };
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        live.to_server.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    }

    /// The model answers what it saw last, by its id.
    pub(super) async fn reply(&mut self, at: usize) {
        let last = self.sessions[at].as_ref().and_then(|live| live.last.as_ref()?.1.last().copied());
        let Some(activity) = last else { return };
        let id = self.source[activity.number as usize - 1].id.clone();
        let arguments = json!({"chat_id": "chat-1", "content": "hi", "reply_to": [id]});
        self.call(at, "send_teams_message", arguments).await;
    }

    /// The host says that it gave up on its last answer with messages, which its model never saw.
    pub(super) async fn pull_and_cancel(&mut self, at: usize, limit: usize) {
        self.pass(1).await;
        self.call(at, "inbox_pull", json!({"limit": limit})).await;
        tokio::time::sleep(Duration::from_millis(1)).await;
        let (id, consumer) = (self.calls, CLIENTS[at]);
        for line in self.lines(at).await {
            let page = sights(&line).unwrap_or_default();
            if line["id"] != id || page.is_empty() || !self.model.may_give_back(consumer, &page) {
                self.take(at, &line);
                continue;
            }
            let Some(live) = &mut self.sessions[at] else { return };
            let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": id, "reason": "request timeout"}});
            live.to_server.write_all(format!("{cancel}\n").as_bytes()).await.unwrap();
            self.model.gave_back(consumer, &page);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }

    /// A turn ends, and the host runs its hook.
    pub(super) fn hook(&mut self, which: usize) {
        let (host, event) = CONSUMERS[which];
        let parts = NoticeParts { storage: Arc::new(self.disk.new_process()), clock: self.calendar.clone() };
        let hooked = hook(&parts, HookAsk { host, event, stdin: "{}", consumer: None, process: None });
        assert!(hooked.trouble.is_none() || self.disk_fails, "{hooked:?}");
        if hooked.answer.is_empty() {
            return;
        }
        let answer: Value = serde_json::from_str(&hooked.answer).unwrap();
        let notice = answer["reason"].as_str().unwrap().lines().nth(1).unwrap();
        let page = page(&serde_json::from_str(notice).unwrap());
        // A hook is nobody's session: it begins and ends here.
        self.model.shown(usize::MAX, host, &page, self.disk_fails);
        self.model.session_ended(usize::MAX);
    }

    /// `kill -9`; its host may have read what came, and starts it again.
    pub(super) async fn kill(&mut self, at: usize, has_read: bool) {
        if has_read {
            self.read(at).await;
        }
        if let Some(live) = self.sessions[at].take() {
            live.process.kill();
            live.server.abort();
            self.model.session_ended(at);
        }
        if self.disk_fails {
            self.model.marks_may_be_gone(Some(CLIENTS[at]));
        }
        self.look().await;
    }

    /// The power fails: what was not synced may be gone.
    pub(super) async fn power_cut(&mut self, seed: u64) {
        for at in 0..CLIENTS.len() {
            self.read(at).await;
        }
        self.disk.crash(Crash::Power, seed);
        for (at, live) in self.sessions.iter_mut().enumerate() {
            if let Some(live) = live.take() {
                live.server.abort();
            }
            self.model.session_ended(at);
        }
        self.model.marks_may_be_gone(None);
        self.set_back = true;
        self.look().await;
    }

    pub(super) fn fail_disk(&mut self, space_left: Option<u64>) {
        match space_left {
            Some(bytes) => self.disk.set_space_left(Some(bytes)),
            None => self.disk.set_syncs_fail(true),
        }
        self.disk_fails = true;
    }

    pub(super) async fn heal_disk(&mut self) {
        self.disk.set_space_left(None);
        self.disk.set_syncs_fail(false);
        if std::mem::take(&mut self.disk_fails) {
            // Sessions try again once a second to note what they showed.
            self.look_until_well().await;
        }
    }

    async fn look_until_well(&mut self) {
        self.disk_fails = true;
        for _ in 0..3 {
            self.look().await;
            self.pass(1_100).await;
        }
        self.disk_fails = false;
        self.look().await;
    }

    /// The next day, and whoever leads deletes what everybody has.
    pub(super) async fn next_day(&mut self) {
        self.calendar.ahead_h.fetch_add(24, Ordering::Relaxed);
        self.yesterdays = self.source.len();
        if self.disk_fails {
            return;
        }
        // Nothing is kept for a consumer that has never said a word.
        for at in 0..CLIENTS.len() {
            self.call(at, "inbound_queue_stats", json!({})).await;
        }
        self.pass(1).await;
        let policy = RetentionPolicy { days_max: Some(1), bytes_max: None, consumer_idle_days: 10 };
        for live in self.sessions.iter().flatten() {
            live.journal.prune(&policy).unwrap();
        }
    }

    async fn lines(&mut self, at: usize) -> Vec<Value> {
        let Some(live) = &mut self.sessions[at] else { return Vec::new() };
        let mut bytes = [0; 4_096];
        while let Ok(Ok(count @ 1..)) =
            timeout(Duration::from_millis(1), live.from_server.read(&mut bytes)).await
        {
            live.unread.extend(&bytes[..count]);
        }
        let whole = live.unread.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let text: Vec<u8> = live.unread.drain(..whole).collect();
        String::from_utf8(text).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    async fn read(&mut self, at: usize) {
        for line in self.lines(at).await {
            self.take(at, &line);
        }
    }

    /// A line reaches the model, if it holds messages.
    fn take(&mut self, at: usize, line: &Value) {
        let Some(page) = sights(line) else {
            let failed = line["result"]["isError"] == true || line.get("error").is_some();
            assert!(!failed || self.disk_fails, "{line}");
            return;
        };
        self.model.shown(at, CLIENTS[at], &page, self.disk_fails);
        if let (Some(live), Some(id), false) = (&mut self.sessions[at], line["id"].as_u64(), page.is_empty())
        {
            live.last = Some((id, page));
        }
    }

    /// What each consumer has read, by one who only looks.
    fn cursors(&mut self) {
        if self.disk_fails {
            return;
        }
        let Some(leader) = self.sessions.iter().flatten().find(|live| live.journal.is_leader()) else {
            return;
        };
        let last = leader.journal.last_seq();
        let storage: Arc<dyn Storage> = Arc::new(self.disk.new_process());
        let mut look = Look::at(&storage).unwrap();
        for (name, _) in CONSUMERS {
            let unread = look.waiting(&ConsumerName::new(name).unwrap(), usize::MAX).unwrap();
            let unread = unread.iter().map(|handed| handed.record.seq).collect();
            self.model.unread(name, unread, last, self.set_back);
        }
        self.set_back = false;
    }

    /// All is well again, and every consumer takes what there is.
    pub(super) async fn finish(mut self) {
        self.heal_disk().await;
        self.look().await;
        self.poll();
        self.look().await;
        assert_eq!(self.polled, self.source.len(), "a healthy journal takes everything");
        self.pass(60_000).await;
        for at in 0..CLIENTS.len() {
            self.drain(at).await;
        }
        let storage: Arc<dyn Storage> = Arc::new(self.disk.new_process());
        let mut look = Look::at(&storage).unwrap();
        for (name, _) in CONSUMERS {
            assert_eq!(look.unread(&ConsumerName::new(name).unwrap()).unwrap(), 0, "{name}");
        }
        self.model.finish(&CONSUMERS.map(|(name, _)| name));
    }

    /// Pulls until there is nothing more, and comes back once to say that it arrived.
    async fn drain(&mut self, at: usize) {
        for _ in 0..PULLS_MAX {
            self.call(at, "inbox_pull", json!({})).await;
            let mut is_empty = false;
            for line in self.lines(at).await {
                is_empty |= line["id"] == self.calls && sights(&line).is_some_and(|page| page.is_empty());
                self.take(at, &line);
            }
            if is_empty {
                return;
            }
        }
        panic!("{} never comes to an end", CLIENTS[at]);
    }
}

/// The messages in a line, when it can hold any.
fn sights(line: &Value) -> Option<Vec<Sight>> {
    if line["method"] == "notifications/claude/channel" {
        let number = number(line["params"]["content"].as_str()?);
        let marked = line.pointer("/params/meta/redelivered").is_some();
        return Some(vec![Sight { number, marked }]);
    }
    let text = line.pointer("/result/content/0/text")?.as_str()?;
    let answer: Value = serde_json::from_str(text).ok()?;
    answer.get("messages").map(|_| page(&answer))
}

fn page(answer: &Value) -> Vec<Sight> {
    let activity = |message: &Value| Sight {
        number: number(message["content_text_sanitized"].as_str().unwrap()),
        marked: ["redelivered", "pushed"].iter().any(|mark| message.get(mark).is_some()),
    };
    answer["messages"].as_array().unwrap().iter().map(activity).collect()
}

fn number(text: &str) -> u32 {
    text.strip_prefix("text ").and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{text:?}"))
}

//! What one connection knows: who is there, which calls are open, what was handed out and not yet acknowledged.
//!
//! All of it is plain state changed by one loop; nothing here waits, reads or writes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::era::{Era, META_SERVER};
use super::events::Stream;
use super::framing::LINE_BYTES_MAX;
use super::hosts::{self, HOSTS, HostRow};
use super::message::{Id, RpcError, response};
use super::outgoing::{OUT_BYTES_MAX, Outgoing};
use super::presence::Presence;
use super::tasks::Task;
use crate::carrier::log_ping::Level;
use crate::carrier::wait::Heartbeat;
use crate::journal::{ConsumerName, DeliveryId, Journal, JournalError, Mailbox};
use crate::knock::Sight;
use crate::permission::PermissionPort;
use crate::rules::WaitCommand;
use crate::tool::answer::{ANSWER_BYTES_MAX, Answer};
use crate::tool::{Door, MessageView, Outbox, SendDoor, ToolSet};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::random::Random;

/// Tells why messages may not be coming.
pub type Health = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// What a connection needs.
pub struct SessionOptions {
    /// Where the messages are.
    pub journal: Journal,
    /// For the session's id.
    pub random: Arc<dyn Random>,
    /// For times that clients are told.
    pub clock: Arc<dyn Clock>,
    /// Tools whose work is done elsewhere, sending first.
    pub doors: Vec<Arc<dyn Door>>,
    /// Which tools there are.
    pub tool_sets: BTreeSet<ToolSet>,
    /// The consumer to be; `None` derives it from the client's name.
    pub consumer: Option<ConsumerName>,
    /// What keeps the server from its work, with the fix; every tool then answers with it and does nothing.
    pub trouble: Option<String>,
    /// Asked with every answer about the inbox: why messages may not be coming, with the fix; nothing while they are.
    pub health: Option<Health>,
    /// Where it is told who is at the other end.
    pub presence: Presence,
    /// Where it is told what a door of the host must know.
    pub sight: Sight,
    /// Whether the inbox socket of the host's session is there and used.
    pub inbox_socket: bool,
    /// This server's version, as it tells it to clients.
    pub version: String,
    /// Relays permission requests of the host to the operator; none where that is off.
    pub permission: Option<PermissionPort>,
    /// Whether the draft of MCP Events is offered.
    pub events: bool,
    /// Bounds.
    pub limits: Limits,
    /// What is known of hosts.
    pub hosts: &'static [HostRow],
    /// What a waiting call listens to, for a person who sees its progress.
    pub listens_to: Vec<&'static str>,
    /// What the model is told to leave running in its shell.
    pub wait: WaitCommand,
}

impl SessionOptions {
    /// Options with the usual bounds and the built-in table of hosts.
    pub fn new(
        journal: Journal,
        random: Arc<dyn Random>,
        clock: Arc<dyn Clock>,
        outbox: Arc<dyn Outbox>,
    ) -> Self {
        Self {
            journal,
            random,
            clock,
            doors: vec![Arc::new(SendDoor(outbox))],
            tool_sets: ToolSet::ALL.into(),
            consumer: None,
            trouble: None,
            health: None,
            permission: None,
            presence: Presence::default(),
            sight: Sight::default(),
            inbox_socket: false,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            events: false,
            limits: Limits::default(),
            hosts: HOSTS,
            listens_to: Vec::new(),
            wait: WaitCommand::default(),
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

/// Answers remembered until the consumer comes back, per consumer; a late cancel for an older one is ignored.
const REPLIES_MAX: usize = 64;
/// Long messages whose next parts can be asked for, per consumer.
const CUT_MESSAGES_MAX: usize = 16;
/// A call that follows an answer within this comes from the turn that got it; nobody can have interrupted it, typed
/// and been understood.
const AT_ONCE: Duration = Duration::from_secs(3);
/// Consumers on one connection. Only requests of the modern era can bring a second one.
const INBOXES_MAX: usize = 16;
/// Late cancels that give the same record back; a host that cancels everything must not get it for ever.
pub(super) const LATE_GIVE_BACKS_MAX: u8 = 3;
/// Records whose late cancels are counted, per consumer.
const LATE_RECORDS_MAX: usize = 256;

/// The session that `initialize` opened.
pub(super) struct LegacySession {
    pub(super) version: &'static str,
    pub(super) client: String,
    pub(super) client_version: String,
    pub(super) declares_channel: bool,
    /// The client has said `notifications/initialized`; nothing unasked is sent before.
    pub(super) ready: bool,
    pub(super) level: Level,
    pub(super) subscribed: bool,
    /// Records up to here were pushed or need no push.
    pub(super) pushed_seq: u64,
    /// Pushing failed with the journal at this record; it is tried again when there is more.
    pub(super) push_failed_seq: Option<u64>,
}

/// Where an answer goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) id: Id,
    pub(super) era: Era,
    pub(super) batch: Option<u64>,
}

/// Who makes a request.
#[derive(Debug, Clone)]
pub(super) struct Caller {
    pub(super) route: Route,
    pub(super) consumer: ConsumerName,
    pub(super) client: Option<String>,
    /// The lowest level of log messages that the request asked for itself; the modern era's, else nothing.
    pub(super) log_level: Option<Level>,
    /// The request declared the tasks extension.
    pub(super) declares_tasks: bool,
}

/// A request without an answer yet.
pub(super) enum OpenCall {
    Wait(Box<Wait>),
    Work { route: Route, number: u64 },
    Listen { inbox: bool },
    Events(Box<Stream>),
}

/// A waiting call.
pub(super) struct Wait {
    pub(super) caller: Caller,
    pub(super) began: Instant,
    /// `None` for a parked call, which waits until something arrives.
    pub(super) deadline: Option<Instant>,
    /// Whether its host lets a call wait for ever.
    pub(super) may_park: bool,
    /// Whether it was to wait for ever and may not.
    pub(super) is_cut_short: bool,
    pub(super) max_items: u64,
    pub(super) heartbeat: Option<Heartbeat>,
}

/// An answer with messages in it.
pub(super) struct Reply {
    pub(super) id: Id,
    pub(super) delivery: DeliveryId,
    pub(super) seqs: Vec<u64>,
    pub(super) written: bool,
    pub(super) written_at: Option<Instant>,
    /// Something of it was not shown before.
    pub(super) is_first: bool,
    /// Nobody may have seen it, and nobody will say so.
    pub(super) may_be_abandoned: bool,
}

/// Comes back when an answer has left.
#[derive(Debug, Clone)]
pub(super) struct Receipt {
    pub(super) consumer: ConsumerName,
    pub(super) delivery: DeliveryId,
}

/// One consumer's side of the connection.
pub(super) struct Inbox {
    pub(super) mailbox: Mailbox,
    pub(super) replies: VecDeque<Reply>,
    pub(super) late_give_backs: BTreeMap<u64, u8>,
    pub(super) cut: VecDeque<MessageView>,
}

impl Inbox {
    pub(super) fn remember_reply(&mut self, reply: Reply) {
        if self.replies.len() == REPLIES_MAX
            && let Some(oldest) = self.replies.pop_front()
        {
            self.mailbox.finish(oldest.delivery);
        }
        self.replies.push_back(reply);
    }

    /// The consumer called again, so it has what it was answered before. Until then an answer counts as open: what it
    /// holds must not come out of another call that is waiting beside it. What a host may have dropped without a word
    /// comes once more, marked.
    pub(super) fn came_back(&mut self) -> Result<usize, JournalError> {
        for reply in self.replies.iter().filter(|reply| reply.written) {
            let late = reply.written_at.is_some_and(|at| at.elapsed() > AT_ONCE);
            if reply.may_be_abandoned && late {
                self.mailbox.give_back(reply.delivery);
            } else {
                self.mailbox.finish(reply.delivery);
            }
        }
        self.replies.retain(|reply| !reply.written);
        self.mailbox.acknowledge_returned()
    }

    /// The pipe has taken this answer.
    fn on_written(&mut self, delivery: DeliveryId) {
        match self.replies.iter_mut().find(|reply| reply.delivery == delivery) {
            Some(reply) => {
                reply.written = true;
                reply.written_at = Some(Instant::now());
            }
            // Nothing that could be acknowledged: it only showed.
            None => self.mailbox.finish(delivery),
        }
    }

    pub(super) fn remember_cut(&mut self, whole: MessageView) {
        self.cut.retain(|known| known.id != whole.id);
        if self.cut.len() == CUT_MESSAGES_MAX {
            self.cut.pop_front();
        }
        self.cut.push_back(whole);
    }

    /// Counts a late cancel of these records; says whether they may still be given back.
    pub(super) fn count_late_cancel(&mut self, seqs: &[u64]) -> bool {
        if seqs.iter().any(|seq| self.late_give_backs.get(seq).is_some_and(|&n| n >= LATE_GIVE_BACKS_MAX)) {
            return false;
        }
        for seq in seqs {
            *self.late_give_backs.entry(*seq).or_default() += 1;
        }
        while self.late_give_backs.len() > LATE_RECORDS_MAX {
            self.late_give_backs.pop_first();
        }
        true
    }
}

/// A batch of requests, answered together.
#[derive(Default)]
pub(super) struct Batch {
    open: usize,
    answers: Vec<Value>,
    receipts: Vec<Receipt>,
}

impl Batch {
    /// A batch that is sent when `open` of its messages are dealt with.
    pub(super) fn of(open: usize) -> Self {
        Self { open, ..Self::default() }
    }
}

type Work = BoxFuture<'static, (u64, Answer)>;

/// The state of one connection.
pub(super) struct Session {
    pub(super) options: SessionOptions,
    id: String,
    pub(super) legacy: Option<LegacySession>,
    pub(super) out: Outgoing<Receipt>,
    pub(super) open: BTreeMap<Id, OpenCall>,
    /// Calls that outlived their requests, by task id.
    pub(super) tasks: BTreeMap<String, Task>,
    pub(super) works: FuturesUnordered<Work>,
    pub(super) inboxes: BTreeMap<ConsumerName, Inbox>,
    pub(super) grown: watch::Receiver<u64>,
    /// The newest record that waiting calls were offered.
    pub(super) offered_seq: u64,
    /// Waiting calls may have something to take that is no new record.
    pub(super) stirred: bool,
    /// The newest record that hints were sent about.
    pub(super) announced_seq: u64,
    pub(super) batches: BTreeMap<u64, Batch>,
    /// When what the disk did not take is tried again.
    pub(super) settle_at: Option<Instant>,
    /// When it is looked whether another session still holds what a waiting call was not given.
    pub(super) held_look_at: Option<Instant>,
    /// When it is looked whether another session has died with what it was given, while there is a push to tell of it.
    pub(super) grave_look_at: Option<Instant>,
    counter: u64,
}

impl Session {
    pub(super) fn new(options: SessionOptions) -> Self {
        let grown = options.journal.watch();
        let announced_seq = *grown.borrow();
        Self {
            id: options.random.uuid(),
            legacy: None,
            out: Outgoing::new(options.limits.out_bytes_max),
            open: BTreeMap::new(),
            tasks: BTreeMap::new(),
            works: FuturesUnordered::new(),
            inboxes: BTreeMap::new(),
            grown,
            offered_seq: announced_seq,
            stirred: false,
            announced_seq,
            batches: BTreeMap::new(),
            settle_at: None,
            held_look_at: None,
            grave_look_at: None,
            counter: 0,
            options,
        }
    }

    /// A number not used before on this connection.
    pub(super) fn next_number(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// What is known of a client's host.
    pub(super) fn host(&self, client: Option<&str>) -> Option<&'static HostRow> {
        hosts::row(self.options.hosts, client?)
    }

    /// The consumer that a client reads as.
    pub(super) fn consumer_of(&self, client: Option<&str>) -> Result<ConsumerName, JournalError> {
        match &self.options.consumer {
            Some(consumer) => Ok(consumer.clone()),
            None => ConsumerName::new(&hosts::consumer_of(self.options.hosts, client)),
        }
    }

    /// The consumer's inbox, opened at its first use.
    pub(super) fn inbox(&mut self, consumer: &ConsumerName) -> Result<&mut Inbox, JournalError> {
        if !self.inboxes.contains_key(consumer) {
            if self.inboxes.len() == INBOXES_MAX {
                self.close_idle_inbox();
            }
            let mailbox = self.options.journal.mailbox(consumer, &self.id)?;
            let inbox = Inbox {
                mailbox,
                replies: VecDeque::new(),
                late_give_backs: BTreeMap::new(),
                cut: VecDeque::new(),
            };
            self.inboxes.insert(consumer.clone(), inbox);
        }
        match self.inboxes.get_mut(consumer) {
            Some(inbox) => Ok(inbox),
            None => Err(JournalError::ConsumerName { name: consumer.to_string() }),
        }
    }

    /// Makes room for another consumer. What an idle one was given and did not acknowledge comes again, marked.
    fn close_idle_inbox(&mut self) {
        let busy: BTreeSet<ConsumerName> = self
            .open
            .values()
            .filter_map(|call| match call {
                OpenCall::Wait(wait) => Some(wait.caller.consumer.clone()),
                OpenCall::Work { .. } | OpenCall::Listen { .. } | OpenCall::Events(_) => None,
            })
            .chain(self.tasks.values().filter(|task| task.is_working()).map(|task| task.consumer.clone()))
            .collect();
        let idle = self.inboxes.keys().find(|consumer| !busy.contains(*consumer)).cloned();
        if let Some(idle) = idle.or_else(|| self.inboxes.keys().next().cloned()) {
            self.inboxes.remove(&idle);
        }
    }

    /// Queues the one answer of a request.
    pub(super) fn answer(&mut self, route: &Route, outcome: Result<Value, RpcError>, receipts: Vec<Receipt>) {
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
    pub(super) fn answer_tool(&mut self, route: &Route, answer: Answer, receipts: Vec<Receipt>) {
        self.answer(route, Ok(answer.into_result()), receipts);
    }

    /// One request less in its batch; the last one sends it.
    pub(super) fn leave_batch(&mut self, number: Option<u64>) {
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
    pub(super) fn in_era(&self, era: Era, mut result: Value) -> Value {
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
    pub(super) fn server_info(&self) -> Value {
        json!({"name": "entraclaw", "version": self.options.version})
    }

    /// The pipe has taken these answers.
    pub(super) fn on_written(&mut self, receipts: Vec<Receipt>) {
        for Receipt { consumer, delivery } in receipts {
            if let Some(inbox) = self.inboxes.get_mut(&consumer) {
                inbox.on_written(delivery);
            }
        }
    }

    /// When something has to happen by itself.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let calls = self.open.values().filter_map(|call| match call {
            OpenCall::Wait(wait) => {
                wait.heartbeat.as_ref().map(|heartbeat| heartbeat.next).into_iter().chain(wait.deadline).min()
            }
            OpenCall::Events(stream) => self.stream_deadline(stream),
            OpenCall::Work { .. } | OpenCall::Listen { .. } => None,
        });
        calls.chain(self.settle_at).chain(self.held_look_at).chain(self.grave_look_at).min()
    }

    /// How long a host may take nothing.
    pub(super) fn stall_limit(&self) -> Duration {
        Duration::from_millis(self.options.limits.stall_ms_max)
    }
}

//! The inbox as a provider: its tools, its resource, and all that it sends without a request on one
//! connection.
//!
//! It must never hand out a message that it has not noted, nor mark a message as read that the host may not
//! have. All of it is plain state that the connection's one loop changes; nothing here waits, reads or
//! writes.

mod activity;
mod calls;
mod cancel;
mod events;
mod inboxes;
mod permissions;
mod presence;
mod pump;
mod reading;
mod tasks;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use entraclaw_mcp::hosts::{self, HostRow, numbers};
use entraclaw_mcp::message::{Id, Object};
use entraclaw_mcp::{
    Begun, Call, Caller, Connection, Era, Exit, Offer, Offers, Opened, Options, Provider, Receipt, Refusal,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;
use tokio::time::Instant;

use self::events::Stream;
use self::inboxes::Inbox;
use self::tasks::Task;
use crate::carrier::wait::Heartbeat;
use crate::carrier::{channel, events as event, resource};
use crate::journal::{ConsumerName, DeliveryId, Journal, JournalError};
use crate::permission::{self, PermissionAnswer, PermissionPort};
use crate::presence::Presence;
use crate::rules::{self, WaitCommand};
use crate::source::ACCESS_TOKEN_VARIABLE;
use crate::tool::{
    INBOUND_QUEUE_STATS, INBOX_PULL, Outbox, SendProvider, ToolSet, WAIT_FOR_INBOUND_MESSAGE, catalog,
};
use crate::wake_up::{ActivityWatch, gives_inbox_socket};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::random::Random;

/// Returns why messages may not be coming; `None` while they are.
pub type Health = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// The parts and settings of a connection.
pub struct SessionOptions {
    /// The journal with the messages.
    pub journal: Journal,
    /// The source of the session's id.
    pub random: Arc<dyn Random>,
    /// The clock for times that clients are told.
    pub clock: Arc<dyn Clock>,
    /// The providers beside the inbox, the one for sending first.
    pub providers: Vec<Box<dyn Provider>>,
    /// The options of the connection.
    pub connection: Options,
    /// The consumer that the host reads as; `None` derives it from the client's name.
    pub consumer: Option<ConsumerName>,
    /// Asked with every answer about the inbox for the reason why messages may not be coming, with the fix.
    pub health: Option<Health>,
    /// Receives which host is on the connection.
    pub presence: Presence,
    /// Receives what a wake-up of the host must know.
    pub activity: ActivityWatch,
    /// Whether the host's session has an inbox socket that is used.
    pub inbox_socket: bool,
    /// Relays permission requests of the host to the operator; `None` where that is off.
    pub permission: Option<PermissionPort>,
    /// Whether the draft of MCP Events is offered.
    pub events: bool,
    /// The channels that a waiting call listens to, for the user who sees its progress.
    pub listens_to: Vec<&'static str>,
    /// The command that the model is told to leave running in its shell.
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
            providers: vec![Box::new(SendProvider(outbox))],
            connection: Options { variables: &[ACCESS_TOKEN_VARIABLE], ..Options::default() },
            consumer: None,
            health: None,
            permission: None,
            presence: Presence::default(),
            activity: ActivityWatch::default(),
            inbox_socket: false,
            events: false,
            listens_to: Vec::new(),
            wait: WaitCommand::default(),
        }
    }
}

/// The caller that asks for messages.
#[derive(Debug, Clone)]
struct Reader {
    caller: Caller,
    consumer: ConsumerName,
}

/// A waiting call.
struct Wait {
    reader: Reader,
    began: Instant,
    /// `None` for a parked call, which waits until something arrives.
    deadline: Option<Instant>,
    /// Whether its host lets a call wait for ever.
    may_park: bool,
    /// Whether it asked to wait for ever and may not.
    is_cut_short: bool,
    max_items: u64,
    heartbeat: Option<Heartbeat>,
}

/// The receipt that the provider gets back once the answer of a delivery is written.
fn receipt(consumer: &ConsumerName, delivery: DeliveryId) -> Receipt {
    Receipt { reader: consumer.to_string(), number: delivery.0 }
}

/// The inbox on one connection.
struct InboxProvider {
    options: SessionOptions,
    /// This session's id in the journal.
    id: String,
    /// Waiting calls, by request.
    waits: BTreeMap<Id, Wait>,
    /// Open `events/stream`, by request.
    streams: BTreeMap<Id, Stream>,
    /// Waiting calls that go on after their requests, by task id.
    tasks: BTreeMap<String, Task>,
    inboxes: BTreeMap<ConsumerName, Inbox>,
    grown: watch::Receiver<u64>,
    /// Whether the journal may still grow.
    journal_lives: bool,
    /// Answers of the operator that were not yet sent to the host.
    answers: VecDeque<PermissionAnswer>,
    /// The newest record that waiting calls were offered.
    offered_seq: u64,
    /// Whether waiting calls may get something that is no new record.
    stirred: bool,
    /// The newest record for which hints were sent.
    announced_seq: u64,
    /// Records up to here were pushed or need no push.
    pushed_seq: u64,
    /// The newest record at a failed push; the push is tried again when there is a newer one.
    push_failed_seq: Option<u64>,
    /// When to try again to write the notes that the disk did not take.
    settle_at: Option<Instant>,
    /// When to look whether another session still holds the records that a waiting call was not given.
    held_look_at: Option<Instant>,
    /// When to look for orphaned deliveries, while they can be pushed.
    orphan_look_at: Option<Instant>,
}

/// Serves one host until its pipes end. Messages that the host did not acknowledge stay in the journal.
pub async fn serve(
    mut options: SessionOptions,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> Exit {
    let connection = std::mem::take(&mut options.connection);
    let others = std::mem::take(&mut options.providers);
    let mut providers: Vec<Box<dyn Provider>> = vec![Box::new(InboxProvider::new(options))];
    providers.extend(others);
    entraclaw_mcp::serve(connection, providers, reader, writer).await
}

/// The consumer that a client reads as: the operator's fixed one, or one derived from the client's name.
///
/// # Errors
/// The name makes no consumer.
pub fn reads_as(
    fixed: Option<&ConsumerName>,
    hosts: &[HostRow],
    client: Option<&str>,
) -> Result<ConsumerName, JournalError> {
    match fixed {
        Some(consumer) => Ok(consumer.clone()),
        None => ConsumerName::new(&hosts::consumer_of(hosts, client)),
    }
}

fn declares_channel(opened: &Opened) -> bool {
    let experimental = opened.capabilities.get("experimental").and_then(Value::as_object);
    experimental.is_some_and(|experimental| experimental.contains_key(channel::CAPABILITY))
}

impl InboxProvider {
    fn new(options: SessionOptions) -> Self {
        let grown = options.journal.watch();
        let announced_seq = *grown.borrow();
        Self {
            id: options.random.uuid(),
            waits: BTreeMap::new(),
            streams: BTreeMap::new(),
            tasks: BTreeMap::new(),
            inboxes: BTreeMap::new(),
            grown,
            journal_lives: true,
            answers: VecDeque::new(),
            offered_seq: announced_seq,
            stirred: false,
            announced_seq,
            pushed_seq: announced_seq,
            push_failed_seq: None,
            settle_at: None,
            held_look_at: None,
            orphan_look_at: None,
            options,
        }
    }

    /// The consumer that a client reads as.
    fn consumer_of(
        &self,
        connection: &Connection,
        client: Option<&str>,
    ) -> Result<ConsumerName, JournalError> {
        reads_as(self.options.consumer.as_ref(), connection.options.hosts, client)
    }

    fn reader(&self, connection: &Connection, caller: &Caller) -> Result<Reader, JournalError> {
        let consumer = self.consumer_of(connection, caller.client.as_deref())?;
        Ok(Reader { caller: caller.clone(), consumer })
    }

    /// Whether a channel push may reach this session's model: the client declared the channel, or its version
    /// is known to show it. No other session gets a push, because a pushed message is marked, and a model may
    /// skip a marked message that it was never shown. Where the host's inbox socket or a hook wakes the
    /// session, that takes the place of a channel that the client did not declare. Most accounts have no
    /// channel, so a push there would mark the message and start no turn.
    pub(super) fn pushes_channel(&self, connection: &Connection) -> bool {
        let Some(session) = connection.ready() else { return false };
        let Some(row) = connection.host(Some(&session.client)) else { return declares_channel(session) };
        let has_socket =
            self.options.inbox_socket && gives_inbox_socket(row.family, numbers(&session.client_version));
        let is_woken = has_socket || self.options.activity.can_be_woken_by_hook();
        declares_channel(session) || (!is_woken && row.takes_channel(&session.client_version))
    }
}

impl Provider for InboxProvider {
    fn offers(&self) -> Offers {
        let tool = |tool: rmcp::model::Tool| {
            let may_be_task = tool.name == WAIT_FOR_INBOUND_MESSAGE;
            Offer { may_be_task, ..Offer::new(ToolSet::Inbound.as_str(), tool) }
        };
        Offers {
            tools: catalog::inbound().into_iter().map(tool).collect(),
            resources: vec![resource::resource()],
            ..Offers::default()
        }
    }

    fn works(&self) -> bool {
        false
    }

    fn call(&mut self, call: Call<'_>, connection: &mut Connection) -> Result<Begun, Refusal> {
        let reader = self.reader(connection, call.caller).map_err(|error| error.to_string())?;
        match call.tool {
            WAIT_FOR_INBOUND_MESSAGE => self.call_wait(connection, &reader, call.arguments, call.params)?,
            INBOX_PULL => self.call_pull(connection, &reader, call.arguments)?,
            INBOUND_QUEUE_STATS => self.call_stats(connection, &reader, call.arguments)?,
            other => return Err(format!("no tool is named {other}")),
        }
        Ok(Begun::Taken)
    }

    fn read(&mut self, uri: &str, caller: &Caller, connection: &mut Connection) -> bool {
        if uri != resource::URI {
            return false;
        }
        if let Ok(reader) = self.reader(connection, caller) {
            self.read_inbox(connection, &reader);
        }
        true
    }

    fn request(
        &mut self,
        caller: &Caller,
        method: &str,
        params: &Object,
        connection: &mut Connection,
    ) -> bool {
        let is_task = caller.route.era == Era::Modern
            && matches!(method, "tasks/get" | "tasks/update" | "tasks/cancel");
        let is_event = self.options.events && method.starts_with("events/");
        let Ok(reader) = self.reader(connection, caller) else { return false };
        match (is_task, is_event) {
            (true, _) => return self.tasks_request(connection, &reader, method, params),
            (_, true) => self.events_request(connection, &reader, method, params),
            _ => return false,
        }
        true
    }

    fn notification(&mut self, method: &str, params: &Object, connection: &mut Connection) {
        if method == permission::REQUEST_METHOD {
            self.on_permission_request(connection, params);
        }
    }

    fn declare(&self, era: Era, capabilities: &mut Value) {
        if era == Era::Legacy {
            capabilities["experimental"][channel::CAPABILITY] = json!({});
            if self.options.permission.is_some() {
                capabilities["experimental"][permission::CAPABILITY] = json!({});
            }
        }
        if self.options.events {
            event::declare(capabilities);
        }
    }

    fn instructions(&self, family: Option<&'static str>) -> Option<String> {
        Some(rules::instructions(family, &self.options.wait))
    }

    fn opened(&mut self, connection: &Connection) {
        let Some(opened) = &connection.opened else { return };
        if !opened.ready {
            self.options.presence.met(&opened.client, &opened.client_version);
            self.pushed_seq = self.grown.borrow().saturating_sub(channel::BACKLOG_RECORDS_MAX);
            return;
        }
        tracing::info!(
            family = connection.host(Some(&opened.client)).map(|row| row.family),
            channel = self.pushes_channel(connection),
            "a session has begun"
        );
    }

    fn seen(&mut self, caller: &Caller, connection: &Connection) {
        let Some(client) = &caller.client else { return };
        if caller.route.era == Era::Modern {
            self.options.presence.met(client, &caller.version);
        }
        // From now on messages count as unread for this consumer. A failure is reported by the first call.
        if let Ok(consumer) = self.consumer_of(connection, Some(client)) {
            let _ = self.inbox(&consumer);
        }
    }

    fn called(&mut self, caller: &Caller, params: &Object, connection: &Connection) {
        self.see_call(connection, caller, params);
    }

    fn began(&mut self, caller: &Caller, answers: &[String], connection: &Connection) {
        let Ok(consumer) = self.consumer_of(connection, caller.client.as_deref()) else { return };
        self.came_back(&consumer);
        let named: Vec<&str> = answers.iter().map(String::as_str).collect();
        if let Err(error) = self.inbox(&consumer).and_then(|inbox| inbox.mailbox.acknowledge_ids(&named)) {
            tracing::warn!(%error, "an acknowledgement could not be noted");
        }
    }

    fn cancelled(&mut self, id: &Id) {
        // A waiting call holds no messages.
        self.waits.remove(id);
        self.streams.remove(id);
    }

    fn written(&mut self, receipt: &Receipt) {
        let inbox = self.inboxes.iter_mut().find(|(consumer, _)| consumer.as_str() == receipt.reader);
        if let Some((_, inbox)) = inbox {
            inbox.on_written(DeliveryId(receipt.number));
        }
    }

    fn taken_back(&mut self, receipt: &Receipt) {
        if let Ok(consumer) = ConsumerName::new(&receipt.reader) {
            self.give_back(&consumer, DeliveryId(receipt.number));
        }
    }

    fn lost(&mut self, id: &Id) {
        self.give_back_late(id);
    }

    fn pump(&mut self, connection: &mut Connection) {
        while let Some(answer) = self.answers.pop_front() {
            self.on_permission_answer(connection, &answer);
        }
        self.bring_up_to_now(connection);
    }

    fn round(&mut self, lines: u64, connection: &Connection) {
        self.tell_presence(connection, lines);
        self.tell_activity(connection);
    }

    fn deadline(&self, connection: &Connection) -> Option<Instant> {
        let waits = self.waits.values().filter_map(|wait| {
            wait.heartbeat.as_ref().map(|heartbeat| heartbeat.next).into_iter().chain(wait.deadline).min()
        });
        let streams = self.streams.values().filter_map(|stream| self.stream_deadline(connection, stream));
        waits.chain(streams).chain(self.settle_at).chain(self.held_look_at).chain(self.orphan_look_at).min()
    }

    fn changed(&mut self, has_room: bool) -> BoxFuture<'_, ()> {
        async move {
            let answers = self.options.permission.as_mut().filter(|_| has_room).map(|port| &mut port.answers);
            let answer = async {
                match answers {
                    Some(answers) => answers.recv().await,
                    None => None,
                }
            };
            tokio::select! {
                biased;
                Some(answer) = answer => self.answers.push_back(answer),
                grown = self.grown.changed(), if self.journal_lives => self.journal_lives = grown.is_ok(),
                else => std::future::pending().await,
            }
        }
        .boxed()
    }
}

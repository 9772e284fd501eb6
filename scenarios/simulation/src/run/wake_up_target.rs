//! The target of a fake host's wake-up. It answers as the host's own wake-up does, and
//! never looks at what a text says.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use entraclaw_inbox::wake_up::{
    HttpMethod, InboxSocket, Receipt, WakeUpAnswer, WakeUpError, WakeUpRequest, WakeUps,
};
use entraclaw_seams::clock::Clock;
use entraclaw_session::config::Secret;
use fake_hosts::WakeUpKind;
use fake_hosts::drive::Order;
use futures_util::future::BoxFuture;
use scenario::PeerStep;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::time::{Duration, Instant, sleep_until};

use super::peer::{Limits, PeerInbox};
use super::socket::{InboxSocketState, SocketLimits};

/// The id of the fake host's one session at opencode's port.
const SESSION: &str = "ses_1";
/// The path of a fake host's inbox socket, and its token.
const SOCKET: &str = "/tmp/cc-socks/1.sock";
const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// The target of one session; quiet while its host does not run or its wake-up is not open.
#[derive(Debug, Clone)]
pub(crate) struct WakeUpTarget {
    kind: WakeUpKind,
    rings: Arc<Mutex<Option<mpsc::Sender<Order>>>>,
    /// Where the wake-up is an inbox socket.
    socket: Arc<Mutex<InboxSocketState>>,
    /// Where the wake-up is an inbox that gives receipts.
    peer: Arc<Mutex<PeerInbox>>,
    receipt_ms: u64,
    host: Arc<Mutex<HostProcess>>,
    /// Our hooks that run beside the session.
    beside: Arc<AtomicUsize>,
}

/// The process of the session's host, as its system tells of it.
#[derive(Debug, Default)]
struct HostProcess {
    session: u64,
    starts: u64,
    is_alive: bool,
    /// Hooks of ours that it has run beside the session.
    runs: u64,
}

/// Counts one of our hooks until it is dropped.
pub(super) struct BesideOne(Arc<AtomicUsize>);

impl Drop for BesideOne {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl WakeUpTarget {
    /// A target that has no host yet.
    pub(crate) fn new(kind: WakeUpKind, limits: Limits, socket: SocketLimits, session: u64) -> Self {
        let peer = Arc::new(Mutex::new(PeerInbox::new(limits)));
        Self {
            kind,
            rings: Arc::default(),
            socket: Arc::new(Mutex::new(InboxSocketState::new(socket))),
            peer,
            receipt_ms: limits.receipt_ms,
            host: Arc::new(Mutex::new(HostProcess { session, ..HostProcess::default() })),
            beside: Arc::default(),
        }
    }

    fn host(&self) -> MutexGuard<'_, HostProcess> {
        self.host.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new process of the host has started.
    pub(super) fn host_starts(&self) {
        let mut host = self.host();
        host.starts += 1;
        host.is_alive = true;
    }

    /// The host's process has ended.
    pub(super) fn host_ends(&self) {
        self.host().is_alive = false;
    }

    /// The id of the host's process.
    pub(super) fn host_process(&self) -> String {
        let host = self.host();
        format!("{}-{}", host.session, host.starts)
    }

    /// Whether a process that was this session's host has ended.
    pub(super) fn has_ended(&self, process: &str) -> bool {
        let host = self.host();
        let Some((session, starts)) = process.split_once('-') else { return false };
        session == host.session.to_string() && (starts != host.starts.to_string() || !host.is_alive)
    }

    /// One more of our hooks runs beside the session.
    pub(super) fn runs_beside(&self) -> BesideOne {
        self.beside.fetch_add(1, Ordering::Relaxed);
        BesideOne(Arc::clone(&self.beside))
    }

    /// An id for the next run of a hook, unlike any other of this session.
    pub(super) fn next_run(&self) -> String {
        let mut host = self.host();
        host.runs += 1;
        format!("{}-{}", host.session, host.runs)
    }

    /// The number of our hooks that run beside the session.
    pub(super) fn beside(&self) -> usize {
        self.beside.load(Ordering::Relaxed)
    }

    /// The inbox socket that the host names in the environment of its servers.
    pub(crate) fn inbox_socket(&self) -> Option<InboxSocket> {
        let inbox = || InboxSocket { path: SOCKET.to_owned(), token: Secret::new(TOKEN) };
        (self.kind == WakeUpKind::InboxSocket).then(inbox)
    }

    /// Sets the host that it wakes; `None` for no host.
    pub(crate) fn hang(&self, orders: Option<mpsc::Sender<Order>>) {
        *self.rings.lock().unwrap_or_else(PoisonError::into_inner) = orders;
        self.inbox().begin();
        self.socket().begin();
    }

    fn socket(&self) -> MutexGuard<'_, InboxSocketState> {
        self.socket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inbox(&self) -> MutexGuard<'_, PeerInbox> {
        self.peer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The person at the terminal changes what becomes of messages.
    pub(super) fn change(&self, step: PeerStep, now_ms: i64) {
        if self.kind == WakeUpKind::InboxSocket {
            return self.socket().change(step, now_ms, &|text| self.ring(text));
        }
        self.inbox().change(step, &|text| self.ring(text));
    }

    /// Whether the wake-up is an inbox, and open.
    fn has_peer(&self) -> bool {
        self.kind == WakeUpKind::PeerProtocol && self.is_open()
    }

    fn is_open(&self) -> bool {
        let rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.as_ref().is_some_and(|orders| !orders.is_closed())
    }

    fn ring(&self, text: &str) -> bool {
        self.order(Order::WakeUps(text.to_owned()))
    }

    fn order(&self, order: Order) -> bool {
        let rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.as_ref().is_some_and(|orders| orders.try_send(order).is_ok())
    }

    /// The host's answer to a wake-up.
    pub(super) fn answer(&self, request: &WakeUpRequest, now_ms: i64) -> Result<WakeUpAnswer, WakeUpError> {
        match request {
            WakeUpRequest::Run { program, arguments } if self.kind == WakeUpKind::QueueCommand => {
                let refused = |code| WakeUpError::Refused { program: program.clone(), code };
                let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let ["queue", "--thread", _, "--message", text] = words[..] else { return Err(refused(2)) };
                if self.ring(text) { Ok(WakeUpAnswer::default()) } else { Err(refused(1)) }
            }
            WakeUpRequest::Run { program, .. } => {
                Err(WakeUpError::Start { program: program.clone(), reason: "not found".to_owned() })
            }
            WakeUpRequest::Http { method, port, path, body, .. } => {
                if self.kind != WakeUpKind::HttpPort || !self.is_open() {
                    return Err(WakeUpError::Unreachable {
                        port: *port,
                        reason: "connection refused".to_owned(),
                    });
                }
                let (base, _) = path.split_once('?').unwrap_or((path, ""));
                let missing = WakeUpError::Status { port: *port, path: path.clone(), status: 404 };
                match (method, base) {
                    (HttpMethod::Get, "/session") => {
                        let list = json!([{"id": SESSION, "time": {"created": now_ms, "updated": now_ms}}]);
                        Ok(WakeUpAnswer { body: list.to_string().into_bytes() })
                    }
                    (HttpMethod::Post, base) if base == format!("/session/{SESSION}/prompt_async") => {
                        let body: Value =
                            serde_json::from_str(body.as_deref().unwrap_or_default()).unwrap_or_default();
                        let text = body.pointer("/parts/0/text").and_then(Value::as_str);
                        match text {
                            Some(text) if self.ring(text) => Ok(WakeUpAnswer::default()),
                            _ => Err(WakeUpError::Status { port: *port, path: path.clone(), status: 400 }),
                        }
                    }
                    _ => Err(missing),
                }
            }
            WakeUpRequest::Socket { path, credential, line } => {
                let refused =
                    |reason: &str| WakeUpError::Socket { path: path.clone(), reason: reason.to_owned() };
                if let Some(reason) = self.socket().in_the_way() {
                    return Err(refused(reason));
                }
                if self.kind != WakeUpKind::InboxSocket || path != SOCKET || !self.is_open() {
                    return Err(refused("there is no such socket"));
                }
                let read = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_default();
                let (credential, raw, line) = (read(credential.expose()), line, read(line));
                // Nothing is answered, whatever becomes of it.
                let lost = |text: &str| self.order(Order::DropWakeUp(text.to_owned()));
                let is_ours = credential == json!({"type": "auth", "token": TOKEN})
                    && self.socket().takes_token()
                    && line.get("type").and_then(Value::as_str) == Some("user")
                    // One with another session's id is dropped; after `/clear` no server knows the present one.
                    && line.get("session_id").is_none();
                let text = line.pointer("/message/content").and_then(Value::as_str);
                if let Some(text) = text.filter(|_| is_ours) {
                    let is_shown = self.socket().admit(raw, text, now_ms);
                    if is_shown {
                        self.ring(text)
                    } else {
                        lost(text)
                    };
                }
                Ok(WakeUpAnswer::default())
            }
            WakeUpRequest::Append { path, line } => {
                let refused =
                    |reason: &str| WakeUpError::File { path: path.clone(), reason: reason.to_owned() };
                let reads = matches!(self.kind, WakeUpKind::InputFile | WakeUpKind::PeerProtocol);
                if !reads || !self.is_open() {
                    return Err(refused("there is no such file"));
                }
                let line: Value = serde_json::from_str(line).map_err(|_| refused("not a JSON line"))?;
                let text = line.get("text").and_then(Value::as_str);
                match (line.get("type").and_then(Value::as_str), text) {
                    (Some("submit"), Some(text)) if self.ring(text) => Ok(WakeUpAnswer::default()),
                    _ => Err(refused("not a line that the host reads")),
                }
            }
            WakeUpRequest::Peer { id, text } => {
                if !self.has_peer() {
                    let (path, reason) = ("the session's inbox".to_owned(), "no session listens".to_owned());
                    return Err(WakeUpError::Peer { path, reason });
                }
                self.inbox().admit(id, text, now_ms, &|text| self.ring(text));
                Ok(WakeUpAnswer::default())
            }
        }
    }
}

/// The target on a machine with a clock: a session is told with the time at which it was used.
pub(crate) struct SimWakeUps {
    target: WakeUpTarget,
    clock: Arc<dyn Clock>,
    receipts: AsyncMutex<Receipts>,
}

/// Receipts that come after their time, which no request can hurry.
struct Receipts {
    queue: mpsc::Receiver<Receipt>,
    next: Option<(Instant, Receipt)>,
}

impl SimWakeUps {
    /// For a server that has just started.
    pub(crate) fn new(target: WakeUpTarget, clock: Arc<dyn Clock>) -> Self {
        let queue = target.inbox().listen();
        Self { target, clock, receipts: AsyncMutex::new(Receipts { queue, next: None }) }
    }
}

impl WakeUps for SimWakeUps {
    fn wake(&self, request: WakeUpRequest) -> BoxFuture<'_, Result<WakeUpAnswer, WakeUpError>> {
        Box::pin(std::future::ready(self.target.answer(&request, self.clock.now().as_millisecond())))
    }

    fn look(&self, socket: &str) -> Result<(), WakeUpError> {
        let refusal =
            |reason: &str| WakeUpError::Socket { path: socket.to_owned(), reason: reason.to_owned() };
        self.target.socket().in_the_way().map_or(Ok(()), |reason| Err(refusal(reason)))
    }

    fn has_peer(&self) -> bool {
        self.target.has_peer()
    }

    fn receipt(&self) -> BoxFuture<'_, Receipt> {
        Box::pin(async move {
            let mut receipts = self.receipts.lock().await;
            if receipts.next.is_none() {
                let Some(receipt) = receipts.queue.recv().await else { return std::future::pending().await };
                let at = Instant::now() + Duration::from_millis(self.target.receipt_ms);
                receipts.next = Some((at, receipt));
            }
            if let Some((at, _)) = receipts.next {
                sleep_until(at).await;
            }
            match receipts.next.take() {
                Some((_, receipt)) => receipt,
                None => std::future::pending().await,
            }
        })
    }
}

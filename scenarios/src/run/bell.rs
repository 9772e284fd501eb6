//! The bell at a fake host's door: what a knock of the server comes to. It answers as the host's own door does, and
//! never looks at what a text says.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use entraclaw::clock::Clock;
use entraclaw::knock::{HttpMethod, Knock, KnockAnswer, KnockError, KnockRequest, Receipt};
use fakes::host::DoorKind;
use fakes::host::drive::Order;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::{Mutex as AsyncMutex, mpsc};
use tokio::time::{Duration, Instant, sleep_until};

use super::peer::{Limits, PeerInbox};
use crate::scenario::PeerStep;

/// What opencode's port names the one session of a fake host.
const SESSION: &str = "ses_1";

/// The bell of one session; quiet while its host does not run or its door is not open.
#[derive(Debug, Clone)]
pub(crate) struct Bell {
    kind: DoorKind,
    rings: Arc<Mutex<Option<mpsc::Sender<Order>>>>,
    /// Where the door is an inbox.
    peer: Arc<Mutex<PeerInbox>>,
    receipt_ms: u64,
}

impl Bell {
    /// A bell that rings nowhere yet.
    pub(crate) fn new(kind: DoorKind, limits: Limits) -> Self {
        let peer = Arc::new(Mutex::new(PeerInbox::new(limits)));
        Self { kind, rings: Arc::default(), peer, receipt_ms: limits.receipt_ms }
    }

    /// From now on it rings at this host, or nowhere.
    pub(crate) fn hang(&self, orders: Option<mpsc::Sender<Order>>) {
        *self.rings.lock().unwrap_or_else(PoisonError::into_inner) = orders;
        self.inbox().begin();
    }

    fn inbox(&self) -> MutexGuard<'_, PeerInbox> {
        self.peer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The person at the terminal changes what becomes of messages.
    pub(super) fn change(&self, step: PeerStep) {
        self.inbox().change(step, &|text| self.ring(text));
    }

    /// Whether the door is an inbox, and open.
    fn has_peer(&self) -> bool {
        self.kind == DoorKind::PeerProtocol && self.is_open()
    }

    fn is_open(&self) -> bool {
        let rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.as_ref().is_some_and(|orders| !orders.is_closed())
    }

    fn ring(&self, text: &str) -> bool {
        let rings = self.rings.lock().unwrap_or_else(PoisonError::into_inner);
        rings.as_ref().is_some_and(|orders| orders.try_send(Order::Knock(text.to_owned())).is_ok())
    }

    /// What the host's own door answers to a knock.
    pub(super) fn answer(&self, request: &KnockRequest, now_ms: i64) -> Result<KnockAnswer, KnockError> {
        match request {
            KnockRequest::Run { program, arguments } if self.kind == DoorKind::QueueCommand => {
                let refused = |code| KnockError::Refused { program: program.clone(), code };
                let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
                let ["queue", "--thread", _, "--message", text] = words[..] else { return Err(refused(2)) };
                if self.ring(text) { Ok(KnockAnswer::default()) } else { Err(refused(1)) }
            }
            KnockRequest::Run { program, .. } => {
                Err(KnockError::Start { program: program.clone(), reason: "not found".to_owned() })
            }
            KnockRequest::Http { method, port, path, body, .. } => {
                if self.kind != DoorKind::HttpPort || !self.is_open() {
                    return Err(KnockError::Unreachable {
                        port: *port,
                        reason: "connection refused".to_owned(),
                    });
                }
                let (base, _) = path.split_once('?').unwrap_or((path, ""));
                let missing = KnockError::Status { port: *port, path: path.clone(), status: 404 };
                match (method, base) {
                    (HttpMethod::Get, "/session") => {
                        let list = json!([{"id": SESSION, "time": {"created": now_ms, "updated": now_ms}}]);
                        Ok(KnockAnswer { body: list.to_string().into_bytes() })
                    }
                    (HttpMethod::Post, base) if base == format!("/session/{SESSION}/prompt_async") => {
                        let body: Value =
                            serde_json::from_str(body.as_deref().unwrap_or_default()).unwrap_or_default();
                        let text = body.pointer("/parts/0/text").and_then(Value::as_str);
                        match text {
                            Some(text) if self.ring(text) => Ok(KnockAnswer::default()),
                            _ => Err(KnockError::Status { port: *port, path: path.clone(), status: 400 }),
                        }
                    }
                    _ => Err(missing),
                }
            }
            KnockRequest::Append { path, line } => {
                let refused =
                    |reason: &str| KnockError::File { path: path.clone(), reason: reason.to_owned() };
                let reads = matches!(self.kind, DoorKind::InputFile | DoorKind::PeerProtocol);
                if !reads || !self.is_open() {
                    return Err(refused("there is no such file"));
                }
                let line: Value = serde_json::from_str(line).map_err(|_| refused("not a JSON line"))?;
                let text = line.get("text").and_then(Value::as_str);
                match (line.get("type").and_then(Value::as_str), text) {
                    (Some("submit"), Some(text)) if self.ring(text) => Ok(KnockAnswer::default()),
                    _ => Err(refused("not a line that the host reads")),
                }
            }
            KnockRequest::Peer { id, text } => {
                if !self.has_peer() {
                    let (path, reason) = ("the session's inbox".to_owned(), "nobody listens".to_owned());
                    return Err(KnockError::Socket { path, reason });
                }
                self.inbox().admit(id, text, now_ms, &|text| self.ring(text));
                Ok(KnockAnswer::default())
            }
        }
    }
}

/// The bell on a machine with a clock: a session is told with the time at which it was used.
pub(crate) struct Doorway {
    bell: Bell,
    clock: Arc<dyn Clock>,
    receipts: AsyncMutex<Receipts>,
}

/// Receipts that come after their time, which nobody can hurry.
struct Receipts {
    queue: mpsc::Receiver<Receipt>,
    next: Option<(Instant, Receipt)>,
}

impl Doorway {
    /// For a server that has just started.
    pub(crate) fn new(bell: Bell, clock: Arc<dyn Clock>) -> Self {
        let queue = bell.inbox().listen();
        Self { bell, clock, receipts: AsyncMutex::new(Receipts { queue, next: None }) }
    }
}

impl Knock for Doorway {
    fn knock(&self, request: KnockRequest) -> BoxFuture<'_, Result<KnockAnswer, KnockError>> {
        Box::pin(std::future::ready(self.bell.answer(&request, self.clock.now().as_millisecond())))
    }

    fn has_peer(&self) -> bool {
        self.bell.has_peer()
    }

    fn receipt(&self) -> BoxFuture<'_, Receipt> {
        Box::pin(async move {
            let mut receipts = self.receipts.lock().await;
            if receipts.next.is_none() {
                let Some(receipt) = receipts.queue.recv().await else { return std::future::pending().await };
                let at = Instant::now() + Duration::from_millis(self.bell.receipt_ms);
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

//! One connection: lines of JSON-RPC through a pipe in memory, as a host over stdio writes and reads them.
//!
//! Requests of several clients may share it, so each gets an id and a progress token of this connection, and answers get
//! their own back. It must never let a client that does not read hold up another one for long.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use rmcp::model::{ServerNotification, ServerRequest};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::time::timeout;

/// How long a client may take to take a notification; then it is lost to it.
const TAKEN_WITHIN: Duration = Duration::from_secs(5);
/// Most changes of resources that wait for one subscriber; more are left out, for a change says only that there is one.
const UPDATES_MAX: usize = 64;
/// The member of `_meta` that names a subscription, in protocol 2026-07-28.
const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// One connection.
pub(crate) struct Link {
    writer: tokio::sync::Mutex<DuplexStream>,
    open: Mutex<BTreeMap<u64, Open>>,
    count: AtomicU64,
    has_ended: AtomicBool,
    /// The client of the session that `initialize` began.
    client: OnceLock<Peer<RoleServer>>,
    /// Its place among all connections.
    _place: OwnedSemaphorePermit,
}

/// A request without an answer yet.
struct Open {
    answer: oneshot::Sender<Result<Value, ErrorData>>,
    peer: Peer<RoleServer>,
    /// The client's own token for progress.
    token: Option<Value>,
    /// Where changes of resources go, if it is a subscription.
    updates: Option<mpsc::Sender<String>>,
}

/// A request on its way; dropped, it is cancelled.
struct Asked<'a> {
    link: &'a Arc<Link>,
    id: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if self.link.open().remove(&self.id).is_some() {
            let (link, id) = (self.link.clone(), self.id);
            tokio::spawn(async move {
                let params = json!({"requestId": id});
                link.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))
                    .await;
            });
        }
    }
}

impl Link {
    pub(crate) fn new(reader: DuplexStream, writer: DuplexStream, place: OwnedSemaphorePermit) -> Arc<Self> {
        let link = Arc::new(Self {
            writer: tokio::sync::Mutex::new(writer),
            open: Mutex::default(),
            count: AtomicU64::new(0),
            has_ended: AtomicBool::new(false),
            client: OnceLock::new(),
            _place: place,
        });
        tokio::spawn(read(Arc::downgrade(&link), reader));
        link
    }

    /// Whether its other end is gone.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    /// Makes this the connection of a session's client, which unasked messages go to.
    pub(crate) fn is_of(&self, client: &Peer<RoleServer>) {
        let _ = self.client.set(client.clone());
    }

    /// Sends a request and waits for its answer. It is cancelled with the client's.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        method: &str,
        params: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        self.ask_with(method, params, context, None).await
    }

    /// Sends a subscription, whose changes go to `updates`.
    pub(crate) async fn ask_with(
        self: &Arc<Self>,
        method: &str,
        params: Value,
        context: &RequestContext<RoleServer>,
        updates: Option<mpsc::Sender<String>>,
    ) -> Result<Value, ErrorData> {
        let id = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let mut params = match params {
            Value::Object(params) => params,
            _ => Map::new(),
        };
        let mut meta = match serde_json::to_value(&context.meta) {
            Ok(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        let token = meta.get_mut("progressToken").map(|token| std::mem::replace(token, json!(id)));
        if !meta.is_empty() {
            params.insert("_meta".to_owned(), Value::Object(meta));
        }
        let (answer, answered) = oneshot::channel();
        self.open().insert(id, Open { answer, peer: context.peer.clone(), token, updates });
        let _asked = Asked { link: self, id };
        if self.has_ended() {
            return Err(ended());
        }
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        tokio::select! {
            biased;
            answer = answered => answer.unwrap_or_else(|_| Err(ended())),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
        }
    }

    /// Sends a notification of the client.
    pub(crate) async fn notify(&self, method: &str, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    async fn say(&self, message: &Value) {
        let line = format!("{message}\n");
        if self.writer.lock().await.write_all(line.as_bytes()).await.is_err() {
            self.end();
        }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<u64, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end(&self) {
        self.has_ended.store(true, Ordering::Release);
        // Their answers will not come.
        self.open().clear();
    }

    /// Hears a line of the connection.
    async fn hear(self: &Arc<Self>, line: &str) {
        let Ok(Value::Object(mut message)) = serde_json::from_str::<Value>(line) else { return };
        match (message.contains_key("method"), message.remove("id")) {
            (true, Some(id)) => self.pass_on(id, Value::Object(message)),
            (true, None) => self.tell(Value::Object(message)).await,
            (false, id) => {
                let open = id.and_then(|id| id.as_u64()).and_then(|id| self.open().remove(&id));
                let Some(open) = open else { return };
                let answer = match message.remove("error") {
                    Some(error) => Err(passed_on(error)),
                    None => Ok(message.remove("result").unwrap_or_default()),
                };
                let _ = open.answer.send(answer);
            }
        }
    }

    /// Hands a request of the server to the session's client, and its answer back.
    fn pass_on(self: &Arc<Self>, id: Value, request: Value) {
        let (link, client) = (self.clone(), self.client.get().cloned());
        tokio::spawn(async move {
            let asked = async {
                let request: ServerRequest = serde_json::from_value(request).ok()?;
                serde_json::to_value(client?.send_request(request).await.ok()?).ok()
            };
            let answer = if let Some(result) = asked.await {
                json!({"jsonrpc": "2.0", "id": id, "result": result})
            } else {
                let error = json!({"code": -32603, "message": "the client gave no answer"});
                json!({"jsonrpc": "2.0", "id": id, "error": error})
            };
            link.say(&answer).await;
        });
    }

    /// Tells a client what the server notifies of.
    async fn tell(&self, mut notification: Value) {
        let params = &mut notification["params"];
        let subscription = params["_meta"][META_SUBSCRIPTION].as_u64();
        let number = subscription.or_else(|| params["progressToken"].as_u64());
        let to = {
            let open = self.open();
            let request = number.and_then(|number| open.get(&number));
            if let (Some(request), Some(_)) = (request, subscription) {
                if let (Some(updates), Some(uri)) = (&request.updates, params["uri"].as_str()) {
                    let _ = updates.try_send(uri.to_owned());
                }
                return;
            }
            match request {
                Some(Open { token: Some(token), peer, .. }) => {
                    params["progressToken"] = token.clone();
                    Some(peer.clone())
                }
                _ => self.client.get().cloned(),
            }
        };
        let Some(to) = to else { return };
        if let Ok(notification) = serde_json::from_value::<ServerNotification>(notification) {
            let _ = timeout(TAKEN_WITHIN, to.send_notification(notification)).await;
        }
    }
}

/// The error of a request whose connection has ended.
pub(crate) fn ended() -> ErrorData {
    ErrorData::internal_error("the session has ended; begin another one", None)
}

fn passed_on(error: Value) -> ErrorData {
    serde_json::from_value(error).unwrap_or_else(|error| ErrorData::internal_error(error.to_string(), None))
}

/// A channel for the changes of one subscription.
pub(crate) fn updates() -> (mpsc::Sender<String>, mpsc::Receiver<String>) {
    mpsc::channel(UPDATES_MAX)
}

async fn read(link: Weak<Link>, reader: DuplexStream) {
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let Some(link) = link.upgrade() else { return };
        link.hear(&line).await;
    }
    if let Some(link) = link.upgrade() {
        link.end();
    }
}

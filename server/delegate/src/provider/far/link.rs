//! The link to an engine: requests by number, answers to those who asked, and what the engine tells unasked.
//!
//! Reading and writing never wait for each other. It must never hold more open requests or notices than its bounds.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use entraclaw_mcp::Progress;
use entraclaw_mcp::message::{Object, RpcError};
use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream, split,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

/// Most requests that wait to be written.
const ORDERS_MAX: usize = 64;
/// Most notices that wait to be heard; more are left out.
const SAID_MAX: usize = 256;
/// The id of the request that opens the link. Our others are numbers from 1.
const OPENS: u64 = 0;
/// What the methods of the notices begin with that concern tasks.
const NOTICES: &str = "notifications/task";

/// The result of a request.
pub(super) type Outcome = Result<Value, RpcError>;

/// A request on its way.
pub(super) struct Asked {
    pub(super) number: u64,
    pub(super) answered: oneshot::Receiver<Outcome>,
}

/// A notice of the engine.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) method: String,
    pub(super) params: Value,
}

enum Order {
    Ask { number: u64, method: &'static str, params: Object, waits: Waits },
    Cancel(u64),
}

struct Waits {
    answer: oneshot::Sender<Outcome>,
    progress: Option<Progress>,
}

type Open = Arc<Mutex<BTreeMap<u64, Waits>>>;

/// A link. Clones share it; when the last one is dropped it is closed.
#[derive(Clone)]
pub(super) struct Link {
    orders: mpsc::Sender<Order>,
    count: Arc<AtomicU64>,
    _closes: Arc<Closes>,
}

struct Closes(AbortHandle);

impl Drop for Closes {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Link {
    /// Opens a session over the stream with these parameters of `initialize`.
    pub(super) fn open(stream: DuplexStream, opening: Value) -> (Self, mpsc::Receiver<Said>) {
        let (orders, ordered) = mpsc::channel(ORDERS_MAX);
        let (says, said) = mpsc::channel(SAID_MAX);
        let works = tokio::spawn(work(stream, opening, ordered, says));
        let closes = Arc::new(Closes(works.abort_handle()));
        (Self { orders, count: Arc::new(AtomicU64::new(OPENS + 1)), _closes: closes }, said)
    }

    /// Sends a request; `None` if too many wait.
    pub(super) fn ask(
        &self,
        method: &'static str,
        mut params: Object,
        progress: Option<Progress>,
    ) -> Option<Asked> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let progress = progress.filter(Progress::is_wanted);
        let meta = params.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            // The caller's own token may be in use by another caller.
            meta.remove("progressToken");
            if progress.is_some() {
                meta.insert("progressToken".to_owned(), number.into());
            }
        }
        let (answer, answered) = oneshot::channel();
        let order = Order::Ask { number, method, params, waits: Waits { answer, progress } };
        self.orders.try_send(order).ok()?;
        Some(Asked { number, answered })
    }

    /// Tells the engine that an answer is not wanted any more.
    pub(super) fn cancel(&self, number: u64) {
        let _ = self.orders.try_send(Order::Cancel(number));
    }
}

fn locked(open: &Open) -> MutexGuard<'_, BTreeMap<u64, Waits>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn work(stream: DuplexStream, opening: Value, orders: mpsc::Receiver<Order>, says: mpsc::Sender<Said>) {
    let (reader, writer) = split(stream);
    let open = Open::default();
    let (opened, opens) = oneshot::channel();
    // When one of them ends, who waits learns it by the channel that is dropped.
    tokio::select! {
        biased;
        () = read(reader, &open, opened, &says) => {}
        written = write(writer, &open, opening, opens, orders) => {
            if let Err(error) = written {
                tracing::info!(%error, "the link to the engine is closed");
            }
        }
    }
}

async fn write(
    mut writer: impl AsyncWrite + Unpin,
    open: &Open,
    opening: Value,
    opened: oneshot::Receiver<()>,
    mut orders: mpsc::Receiver<Order>,
) -> io::Result<()> {
    let request = |number: u64, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params});
    line(&mut writer, &request(OPENS, "initialize", opening)).await?;
    if opened.await.is_err() {
        return Ok(());
    }
    line(&mut writer, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
    while let Some(order) = orders.recv().await {
        match order {
            Order::Ask { number, method, params, waits } => {
                locked(open).insert(number, waits);
                line(&mut writer, &request(number, method, params.into())).await?;
            }
            Order::Cancel(number) => {
                // A cancelled request gets no answer.
                let is_open = locked(open).remove(&number).is_some();
                if is_open {
                    let params = json!({"requestId": number});
                    let notice =
                        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
                    line(&mut writer, &notice).await?;
                }
            }
        }
    }
    Ok(())
}

async fn line(writer: &mut (impl AsyncWrite + Unpin), message: &Value) -> io::Result<()> {
    writer.write_all(format!("{message}\n").as_bytes()).await?;
    writer.flush().await
}

async fn read(
    reader: impl AsyncRead + Unpin,
    open: &Open,
    opened: oneshot::Sender<()>,
    says: &mpsc::Sender<Said>,
) {
    let mut opened = Some(opened);
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(text)) = lines.next_line().await {
        let Ok(mut message) = serde_json::from_str::<Value>(&text) else { continue };
        if let Some(method) = message["method"].as_str().map(str::to_owned) {
            heard(method, message["params"].take(), open, says);
            continue;
        }
        let Some(number) = message["id"].as_u64() else { continue };
        if number == OPENS {
            if let Some(opened) = opened.take() {
                let _ = opened.send(());
            }
        } else if let Some(waits) = locked(open).remove(&number) {
            let _ = waits.answer.send(outcome(&mut message));
        }
    }
}

fn heard(method: String, params: Value, open: &Open, says: &mpsc::Sender<Said>) {
    if method == "notifications/progress" {
        let Some(number) = params["progressToken"].as_u64() else { return };
        if let Some(progress) = locked(open).get(&number).and_then(|waits| waits.progress.as_ref()) {
            let done = params["progress"].as_u64().unwrap_or_default();
            progress.tell(done, params["total"].as_u64(), params["message"].as_str().unwrap_or_default());
        }
    } else if method.starts_with(NOTICES) {
        // A client that is behind reads the state by `poll_task`.
        let _ = says.try_send(Said { method, params });
    }
}

fn outcome(message: &mut Value) -> Outcome {
    if message.get("error").is_none() {
        return Ok(message["result"].take());
    }
    let mut error = message["error"].take();
    let code = error["code"].as_i64().and_then(|code| i32::try_from(code).ok());
    Err(RpcError {
        code: code.map_or(ErrorCode::INTERNAL_ERROR, ErrorCode),
        message: error["message"].as_str().unwrap_or_default().to_owned(),
        data: error.get_mut("data").map(Value::take),
    })
}

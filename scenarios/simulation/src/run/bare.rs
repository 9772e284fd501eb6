//! A pipe without a host: it writes only the scenario's lines to the server, and shows the server's lines.

use fake_hosts::drive::{HostEvent, HostEventKind, Order, Server};
use fake_hosts::log::{Dir, WireEvent};
use fake_hosts::{Action, Carrier, ModelEntry, Signal};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Runs until the server has ended or `orders` is closed.
pub(crate) async fn drive<S: Server>(
    mut server: S,
    mut orders: mpsc::Receiver<Order>,
    events: mpsc::Sender<HostEvent>,
) {
    let began = Instant::now();
    let now_ms = || u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let tell = async |kind| {
        // A watcher that left is no reason to stop.
        let _ = events.send(HostEvent { at_ms: now_ms(), kind }).await;
    };
    let (output, input) = match server.spawn() {
        Ok(streams) => streams,
        Err(error) => return tell(HostEventKind::Failed(error.to_string())).await,
    };
    let (mut output, mut input) = (BufReader::new(output), Some(input));
    tell(HostEventKind::Wire(WireEvent::event(1, "server process started"))).await;
    tell(HostEventKind::Ready).await;
    let mut line = Vec::new();
    loop {
        tokio::select! {
            biased;
            read = output.read_until(b'\n', &mut line) => {
                if !matches!(read, Ok(size) if size > 0) {
                    break;
                }
                let text = line.strip_suffix(b"\n").unwrap_or(&line);
                let bytes = text.to_vec();
                tell(HostEventKind::Wire(WireEvent { proc: 1, dir: Dir::ServerToHost, bytes })).await;
                for entry in shown(now_ms(), text) {
                    tell(HostEventKind::Model(entry)).await;
                }
                line.clear();
            }
            order = orders.recv() => match order {
                Some(Order::Raw(mut bytes)) => {
                    let line = bytes.clone();
                    tell(HostEventKind::Wire(WireEvent { proc: 1, dir: Dir::HostToServer, bytes: line })).await;
                    bytes.push(b'\n');
                    if let Some(pipe) = &mut input && pipe.write_all(&bytes).await.is_err() {
                        input = None;
                    }
                }
                Some(Order::Signal(signal)) => {
                    let said = format!("signal {} from elsewhere", signal.name());
                    tell(HostEventKind::Wire(WireEvent::event(1, said))).await;
                    server.signal(signal);
                }
                Some(Order::Act(Action::Exit | Action::Kill)) => {
                    tell(HostEventKind::Wire(WireEvent::event(1, "stdin closed"))).await;
                    input = None;
                }
                Some(_) => {}
                None => {
                    server.signal(Signal::Kill);
                    break;
                }
            },
        }
    }
    let code = server.exited().await;
    let said = code.map_or_else(|| "exit".to_owned(), |code| format!("exit {code}"));
    tell(HostEventKind::Wire(WireEvent::event(1, said))).await;
}

/// Without a host, the model is taken to read the text of every tool result and every resource.
fn shown(at_ms: u64, line: &[u8]) -> Vec<ModelEntry> {
    let Ok(value) = serde_json::from_slice::<Value>(line) else { return Vec::new() };
    let texts = |pointer: &str, carrier: Carrier| -> Vec<ModelEntry> {
        let blocks = value.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
        let texts = blocks.filter_map(|block| block.get("text").and_then(Value::as_str));
        texts
            .map(|text| ModelEntry {
                at_ms,
                carrier,
                tool: None,
                label: None,
                text: text.to_owned(),
                is_error: false,
                woke: false,
            })
            .collect()
    };
    [texts("/result/content", Carrier::ToolResult), texts("/result/contents", Carrier::Resource)].concat()
}

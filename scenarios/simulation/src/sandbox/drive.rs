//! A session in which the person plays the model: the real server on pipes, each line on the wire shown.
//! It must never start another program than the server, nor send a line without an order, save `initialized`.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use fake_hosts::Signal;
use fake_hosts::drive::Server as _;
use fake_hosts::process::{ProcessServer, ServerCommand};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;

use super::setup::Setup;
use super::state::{Line, Session};
use super::text;

/// Lines that are remembered.
const LINES_MAX: usize = 200;
/// Lines that wait for the world to look at them.
const NEWS_MAX: usize = 1_000;
/// Longest line that is read whole, in bytes; a longer one comes in pieces.
const LINE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Orders that wait.
const ORDERS_MAX: usize = 64;
/// The part of stderr that is shown when the server has ended, in characters.
const STDERR_CHARS_MAX: usize = 600;

/// An order of the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// Starts the server, when it does not run.
    Start,
    /// Closes its input.
    Stop,
    /// Opens the session; `initialized` follows by itself.
    Initialize,
    /// `tools/list`.
    ListTools,
    /// `wait_for_inbound_message`.
    Wait {
        /// How long.
        timeout_s: u64,
    },
    /// `inbox_pull`.
    Pull,
    /// `send_teams_message`.
    Send {
        /// Where to.
        chat_id: String,
        /// What.
        text: String,
    },
    /// Anything, on one line.
    Raw(String),
}

#[derive(Default)]
struct Wire {
    lines: VecDeque<Line>,
    /// Lines of the server that the world has not looked at.
    news: VecDeque<Value>,
    total: u64,
    running: bool,
    status: String,
    version: u64,
    next_id: u64,
    /// The id of an `initialize` that is not answered yet.
    opening: Option<u64>,
}

/// The page's end of the session.
pub(crate) struct Drive {
    wire: Rc<RefCell<Wire>>,
    orders: mpsc::Sender<Order>,
}

/// The server's end; it runs as long as the sandbox.
pub(crate) struct Pilot {
    wire: Rc<RefCell<Wire>>,
    orders: mpsc::Receiver<Order>,
    server: ProcessServer,
}

impl Drive {
    /// A session with the server of a setup.
    pub(crate) fn new(setup: &Setup) -> (Self, Pilot) {
        let wire = Rc::new(RefCell::new(Wire { status: "not started".to_owned(), ..Wire::default() }));
        let (orders, queue) = mpsc::channel(ORDERS_MAX);
        let server = ProcessServer::new(ServerCommand {
            program: setup.program().to_owned(),
            // A host that is set up at the same time keeps its own inbox.
            arguments: ["serve", "--consumer", "by-hand"].map(str::to_owned).to_vec(),
            working_directory: None,
            environment: setup.environment().clone(),
            bare_environment: true,
        });
        (Self { wire: Rc::clone(&wire), orders }, Pilot { wire, orders: queue, server })
    }

    /// Hands an order on.
    pub(super) fn order(&self, order: Order) -> Result<(), String> {
        if order != Order::Start && !self.wire.borrow().running {
            return Err("the server does not run; start it".to_owned());
        }
        self.orders
            .try_send(order)
            .map_err(|_| "the server takes nothing; stop it and start it again".to_owned())
    }

    /// Grows with every change that shows.
    pub(super) fn version(&self) -> u64 {
        self.wire.borrow().version
    }

    /// Lines of the server since the last time.
    pub(super) fn take_news(&self) -> Vec<Value> {
        self.wire.borrow_mut().news.drain(..).collect()
    }

    /// The session as it is now.
    pub(super) fn session(&self) -> Session {
        let wire = self.wire.borrow();
        let kept = u64::try_from(wire.lines.len()).unwrap_or(u64::MAX);
        Session {
            running: wire.running,
            status: wire.status.clone(),
            left_out: usize::try_from(wire.total.saturating_sub(kept)).unwrap_or(usize::MAX),
            lines: wire.lines.iter().cloned().collect(),
        }
    }
}

impl Pilot {
    /// Starts the server, and again whenever the person says so. Never ends by itself.
    pub(crate) async fn run(mut self) {
        loop {
            let (output, mut input) = match self.server.spawn() {
                Ok(pipes) => pipes,
                Err(error) => {
                    self.wire.borrow_mut().stands(false, format!("it could not be started: {error}"));
                    self.until_start().await;
                    continue;
                }
            };
            self.wire.borrow_mut().stands(true, "runs".to_owned());
            let (own, own_queue) = mpsc::channel(ORDERS_MAX);
            let reading = read(output, &self.wire, &own);
            let writing = write(&mut input, &self.wire, &mut self.orders, own_queue);
            tokio::select! {
                biased;
                () = reading => {}
                () = writing => self.server.signal(Signal::Term),
            }
            drop(input);
            let code = self.server.exited().await;
            self.wire.borrow_mut().stands(false, self.farewell(code));
            self.until_start().await;
        }
    }

    fn farewell(&self, code: Option<i32>) -> String {
        let code = code.map_or_else(|| "by a signal".to_owned(), |code| format!("with exit code {code}"));
        let stderr = self.server.stderr();
        let skipped = stderr.chars().count().saturating_sub(STDERR_CHARS_MAX);
        let tail: String = stderr.chars().skip(skipped).collect();
        text::source(format!("ended {code}\n{}", tail.trim()).trim())
    }

    async fn until_start(&mut self) {
        while let Some(order) = self.orders.recv().await {
            if order == Order::Start {
                return;
            }
        }
        // The page is gone, so no order can come.
        std::future::pending::<()>().await;
    }
}

/// Reads until the server closes its output.
async fn read(output: ChildStdout, wire: &RefCell<Wire>, own: &mpsc::Sender<Order>) {
    let mut reader = BufReader::new(output);
    loop {
        let mut line = Vec::new();
        match (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        if wire.borrow_mut().heard(text.trim_end()) {
            let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            // A full queue means that the person has ordered far more than a server takes; nothing is lost by waiting.
            let _ = own.send(Order::Raw(initialized.to_string())).await;
        }
    }
}

/// Writes what is ordered, until the person stops the server or it takes nothing more.
async fn write(
    input: &mut ChildStdin,
    wire: &RefCell<Wire>,
    orders: &mut mpsc::Receiver<Order>,
    mut own: mpsc::Receiver<Order>,
) {
    loop {
        let order = tokio::select! {
            biased;
            Some(order) = own.recv() => order,
            Some(order) = orders.recv() => order,
            else => return,
        };
        if order == Order::Stop {
            return;
        }
        let Some(line) = wire.borrow_mut().composed(order) else { continue };
        if input.write_all(format!("{line}\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

impl Wire {
    fn stands(&mut self, running: bool, status: String) {
        self.running = running;
        self.status = status;
        self.opening = None;
        self.version += 1;
    }

    /// The line of an order, noted; `None` for one that needs no line.
    fn composed(&mut self, order: Order) -> Option<String> {
        let line = match order {
            Order::Start | Order::Stop => return None,
            Order::Initialize => {
                let line = self.request(
                    "initialize",
                    &json!({
                        "protocolVersion": "2025-11-25", "capabilities": {},
                        "clientInfo": {"name": "hostcheck-play", "version": env!("CARGO_PKG_VERSION")},
                    }),
                );
                self.opening = Some(self.next_id);
                line
            }
            Order::ListTools => self.request("tools/list", &json!({})),
            Order::Wait { timeout_s } => {
                self.call("wait_for_inbound_message", &json!({"timeout_s": timeout_s}))
            }
            Order::Pull => self.call("inbox_pull", &json!({})),
            Order::Send { chat_id, text } => self.call(
                "send_teams_message",
                &json!({"chat_id": chat_id, "content": text, "content_type": "text"}),
            ),
            Order::Raw(line) => line,
        };
        self.note(true, &line);
        Some(line)
    }

    fn request(&mut self, method: &str, params: &Value) -> String {
        self.next_id += 1;
        json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params}).to_string()
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> String {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Notes a line of the server; says whether it opens the session.
    fn heard(&mut self, line: &str) -> bool {
        let message = self.note(false, line);
        let opens = self.opening.is_some()
            && message["id"].as_u64() == self.opening
            && message.get("result").is_some();
        if opens {
            self.opening = None;
        }
        if self.news.len() >= NEWS_MAX {
            self.news.pop_front();
        }
        self.news.push_back(message);
        opens
    }

    fn note(&mut self, by_host: bool, line: &str) -> Value {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        self.total += 1;
        self.version += 1;
        if self.lines.len() >= LINES_MAX {
            self.lines.pop_front();
        }
        let laid_out = if message.is_object() {
            serde_json::to_string_pretty(&message).unwrap_or_default()
        } else {
            line.to_owned()
        };
        self.lines.push_back(Line {
            number: self.total,
            by_host,
            title: text::source(&title(&message)),
            says: said(&message).map(|text| text::source(&text)),
            text: text::source(&laid_out),
        });
        message
    }
}

/// A line in a few words.
fn title(message: &Value) -> String {
    const WORD_CHARS_MAX: usize = 60;
    let id = message.get("id").map(|id| format!(" #{id}")).unwrap_or_default();
    let words = match message["method"].as_str() {
        Some("tools/call") => format!("calls {}{id}", message["params"]["name"].as_str().unwrap_or_default()),
        Some(method) => format!("{method}{id}"),
        None if message.get("error").is_some() => format!("error{id}"),
        None if message.get("result").is_some() => format!("answer{id}"),
        None => "no JSON-RPC message".to_owned(),
    };
    words.chars().take(WORD_CHARS_MAX).collect()
}

/// The text of a tool's result for the model.
fn said(message: &Value) -> Option<String> {
    let content = message.pointer("/result/content")?.as_array()?;
    let texts: Vec<String> = content
        .iter()
        .filter_map(|block| block["text"].as_str())
        .map(|text| match serde_json::from_str::<Value>(text) {
            Ok(json) if json.is_object() => serde_json::to_string_pretty(&json).unwrap_or_default(),
            _ => text.to_owned(),
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initialized_follows_the_answer_and_nothing_else() {
        let mut wire = Wire::default();
        assert!(!wire.heard(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), "nothing was asked");
        wire.composed(Order::Initialize).unwrap();
        assert!(!wire.heard(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}"#));
        assert!(!wire.heard("not json"));
        assert!(wire.heard(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#));
        assert!(!wire.heard(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), "only once");
    }

    #[test]
    fn lines_are_titled_bounded_and_hide_nothing() {
        let mut wire = Wire::default();
        wire.composed(Order::Wait { timeout_s: 5 });
        wire.heard(
            r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"messages\":[]}"}]}}"#,
        );
        wire.heard("\u{1b}[2J\u{202e}");
        let titles: Vec<&str> = wire.lines.iter().map(|line| line.title.as_str()).collect();
        assert_eq!(titles, ["calls wait_for_inbound_message #1", "answer #1", "no JSON-RPC message"]);
        assert_eq!(wire.lines[1].says.as_deref(), Some("{\n  \"messages\": []\n}"));
        assert_eq!(wire.lines[2].text, "⟨U+001B⟩[2J⟨U+202E⟩");
        for _ in 0..2 * NEWS_MAX {
            wire.heard("{}");
        }
        assert_eq!((wire.lines.len(), wire.news.len()), (LINES_MAX, NEWS_MAX));
    }
}

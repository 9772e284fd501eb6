//! One connection to a server: bytes out, lines in, everything on record and every line of the server judged.
//! It never decides what a line should have been; probes do that, and the wire validator.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use fake_hosts::drive::Server as _;
use fake_hosts::{AnyServer, Signal};
use reports::event::{Lane, WireLine};
use schemas::{Direction, WireValidator};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::Instant;

use super::spread::{self, Spread};

/// Longest line of a server that is kept, in bytes.
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Bytes read or written at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// Lines of a transcript that are kept.
const TRANSCRIPT_LINES_MAX: usize = 600;
/// Characters of a line in a transcript that are kept.
const TRANSCRIPT_LINE_CHARS_MAX: usize = 4_000;
/// Broken rules of one kind that are kept.
const BROKEN_MAX: usize = 8;
/// Answers that wait for the end of a line.
const HELD_MAX: usize = 1_000;
/// Messages that wait to be looked at.
const RECEIVED_MAX: usize = 100_000;

/// A rule of the wire that a line of the server broke.
#[derive(Debug, Clone)]
pub(crate) struct Broken {
    pub(crate) rule: &'static str,
    pub(crate) message: String,
    pub(crate) line: String,
    pub(crate) at_ms: u64,
}

/// What is remembered of all connections of one probe.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) transcript: Vec<WireLine>,
    pub(crate) left_out: usize,
    pub(crate) broken: Vec<Broken>,
    /// Valid messages of the server, by definition; errors and results count as what they answer.
    pub(crate) seen: BTreeMap<String, u64>,
    /// Most notifications of progress that one token of one connection got.
    pub(crate) progress_most: u64,
    pub(crate) secrets: Vec<String>,
}

impl Record {
    pub(crate) fn note(&mut self, at_ms: u64, lane: Lane, text: &str) {
        if self.transcript.len() >= TRANSCRIPT_LINES_MAX {
            self.left_out += 1;
            return;
        }
        let text = self.excerpt(text, TRANSCRIPT_LINE_CHARS_MAX);
        self.transcript.push(WireLine { at_ms, lane, text });
    }

    /// A text without secrets, cut where it is long.
    pub(crate) fn excerpt(&self, text: &str, characters_max: usize) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            text = text.replace(secret, "<secret>");
        }
        if let Some((end, _)) = text.char_indices().nth(characters_max) {
            let left_out = text.len() - end;
            text.truncate(end);
            text = format!("{text}… ({left_out} bytes more)");
        }
        text
    }
}

/// A line of the server.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    /// Nothing where the line holds no JSON.
    pub(crate) message: Option<Value>,
    pub(crate) text: String,
}

/// A process that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    /// Its exit code, where it had one.
    pub(crate) code: Option<i32>,
}

/// One running server and the host's ends of its pipes.
pub(crate) struct Wire {
    server: AnyServer,
    output: Option<Box<dyn AsyncRead + Unpin>>,
    input: Option<Box<dyn AsyncWrite + Unpin>>,
    pending_out: Vec<u8>,
    /// How much of it is written.
    written: usize,
    close_when_written: bool,
    partial: Vec<u8>,
    reading: bool,
    began: Instant,
    ended: Option<Ended>,
    validator: WireValidator,
    spread: Spread,
    /// Notifications of progress, by token.
    progress: BTreeMap<String, u64>,
    /// Whether the server's lines are held to the rules; not where the host breaks them itself.
    judged: bool,
    /// Whether requests of the server are answered.
    answers: bool,
    /// Answers that wait until the line that is on its way is whole.
    held: Vec<Value>,
    /// Whether what was put on the way ends within a line.
    line_open: bool,
    pub(crate) received: Vec<Received>,
    pub(crate) record: Rc<RefCell<Record>>,
}

impl Wire {
    /// Starts the server.
    pub(crate) fn start(
        mut server: AnyServer,
        record: Rc<RefCell<Record>>,
        judged: bool,
        answers: bool,
    ) -> std::io::Result<Self> {
        let (output, input) = server.spawn()?;
        record.borrow_mut().note(0, Lane::Event, "server started");
        Ok(Self {
            server,
            output: Some(output),
            input: Some(input),
            pending_out: Vec::new(),
            written: 0,
            close_when_written: false,
            partial: Vec::new(),
            reading: true,
            began: Instant::now(),
            ended: None,
            validator: WireValidator::at_host(),
            spread: Spread::default(),
            progress: BTreeMap::new(),
            judged,
            answers,
            held: Vec::new(),
            line_open: false,
            received: Vec::new(),
            record,
        })
    }

    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Puts a message on the way, with its newline.
    pub(crate) fn send(&mut self, message: &Value) {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        self.send_bytes(&line);
    }

    /// Puts bytes on the way as they are. What they hold of whole lines is on record.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let now_ms = self.now_ms();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if self.judged {
                // The host's own lines are ours; only what they mean for the server's matters.
                let _ = self.validator.feed_bytes(Direction::HostToServer, line);
            }
            self.record.borrow_mut().note(now_ms, Lane::HostToServer, &String::from_utf8_lossy(line));
        }
        self.pending_out.extend_from_slice(bytes);
        self.line_open = bytes.last().map_or(self.line_open, |byte| *byte != b'\n');
        if !self.line_open {
            for answer in std::mem::take(&mut self.held) {
                self.send(&answer);
            }
        }
    }

    /// Closes stdin once all is written.
    pub(crate) fn close_input(&mut self) {
        self.note("stdin closed by the host");
        if self.pending_out.is_empty() { self.input = None } else { self.close_when_written = true }
    }

    /// Closes the host's end of stdout: what the server writes from now on meets a broken pipe.
    pub(crate) fn close_output(&mut self) {
        self.note("stdout closed by the host");
        self.output = None;
    }

    /// Whether the host reads what the server writes.
    pub(crate) fn set_reading(&mut self, reading: bool) {
        self.note(if reading { "the host reads again" } else { "the host stops reading" });
        self.reading = reading;
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        self.note(&format!("signal {}", signal.name()));
        self.server.signal(signal);
    }

    /// Whether the process has ended, with its code where it had one.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Whether the server can say nothing more.
    pub(crate) fn is_silent_for_good(&self) -> bool {
        self.output.is_none()
    }

    pub(crate) fn is_written(&self) -> bool {
        self.pending_out.is_empty()
    }

    pub(crate) fn stderr(&self) -> String {
        self.server.stderr()
    }

    pub(crate) fn note(&self, text: &str) {
        self.record.borrow_mut().note(self.now_ms(), Lane::Event, text);
    }

    /// Moves bytes until something holds or the time is up; says whether it holds.
    pub(crate) async fn run_until(&mut self, limit: Duration, mut holds: impl FnMut(&Self) -> bool) -> bool {
        let until = Instant::now() + limit;
        let mut chunk = vec![0_u8; CHUNK_BYTES];
        loop {
            if holds(self) {
                return true;
            }
            let may_read = self.reading && self.output.is_some();
            let may_write = self.input.is_some() && !self.pending_out.is_empty();
            let runs = self.ended.is_none();
            tokio::select! {
                biased;
                size = read_some(self.output.as_mut(), &mut chunk), if may_read => match size {
                    Ok(size) if size > 0 => self.take(&chunk[..size]),
                    _ => self.output_ended(),
                },
                size = write_some(self.input.as_mut(), &self.pending_out[self.written..]), if may_write => match size {
                    Ok(size) if size > 0 => {
                        self.written += size;
                        if self.written == self.pending_out.len() {
                            self.written = 0;
                            self.pending_out.clear();
                            if self.close_when_written {
                                self.input = None;
                            }
                        }
                    }
                    _ => {
                        self.input = None;
                        self.written = 0;
                        self.pending_out.clear();
                        self.note("the server does not read any more");
                    }
                },
                code = self.server.exited(), if runs => {
                    self.ended = Some(Ended { code });
                    self.note(&code.map_or_else(|| "the server ended".to_owned(), |code| format!("the server ended with code {code}")));
                },
                () = tokio::time::sleep_until(until) => return holds(self),
            }
        }
    }

    /// Moves bytes for a while.
    pub(crate) async fn run_for(&mut self, time: Duration) {
        self.run_until(time, |_| false).await;
    }

    /// The first message from `from` on that fits, waiting for it.
    pub(crate) async fn next_where(
        &mut self,
        from: usize,
        limit: Duration,
        fits: impl Fn(&Value) -> bool,
    ) -> Option<Value> {
        let find = |wire: &Self| {
            wire.received
                .iter()
                .skip(from)
                .find_map(|line| line.message.as_ref().filter(|message| fits(message)).cloned())
        };
        self.run_until(limit, |wire| find(wire).is_some() || wire.is_silent_for_good()).await;
        find(self)
    }

    fn take(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (head, tail) = rest.split_at(end);
            rest = tail.get(1..).unwrap_or_default();
            self.partial.extend_from_slice(head);
            let line = std::mem::take(&mut self.partial);
            self.take_line(&line);
        }
        if self.partial.len() + rest.len() <= LINE_BYTES_MAX {
            self.partial.extend_from_slice(rest);
        }
    }

    fn output_ended(&mut self) {
        self.output = None;
        let rest = std::mem::take(&mut self.partial);
        if !rest.is_empty() {
            self.take_line(&rest);
        }
        self.note("stdout closed by the server");
    }

    fn take_line(&mut self, line: &[u8]) {
        let at_ms = self.now_ms();
        let text = String::from_utf8_lossy(line).into_owned();
        self.record.borrow_mut().note(at_ms, Lane::ServerToHost, &text);
        let message = if self.judged {
            let (verdict, message) = self.validator.read(Direction::ServerToHost, line);
            self.remember(at_ms, &text, verdict);
            self.put_together(at_ms, &text, message.as_ref());
            self.count_progress(message.as_ref());
            message
        } else {
            serde_json::from_slice(line).ok()
        };
        if self.answers
            && let Some(message) = &message
        {
            self.answer(message);
        }
        if self.received.len() < RECEIVED_MAX {
            self.received.push(Received { message, text });
        }
    }

    /// Looks for a message that was spread over lines, which none of them shows.
    fn put_together(&mut self, at_ms: u64, text: &str, message: Option<&Value>) {
        let is_message = message.is_some_and(|message| message.get("jsonrpc").is_some());
        if let Some(whole) = self.spread.take(text, is_message) {
            let mut record = self.record.borrow_mut();
            if record.broken.iter().filter(|one| one.rule == spread::RULE).count() < BROKEN_MAX {
                let message = "a message is written over several lines".to_owned();
                let line = record.excerpt(&whole, 1_000);
                record.broken.push(Broken { rule: spread::RULE, message, line, at_ms });
            }
        }
    }

    fn count_progress(&mut self, message: Option<&Value>) {
        let Some(message) = message.filter(|message| message["method"] == "notifications/progress") else {
            return;
        };
        let count = self.progress.entry(message["params"]["progressToken"].to_string()).or_default();
        *count += 1;
        let mut record = self.record.borrow_mut();
        record.progress_most = record.progress_most.max(*count);
    }

    /// Keeps what the validator says of a line.
    fn remember(&self, at_ms: u64, text: &str, verdict: schemas::Verdict) {
        let mut record = self.record.borrow_mut();
        let definition = if verdict.definition.is_empty() { "nothing" } else { verdict.definition };
        *record.seen.entry(definition.to_owned()).or_default() += 1;
        for error in verdict.errors {
            if record.broken.iter().filter(|one| one.rule == error.rule).count() < BROKEN_MAX {
                let place = if error.path.is_empty() { String::new() } else { format!(" at {}", error.path) };
                let message = if verdict.definition.is_empty() && place.is_empty() {
                    error.message.clone()
                } else {
                    format!("{definition}{place}: {}", error.message)
                };
                let line = record.excerpt(text, 1_000);
                record.broken.push(Broken { rule: error.rule, message, line, at_ms });
            }
        }
    }

    /// A host without capabilities: it answers pings, and knows nothing else.
    fn answer(&mut self, message: &Value) {
        let (Some(id), Some(method)) = (message.get("id"), message.get("method").and_then(Value::as_str))
        else {
            return;
        };
        let answer = if method == "ping" {
            serde_json::json!({"jsonrpc": "2.0", "id": id, "result": {}})
        } else {
            serde_json::json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}})
        };
        if !self.line_open {
            self.send(&answer);
        } else if self.held.len() < HELD_MAX {
            self.held.push(answer);
        }
    }
}

async fn read_some(
    output: Option<&mut Box<dyn AsyncRead + Unpin>>,
    chunk: &mut [u8],
) -> std::io::Result<usize> {
    match output {
        Some(output) => output.read(chunk).await,
        None => std::future::pending().await,
    }
}

async fn write_some(input: Option<&mut Box<dyn AsyncWrite + Unpin>>, bytes: &[u8]) -> std::io::Result<usize> {
    match input {
        Some(input) => input.write(bytes.get(..CHUNK_BYTES).unwrap_or(bytes)).await,
        None => std::future::pending().await,
    }
}

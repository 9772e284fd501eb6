//! One connection to a server: it sends bytes, receives lines, records everything and validates every line of
//! the server. It does not decide what a line should have been; probes and the wire validator do that.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use fake_hosts::drive::Server as _;
use fake_hosts::pipe::{Outbox, read_some};
use fake_hosts::split::Splitter;
use fake_hosts::{AnyServer, Signal};
use reports::event::{Lane, WireLine};
use schemas::{Direction, WireValidator};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::Instant;

use super::heard::Heard;
use super::mask;
use super::outcome::{Evidence, Observed, Outcome, Seen};
use super::spread::{self, Spread};

/// The rule that a line without JSON breaks.
const NOISE: &str = "not-json";
/// Longest line of a server that is kept, in bytes.
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Most bytes that are read at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// Most lines of a transcript.
const TRANSCRIPT_LINES_MAX: usize = 600;
/// Most characters of a line in a transcript.
const TRANSCRIPT_LINE_CHARS_MAX: usize = 4_000;
/// Most characters of a string in JSON that is too long to be shown whole.
const STRING_CHARS_MAX: usize = 200;
/// Most characters of the wire in one piece of evidence.
const EVIDENCE_CHARS_MAX: usize = 1_500;
/// Most characters of a request that is named.
const REQUEST_CHARS_MAX: usize = 100;
/// Most faults of one rule that are kept.
const BROKEN_MAX: usize = 8;
/// Most answers that wait for the end of a line.
const HELD_MAX: usize = 1_000;
/// Most messages that wait for a probe.
const RECEIVED_MAX: usize = 100_000;

/// A rule of the wire that a line of the server broke.
#[derive(Debug, Clone)]
pub(crate) struct Broken {
    pub(crate) rule: &'static str,
    pub(crate) message: String,
    pub(crate) line: String,
    /// The last request before a line that is no message, which may have caused it.
    pub(crate) after: Option<String>,
    pub(crate) at_ms: u64,
}

/// The record of all connections of one probe.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) transcript: Vec<WireLine>,
    pub(crate) left_out: usize,
    pub(crate) broken: Vec<Broken>,
    /// Valid messages of the server, by definition; errors and results count as answers to their request.
    pub(crate) seen: BTreeMap<String, u64>,
    /// Most progress notifications for one token of one connection.
    pub(crate) progress_most: u64,
    /// Whether a message did not come in the time that it was given.
    pub(crate) waited_in_vain: bool,
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

    /// A failure with its evidence; an empty text stands for none.
    pub(crate) fn failed(
        &self,
        message: impl Into<String>,
        expected: &str,
        observed: &(impl Seen + ?Sized),
    ) -> Outcome {
        let Observed { text, tells } = observed.observed();
        let observed = self.excerpt(&text, EVIDENCE_CHARS_MAX);
        Outcome::Failed(vec![Evidence {
            message: message.into(),
            expected: (!expected.is_empty()).then(|| expected.to_owned()),
            observed: (!observed.is_empty()).then_some(observed),
            tells,
            at_ms: 0,
        }])
    }

    /// Masks the secrets of a text and cuts it to a length.
    pub(crate) fn excerpt(&self, text: &str, characters_max: usize) -> String {
        let mut text = mask::text(text, &self.secrets);
        if text.len() > characters_max {
            text = without_long_strings(&text);
        }
        if let Some((end, _)) = text.char_indices().nth(characters_max) {
            let left_out = text.len() - end;
            text.truncate(end);
            text = format!("{text}… ({left_out} bytes more)");
        }
        text
    }
}

/// A text with its long strings of JSON cut, so that what is told of a message does not end within a picture.
fn without_long_strings(text: &str) -> String {
    let Some(begins) = text.find('{') else { return text.to_owned() };
    let Ok(mut message) = serde_json::from_str::<Value>(&text[begins..]) else { return text.to_owned() };
    cut_strings(&mut message);
    format!("{}{message}", &text[..begins])
}

fn cut_strings(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some((end, _)) = text.char_indices().nth(STRING_CHARS_MAX) {
                let left_out = text.len() - end;
                text.truncate(end);
                *text = format!("{text}… ({left_out} bytes more)");
            }
        }
        Value::Array(items) => items.iter_mut().for_each(cut_strings),
        Value::Object(members) => members.values_mut().for_each(cut_strings),
        _ => {}
    }
}

/// The method of a request, with what it asks for: `tools/call add`.
fn request_of(line: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(line).ok()?;
    message.get("id")?;
    let method = message.get("method")?.as_str()?;
    let what = ["/params/name", "/params/uri"].into_iter().find_map(|place| message.pointer(place)?.as_str());
    Some(what.map_or_else(|| method.to_owned(), |what| format!("{method} {what}")))
}

/// A line of the server.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    /// `None` if the line holds no JSON.
    pub(crate) message: Option<Value>,
    pub(crate) text: String,
}

/// A process that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
}

/// One running server and the host's ends of its pipes.
pub(crate) struct Wire {
    server: AnyServer,
    output: Option<Box<dyn AsyncRead + Unpin>>,
    input: Outbox<Box<dyn AsyncWrite + Unpin>>,
    lines: Splitter,
    reading: bool,
    began: Instant,
    ended: Option<Ended>,
    validator: WireValidator,
    spread: Spread,
    /// Number of progress notifications, by token.
    progress: BTreeMap<String, u64>,
    /// The last request of the host.
    asked: Option<String>,
    /// Whether the server's lines are validated; not where the host breaks the rules itself.
    judged: bool,
    /// Whether requests of the server are answered.
    answers: bool,
    /// Answers that wait until the line that is being written is complete.
    held: Vec<Value>,
    /// Whether the queued output ends within a line.
    line_open: bool,
    pub(crate) received: Vec<Received>,
    pub(crate) record: Rc<RefCell<Record>>,
    /// What HTTP carried beside the messages, until it is in the record.
    heard: Heard,
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
            input: Outbox::new(input),
            lines: Splitter::new(LINE_BYTES_MAX),
            reading: true,
            began: Instant::now(),
            ended: None,
            validator: WireValidator::at_host(),
            spread: Spread::default(),
            progress: BTreeMap::new(),
            asked: None,
            judged,
            answers,
            held: Vec::new(),
            line_open: false,
            received: Vec::new(),
            record,
            heard: Heard::default(),
        })
    }

    /// Records what HTTP carries beside the messages.
    pub(crate) fn hear(&mut self, heard: Heard) {
        self.heard = heard;
    }

    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Queues a message, with its newline.
    pub(crate) fn send(&mut self, message: &Value) {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        self.send_bytes(&line);
    }

    /// Queues bytes unchanged. Complete lines in them are recorded.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let now_ms = self.now_ms();
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if self.judged {
                // The lines of the host are this program's own; only their effect on the server's lines
                // matters.
                let _ = self.validator.feed_bytes(Direction::HostToServer, line);
                self.asked = request_of(line).or_else(|| self.asked.take());
            }
            self.record.borrow_mut().note(now_ms, Lane::HostToServer, &String::from_utf8_lossy(line));
        }
        self.input.push(bytes);
        self.line_open = bytes.last().map_or(self.line_open, |byte| *byte != b'\n');
        if !self.line_open {
            for answer in std::mem::take(&mut self.held) {
                self.send(&answer);
            }
        }
    }

    /// Closes stdin after everything is written.
    pub(crate) fn close_input(&mut self) {
        self.note("stdin closed by the host");
        self.asked = Some("the end of stdin".to_owned());
        self.input.close();
    }

    /// Closes the host's end of stdout, so that further output of the server meets a broken pipe.
    pub(crate) fn close_output(&mut self) {
        self.note("stdout closed by the host");
        self.output = None;
    }

    /// Whether the host reads the output of the server.
    pub(crate) fn set_reading(&mut self, reading: bool) {
        self.note(if reading { "the host reads again" } else { "the host stops reading" });
        self.reading = reading;
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        self.note(&format!("signal {}", signal.name()));
        self.asked = Some(signal.name().to_owned());
        self.server.signal(signal);
    }

    /// The end of the process, with its exit code if it had one.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Whether the server can't say anything more.
    pub(crate) fn is_silent_for_good(&self) -> bool {
        self.output.is_none()
    }

    pub(crate) fn is_written(&self) -> bool {
        self.input.is_empty()
    }

    /// Whether both pipes are open and no line is half written, so that another question can use the connection.
    pub(crate) fn is_whole(&self) -> bool {
        let open = self.ended.is_none() && self.output.is_some() && self.input.is_open() && self.reading;
        open && !self.line_open
    }

    /// Goes on for another question: what was received belongs to the one before, and what comes is recorded here.
    pub(crate) fn go_on(&mut self, record: Rc<RefCell<Record>>) {
        self.received.clear();
        self.record = record;
        self.note("a connection on which other questions were asked before");
    }

    /// Whether the server's lines are validated.
    pub(crate) fn is_judged(&self) -> bool {
        self.judged
    }

    /// Validates the server's lines no more: the host is about to break the rules.
    pub(crate) fn stop_judging(&mut self) {
        self.judged = false;
        // What the host sends from here on is not noted, so the last request is none of what comes.
        self.asked = None;
    }

    pub(crate) fn stderr(&self) -> String {
        self.server.stderr()
    }

    pub(crate) fn note(&self, text: &str) {
        self.record.borrow_mut().note(self.now_ms(), Lane::Event, text);
    }

    /// Moves bytes until a condition holds or the time is up; gives whether it holds.
    pub(crate) async fn run_until(&mut self, limit: Duration, mut holds: impl FnMut(&Self) -> bool) -> bool {
        let until = Instant::now() + limit;
        let mut chunk = vec![0_u8; CHUNK_BYTES];
        loop {
            let heard = std::mem::take(&mut *self.heard.borrow_mut());
            for text in heard {
                self.note(&text);
            }
            if holds(self) {
                return true;
            }
            let may_read = self.reading && self.output.is_some();
            let may_write = self.input.can_write();
            let runs = self.ended.is_none();
            tokio::select! {
                biased;
                size = read_some(self.output.as_mut(), &mut chunk), if may_read => match size {
                    Ok(size) if size > 0 => {
                        for line in self.lines.chunk(&chunk[..size]) {
                            self.take_line(&line.bytes);
                        }
                    }
                    _ => self.output_ended(),
                },
                open = self.input.write(), if may_write => {
                    if !open {
                        self.note("the server has stopped reading");
                    }
                }
                code = self.server.exited(), if runs => {
                    self.ended = Some(Ended { code });
                    self.note(&code.map_or_else(|| "the server ended".to_owned(), |code| format!("the server ended with code {code}")));
                },
                () = tokio::time::sleep_until(until) => return holds(self),
            }
        }
    }

    /// Moves bytes for some time.
    pub(crate) async fn run_for(&mut self, time: Duration) {
        self.run_until(time, |_| false).await;
    }

    /// The first message from `from` on that fits; waits for it.
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
        let in_time = self.run_until(limit, |wire| find(wire).is_some() || wire.is_silent_for_good()).await;
        if !in_time {
            self.record.borrow_mut().waited_in_vain = true;
        }
        find(self)
    }

    fn output_ended(&mut self) {
        self.output = None;
        if let Some(line) = self.lines.end() {
            self.take_line(&line.bytes);
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
            // The broken rule is noted; what the line says can be judged nevertheless.
            message.or_else(|| serde_json::from_str(&text).ok())
        } else {
            let message = serde_json::from_str(&text).ok();
            if message.is_none() {
                self.remember_noise(at_ms, &text, line);
            }
            message
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

    /// Looks for a message that was spread over several lines.
    fn put_together(&mut self, at_ms: u64, text: &str, message: Option<&Value>) {
        let is_message = message.is_some_and(|message| message.get("jsonrpc").is_some());
        if let Some(whole) = self.spread.take(text, is_message) {
            let mut record = self.record.borrow_mut();
            if record.broken.iter().filter(|one| one.rule == spread::RULE).count() < BROKEN_MAX {
                let message = "a message is written over several lines".to_owned();
                let line = record.excerpt(&whole, 1_000);
                record.broken.push(Broken { rule: spread::RULE, message, line, after: None, at_ms });
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

    /// Keeps the validator's verdict on a line.
    fn remember(&self, at_ms: u64, text: &str, verdict: schemas::Verdict) {
        let mut record = self.record.borrow_mut();
        let definition = if verdict.definition.is_empty() { "nothing" } else { verdict.definition };
        *record.seen.entry(definition.to_owned()).or_default() += 1;
        // What is wrong in one place is told together, or an author who adds one member learns of the next only then.
        let mut errors: Vec<schemas::WireError> = Vec::new();
        for error in verdict.errors {
            match errors.iter_mut().find(|other| (other.rule, &other.path) == (error.rule, &error.path)) {
                Some(other) => other.message = format!("{}, {}", other.message, error.message),
                None => errors.push(error),
            }
        }
        for error in errors {
            if record.broken.iter().filter(|one| one.rule == error.rule).count() < BROKEN_MAX {
                let place = if error.path.is_empty() { String::new() } else { format!(" at {}", error.path) };
                let message = if verdict.definition.is_empty() && place.is_empty() {
                    error.message.clone()
                } else {
                    format!("{definition}{place}: {}", error.message)
                };
                let line = record.excerpt(text, 1_000);
                let is_stray = verdict.definition.is_empty();
                let asked = self.asked.as_deref().filter(|_| is_stray);
                let after = asked.map(|asked| record.excerpt(asked, REQUEST_CHARS_MAX));
                record.broken.push(Broken { rule: error.rule, message, line, after, at_ms });
            }
        }
    }

    /// Whatever the host sends, a line that is no JSON is none of the server's messages.
    fn remember_noise(&self, at_ms: u64, text: &str, line: &[u8]) {
        let (mut verdict, _) = WireValidator::at_host().read(Direction::ServerToHost, line);
        verdict.errors.retain(|error| error.rule == NOISE);
        self.remember(at_ms, text, verdict);
    }

    /// Answers as a host without capabilities: pings get a result, other requests an error.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_string_is_cut_before_what_comes_after_it() {
        let picture = "A".repeat(EVIDENCE_CHARS_MAX);
        let message = serde_json::json!({"icon": picture, "result": [{"sum": 2}]});
        let told = Record::default().excerpt(&format!("result {message}"), EVIDENCE_CHARS_MAX);
        assert!(told.starts_with("result {") && told.ends_with(r#""result":[{"sum":2}]}"#), "{told}");
        assert!(
            told.contains(&format!("A… ({} bytes more)", EVIDENCE_CHARS_MAX - STRING_CHARS_MAX)),
            "{told}"
        );
        let text = "b".repeat(12);
        assert_eq!(Record::default().excerpt(&text, 10), "bbbbbbbbbb… (2 bytes more)");
    }
}

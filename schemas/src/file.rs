//! Judges the lines of a file one by one, in a given protocol version. It never judges the order of messages;
//! [`crate::WireValidator`] does that.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::catalog::{Asked, Sender, catalog};
use crate::message::{self, Kind};
use crate::verdict::{Findings, Verdict};
use crate::version::{Direction, Version};
use crate::wire::Id;

/// Most requests that wait for their answer; beyond that the smallest id is dropped.
const PENDING_REQUESTS_MAX: usize = 65_536;

/// The verdict on one line of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineVerdict {
    /// The line's number, from 1.
    pub line: u64,
    /// The verdict on its message.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// Judges one message by itself: a response is only checked for its envelope.
pub fn validate_line(version: Version, line: &str) -> Verdict {
    let mut found = Findings::default();
    if let Some(message) = message::read(line.as_bytes(), &mut found) {
        message::judge(version, None, &message, &|_| None, &mut found);
    }
    found.verdict()
}

/// Judges the lines of a file, and remembers requests so that responses can be paired.
///
/// A line is a message, or an entry of a recording: `{"ms", "proc", "dir", "msg"}` with `dir` either `host>server`,
/// `server>host` or `event`. Entries of different `proc` are different connections.
#[derive(Debug)]
pub struct FileValidator {
    version: Version,
    line: u64,
    /// Open requests, by connection, by the side that asked, and by id.
    pending: BTreeMap<(i64, Option<Direction>, Id), Asked>,
}

impl FileValidator {
    /// A validator for a file in the given version.
    pub fn new(version: Version) -> Self {
        Self { version, line: 0, pending: BTreeMap::new() }
    }

    /// Judges the next line; `None` if it holds no message: an empty line, an event, or an entry that was cut
    /// short.
    pub fn line(&mut self, line: &[u8]) -> Option<LineVerdict> {
        self.line += 1;
        if line.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let mut found = Findings::default();
        if let Some(value) = message::read(line, &mut found) {
            let (proc, direction, inner) = match recorded(&value) {
                Some(Entry::Message { proc, direction, message }) => (proc, Some(direction), message),
                Some(Entry::Other) => return None,
                None => (0, None, &value),
            };
            let pending = &self.pending;
            let asked = |message: &Value| asked(pending, proc, direction, message);
            message::judge(self.version, direction, inner, &asked, &mut found);
            self.remember(proc, direction, inner);
        }
        Some(LineVerdict { line: self.line, verdict: found.verdict() })
    }

    fn remember(&mut self, proc: i64, direction: Option<Direction>, message: &Value) {
        if let Value::Array(batch) = message {
            for message in batch {
                self.remember(proc, direction, message);
            }
            return;
        }
        match message::kind(message) {
            Kind::Request => {
                if let (Some(id), Some(asked)) = (message.get("id").and_then(Id::of), Asked::of(message)) {
                    let by = direction.or_else(|| sender(self.version, &asked.method));
                    self.pending.insert((proc, by, id), asked);
                    if self.pending.len() > PENDING_REQUESTS_MAX {
                        self.pending.pop_first();
                    }
                }
            }
            Kind::Result | Kind::Error => {
                if let Some(id) = message.get("id").and_then(Id::of) {
                    for by in askers(direction) {
                        if self.pending.remove(&(proc, *by, id.clone())).is_some() {
                            break;
                        }
                    }
                }
            }
            Kind::Notification | Kind::Nothing => {}
        }
    }
}

/// The sides that may have sent the request of an answer; without a direction, the host is more likely.
fn askers(direction: Option<Direction>) -> &'static [Option<Direction>] {
    const HOST: Option<Direction> = Some(Direction::HostToServer);
    const SERVER: Option<Direction> = Some(Direction::ServerToHost);
    match direction {
        Some(Direction::ServerToHost) => &[HOST],
        Some(Direction::HostToServer) => &[SERVER],
        None => &[HOST, SERVER, None],
    }
}

fn asked(
    pending: &BTreeMap<(i64, Option<Direction>, Id), Asked>,
    proc: i64,
    direction: Option<Direction>,
    message: &Value,
) -> Option<Asked> {
    if !matches!(message::kind(message), Kind::Result | Kind::Error) {
        return None;
    }
    let id = Id::of(message.get("id")?)?;
    askers(direction).iter().find_map(|by| pending.get(&(proc, *by, id.clone()))).cloned()
}

fn sender(version: Version, method: &str) -> Option<Direction> {
    match catalog(version).method(method)?.sender {
        Sender::Host | Sender::Both => Some(Direction::HostToServer),
        Sender::Server => Some(Direction::ServerToHost),
    }
}

enum Entry<'a> {
    Message { proc: i64, direction: Direction, message: &'a Value },
    Other,
}

/// Reads an entry of a recording; `None` if the value is none.
fn recorded(value: &Value) -> Option<Entry<'_>> {
    let (dir, message) = (value.get("dir")?.as_str()?, value.get("msg")?);
    if value.get("jsonrpc").is_some() {
        return None;
    }
    let cut = message.get("cut").is_some() || message.get("trimmed").is_some();
    Some(match Direction::parse(dir) {
        Some(direction) if !cut => Entry::Message {
            proc: value.get("proc").and_then(Value::as_i64).unwrap_or(0),
            direction,
            message,
        },
        _ => Entry::Other,
    })
}

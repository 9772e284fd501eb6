//! The observations of one server process about its host, read from a log: messages, calls, ends. It only
//! finds them; other modules draw facts from them.

use serde_json::Value;

use super::opening::Opening;
use crate::tap::read::{Recorded, Seen};
use crate::tap::{Dir, What};
use fake_hosts::Mode;

/// One server process.
#[derive(Debug, Clone)]
pub struct Session {
    /// The name of its log, for evidence.
    pub name: String,
    /// How the probe opened.
    pub opening: Opening,
    /// The mode of the host, as the user said.
    pub mode: Mode,
    /// Every message, in order.
    pub said: Vec<Said>,
    /// Every event, in order.
    pub happened: Vec<Happened>,
    /// The number of the process: 2 if the host started the same command again.
    pub proc: u64,
}

/// A message.
#[derive(Debug, Clone)]
pub struct Said {
    /// The line of the log.
    pub number: u64,
    /// The time, in milliseconds since the start.
    pub ms: u64,
    /// Whether the host wrote it.
    pub by_host: bool,
    /// The message.
    pub json: Value,
}

/// An event.
#[derive(Debug, Clone)]
pub struct Happened {
    /// The line of the log.
    pub number: u64,
    /// The time, in milliseconds since the start.
    pub ms: u64,
    /// The kind of event.
    pub what: What,
    /// The words of the log.
    pub detail: String,
}

/// A tool call.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The request.
    pub asked: &'a Said,
    /// The probe's answer.
    pub answered: Option<&'a Said>,
    /// The host's cancellation.
    pub cancelled: Option<&'a Said>,
}

impl Said {
    /// The method, if it has one.
    pub fn method(&self) -> Option<&str> {
        self.json.get("method")?.as_str()
    }

    /// The `params`; null if there are none.
    pub fn params(&self) -> &Value {
        self.json.get("params").unwrap_or(&Value::Null)
    }

    /// The names of its members, in order.
    pub fn order(&self) -> Vec<&str> {
        self.json.as_object().into_iter().flat_map(serde_json::Map::keys).map(String::as_str).collect()
    }

    fn is_request(&self) -> bool {
        self.method().is_some() && self.json.get("id").is_some()
    }
}

impl Session {
    /// The processes in the entries of a log.
    pub fn of(name: &str, log: &[Recorded]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for entry in log {
            if all.last().is_none_or(|session| session.proc != entry.proc) {
                all.push(Self {
                    name: name.to_owned(),
                    opening: Opening::Legacy,
                    mode: Mode::Tui,
                    said: Vec::new(),
                    happened: Vec::new(),
                    proc: entry.proc,
                });
            }
            if let Some(session) = all.last_mut() {
                session.take(entry);
            }
        }
        all
    }

    fn take(&mut self, entry: &Recorded) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "milliseconds of a session"
        )]
        let ms = entry.ms.round().max(0.0) as u64;
        let number = entry.number;
        match &entry.seen {
            Seen::Start(start) => {
                if let Some(opening) = start.opening.as_deref().and_then(|name| name.parse().ok()) {
                    self.opening = opening;
                }
                if start.mode.as_deref() == Some("print") {
                    self.mode = Mode::Print;
                }
            }
            Seen::Line(line) if line.dir != Dir::Stderr => {
                let json = line.message().filter(Value::is_object);
                let by_host = line.dir == Dir::HostToServer;
                self.said.extend(json.map(|json| Said { number, ms, by_host, json }));
            }
            Seen::Event(Some(what), detail) => {
                self.happened.push(Happened { number, ms, what: *what, detail: detail.clone() });
            }
            _ => {}
        }
    }

    /// The name of the first log of its series: `wire` for `wire.jsonl` and `wire.2.jsonl`.
    pub fn base(&self) -> String {
        let stem = self.name.strip_suffix(".jsonl").unwrap_or(&self.name);
        let number = format!(".{}", self.proc);
        stem.strip_suffix(&number).unwrap_or(stem).to_owned()
    }

    /// A line of this log, as evidence.
    pub fn at(&self, number: u64) -> String {
        format!("{}:{number}", self.name)
    }

    /// The host's requests with this method.
    pub fn asked(&self, method: &str) -> impl Iterator<Item = &Said> {
        self.said_as(method, true).filter(|said| said.is_request())
    }

    /// The host's notifications with this method.
    pub fn told(&self, method: &str) -> impl Iterator<Item = &Said> {
        self.said_as(method, true).filter(|said| !said.is_request())
    }

    /// The probe's messages with this method.
    pub fn sent(&self, method: &str) -> impl Iterator<Item = &Said> {
        self.said_as(method, false)
    }

    fn said_as(&self, method: &str, by_host: bool) -> impl Iterator<Item = &Said> {
        let method = method.to_owned();
        self.said.iter().filter(move |said| said.by_host == by_host && said.method() == Some(&method))
    }

    /// The answer to a request of either side.
    pub fn answer_to(&self, request: &Said) -> Option<&Said> {
        let id = request.json.get("id")?;
        self.said.iter().find(|said| {
            said.number > request.number
                && said.by_host != request.by_host
                && said.method().is_none()
                && said.json.get("id") == Some(id)
        })
    }

    /// The host's cancellation of its own request.
    pub fn cancel_of(&self, request: &Said) -> Option<&Said> {
        let id = request.json.get("id")?;
        self.told("notifications/cancelled")
            .find(|said| said.number > request.number && said.params().get("requestId") == Some(id))
    }

    /// The calls of a tool; of every tool if the name is empty.
    pub fn calls(&self, tool: &str) -> Vec<Call<'_>> {
        let wanted =
            |said: &&Said| tool.is_empty() || said.params().get("name").and_then(Value::as_str) == Some(tool);
        let requests = self.asked("tools/call").filter(wanted);
        requests
            .map(|asked| Call { asked, answered: self.answer_to(asked), cancelled: self.cancel_of(asked) })
            .collect()
    }

    /// The time of the first tool call; the end of the log if there is none.
    pub fn first_call_ms(&self) -> u64 {
        self.asked("tools/call").next().map_or(u64::MAX, |call| call.ms)
    }

    /// The time of the last entry.
    pub fn last_ms(&self) -> u64 {
        let said = self.said.last().map_or(0, |said| said.ms);
        self.happened.last().map_or(said, |last| last.ms.max(said))
    }

    /// The first end of stdin or signal, with which the host began to end the probe.
    pub fn end(&self) -> Option<&Happened> {
        self.happened.iter().find(|one| matches!(one.what, What::Signal | What::HostClosedStdin))
    }

    /// Whether the probe offered the newer era, and the host accepted it.
    pub fn is_modern(&self) -> bool {
        self.said.iter().any(|said| {
            said.by_host
                && said.method() != Some("server/discover")
                && said
                    .params()
                    .get("_meta")
                    .is_some_and(|meta| meta.get(super::tracer::META_VERSION).is_some())
        })
    }

    /// The words that the model reported.
    pub fn heard(&self) -> Vec<(&Said, Vec<&str>)> {
        self.calls("heard")
            .into_iter()
            .map(|call| {
                let list = call.asked.params().pointer("/arguments/words").and_then(Value::as_array);
                (call.asked, list.into_iter().flatten().filter_map(Value::as_str).collect())
            })
            .collect()
    }
}

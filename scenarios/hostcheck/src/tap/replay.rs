//! Sends the host's lines of a log to a server again and compares its answers with the recorded ones. It
//! waits for the same answers as the host did, never for the clock, and compares shapes, not values.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::Instant;

use super::entry::{Dir, What};
use super::read::{ENTRY_BYTES_MAX, Flaw, Recorded, Seen, Wire};
use super::shape::differences;

/// How much longer an answer may take than in the log, in milliseconds.
const ROOM_MS: u64 = 10_000;
/// Longest wait for one answer, in milliseconds.
const WAIT_MS_MAX: u64 = 3_600_000;
/// Most requests of the server that wait until the log answers them.
const ASKED_MAX: usize = 1_000;

/// The comparison of one recorded answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// The line of the log that holds it.
    pub line: u64,
    /// The method of the request.
    pub method: String,
    /// Whether the answer has the same shape.
    pub same: bool,
    /// The differences, one text each.
    pub differences: Vec<String>,
}

/// The result of a replay.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Replayed {
    /// Each recorded answer, in order.
    pub answers: Vec<Compared>,
    /// Lines that could not be sent unchanged, one text each.
    pub left_out: Vec<String>,
}

/// Replays one server process of a log over pipes to a live server.
///
/// # Errors
/// If nothing more can be written to the server although the log goes on.
pub async fn replay(
    log: &[Recorded],
    output: impl AsyncBufRead + Unpin,
    input: impl AsyncWrite + Unpin,
) -> anyhow::Result<Replayed> {
    let mut live = Live {
        output,
        input: Some(input),
        answers: BTreeMap::new(),
        asked: BTreeMap::new(),
        ids: BTreeMap::new(),
        ended: false,
    };
    let mut done = Replayed::default();
    let mut open: BTreeMap<String, (String, f64)> = BTreeMap::new();
    for entry in log {
        match &entry.seen {
            Seen::Line(line) if line.dir == Dir::HostToServer => {
                if line.flaw == Some(Flaw::Cut) {
                    done.left_out.push(format!("line {}: not whole, so it is not sent", entry.number));
                    continue;
                }
                if line.flaw == Some(Flaw::Masked) {
                    done.left_out.push(format!("line {}: secrets are sent as ***", entry.number));
                }
                if let Some((id, method)) = request(line) {
                    open.insert(id, (method, entry.ms));
                }
                live.send(line).await?;
            }
            Seen::Line(line) if line.dir == Dir::ServerToHost => {
                let Some(message) = line.message() else { continue };
                let Some(id) = message.get("id") else { continue };
                if let Some(method) = message.get("method").and_then(Value::as_str) {
                    live.take_request(method, id).await;
                } else if let Some((method, asked_ms)) = open.remove(&id.to_string()) {
                    let took = Duration::from_secs_f64((entry.ms - asked_ms).max(0.0) / 1_000.0);
                    let differences = match live.answer(&id.to_string(), took).await {
                        None => vec!["no answer came".to_owned()],
                        Some(answer) => differences(&body(&message), &body(&answer)),
                    };
                    let same = differences.is_empty();
                    done.answers.push(Compared { line: entry.number, method, same, differences });
                }
            }
            Seen::Event(Some(What::HostClosedStdin), _) => live.input = None,
            _ => {}
        }
    }
    Ok(done)
}

/// The id and the method of a request.
fn request(line: &Wire) -> Option<(String, String)> {
    let message = line.message()?;
    Some((message.get("id")?.to_string(), message.get("method")?.as_str()?.to_owned()))
}

/// The part of an answer that is compared. The code of an error becomes a member's name, so that another code
/// is another shape.
fn body(message: &Value) -> Value {
    match (message.get("result"), message.get("error")) {
        (Some(result), _) => json!({"result": result}),
        (None, Some(error)) => {
            let code = error.get("code").map(Value::to_string).unwrap_or_default();
            json!({ format!("error {code}"): {} })
        }
        (None, None) => json!({}),
    }
}

struct Live<O, I> {
    output: O,
    input: Option<I>,
    /// Answers that arrived, by id.
    answers: BTreeMap<String, Value>,
    /// Requests that arrived and that the log has not answered, by method.
    asked: BTreeMap<String, VecDeque<Value>>,
    /// The live id of a recorded request of the server.
    ids: BTreeMap<String, Value>,
    ended: bool,
}

impl<O: AsyncBufRead + Unpin, I: AsyncWrite + Unpin> Live<O, I> {
    async fn send(&mut self, line: &Wire) -> anyhow::Result<()> {
        let mut bytes = self.with_live_id(line).unwrap_or_else(|| line.bytes.clone());
        bytes.push(b'\n');
        let Some(input) = &mut self.input else {
            anyhow::bail!("the log goes on after the host closed its end");
        };
        input.write_all(&bytes).await.map_err(|error| {
            anyhow::anyhow!(
                "the server reads no more ({error}); the log goes on: run the server by itself to see why"
            )
        })?;
        Ok(input.flush().await?)
    }

    /// An answer of the host with the id that the live server gave its request.
    fn with_live_id(&self, line: &Wire) -> Option<Vec<u8>> {
        let mut message = line.message()?;
        if message.get("method").is_some() {
            return None;
        }
        let live = self.ids.get(&message.get("id")?.to_string())?;
        message["id"] = live.clone();
        Some(message.to_string().into_bytes())
    }

    async fn take_request(&mut self, method: &str, recorded_id: &Value) {
        let until = Instant::now() + Duration::from_millis(ROOM_MS);
        loop {
            if let Some(live) = self.asked.get_mut(method).and_then(VecDeque::pop_front) {
                self.ids.insert(recorded_id.to_string(), live);
                return;
            }
            if !self.read_one(until).await {
                return;
            }
        }
    }

    async fn answer(&mut self, id: &str, took: Duration) -> Option<Value> {
        let wait = (took + Duration::from_millis(ROOM_MS)).min(Duration::from_millis(WAIT_MS_MAX));
        let until = Instant::now() + wait;
        loop {
            if let Some(answer) = self.answers.remove(id) {
                return Some(answer);
            }
            if !self.read_one(until).await {
                return None;
            }
        }
    }

    /// Reads one line; `false` if none came in time, or none can come.
    async fn read_one(&mut self, until: Instant) -> bool {
        let mut line = Vec::new();
        let mut limited = (&mut self.output).take(ENTRY_BYTES_MAX);
        let read = tokio::time::timeout_at(until, limited.read_until(b'\n', &mut line)).await;
        if self.ended || !matches!(read, Ok(Ok(size)) if size > 0) {
            // After a line that was read only partly, the reader is out of step.
            self.ended = true;
            return false;
        }
        let Ok(message) = serde_json::from_slice::<Value>(&line) else { return true };
        let Some(id) = message.get("id") else { return true };
        match message.get("method").and_then(Value::as_str) {
            Some(method) => {
                let waiting = self.asked.entry(method.to_owned()).or_default();
                if waiting.len() < ASKED_MAX {
                    waiting.push_back(id.clone());
                }
            }
            None => {
                self.answers.insert(id.to_string(), message);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tap::read;
    use tokio::io::BufReader;

    const LOG: &str = r#"{"ms":0,"proc":1,"dir":"host>server","msg":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}
{"ms":5,"proc":1,"dir":"server>host","msg":{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}}
{"ms":6,"proc":1,"dir":"server>host","msg":{"jsonrpc":"2.0","id":"old","method":"roots/list"}}
{"ms":7,"proc":1,"dir":"host>server","msg":{"jsonrpc":"2.0","id":"old","result":{"roots":[]}}}
{"ms":8,"proc":1,"dir":"host>server","msg":{"jsonrpc":"2.0","id":2,"method":"gone"}}
{"ms":9,"proc":1,"dir":"server>host","msg":{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}}
{"ms":9,"proc":1,"dir":"host>server","msg":{"jsonrpc":"2.0","id":3,"method":"ping"}}
{"ms":10,"proc":1,"dir":"server>host","msg":{"jsonrpc":"2.0","id":3,"result":{}}}"#;

    #[tokio::test(start_paused = true)]
    async fn answers_are_compared_and_ids_of_the_server_followed() {
        let (ours, theirs) = tokio::io::duplex(4096);
        let server = async {
            let (input, mut output) = tokio::io::split(theirs);
            let mut lines = BufReader::new(input).lines();
            while let Some(line) = lines.next_line().await.unwrap() {
                let message: Value = serde_json::from_str(&line).unwrap();
                let answer = match message["method"].as_str() {
                    Some("tools/list") => concat!(
                        r#"{"jsonrpc":"2.0","id":"new","method":"roots/list"}"#,
                        "\nnoise\n",
                        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"title":"b"}]}}"#
                    ),
                    Some("gone") => r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"other"}}"#,
                    Some(_) => r#"{"jsonrpc":"2.0","id":4,"result":{}}"#,
                    None => {
                        assert_eq!(message["id"], "new");
                        continue;
                    }
                };
                output.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
            }
        };
        let log = read::entries(LOG.as_bytes()).unwrap();
        let (output, input) = tokio::io::split(ours);
        let replayed = async { replay(&log, BufReader::new(output), input).await.unwrap() };
        let (done, ()) = tokio::join!(replayed, server);
        let told: Vec<_> = done.answers.iter().map(|one| (one.line, one.differences.join("; "))).collect();
        assert_eq!(
            told,
            [
                (2, ".result.tools[].name is missing; .result.tools[].title is new".to_owned()),
                (6, ".error -32601 is missing; .error -32600 is new".to_owned()),
                (8, "no answer came".to_owned()),
            ]
        );
    }
}

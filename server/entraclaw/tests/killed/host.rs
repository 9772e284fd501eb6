//! A host: it hands over tasks through a bridge, looks for those whose ticket was lost, and waits for the answers.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::phase::{Phase, Phases};
use super::script::{HOSTS, key, message};
use super::world::{World, kill};

/// Tasks that a host has open at a time.
const OPEN_MAX: usize = 3;
/// How long an answer to a call may take.
const CALL_WITHIN: Duration = Duration::from_secs(20);
/// How long all may take that is open when the killing ends.
const ENDS_WITHIN: Duration = Duration::from_secs(90);

/// What a host knows of its tasks.
#[derive(Default)]
pub(crate) struct Known {
    /// The ids of tasks, by their keys.
    pub(crate) ids: BTreeMap<String, String>,
    /// The answers, by their keys.
    pub(crate) ends: BTreeMap<String, Value>,
    /// Tickets that did not come.
    pub(crate) lost_tickets: usize,
}

pub(crate) struct Host<'a> {
    world: &'a World,
    number: usize,
    with_command: bool,
    bridge: Option<(ChildStdin, Receiver<Value>)>,
    next: u64,
    pub(crate) known: Known,
}

impl<'a> Host<'a> {
    pub(crate) fn new(world: &'a World, number: usize, with_command: bool) -> Self {
        Self { world, number, with_command, bridge: None, next: 1, known: Known::default() }
    }

    /// Hands over tasks until it is told to end, and then waits until all of them have ended.
    pub(crate) fn work(mut self, phases: &Phases, tasks: usize) -> Known {
        let mut open: Vec<String> = Vec::new();
        let mut next = 0;
        let mut until = None;
        loop {
            match phases.now() {
                Phase::GivenUp => return self.known,
                Phase::Working if open.len() < OPEN_MAX && next < tasks => {
                    let key = key(HOSTS[self.number], next);
                    self.hand_over(&key);
                    open.push(key);
                    next += 1;
                    continue;
                }
                Phase::Working => {}
                Phase::Ending if open.is_empty() => return self.known,
                Phase::Ending => {
                    let until = *until.get_or_insert_with(|| Instant::now() + ENDS_WITHIN);
                    assert!(
                        Instant::now() < until,
                        "{open:?} did not end; the engines said {}",
                        self.world.told()
                    );
                }
            }
            open.retain(|key| !self.has_ended(key));
            thread::sleep(Duration::from_millis(40));
        }
    }

    /// Hands over a task until it is known that the engine has it, once.
    fn hand_over(&mut self, key: &str) {
        let message = message(key, self.with_command);
        let until = Instant::now() + ENDS_WITHIN;
        loop {
            assert!(Instant::now() < until, "{key} was not taken; the engines said {}", self.world.told());
            let answer = self.call("chat", &json!({"message": message}));
            if let Some(id) = answer.as_ref().and_then(|answer| answer["task_id"].as_str()) {
                self.known.ids.insert(key.to_owned(), id.to_owned());
                return;
            }
            let is_limited = answer.as_ref().is_some_and(|answer| answer["error"] == "rate_limited");
            if !is_limited {
                self.known.lost_tickets += 1;
            }
            thread::sleep(Duration::from_millis(300));
            if let Some(id) = self.look(&message) {
                self.known.ids.insert(key.to_owned(), id);
                return;
            }
        }
    }

    /// The id of the task with this message, as the history has it.
    fn look(&mut self, message: &str) -> Option<String> {
        let until = Instant::now() + ENDS_WITHIN;
        loop {
            assert!(
                Instant::now() < until,
                "the history did not come; the engines said {}",
                self.world.told()
            );
            let history = self.call("get_history", &json!({"limit": 100, "include_tool_results": false}));
            let Some(messages) = history.as_ref().and_then(|history| history["messages"].as_array()) else {
                thread::sleep(Duration::from_millis(100));
                continue;
            };
            let found = messages.iter().find(|one| one["content"] == message);
            return found.and_then(|one| one["task_id"].as_str()).map(str::to_owned);
        }
    }

    fn has_ended(&mut self, key: &str) -> bool {
        let id = self.known.ids[key].clone();
        let Some(answer) = self.call("poll_task", &json!({"task_id": id})) else { return false };
        assert_ne!(answer["error"], "not_found", "{key} is lost: {answer}");
        let has_ended = answer["status"]
            .as_str()
            .is_some_and(|status| matches!(status, "completed" | "failed" | "cancelled"));
        if has_ended {
            self.known.ends.insert(key.to_owned(), answer);
        }
        has_ended
    }

    /// Calls a tool; nothing if its answer did not come.
    fn call(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        let Some(answer) = answer else {
            self.bridge = None;
            return None;
        };
        let text = answer["result"]["content"][0]["text"].as_str()?;
        serde_json::from_str(text).ok()
    }

    fn request(&mut self, method: &str, params: &Value) -> Option<Value> {
        if self.bridge.is_none() {
            self.begin_bridge()?;
        }
        self.ask(method, params)
    }

    fn begin_bridge(&mut self) -> Option<()> {
        let mut command = self.world.command(&["mcp-bridge"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).expect("a bridge says JSON");
                let _ = sender.send(line);
            }
        });
        let place = &self.world.bridges[self.number];
        kill(place);
        *place.lock().unwrap() = Some(child);
        self.bridge = Some((stdin, lines));
        let client = json!({"name": HOSTS[self.number], "version": "1"});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        if self.ask("initialize", &params).is_none() {
            self.bridge = None;
            return None;
        }
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    }

    fn say(&mut self, message: &Value) -> Option<()> {
        let (stdin, _) = self.bridge.as_mut()?;
        writeln!(stdin, "{message}").and_then(|()| stdin.flush()).ok()
    }

    fn ask(&mut self, method: &str, params: &Value) -> Option<Value> {
        let id = self.next;
        self.next += 1;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        let (_, lines) = self.bridge.as_ref()?;
        let until = Instant::now() + CALL_WITHIN;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            assert!(
                !left.is_zero(),
                "{method} {params} got no answer; the engines said {}",
                self.world.told()
            );
            match lines.recv_timeout(left) {
                Ok(line) if line["id"] == id && line.get("method").is_none() => return Some(line),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

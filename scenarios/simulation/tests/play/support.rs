//! Helpers for the tests of `simulation play`: programs whose output comes line by line, and the page as a browser speaks to it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// Longest that anything here is waited for: a bound for what hangs, never a verdict on speed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A child whose output comes line by line; it is ended when this is dropped.
pub(crate) struct Running {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        #[expect(
            clippy::disallowed_methods,
            reason = "a pipe is read beside the test; no clock is paused here"
        )]
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines }
    }

    /// Ends the program and returns its unread lines.
    pub(crate) fn end(mut self) -> Receiver<String> {
        std::mem::replace(&mut self.lines, channel().1)
    }

    pub(crate) fn line(&self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("a line in time")
    }

    /// The rest of the first line that begins so.
    pub(crate) fn line_after(&self, start: &str) -> String {
        loop {
            if let Some(rest) = self.line().strip_prefix(start) {
                return rest.to_owned();
            }
        }
    }

    pub(crate) fn say(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("an open input");
        writeln!(input, "{message}").and_then(|()| input.flush()).expect("the server reads");
    }

    /// The answer to a request.
    pub(crate) fn answer(&self, id: u64) -> Value {
        loop {
            let message: Value = serde_json::from_str(&self.line()).expect("JSON");
            if message["id"] == id {
                return message;
            }
        }
    }

    /// The answer of a tool to the model.
    pub(crate) fn call(&mut self, id: u64, tool: &str, arguments: &Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}));
        let answer = self.answer(id);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"))
    }
}

impl Drop for Running {
    /// As a terminal ends it, so that it clears up after itself.
    fn drop(&mut self) {
        drop(self.input.take());
        if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
            return;
        }
        let _ = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status();
        let _ = self.child.wait();
    }
}

/// The page's end: plain HTTP as a browser would speak it.
pub(crate) struct Page {
    pub(crate) authority: String,
    pub(crate) base: String,
}

impl Page {
    pub(crate) fn of(url: &str) -> Self {
        let rest = url.strip_prefix("http://").expect("an address");
        let (authority, path) = rest.split_once('/').expect("a path");
        Self { authority: authority.to_owned(), base: format!("/{path}") }
    }

    /// Status, head and body.
    pub(crate) fn exchange(&self, head: &str, body: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.authority).expect("the page listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a bound");
        let request = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(request.as_bytes()).expect("the request is taken");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer in UTF-8");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, head.to_ascii_lowercase(), body.to_owned())
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String, String) {
        self.exchange(&format!("GET {}{path} HTTP/1.1\r\nHost: {}", self.base, self.authority), "")
    }

    pub(crate) fn post(&self, path: &str, origin: &str, body: &str) -> (u16, String, String) {
        let form = "Content-Type: application/x-www-form-urlencoded";
        let head = format!(
            "POST {}{path} HTTP/1.1\r\nHost: {}\r\nOrigin: {origin}\r\n{form}",
            self.base, self.authority
        );
        self.exchange(&head, body)
    }

    /// Sends a form as the page does.
    pub(crate) fn submit(&self, path: &str, body: &str) {
        let (status, _, text) = self.post(path, &format!("http://{}", self.authority), body);
        assert_eq!(status, 303, "{text}");
    }

    /// The state, as soon as it is as wanted.
    pub(crate) fn until(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        let mut since = String::from("0");
        loop {
            let (_, _, text) = self.get(&format!("state?since={since}"));
            let state: Value = serde_json::from_str(&text).expect("JSON");
            if holds(&state) {
                return state;
            }
            assert!(tokio::time::Instant::now() < deadline, "never {what}: {state:#}");
            since = state["version"].to_string();
        }
    }
}

/// The server's program, built once.
pub(crate) fn server() -> &'static Path {
    static SERVER: LazyLock<PathBuf> = LazyLock::new(|| {
        simulation::command::server_binary(None).expect("cargo works").expect("the server is built")
    });
    &SERVER
}

/// The message of a text in a place.
pub(crate) fn message<'a>(state: &'a Value, place: &str, text: &str) -> Option<&'a Value> {
    let places = state["places"].as_array()?;
    let place = places.iter().find(|known| known["handle"] == place)?;
    place["messages"].as_array()?.iter().find(|message| message["text"] == text)
}

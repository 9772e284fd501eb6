//! Wire lines of a run, in the format of the recordings of real hosts. A line holds one message as it was on
//! the wire; it never holds the environment of a process.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Longest text that a log keeps of a line that is not JSON, in characters.
const NOISE_CHARACTERS_MAX: usize = 2000;

/// The direction of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Dir {
    /// From the host to the server.
    #[serde(rename = "host>server")]
    HostToServer,
    /// From the server to the host.
    #[serde(rename = "server>host")]
    ServerToHost,
    /// No line: an event of the process.
    #[serde(rename = "event")]
    Event,
}

/// One line of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceLine {
    /// Milliseconds since the start of the run.
    pub ms: u64,
    /// The server process of this run, from 1.
    pub proc: u64,
    /// The direction.
    pub dir: Dir,
    /// The message, or the text of the event.
    pub msg: Value,
}

impl TraceLine {
    /// A line of a pipe. If it is not JSON, it is kept as text and cut.
    pub fn wire(ms: u64, proc: u64, dir: Dir, line: &[u8]) -> Self {
        let msg = serde_json::from_slice(line).unwrap_or_else(|_| {
            let text: String = String::from_utf8_lossy(line).chars().take(NOISE_CHARACTERS_MAX).collect();
            json!({"not_json": text, "bytes": line.len()})
        });
        Self { ms, proc, dir, msg }
    }

    /// An event of the process.
    pub fn event(ms: u64, proc: u64, text: impl Into<String>) -> Self {
        Self { ms, proc, dir: Dir::Event, msg: Value::String(text.into()) }
    }

    /// Writes the line with its newline.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        out.write_all(&line)
    }
}

/// A line of a pipe or an event, unparsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WireEvent {
    /// The server process of this run, from 1.
    pub proc: u64,
    /// The direction.
    pub dir: Dir,
    /// The bytes of the line without its newline, or the event's text as UTF-8.
    pub bytes: Vec<u8>,
}

impl WireEvent {
    /// An event of the process.
    pub fn event(proc: u64, text: impl Into<String>) -> Self {
        Self { proc, dir: Dir::Event, bytes: text.into().into_bytes() }
    }

    /// The text, with replacement characters for bytes that are no UTF-8.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }

    /// The line of a recording; `ms` is since the start of the run.
    pub fn trace(&self, ms: u64) -> TraceLine {
        match self.dir {
            Dir::Event => TraceLine::event(ms, self.proc, self.text()),
            dir => TraceLine::wire(ms, self.proc, dir, &self.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_form_of_the_recordings() {
        let mut out = Vec::new();
        let line = TraceLine::wire(3, 1, Dir::HostToServer, br#"{"id":1,"method":"x"}"#);
        line.write(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "{\"ms\":3,\"proc\":1,\"dir\":\"host>server\",\"msg\":{\"id\":1,\"method\":\"x\"}}\n"
        );
    }

    #[test]
    fn noise_is_kept_as_text() {
        let line = TraceLine::wire(0, 1, Dir::ServerToHost, b"hello \xff");
        assert_eq!(line.msg["bytes"], 7);
    }
}

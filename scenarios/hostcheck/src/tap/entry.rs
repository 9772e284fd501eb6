//! The lines of a wire log and their format. It never holds the environment of a process, nor a line of a
//! pipe that was not masked.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the format that this program writes.
pub(super) const FORMAT: u32 = 1;

/// One line of a wire log, one JSON object a line: a `start`, then `line` and `event` in the order in which
/// the tap saw them, then an `end`. A log without `end` belongs to a tap that was killed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[schemars(title = "wire log")]
pub enum Entry {
    /// The tap or the probe began.
    Start(Start),
    /// A line went over a pipe.
    Line(Line),
    /// Something happened to a pipe or to the process.
    Event(Event),
    /// The tap ended.
    End(End),
}

/// How a log begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// Version of the format, 1.
    pub format: u32,
    /// The program that wrote it: `record` or `probe`.
    pub by: String,
    /// Wall clock at the start, RFC 3339. All other times count from here.
    pub at: String,
    /// The number of the process: 1, then 2 when the host started the same command again.
    pub proc: u64,
    /// The server's command, masked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Longest line that is kept whole, in bytes.
    pub line_bytes_max: usize,
    /// Names of the environment variables whose values are masked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub masked_env: Vec<String>,
    /// How the probe opens: `legacy`, `modern` or another name of `hostcheck probe --opening`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<String>,
    /// The mode of the host, as the user said: `tui` or `print`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// The direction of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Dir {
    /// The host wrote it to the server's stdin.
    #[serde(rename = "host>server")]
    HostToServer,
    /// The server wrote it to its stdout.
    #[serde(rename = "server>host")]
    ServerToHost,
    /// The server wrote it to its stderr.
    #[serde(rename = "stderr")]
    Stderr,
}

impl Dir {
    /// The direction of a message; `None` for stderr.
    pub fn wire(self) -> Option<schemas::Direction> {
        match self {
            Self::HostToServer => Some(schemas::Direction::HostToServer),
            Self::ServerToHost => Some(schemas::Direction::ServerToHost),
            Self::Stderr => None,
        }
    }
}

/// A line of a pipe, without its newline. A carriage return before it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// When its last byte was read, in milliseconds since the start.
    pub ms: f64,
    /// The direction.
    pub dir: Dir,
    /// The line, if it is UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The line, if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// Its whole size in bytes, if it was longer than `line_bytes_max` and only its beginning is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_from_bytes: Option<u64>,
    /// The pipe ended before the newline came.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unended: bool,
    /// How many secrets were replaced by `***`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub masked: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Line {
    /// A line with these bytes, which must be masked already.
    pub fn of(ms: f64, dir: Dir, bytes: Vec<u8>) -> Self {
        let (text, base64) = match String::from_utf8(bytes) {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
        };
        Self { ms, dir, text, base64, cut_from_bytes: None, unended: false, masked: 0 }
    }

    /// The bytes of the line; `None` if the log holds neither text nor valid base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        match (&self.text, &self.base64) {
            (Some(text), _) => Some(text.clone().into_bytes()),
            (None, Some(coded)) => STANDARD.decode(coded).ok(),
            (None, None) => None,
        }
    }
}

/// An event on a pipe or of the process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// When, in milliseconds since the start.
    pub ms: f64,
    /// The kind of event.
    pub what: What,
    /// The signal, or other details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The host closed the server's stdin.
    HostClosedStdin,
    /// The host closed its end of the server's stdout.
    HostClosedStdout,
    /// The server closed its stdin.
    ServerClosedStdin,
    /// The server closed its stdout.
    ServerClosedStdout,
    /// A signal arrived, and was passed on.
    Signal,
    /// The host exited and left its server running; the detail says what the tap then did.
    HostGone,
    /// The probe still runs after it was told to end.
    Alive,
    /// The server's process ended; the detail has its code or signal.
    Exit,
}

/// How a log ends.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// When, in milliseconds since the start.
    pub ms: f64,
    /// The exit code of the server, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// The number of the signal that ended it, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Lines in the log.
    pub lines: u64,
    /// Lines that were passed on and are not in the log, because the disk was too slow or full.
    pub lost_lines: u64,
    /// Lines of which the log has only the beginning.
    pub cut_lines: u64,
    /// Secrets that were replaced.
    pub masked: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_back_as_its_bytes() {
        for bytes in [&b"{\"id\":1}\r"[..], b"\xff\x00 half", b""] {
            let line = Entry::Line(Line::of(1.5, Dir::HostToServer, bytes.to_vec()));
            let text = serde_json::to_string(&line).unwrap();
            let Entry::Line(back) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
            assert_eq!(back.bytes().as_deref(), Some(bytes), "{text}");
        }
    }

    #[test]
    fn an_unknown_member_is_refused() {
        let text = r#"{"kind":"event","ms":1.0,"what":"alive","more":1}"#;
        assert!(serde_json::from_str::<Entry>(text).is_err());
    }
}

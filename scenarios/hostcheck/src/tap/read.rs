//! Reads wire logs: this program's own, and recordings in the older format with one message a line. It never
//! judges a message; a line in neither format is an error that names it.

use std::io::{BufRead, BufReader, Read as _};
use std::path::Path;

use anyhow::{Context as _, bail};
use fake_hosts::log::{self, TraceLine};
use serde_json::Value;

use super::entry::{Dir, End, Entry, FORMAT, Start, What};

/// Most entries of one log.
const ENTRIES_MAX: u64 = 1_000_000;
/// Longest line of a log, in bytes: the longest kept line in base64, with room to spare.
pub const ENTRY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// One entry with its place in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The line of the file, from 1.
    pub number: u64,
    /// Milliseconds since the start.
    pub ms: f64,
    /// The server process, from 1.
    pub proc: u64,
    /// The content.
    pub seen: Seen,
}

/// The content of an entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// A log begins.
    Start(Box<Start>),
    /// A line of a pipe.
    Line(Wire),
    /// Something happened; the words are the log's.
    Event(Option<What>, String),
    /// The log ends.
    End(End),
}

/// A line of a pipe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wire {
    /// The direction.
    pub dir: Dir,
    /// Its bytes without the newline.
    pub bytes: Vec<u8>,
    /// Why it is not here as it was on the pipe, if so.
    pub flaw: Option<Flaw>,
}

/// Why a line is not here as it was on the pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// Only its beginning is here.
    Cut,
    /// Secrets in it were masked.
    Masked,
}

impl Wire {
    /// The message, if the line is complete and holds one.
    pub fn message(&self) -> Option<Value> {
        if self.flaw == Some(Flaw::Cut) { None } else { serde_json::from_slice(&self.bytes).ok() }
    }
}

/// All entries of a log.
///
/// # Errors
/// If the log can't be read, or with the number of the first line that is no entry.
pub fn file(path: &Path) -> anyhow::Result<Vec<Recorded>> {
    let file = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    entries(BufReader::new(file)).with_context(|| path.display().to_string())
}

/// All entries of a log's text.
///
/// # Errors
/// As [`file()`].
pub fn entries(mut text: impl BufRead) -> anyhow::Result<Vec<Recorded>> {
    let mut all = Vec::new();
    let mut reader = Reader::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let size = text.by_ref().take(ENTRY_BYTES_MAX).read_until(b'\n', &mut line)?;
        if size == 0 {
            return Ok(all);
        }
        match reader.line(&line) {
            Ok(entry) => all.extend(entry),
            // A tap that was killed may leave half a line at the end.
            Err(_) if line.last() != Some(&b'\n') && !all.is_empty() => return Ok(all),
            Err(error) => return Err(error),
        }
    }
}

/// Reads a log line by line.
#[derive(Debug, Default)]
pub struct Reader {
    number: u64,
    proc: u64,
}

impl Reader {
    /// Reads the next line; `None` if it is empty.
    ///
    /// # Errors
    /// If it is no entry of a log, or the log has an unknown version.
    pub fn line(&mut self, line: &[u8]) -> anyhow::Result<Option<Recorded>> {
        self.number += 1;
        let number = self.number;
        if number > ENTRIES_MAX {
            bail!("line {number}: a log has at most {ENTRIES_MAX} lines; cut it into parts");
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let Ok(value) = serde_json::from_slice::<Value>(line) else {
            bail!("line {number}: not JSON, so this is no wire log; see `hostcheck record --help`");
        };
        let recorded = |ms, proc, seen| Ok(Some(Recorded { number, ms, proc, seen }));
        if value.get("kind").is_none() {
            let line: TraceLine = serde_json::from_value(value).map_err(|error| {
                anyhow::anyhow!("line {number}: neither a line of a wire log nor of a recording: {error}")
            })?;
            #[expect(clippy::cast_precision_loss, reason = "milliseconds of a session")]
            let ms = line.ms as f64;
            return recorded(ms, line.proc, older(line.dir, &line.msg));
        }
        let entry: Entry = serde_json::from_value(value)
            .map_err(|error| anyhow::anyhow!("line {number}: not a line of a wire log: {error}"))?;
        match entry {
            Entry::Start(start) => {
                if start.format != FORMAT {
                    let format = start.format;
                    bail!("line {number}: a log of format {format}; this program reads format {FORMAT}");
                }
                self.proc = start.proc;
                recorded(0.0, self.proc, Seen::Start(Box::new(start)))
            }
            Entry::Line(line) => {
                let Some(bytes) = line.bytes() else {
                    bail!("line {number}: neither `text` nor sound `base64`");
                };
                let flaw = match (line.cut_from_bytes, line.masked) {
                    (Some(_), _) => Some(Flaw::Cut),
                    (None, 1..) => Some(Flaw::Masked),
                    (None, 0) => None,
                };
                recorded(line.ms, self.proc.max(1), Seen::Line(Wire { dir: line.dir, bytes, flaw }))
            }
            Entry::Event(event) => {
                let words = event.detail.unwrap_or_default();
                recorded(event.ms, self.proc.max(1), Seen::Event(Some(event.what), words))
            }
            Entry::End(end) => recorded(end.ms, self.proc.max(1), Seen::End(end)),
        }
    }
}

/// An entry in the older format.
fn older(dir: log::Dir, msg: &Value) -> Seen {
    let dir = match dir {
        log::Dir::HostToServer => Dir::HostToServer,
        log::Dir::ServerToHost => Dir::ServerToHost,
        log::Dir::Event => {
            let words = msg.as_str().map_or_else(|| msg.to_string(), str::to_owned);
            return Seen::Event(meaning(&words), words);
        }
    };
    let shortened = ["cut", "head", "trimmed"].iter().any(|name| msg.get(name).is_some());
    let kept = ["not_json", "cut", "head"].iter().find_map(|name| msg.get(name).and_then(Value::as_str));
    let bytes = kept.map_or_else(|| msg.to_string().into_bytes(), |text| text.as_bytes().to_vec());
    Seen::Line(Wire { dir, bytes, flaw: shortened.then_some(Flaw::Cut) })
}

/// The event that the words of an older log mean.
fn meaning(words: &str) -> Option<What> {
    if words.starts_with("signal ") {
        Some(What::Signal)
    } else if words.eq_ignore_ascii_case("stdin EOF") || words == "stdin closed" {
        Some(What::HostClosedStdin)
    } else if words == "closing stdout" || words == "stdout closed" {
        Some(What::ServerClosedStdout)
    } else if words == "exit" || words.starts_with("exit ") {
        Some(What::Exit)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let own = br#"{"kind":"start","format":1,"by":"record","at":"2026-01-05T09:00:00Z","proc":2,"line_bytes_max":9}
{"kind":"line","ms":1.5,"dir":"host>server","text":"{\"id\":1}\r"}
{"kind":"line","ms":2.0,"dir":"stderr","base64":"/w=="}
{"kind":"event","ms":3.0,"what":"signal","detail":"SIGINT"}
{"kind":"end","ms":4.0,"code":0,"lines":2,"lost_lines":0,"cut_lines":0,"masked":0}
{"kind":"li"#;
        let read = entries(&own[..]).unwrap();
        assert_eq!(read.len(), 5);
        assert_eq!((read[1].number, read[1].proc), (2, 2));
        let Seen::Line(line) = &read[1].seen else { panic!("{read:?}") };
        assert_eq!(line.message().unwrap()["id"], 1);
        let older = br#"{"ms":0,"proc":1,"dir":"event","msg":"signal SIGINT"}

{"ms":1,"proc":1,"dir":"server>host","msg":{"cut":"{\"id\": 1","length":99}}"#;
        let read = entries(&older[..]).unwrap();
        assert_eq!(read[0].seen, Seen::Event(Some(What::Signal), "signal SIGINT".to_owned()));
        assert!(matches!(&read[1].seen, Seen::Line(line) if line.message().is_none()), "{read:?}");
    }

    #[test]
    fn an_invalid_log_is_refused_with_the_line() {
        for (text, words) in [
            ("\nhello\n", "line 2: not JSON"),
            ("{\"jsonrpc\":\"2.0\"}\n", "line 1: neither"),
            ("{\"kind\":\"line\",\"ms\":1.0,\"dir\":\"stderr\"}\n", "neither `text`"),
            (
                "{\"kind\":\"start\",\"format\":7,\"by\":\"\",\"at\":\"\",\"proc\":1,\"line_bytes_max\":1}\n",
                "format 7",
            ),
        ] {
            let error = entries(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}

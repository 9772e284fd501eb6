//! Reads what an agent's program writes while it works, in the program's own language, piece by piece.
//!
//! It must never keep more than one line, nor fail on a line that it does not know: programs change every week.

mod claude;
mod codex;
mod copilot;
mod gemini;
mod opencode;
#[cfg(test)]
mod tests;
mod usage;

use serde_json::Value;

use crate::agent::Dialect;

pub(crate) use usage::Usage;

/// Longest line that is read; a longer one is left out. Programs also tell long answers in small pieces.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// Longest name of a tool in a step, in characters.
const STEP_CHARS_MAX: usize = 120;

/// What a program has said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    /// A message begins; if it has any text, what came before was no answer yet.
    Begins,
    /// A piece of the message.
    Text(String),
    /// What it does now, for people.
    Step(String),
    /// Its session.
    Session(String),
    /// The model that answers.
    Model(String),
    /// The files that it has changed.
    Files(Vec<String>),
    /// What it has used since it last told that.
    Usage(Usage),
    /// An error, and the status of the service if it is known.
    Error(String, Option<u64>),
    /// The exit code that it states.
    Exit(i64),
}

/// Receives what is said.
pub(crate) type Sink<'a> = &'a mut dyn FnMut(Said);

/// Reads one program's output.
#[derive(Debug)]
pub(crate) struct Reader {
    dialect: Dialect,
    line: Vec<u8>,
    is_too_long: bool,
    /// Whether pieces of the message that is being told have come.
    has_pieces: bool,
    /// Whether an event has come. Before the first one, other lines are what a program says that reports nothing.
    has_event: bool,
    left_out: u64,
}

impl Reader {
    /// A reader of this language.
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            line: Vec::new(),
            is_too_long: false,
            has_pieces: false,
            has_event: false,
            left_out: 0,
        }
    }

    /// Lines that were left out because they are too long or no JSON.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Reads the next piece of output.
    pub(crate) fn take(&mut self, mut bytes: &[u8], sink: Sink<'_>) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.add(&bytes[..=end], sink);
            self.end_line(sink);
            bytes = &bytes[end + 1..];
        }
        self.add(bytes, sink);
    }

    /// Reads what is left when the output has ended.
    pub(crate) fn finish(&mut self, sink: Sink<'_>) {
        self.end_line(sink);
    }

    fn add(&mut self, bytes: &[u8], sink: Sink<'_>) {
        if self.is_too_long {
            return;
        }
        self.line.extend_from_slice(bytes);
        if self.line.len() <= LINE_BYTES_MAX {
            return;
        }
        // Before the first event it may be what a program says that reports nothing.
        if self.dialect == Dialect::Text || !self.has_event {
            self.end_line(sink);
        } else {
            self.is_too_long = true;
            self.line.clear();
        }
    }

    fn end_line(&mut self, sink: Sink<'_>) {
        if self.is_too_long {
            self.is_too_long = false;
            self.left_out += 1;
            return;
        }
        let line = std::mem::take(&mut self.line);
        if self.dialect == Dialect::Text {
            if !line.is_empty() {
                sink(Said::Text(String::from_utf8_lossy(&line).into_owned()));
            }
        } else if !line.trim_ascii().is_empty() {
            match serde_json::from_slice::<Value>(&line) {
                Ok(event) if event.get("type").is_some_and(Value::is_string) => {
                    self.has_event = true;
                    self.event(&event, sink);
                }
                _ if self.has_event => self.left_out += 1,
                _ => sink(Said::Text(String::from_utf8_lossy(&line).into_owned())),
            }
        }
        // The buffer is used again.
        self.line = line;
        self.line.clear();
    }

    fn event(&mut self, event: &Value, sink: Sink<'_>) {
        let has_pieces = &mut self.has_pieces;
        match self.dialect {
            Dialect::Text => {}
            Dialect::Copilot => copilot::read(event, has_pieces, sink),
            Dialect::Claude => claude::read(event, sink),
            Dialect::Codex => codex::read(event, sink),
            Dialect::Gemini => gemini::read(event, has_pieces, sink),
            Dialect::Opencode => opencode::read(event, sink),
        }
    }
}

/// The text at a path of an event, if it is one and not empty.
fn text<'a>(event: &'a Value, pointer: &str) -> Option<&'a str> {
    event.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// A whole message.
fn message(text: &str, sink: Sink<'_>) {
    sink(Said::Begins);
    sink(Said::Text(text.to_owned()));
}

/// A step that uses a tool.
fn uses(tool: &str, sink: Sink<'_>) {
    let tool: String =
        tool.chars().map(|c| if c.is_control() { ' ' } else { c }).take(STEP_CHARS_MAX).collect();
    sink(Said::Step(format!("uses {tool}")));
}

//! What comes of one question over the Agent Client Protocol: its updates as they come, and then the events that the
//! program has stored of the session, which alone tell an answer from an error.
//!
//! It must never take an error for an answer because it came as one.

use serde_json::Value;

use crate::agent::Dialect;
use crate::report::{Reader, Said, Sink};

/// How the program begins a text of its own that is no part of an answer, in `docs/src/facts/agents.md`.
const NOTE: &str = "Info: ";
/// How it begins an error that comes as an answer.
const ERROR: &str = "Error: ";
/// Longest title of a step, in characters.
const TITLE_CHARS_MAX: usize = 120;

/// One question's turn.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The last text that came, if it looks like an error.
    error: Option<String>,
    /// What it asked to be permitted, and was not.
    refused: Option<String>,
}

/// How the stored events say that a turn went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    /// They do not tell yet.
    Open,
    /// It has answered, or said nothing.
    Ended,
    /// Its last event is an error.
    Failed,
}

impl Turn {
    /// Hears that a wish was refused.
    pub(super) fn refuse(&mut self, title: String, sink: Sink<'_>) {
        sink(Said::Step(format!("was not permitted: {title}")));
        self.refused = Some(title);
    }

    /// What was refused last.
    pub(super) fn take_refused(&mut self) -> Option<String> {
        self.refused.take()
    }

    /// Hears an update.
    pub(super) fn hear(&mut self, update: &Value, sink: Sink<'_>) {
        let text = update.pointer("/content/text").and_then(Value::as_str).unwrap_or_default();
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" if text.starts_with(NOTE) => {
                sink(Said::Step(short(text.trim_start_matches(NOTE))));
            }
            "agent_message_chunk" if !text.is_empty() => {
                self.error = text.strip_prefix(ERROR).map(str::to_owned);
                sink(Said::Text(text.to_owned()));
            }
            "tool_call" => {
                // What it said before it used a tool is no answer yet.
                sink(Said::Begins);
                let title = update["title"].as_str().unwrap_or_default();
                if !title.is_empty() {
                    sink(Said::Step(short(title)));
                }
            }
            _ => {}
        }
    }

    /// Whether an error came as the answer.
    pub(super) fn looks_failed(&self) -> bool {
        self.error.is_some()
    }

    /// The text of an error that came as the answer.
    pub(super) fn take_error(&mut self) -> Option<String> {
        self.error.take()
    }
}

/// Reads the events of a turn, as the program stored them, and says how it went. Returns also whether all of them were read.
pub(super) fn read(events: &[u8], sink: Sink<'_>) -> (Stored, bool) {
    let mut reader = Reader::new(Dialect::Copilot);
    let mut stored = Stored::Open;
    let mut hear = |said: Said| {
        stored = match &said {
            Said::Error(..) => Stored::Failed,
            Said::Begins | Said::Text(_) => Stored::Open,
            _ => stored,
        };
        sink(said);
    };
    // An event that is being written has no end yet.
    let whole = events.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    reader.take(&events[..whole], &mut hear);
    if stored == Stored::Open && ends_turn(&events[..whole]) {
        stored = Stored::Ended;
    }
    (stored, reader.left_out() == 0)
}

/// Whether the last event ends a turn.
fn ends_turn(events: &[u8]) -> bool {
    let last = events.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let event: Value = serde_json::from_slice(last).unwrap_or_default();
    matches!(event["type"].as_str(), Some("assistant.turn_end" | "abort"))
}

fn short(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(TITLE_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn events(kinds: &[(&str, Value)]) -> Vec<u8> {
        let lines = kinds.iter().map(|(kind, data)| format!("{}\n", json!({"type": kind, "data": data})));
        lines.collect::<String>().into_bytes()
    }

    fn message(text: &str) -> (&'static str, Value) {
        ("assistant.message", json!({"content": text}))
    }

    fn quota() -> (&'static str, Value) {
        ("session.error", json!({"message": "402 You have no quota", "statusCode": 402}))
    }

    const END: (&str, Value) = ("assistant.turn_end", Value::Null);

    #[rstest]
    #[case(&[], Stored::Open)]
    #[case(&[message("a")], Stored::Open)]
    #[case(&[message("a"), END], Stored::Ended)]
    #[case(&[message(""), END, quota()], Stored::Failed)]
    #[case(&[quota(), message("a"), END], Stored::Ended)]
    #[case(&[message("a"), END, quota(), END], Stored::Failed)]
    #[case(&[message(""), END, ("abort", Value::Null)], Stored::Ended)]
    fn the_last_event_says_how_a_turn_went(#[case] kinds: &[(&str, Value)], #[case] expected: Stored) {
        let events = events(kinds);
        assert_eq!(turn_of(&events), expected);
        // A line that is being written tells nothing yet.
        let torn = [&events[..], b"{\"type\": \"session.er"].concat();
        assert_eq!(turn_of(&torn), expected);
    }

    fn turn_of(events: &[u8]) -> Stored {
        read(events, &mut |_| {}).0
    }

    #[test]
    fn notes_are_steps_and_what_was_said_before_a_tool_is_no_answer() {
        let mut turn = Turn::default();
        let mut heard = Vec::new();
        for update in [
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Info: Disabled tools: bash"}}),
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Let me look"}}),
            json!({"sessionUpdate": "tool_call", "title": "Running:\n ls"}),
            json!({"sessionUpdate": "a_kind_of_next_year"}),
            json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Error: 402 You have no quota"}}),
        ] {
            turn.hear(&update, &mut |said| heard.push(said));
        }
        assert_eq!(
            heard,
            [
                Said::Step("Disabled tools: bash".to_owned()),
                Said::Text("Let me look".to_owned()),
                Said::Begins,
                Said::Step("Running:  ls".to_owned()),
                Said::Text("Error: 402 You have no quota".to_owned()),
            ]
        );
        assert!(turn.looks_failed());
        assert_eq!(turn.take_error().as_deref(), Some("402 You have no quota"));
        turn.refuse("paths outside".to_owned(), &mut |_| {});
        assert_eq!(turn.take_refused().as_deref(), Some("paths outside"));
    }
}

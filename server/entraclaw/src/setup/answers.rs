//! Each host's behaviour at the first answer while no person is at the keyboard, and the text about it after a setup.
//! It must never state that an answer goes out without a dialog if that was not observed.

use super::approval::ALLOW_ANSWERS;
use super::content::Content;
use super::names::ANSWERING_TOOLS;
use super::request::{Host, Request};

/// The fate of a call of a tool that sends, if nothing was set up for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstAnswer {
    /// A dialog opens and waits for the person.
    Stops,
    /// It goes out, unless the user's own settings make the host ask.
    Runs,
    /// It was not observed.
    Unknown,
}

/// The row of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswersRow {
    /// The host.
    pub host: Host,
    /// Its behaviour.
    pub first_answer: FirstAnswer,
    /// The evidence for it.
    pub source: &'static str,
}

const fn row(host: Host, first_answer: FirstAnswer, source: &'static str) -> AnswersRow {
    AnswersRow { host, first_answer, source }
}

/// Every host once.
pub const ANSWERS: &[AnswersRow] = &[
    row(Host::ClaudeCode, FirstAnswer::Stops, "2.1.330 observed"),
    row(Host::CopilotCli, FirstAnswer::Stops, "1.0.102 observed"),
    row(Host::Codex, FirstAnswer::Stops, "0.169.0 observed; tools that only read run unasked there"),
    row(Host::GeminiCli, FirstAnswer::Stops, "0.61.0 observed"),
    row(Host::Opencode, FirstAnswer::Runs, "1.18.33 observed: it asks about no tool of a server"),
    row(Host::QwenCode, FirstAnswer::Stops, "0.24.4 observed, in auto mode too"),
    row(Host::Vscode, FirstAnswer::Unknown, "not tried"),
    row(Host::Cursor, FirstAnswer::Unknown, "not tried"),
];

/// The behaviour of a host.
pub fn first_answer(host: Host) -> FirstAnswer {
    ANSWERS.iter().find(|row| row.host == host).map_or(FirstAnswer::Unknown, |row| row.first_answer)
}

/// The text about it at the end of a setup.
pub fn told(request: &Request) -> String {
    let title = request.host.title();
    let tools = ANSWERING_TOOLS.join(", ");
    match (first_answer(request.host), request.allow_answers) {
        (FirstAnswer::Unknown, _) => format!(
            "Not confirmed: whether {title} asks you before an answer goes out ({tools}). See it send one before you leave it \
             alone."
        ),
        (_, true) => format!(
            "Answers go out without a question: {tools}. They reach only people who may write to the agent. The same command \
             without {ALLOW_ANSWERS} takes that back."
        ),
        (FirstAnswer::Stops, false) => format!(
            "The first answer stops at a dialog of {title} until a person is there to allow it, and what comes after it waits, \
             too. With {ALLOW_ANSWERS} added to this command answers go out without a question ({tools})."
        ),
        (FirstAnswer::Runs, false) => format!(
            "Answers go out without a question, as {title} is by itself. Where your own settings have it ask, add \
             {ALLOW_ANSWERS} to this command."
        ),
    }
}

/// Whether the content that a setup wrote into a file lets the answering tools run without a question.
pub fn lets_answer(content: &Content) -> bool {
    let text = match content {
        // Instructions name these tools too, without allowing them.
        Content::Section(_) => return false,
        Content::Whole(text) => text.clone(),
        other => serde_json::to_string(other).unwrap_or_default(),
    };
    text.contains(ALLOW_ANSWERS) || ANSWERING_TOOLS.iter().all(|tool| text.contains(tool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_has_a_row() {
        for host in Host::all() {
            assert_eq!(ANSWERS.iter().filter(|row| row.host == host).count(), 1, "{}", host.name());
        }
        for row in ANSWERS {
            let is_seen = row.source.contains("observed");
            assert_eq!(is_seen, row.first_answer != FirstAnswer::Unknown, "{}", row.host.name());
        }
    }
}

//! The questions that were open before any host was examined. Each is answered from the logs or marked as
//! unanswered. Answers quote the lines; where only a user could know, the user's own words are quoted as
//! such.

use std::fmt::Write as _;

use serde_json::Value;

use super::claim::Claims;
use super::session::Session;
use crate::json_in_yaml::yaml;

/// Longest quoted text of a user, in characters.
const SAYS_MAX: usize = 500;

const QUESTIONS: [&str; 7] = [
    "Does the host surface notifications/message?",
    "Does the host honour resources/subscribe and notifications/resources/updated?",
    "What does clientInfo.name arrive as?",
    "Is there a hook of the host after a tool was used?",
    "Does pulling the inbox at each turn feel right, at the cadence of the background poll?",
    "Should the inbox be pulled when the tools start up?",
    "Should the terminal companion ship by default?",
];

/// One question and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// From 1.
    pub number: usize,
    /// The question.
    pub question: &'static str,
    /// The answer, with the lines that show it; `None` if it is unanswered.
    pub answer: Option<String>,
    /// Why it is unanswered, or a note beside the answer.
    pub beside: String,
}

/// All questions, in order.
pub fn all(sessions: &[Session], claims: &Claims) -> Vec<Answered> {
    let mut all = Vec::new();
    for (place, question) in QUESTIONS.into_iter().enumerate() {
        let (answer, beside) = match place + 1 {
            1 => (surfaces(sessions), "notify and heard were not both called in the legacy era"),
            2 => (subscribes(sessions), "no session held a resource long enough for a call"),
            3 => {
                let claim = claims.get("identity.client_info", None);
                let name = claim.and_then(|claim| Some((claim.value.get("name")?, &claim.evidence)));
                (name.map(|(name, at)| format!("{} ({at})", yaml(&name.to_string()))), "no host has opened")
            }
            4 => (
                None,
                "hooks leave no trace on this wire; look at the host's documents, or let the user answer",
            ),
            5 => (None, "only a user can say how it feels"),
            _ => (None, "a decision, not a fact of the host"),
        };
        let mut beside = beside.to_owned();
        if place + 1 == 5 {
            beside.extend(pace(sessions).map(|pace| format!("; {pace}")));
        }
        let answer = answer.or_else(|| word(sessions, place + 1));
        all.push(Answered { number: place + 1, question, answer, beside });
    }
    all
}

/// The questions as text for people.
pub fn text(answered: &[Answered]) -> String {
    let mut text = String::new();
    for one in answered {
        // Writing to a string can't fail.
        let _ = match &one.answer {
            Some(answer) => writeln!(text, "{}. {}\n   answered: {answer}", one.number, one.question),
            None => writeln!(text, "{}. {}\n   unanswered: {}", one.number, one.question, one.beside),
        };
    }
    text
}

fn surfaces(sessions: &[Session]) -> Option<String> {
    let mut told = Vec::new();
    for session in sessions {
        let fired = session.sent("notifications/message").find(|said| said.params().get("_meta").is_none());
        let reports = session.heard();
        let report = fired.and_then(|fired| reports.iter().rfind(|(said, _)| said.number > fired.number));
        let (Some(fired), Some((said, words))) = (fired, report) else { continue };
        let level = |word: &&str| {
            let level = word.strip_prefix("MARK-log-")?;
            super::fires::LEVELS.into_iter().find(|known| *known == level)
        };
        let levels: Vec<&str> = words.iter().filter_map(level).collect();
        let lines = format!("{}, {}", session.at(fired.number), session.at(said.number));
        told.push(if levels.is_empty() {
            format!("no: the model saw none of eight levels ({lines})")
        } else {
            format!("yes: the model saw {} ({lines})", levels.join(", "))
        });
    }
    (!told.is_empty()).then(|| told.join("; "))
}

fn subscribes(sessions: &[Session]) -> Option<String> {
    let mut told = Vec::new();
    for session in sessions {
        let Some(call) = session.asked("tools/call").last() else { continue };
        let subscribed = session.asked("resources/subscribe").next();
        let listened = session
            .asked("subscriptions/listen")
            .find(|said| said.params().pointer("/notifications/resourceSubscriptions").is_some());
        let updated = session.sent("notifications/resources/updated").next();
        let read = updated
            .and_then(|updated| session.asked("resources/read").find(|said| said.number > updated.number));
        let subscribed = subscribed.or(listened).map_or_else(
            || format!("not subscribed by {}", session.at(call.number)),
            |said| format!("subscribed at {}", session.at(said.number)),
        );
        let read = match (updated, read) {
            (Some(_), Some(read)) => format!(", and read at {} after an update", session.at(read.number)),
            (Some(updated), None) => {
                format!(", and nothing was read after the update at {}", session.at(updated.number))
            }
            (None, _) => String::new(),
        };
        told.push(format!("{subscribed}{read}"));
    }
    (!told.is_empty()).then(|| told.join("; "))
}

/// The median time from an answer to the next call: the duration of a model's step.
fn pace(sessions: &[Session]) -> Option<String> {
    let mut steps: Vec<u64> = Vec::new();
    for session in sessions {
        let calls = session.calls("");
        for pair in calls.windows(2) {
            if let Some(answered) = pair[0].answered {
                steps.push(pair[1].asked.ms.saturating_sub(answered.ms));
            }
        }
    }
    steps.sort_unstable();
    let middle = steps.get(steps.len() / 2)?;
    Some(format!(
        "from an answer to the next call it took {middle} ms in the middle of {} steps",
        steps.len()
    ))
}

/// What a user said to a question, through the model.
fn word(sessions: &[Session], number: usize) -> Option<String> {
    let mut words = Vec::new();
    for session in sessions {
        for call in session.calls("answer") {
            let arguments = call.asked.params().get("arguments")?;
            let asked = arguments.get("question").and_then(Value::as_f64);
            let says = arguments.get("says").and_then(Value::as_str).unwrap_or_default();
            #[expect(clippy::cast_precision_loss, reason = "one to seven")]
            let same = asked.is_some_and(|asked| (asked - number as f64).abs() < 0.5);
            if same && !says.is_empty() {
                let says: String = says.chars().take(SAYS_MAX).collect();
                let quoted = yaml(&Value::from(says).to_string());
                words.push(format!("{quoted} (the user's words, {})", session.at(call.asked.number)));
            }
        }
    }
    (!words.is_empty()).then(|| words.join("; "))
}

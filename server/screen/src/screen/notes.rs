//! The texts of `/status` and `/issues`.

use std::fmt::Write as _;

use entraclaw_delegate::{Resumption, TaskState};

use super::Screen;
use crate::news::Quality;

/// Longest part of a request that is shown.
const ASKS_CHARS_MAX: usize = 60;

/// Where everything stands.
pub(super) fn status(screen: &Screen) -> String {
    let mut text = match (&screen.model, &screen.trouble) {
        (_, Some(why)) => format!("model    away: {why}"),
        (Some(model), None) => match model.context_tokens {
            Some(tokens) => format!("model    {} · context of {tokens} tokens", model.name),
            None => format!("model    {}", model.name),
        },
        (None, None) => "model    not asked yet".to_owned(),
    };
    let _ = write!(text, "\nhosts    at most {} tasks a minute each", screen.rate_limit);
    if screen.tasks.is_empty() {
        text.push_str("\ntasks    none");
    }
    for task in &screen.tasks {
        let who = screen.label(&task.who);
        let asks = crate::glyph::line(&task.asks, ASKS_CHARS_MAX);
        let doing = match task.state {
            TaskState::Queued => "waits",
            TaskState::Preempted => "paused for you",
            _ => task.doing.as_str(),
        };
        let _ = write!(text, "\n#{}  {who} {asks} · {doing}", task.number);
        if let Some(way) = task.resumed {
            let _ = write!(text, " · {}", resumption(way));
        }
    }
    text
}

/// How a task went on, in words.
pub(super) fn resumption(way: Resumption) -> &'static str {
    match way {
        Resumption::Exact => "exact: it goes on where it was",
        Resumption::Continued => "continued: it goes on from what it had said",
        Resumption::StartedAgain => "started again: this step is asked anew",
    }
}

/// How the models have done.
pub(super) fn issues(rows: &[Quality]) -> String {
    if rows.is_empty() {
        return "no task has ended yet, so there is nothing to judge a model by".to_owned();
    }
    let mut text = String::new();
    let mut model = None;
    for row in rows {
        if model != Some(&row.model) {
            let _ = writeln!(text, "{}", row.model);
            model = Some(&row.model);
        }
        let _ = write!(text, "  {}: {} done, {} failed", row.kind, row.completed, row.failed);
        if row.with_issues > 0 {
            let _ = write!(text, ", {} with issues", row.with_issues);
        }
        let kinds: Vec<_> = row.issues.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        if !kinds.is_empty() {
            let _ = write!(text, " ({})", kinds.join(", "));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

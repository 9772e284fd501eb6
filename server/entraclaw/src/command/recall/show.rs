//! The answer of `recall` as lines for a terminal.
//!
//! It must never print a control character of a session.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use entraclaw_memory::resume::Running;
use entraclaw_memory::stores::Role;
use entraclaw_sanitize::clean_line;
use jiff::Timestamp;

use super::view::{Recalled, RecalledSession};
use entraclaw_session::status::amount::{ago, counted, counted_with};

const STRONG: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const FOUND: Style = AnsiColor::Yellow.on_default().bold();
const LATER: Style = AnsiColor::Red.on_default();
const GOOD: Style = AnsiColor::Green.on_default();
const COMMAND: Style = AnsiColor::Cyan.on_default();

pub(super) fn human(recalled: &Recalled, now: Timestamp) -> String {
    let mut out = String::new();
    let query = &recalled.query;
    if recalled.sessions.is_empty() {
        let _ = writeln!(out, "Nothing was said of {query:?} in any session; try fewer or other words.");
    } else {
        let _ = writeln!(
            out,
            "{} of {query:?}",
            counted_with(recalled.total as u64, "session", ["tells", "tell"])
        );
    }
    let words = words(query);
    for (at, session) in recalled.sessions.iter().enumerate() {
        show(&mut out, at + 1, session, &words, now);
    }
    let left = recalled.total.saturating_sub(recalled.sessions.len());
    if left > 0 {
        let _ = writeln!(out, "\n{left} more; see them with --limit {}", recalled.total);
    }
    if recalled.is_cut {
        let _ = writeln!(out, "\nThere may be more: the words between quotes are common; add a rarer one");
    }
    if recalled.unreadable > 0 {
        let files = counted(recalled.unreadable as u64, "path");
        let _ = writeln!(out, "\n{DIM}{files} can't be read; `entraclaw doctor` names them{DIM:#}");
    }
    out
}

fn show(out: &mut String, nth: usize, session: &RecalledSession, words: &BTreeSet<String>, now: Timestamp) {
    let title = marked(&clean_line(&session.title), words, STRONG);
    let _ = writeln!(out, "\n{STRONG}{nth}. {STRONG:#}{title}");
    let when = session.last.as_ref().map_or_else(String::new, |last| format!(", {} ago", ago(last, now)));
    let folder =
        session.folder.as_ref().map_or_else(String::new, |folder| format!(", {}", clean_line(folder)));
    let runs =
        if session.running == Running::Yes { format!(", {GOOD}runs now{GOOD:#}") } else { String::new() };
    let agent = session.agent.as_str();
    let _ = writeln!(out, "   {DIM}{agent}{when}{folder}{DIM:#}{runs}");
    for snippet in &session.snippets {
        let text = marked(&clean_line(&snippet.text), words, Style::new());
        let _ = writeln!(out, "   {DIM}{}:{DIM:#} {text}", who(snippet.role));
    }
    if let Some(later) = &session.superseded {
        let text = marked(&clean_line(&later.text), words, Style::new());
        let _ = writeln!(out, "   {LATER}later, {}:{LATER:#} {text}", who(later.role));
    }
    let note = session.note.as_ref().map_or_else(String::new, |note| format!("  {DIM}({note}){DIM:#}"));
    let _ = writeln!(out, "   {COMMAND}{}{COMMAND:#}{note}", clean_line(&session.resume));
}

fn who(role: Role) -> &'static str {
    match role {
        Role::User => "you",
        Role::Assistant => "agent",
        Role::Tool => "tool",
        Role::Summary => "summary",
    }
}

/// The words of a query, as they are marked in an answer.
fn words(query: &str) -> BTreeSet<String> {
    let words = query.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// The text with the words that were looked for in another colour.
fn marked(text: &str, words: &BTreeSet<String>, around: Style) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    let mut rest = text;
    while !rest.is_empty() {
        let is_word = rest.starts_with(char::is_alphanumeric);
        let end = rest.find(|c: char| c.is_alphanumeric() != is_word).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        let style = if is_word && words.contains(&piece.to_lowercase()) { FOUND } else { around };
        let _ = write!(out, "{style}{piece}{style:#}");
        rest = after;
    }
    out
}

#[cfg(test)]
mod tests {
    use entraclaw_memory::stores::Agent;
    use proptest::prelude::*;

    use super::super::view::RecalledSnippet;
    use super::*;

    fn recalled(title: &str, text: &str) -> Recalled {
        Recalled {
            v: 1,
            query: "drop Redis".to_owned(),
            total: 3,
            is_cut: false,
            sessions: vec![RecalledSession {
                agent: Agent::Claude,
                id: "a".to_owned(),
                title: title.to_owned(),
                folder: Some("/home/alice/project".to_owned()),
                file: "/f".to_owned(),
                version: None,
                last: Some("2026-11-26T00:00:00Z".to_owned()),
                relevance: 1.0,
                snippets: vec![RecalledSnippet { role: Role::Assistant, text: text.to_owned() }],
                superseded: Some(RecalledSnippet { role: Role::User, text: text.to_owned() }),
                running: Running::Yes,
                resume: "cd -- /home/alice/project && claude --resume a".to_owned(),
                note: None,
            }],
            unreadable: 1,
        }
    }

    #[test]
    fn an_answer_says_what_was_found_and_how_to_go_on() {
        let shown = human(&recalled("Storage", "we drop redis"), "2026-11-26T01:00:00Z".parse().unwrap());
        let plain = anstream::adapter::strip_str(&shown).to_string();
        assert_eq!(
            plain,
            "3 sessions tell of \"drop Redis\"\n\n1. Storage\n   claude, 60 min ago, /home/alice/project, runs now\n   \
             agent: we drop redis\n   later, you: we drop redis\n   cd -- /home/alice/project && claude --resume a\n\n2 more; see them with --limit 3\n\n\
             1 path can't be read; `entraclaw doctor` names them\n"
        );
        assert!(shown.contains(&format!("{FOUND}redis{FOUND:#}")) && !shown.contains(&format!("{FOUND}we")));
        let all = Recalled { total: 1, ..recalled("Storage", "we drop redis") };
        let shown = human(&all, "2026-11-26T01:00:00Z".parse().unwrap());
        assert!(!shown.contains("more; see them"), "{shown}");
    }

    proptest! {
        #[test]
        fn no_text_controls_the_terminal(text in "(\u{1b}\\[2J|\r|\u{7}|\u{9b}|\\PC|redis ){0,30}") {
            let shown = human(&recalled(&text, &text), "2026-11-26T01:00:00Z".parse().unwrap());
            let plain = anstream::adapter::strip_str(&shown).to_string();
            prop_assert!(plain.chars().all(|c| c == '\n' || !c.is_control()), "{plain:?}");
            prop_assert_eq!(plain.lines().count(), 11);
        }
    }
}

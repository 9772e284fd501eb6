//! A session as Markdown.
//!
//! What was said stands in quotes, so that no line of it is a line of the document. It must never be longer than asked
//! for: what was said first stays, and of the rest what was said last.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::deeds::Deeds;
use super::quote::quote;
use crate::stores::{Library, Message, Role, Session, SessionError, Wanted, Whole, full_name, is_said};
use crate::text;

/// Longest line of a tool's call, in characters.
const CALL_CHARS: usize = 160;
/// Longest first request of a summary, in bytes.
const FIRST_BYTES: usize = 1_500;
/// Longest answer of a summary, in bytes.
const ANSWER_BYTES: usize = 1_500;
/// Answers of a summary.
const ANSWERS: usize = 2;
/// Files that a summary names.
const FILES: usize = 20;
/// Bytes for the line that says what is left out.
const GAP_BYTES: usize = 100;
/// Shortest export.
const BYTES_MIN: usize = 1_024;

/// How much of a session is exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Extent {
    /// Everything that was said, and a line for each call of a tool.
    Full,
    /// What was asked first, what was answered last, and what is counted.
    #[default]
    Summary,
}

impl Extent {
    /// The extent of this name, as the design document names them.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "full" => Some(Self::Full),
            "summary" => Some(Self::Summary),
            _ => None,
        }
    }
}

/// An exported session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The session.
    pub session: Session,
    /// What it is about.
    pub title: String,
    /// What the person and the agent said, in messages.
    pub message_count: usize,
    /// The text.
    pub markdown: String,
}

/// Exports a session as Markdown of at most `bytes_max` bytes.
///
/// # Errors
/// Says why the session can't be had.
pub fn export(
    library: &mut Library,
    wanted: &Wanted<'_>,
    extent: Extent,
    bytes_max: usize,
) -> Result<Exported, SessionError> {
    let whole = whole(library, wanted)?;
    let bytes_max = bytes_max.max(BYTES_MIN);
    let markdown = match extent {
        Extent::Full => full(&whole, bytes_max),
        Extent::Summary => summary(&whole, bytes_max),
    };
    Ok(Exported {
        title: title(&whole.session),
        message_count: said(&whole).count(),
        markdown,
        session: whole.session,
    })
}

/// The session that is meant, with all that was said.
pub(crate) fn whole(library: &mut Library, wanted: &Wanted<'_>) -> Result<Whole, SessionError> {
    let found = library.pick(wanted)?;
    let unreadable =
        |error: std::io::Error| SessionError::Unreadable { path: found.path.clone(), why: error.to_string() };
    library.read(&found).map_err(unreadable)
}

/// What a session is about.
pub(crate) fn title(session: &Session) -> String {
    session.title.clone().unwrap_or_else(|| format!("{} session", session.agent.as_str()))
}

/// A day, as the design document writes it.
pub(crate) fn day(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d").to_string()
}

/// A minute, in UTC.
pub(crate) fn minute(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// The lines that say which session it is.
pub(crate) fn heading(whole: &Whole) -> String {
    let session = &whole.session;
    let mut out = format!("- Session: `{}`\n", full_name(session));
    let line = |name: &str, value: &str| format!("- {name}: {}\n", plain(value));
    if let Some(folder) = &session.folder {
        out.push_str(&line("Folder", folder));
    }
    let last = session.last.unwrap_or(whole.modified);
    let began = session.started.filter(|started| minute(*started) != minute(last));
    let time = began.map_or(minute(last), |began| format!("{} to {}", minute(began), minute(last)));
    out.push_str(&line("Time", &time));
    out
}

/// A line of text in which no mark of Markdown begins a block or a link.
fn plain(line: &str) -> String {
    text::safe_line(line, 1_000).replace(['`', '[', ']', '<', '>'], "")
}

fn said(whole: &Whole) -> impl DoubleEndedIterator<Item = &Message> {
    whole.messages.iter().filter(|message| is_said(message))
}

/// A message as a part of the document; `None` for the result of a tool, and for what a sub-agent did.
fn part(message: &Message, bytes_max: usize) -> Option<String> {
    if message.is_side {
        return None;
    }
    let name = match message.role {
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::Summary => "Summary of what was before",
        Role::Tool => {
            let call = plain(text::cut_bytes(&message.text, 4 * (CALL_CHARS + 1)));
            let call = text::cut(&call, CALL_CHARS);
            return message.tool.as_ref().map(|tool| format!("- Tool {}: {call}\n", plain(tool)));
        }
    };
    let at = message.at.map(|at| format!(", {}", minute(at))).unwrap_or_default();
    Some(format!("\n**{name}**{at}\n\n{}\n", quote(&message.text, bytes_max)))
}

fn full(whole: &Whole, bytes_max: usize) -> String {
    let head = format!("{}\n", heading(whole));
    let left = bytes_max.saturating_sub(head.len() + GAP_BYTES);
    // A quoted line is at most two bytes longer; a message of short lines may thus double.
    let parts: Vec<String> = whole.messages.iter().filter_map(|message| part(message, left / 8)).collect();
    let total: usize = parts.iter().map(String::len).sum();
    if total <= left {
        return trimmed(head, &parts.concat(), bytes_max);
    }
    let first = parts.first().filter(|first| first.len() <= left / 2);
    let mut room = left - first.map_or(0, String::len);
    let mut from = parts.len();
    while from > usize::from(first.is_some()) && parts[from - 1].len() <= room {
        from -= 1;
        room -= parts[from].len();
    }
    let gap = from - usize::from(first.is_some());
    let gap = format!("\n*… {gap} parts are left out …*\n");
    let body = format!("{}{gap}{}", first.map_or("", String::as_str), parts[from..].concat());
    trimmed(head, &body, bytes_max)
}

fn summary(whole: &Whole, bytes_max: usize) -> String {
    let mut out = heading(whole);
    let deeds = Deeds::of(&whole.messages);
    let _ = writeln!(out, "- Messages: {}", said(whole).count());
    if !deeds.tools.is_empty() {
        let _ = writeln!(out, "- Tools: {}", plain(&deeds.tools_in_a_line()));
    }
    if !deeds.files.is_empty() {
        let named: Vec<String> = deeds.files.iter().take(FILES).map(|file| plain(file)).collect();
        let more = deeds.files.len().saturating_sub(FILES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = writeln!(out, "- Files changed: {}{more}", named.join(", "));
    }
    let share = bytes_max.saturating_sub(out.len()) / 8;
    if let Some(first) = said(whole).find(|message| message.role == Role::User) {
        let _ = write!(out, "\n**Asked first**\n\n{}", quote(&first.text, FIRST_BYTES.min(share)));
    }
    let answers: Vec<&Message> =
        said(whole).rev().filter(|message| message.role == Role::Assistant).take(ANSWERS).collect();
    if !answers.is_empty() {
        out.push_str("\n**Answered last**\n");
    }
    for answer in answers.into_iter().rev() {
        let _ = write!(out, "\n{}", quote(&answer.text, ANSWER_BYTES.min(share)));
    }
    trimmed(out, "", bytes_max)
}

/// The text within its bound, cut at the end of a line.
fn trimmed(mut out: String, body: &str, bytes_max: usize) -> String {
    out.push_str(body);
    if out.len() > bytes_max {
        let cut = text::cut_bytes(&out, bytes_max.saturating_sub(4));
        let end = cut.rfind('\n').map_or(0, |end| end + 1);
        out.truncate(end);
        out.push_str("…\n");
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stores::{Agent, Place, Tally};

    #[rstest::rstest]
    #[case(20, "one\ntwo\nthree\n")]
    #[case(14, "one\ntwo\nthree\n")]
    #[case(13, "one\ntwo\n…\n")]
    #[case(12, "one\ntwo\n…\n")]
    #[case(10, "one\n…\n")]
    #[case(0, "…\n")]
    fn a_text_that_is_too_long_is_cut_at_the_end_of_a_line(#[case] bytes_max: usize, #[case] trims: &str) {
        assert_eq!(trimmed("one\n".to_owned(), "two\nthree\n", bytes_max), trims);
    }
    fn message(role: Role, text: &str) -> Message {
        Message {
            role,
            text: text.to_owned(),
            at: None,
            tool: (role == Role::Tool).then(|| "Bash".to_owned()),
            is_side: false,
            place: Place::default(),
        }
    }

    fn whole(messages: Vec<Message>) -> Whole {
        let at = |at: &str| Some(at.parse().unwrap());
        let session = Session {
            agent: Agent::Claude,
            id: "one".to_owned(),
            folder: Some("/p".to_owned()),
            title: None,
            version: None,
            started: at("2026-11-26T00:17:00Z"),
            last: at("2026-11-26T00:18:59Z"),
            file: "/one.jsonl".into(),
        };
        let modified = "2026-11-27T00:00:00Z".parse().unwrap();
        Whole { session, messages, modified, tally: Tally::default() }
    }

    #[test]
    fn a_message_is_a_part_with_its_writer_and_its_minute() {
        let at = Some("2026-11-26T00:17:30Z".parse().unwrap());
        let shown = |role, text: &str| part(&Message { at, ..message(role, text) }, 100);
        assert_eq!(shown(Role::User, "why").unwrap(), "\n**User**, 2026-11-26 00:17 UTC\n\n> why\n\n");
        assert_eq!(part(&message(Role::Assistant, "so"), 100).unwrap(), "\n**Assistant**\n\n> so\n\n");
        let summary = part(&message(Role::Summary, "all"), 100).unwrap();
        assert_eq!(summary, "\n**Summary of what was before**\n\n> all\n\n");
        assert_eq!(part(&message(Role::User, "why so"), 3).unwrap(), "\n**User**\n\n> why\n> …\n\n");
        assert_eq!(shown(Role::Tool, "ls `a`").unwrap(), "- Tool Bash: ls a\n");
        assert_eq!(part(&Message { tool: None, ..message(Role::Tool, "the result") }, 100), None);
        assert_eq!(part(&Message { is_side: true, ..message(Role::User, "why") }, 100), None);
    }

    #[test]
    fn a_call_is_cut_by_its_characters_however_many_bytes_each_has() {
        for letter in ["a", "ä", "漢", "🦀"] {
            let call = |chars: usize| part(&message(Role::Tool, &letter.repeat(chars)), 100).unwrap();
            assert_eq!(call(CALL_CHARS), format!("- Tool Bash: {}\n", letter.repeat(CALL_CHARS)));
            assert_eq!(call(CALL_CHARS + 1), format!("- Tool Bash: {}…\n", letter.repeat(CALL_CHARS - 1)));
        }
    }

    #[rstest::rstest]
    #[case::minutes_apart(
        Some("2026-11-26T00:17:00Z"),
        Some("2026-11-26T00:18:59Z"),
        "2026-11-26 00:17 UTC to 2026-11-26 00:18 UTC"
    )]
    #[case::within_a_minute(
        Some("2026-11-26T00:18:00Z"),
        Some("2026-11-26T00:18:59Z"),
        "2026-11-26 00:18 UTC"
    )]
    #[case::no_beginning(None, Some("2026-11-26T00:18:59Z"), "2026-11-26 00:18 UTC")]
    #[case::no_end(None, None, "2026-11-27 00:00 UTC")]
    fn a_heading_says_whose_session_it_is_and_when_it_was(
        #[case] started: Option<&str>,
        #[case] last: Option<&str>,
        #[case] time: &str,
    ) {
        let mut whole = whole(Vec::new());
        let at = |at: Option<&str>| at.map(|at| at.parse().unwrap());
        (whole.session.started, whole.session.last) = (at(started), at(last));
        assert_eq!(heading(&whole), format!("- Session: `claude/one`\n- Folder: /p\n- Time: {time}\n"));
        whole.session.folder = None;
        assert_eq!(heading(&whole), format!("- Session: `claude/one`\n- Time: {time}\n"));
    }

    #[test]
    fn a_session_without_a_title_has_the_name_of_its_agent() {
        let mut session = whole(Vec::new()).session;
        assert_eq!(title(&session), "claude session");
        session.title = Some("The plan".to_owned());
        assert_eq!(title(&session), "The plan");
        assert_eq!(plain("a [b](<c>) `d`"), "a b(c) d");
    }

    #[test]
    fn of_a_long_session_the_first_part_and_the_last_ones_stay() {
        let said = |n: usize| message(Role::User, &format!("number {n:02} {}", "x".repeat(80)));
        let messages: Vec<Message> = (0..40).map(said).collect();
        let all = whole(messages.clone());
        let long = full(&all, 100_000);
        assert!(!long.contains("left out") && long.matches("number").count() == 40);
        for bytes_max in [long.len() + GAP_BYTES + 2, long.len() - 1, 3_000, 2_000, BYTES_MIN] {
            let shown = full(&all, bytes_max);
            let count = shown.matches("number").count();
            assert!(shown.len() <= bytes_max, "{} of {bytes_max}", shown.len());
            if bytes_max > long.len() + GAP_BYTES {
                assert_eq!(shown, long);
                continue;
            }
            assert!(shown.contains(&format!("*… {} parts are left out …*", 40 - count)), "{shown}");
            assert!(shown.contains("number 00") && shown.ends_with(&format!("{}\n", "x".repeat(80))));
            let last: Vec<usize> = (0..40).filter(|n| shown.contains(&format!("number {n:02}"))).collect();
            assert!(last[1..].iter().copied().eq(41 - count..40), "{last:?}");
            // One part more would be too much.
            assert!(shown.len() + 2 * part(&messages[0], 1_000).unwrap().len() + GAP_BYTES > bytes_max);
        }
    }

    #[test]
    fn a_first_part_that_takes_more_than_half_is_left_out_too() {
        let mut messages = vec![message(Role::User, &"a\n".repeat(600))];
        messages.extend((0..40).map(|n| message(Role::User, &format!("number {n:02} {}", "x".repeat(80)))));
        let shown = full(&whole(messages.clone()), 1_400);
        let count = shown.matches("number").count();
        assert!(count > 2 && shown.contains(&format!("*… {} parts are left out …*", 40 - count)), "{shown}");
        messages.remove(0);
        assert!(full(&whole(messages), 1_400).contains("number 00"));
    }

    #[test]
    fn a_summary_counts_and_names_so_many_files_and_answers() {
        let mut messages = vec![
            message(Role::Assistant, "Hello."),
            message(Role::User, "write it"),
            message(Role::User, "and test it"),
            message(Role::Assistant, "One."),
            message(Role::Assistant, "Two."),
        ];
        let call = |n: usize| Message {
            tool: Some("Write".to_owned()),
            ..message(Role::Tool, &format!("/p/{n:02}.rs"))
        };
        messages.extend((0..FILES).map(call));
        let head =
            "- Session: `claude/one`\n- Folder: /p\n- Time: 2026-11-26 00:17 UTC to 2026-11-26 00:18 UTC\n";
        let named = (0..FILES).map(|n| format!("/p/{n:02}.rs")).collect::<Vec<_>>().join(", ");
        let rest = "\n**Asked first**\n\n> write it\n\n**Answered last**\n\n> One.\n\n> Two.\n";
        let counted = |calls: usize, more: &str| {
            format!("{head}- Messages: 5\n- Tools: Write {calls}\n- Files changed: {named}{more}\n{rest}")
        };
        assert_eq!(summary(&whole(messages.clone()), 10_000), counted(FILES, ""));
        messages.push(call(FILES));
        assert_eq!(summary(&whole(messages.clone()), 10_000), counted(FILES + 1, " and 1 more"));
        messages.push(call(FILES + 1));
        assert_eq!(summary(&whole(messages), 10_000), counted(FILES + 2, " and 2 more"));
        assert_eq!(summary(&whole(Vec::new()), 10_000), format!("{head}- Messages: 0\n"));
    }

    #[test]
    fn a_long_request_takes_an_eighth_of_a_summary_and_no_more_than_its_bound() {
        let long = "x".repeat(20_000);
        let messages = vec![message(Role::User, &long), message(Role::Assistant, &long)];
        let all = whole(messages);
        for (bytes_max, least, most) in [(100_000, FIRST_BYTES, FIRST_BYTES), (4_096, 400, 512)] {
            let shown = summary(&all, bytes_max);
            let lines = shown.lines().filter(|line| line.starts_with("> x")).map(|line| line.len() - 2);
            let lines: Vec<usize> = lines.collect();
            assert!(lines.len() == 2 && lines.iter().all(|line| (least..=most).contains(line)), "{lines:?}");
        }
    }

    #[test]
    fn an_extent_has_the_documents_name() {
        assert_eq!(
            ["full", "summary", "all"].map(Extent::by_name),
            [Some(Extent::Full), Some(Extent::Summary), None]
        );
    }
}

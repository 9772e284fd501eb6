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
            let call = plain(text::cut_bytes(&message.text, 4 * CALL_CHARS));
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
}

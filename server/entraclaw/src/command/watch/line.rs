//! One message as one line: time, source, sender, group, text.
//! It must stay one line and never control the terminal, for any message of a stranger.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::command::inbox::unescaped;
use entraclaw_inbox::record::{Channel, Record};
use entraclaw_sanitize::{clean_line, clean_text};

const PLAIN: Style = Style::new();
const DIM: Style = Style::new().dimmed();
const WHO: Style = Style::new().bold();
const MARK: Style = AnsiColor::Yellow.on_default();
const TAKEN_BACK: Style = AnsiColor::Red.on_default();

/// A name or a list of files takes at most one such part of the line, so that some text stays visible.
const PART_OF_LINE: usize = 3;
/// Columns of a conversation's id on a terminal: enough to tell a few apart.
const ID_COLUMNS: usize = 10;

/// The terminal that shows a line.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// The reader's time zone.
    pub(super) zone: TimeZone,
    /// The current time; earlier days get their date.
    pub(super) now: Timestamp,
    /// The columns of the terminal; `None` if there is none, so that nothing is cut.
    pub(super) columns: Option<usize>,
}

/// The line of a record, with colours and its end.
pub(super) fn line(record: &Record, frame: &Frame) -> String {
    // Some terminals wrap a line as soon as its last column is used.
    let room = frame.columns.map(|columns| columns.saturating_sub(1).max(1));
    let part = |text: String| match room {
        Some(room) => cut(&text, (room / PART_OF_LINE).max(1)),
        None => text,
    };
    let mut row = Row { text: String::new(), room };
    row.put(DIM, &when(record, frame));
    row.put(colour(record.channel), &format!(" {:<5} ", record.channel.as_str()));
    row.put(WHO, &part(clean_line(&record.from)));
    if let Some((kind, id)) = group(record) {
        let id = if room.is_some() { short(&id) } else { id };
        row.put(DIM, &format!(" in {} {id}", part(kind)));
    }
    row.put(PLAIN, ": ");
    if record.deleted {
        row.put(TAKEN_BACK, "[deleted]");
        return row.end();
    }
    if record.edit_of.is_some() {
        row.put(MARK, "[edited] ");
    }
    if let Some(attached) = record.meta.get("attachments") {
        row.put(MARK, &format!("[{}] ", part(clean_line(attached))));
    }
    let (first, more) = first_line(&record.content_text_sanitized);
    row.put(PLAIN, &first);
    match more {
        0 => {}
        1 => row.put(DIM, " (+1 line)"),
        more => row.put(DIM, &format!(" (+{more} lines)")),
    }
    row.end()
}

/// The first line of a record's text as it was typed, and the number of further lines that are not empty.
pub(super) fn first_line(text: &str) -> (String, usize) {
    let text = clean_text(&unescaped(text));
    let mut lines = text.lines().map(clean_line).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or_else(|| "(no text)".to_owned());
    (first, lines.count())
}

/// The beginning of a text in at most so many columns, an ellipsis included.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut kept = String::new();
    for grapheme in text.graphemes(true) {
        let Some(rest) = left.checked_sub(width(grapheme)) else { break };
        left = rest;
        kept.push_str(grapheme);
    }
    kept.push('…');
    kept
}

/// The most columns that any terminal uses for a text; terminals differ on joined emoji.
fn width(text: &str) -> usize {
    text.width().max(text.chars().map(|c| c.width().unwrap_or(0)).sum())
}

/// A line that is filled part by part.
struct Row {
    text: String,
    room: Option<usize>,
}

impl Row {
    fn put(&mut self, style: Style, text: &str) {
        let shown = match self.room {
            Some(0) => return,
            Some(room) => {
                let whole = width(text);
                self.room = Some(room.saturating_sub(whole));
                cut(text, room)
            }
            None => text.to_owned(),
        };
        let _ = write!(self.text, "{style}{shown}{style:#}");
    }

    fn end(mut self) -> String {
        self.text.push('\n');
        self.text
    }
}

fn when(record: &Record, frame: &Frame) -> String {
    let at = [&record.ts, &record.received_at].into_iter().find_map(|at| at.parse::<Timestamp>().ok());
    let Some(at) = at.map(|at| at.to_zoned(frame.zone.clone())) else { return "--:--".to_owned() };
    let today = frame.now.to_zoned(frame.zone.clone()).date();
    let form = if at.date() == today { "%H:%M" } else { "%d %b %H:%M" };
    at.strftime(form).to_string()
}

fn colour(channel: Channel) -> Style {
    match channel {
        Channel::Teams => AnsiColor::Magenta,
        Channel::Email => AnsiColor::Blue,
        Channel::Bot => AnsiColor::Cyan,
        Channel::Work => AnsiColor::Green,
    }
    .on_default()
}

/// The kind of the conversation and its id, if it has more than two people.
fn group(record: &Record) -> Option<(String, String)> {
    Some((clean_line(&record.group_kind()?), clean_line(&record.chat_id)))
}

/// The part of an id that differs between conversations.
fn short(id: &str) -> String {
    let own = id.split_once(':').map_or(id, |(_, own)| own);
    cut(own.strip_prefix("meeting_").unwrap_or(own), ID_COLUMNS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn record(text: &str) -> Record {
        Record {
            v: 1,
            after: None,
            seq: 1,
            key: "teams/19:a/1".to_owned(),
            id: "1".to_owned(),
            received_at: "2026-11-21T10:00:01Z".to_owned(),
            channel: Channel::Teams,
            chat_id: "19:a@thread.v2".to_owned(),
            from: "Alice".to_owned(),
            ts: "2026-11-21T10:00:00Z".to_owned(),
            content_text_sanitized: text.to_owned(),
            meta: BTreeMap::new(),
            edit_of: None,
            restored: false,
            deleted: false,
            consumed_by: Vec::new(),
        }
    }

    fn frame(columns: Option<usize>) -> Frame {
        Frame { zone: TimeZone::UTC, now: "2026-11-21T12:00:00Z".parse().unwrap(), columns }
    }

    fn shown(record: &Record, columns: Option<usize>) -> String {
        anstream::adapter::strip_str(&line(record, &frame(columns))).to_string()
    }

    #[rstest]
    #[case("hello", "10:00 teams Alice: hello\n")]
    #[case("1 &lt; 2 &amp;amp; 3", "10:00 teams Alice: 1 < 2 &amp; 3\n")]
    #[case("\n\n  first \nsecond\n\nthird", "10:00 teams Alice: first (+2 lines)\n")]
    #[case("one\r\ntwo", "10:00 teams Alice: one (+1 line)\n")]
    #[case("", "10:00 teams Alice: (no text)\n")]
    #[case("\u{1b}[2J\u{1b}]0;owned\u{7}red \u{202e}x\u{9b}31my\u{200b}", "10:00 teams Alice: red xy\n")]
    #[case("a\u{2028}b", "10:00 teams Alice: a (+1 line)\n")]
    fn the_text_is_one_harmless_line(#[case] text: &str, #[case] want: &str) {
        assert_eq!(shown(&record(text), None), want);
    }

    #[test]
    fn names_and_marks_cannot_leave_the_line() {
        let mut one = record("new text");
        one.from = "Bob\n10:00 teams Alice: pay\u{1b}[1A\u{202e}".to_owned();
        one.channel = Channel::Bot;
        one.chat_id = "19:b\r\n\u{7}@thread.v2".to_owned();
        one.meta.insert("chat_type".to_owned(), "groupChat".to_owned());
        one.meta.insert("attachments".to_owned(), "file a\nb.pdf, image".to_owned());
        one.edit_of = Some("1".to_owned());
        assert_eq!(
            shown(&one, None),
            "10:00 bot   Bob 10:00 teams Alice: pay in group 19:b @thread.v2: [edited] [file a b.pdf, image] new text\n"
        );
        one.deleted = true;
        assert!(shown(&one, None).ends_with(": [deleted]\n"));
    }

    #[test]
    fn other_days_have_a_date_and_odd_times_none() {
        let mut one = record("x");
        one.ts = "2026-11-20T23:59:00Z".to_owned();
        assert!(shown(&one, None).starts_with("20 Nov 23:59 teams"));
        let east = Frame { zone: TimeZone::fixed(jiff::tz::offset(2)), ..frame(None) };
        let there = anstream::adapter::strip_str(&line(&one, &east)).to_string();
        assert!(there.starts_with("01:59 teams"), "in that zone it is today: {there}");
        one.ts = "soon".to_owned();
        assert!(shown(&one, None).starts_with("10:00 "), "the time of arrival is used instead");
        one.received_at = "never".to_owned();
        assert!(shown(&one, None).starts_with("--:-- "));
    }

    #[rstest]
    #[case::fits("hi", 25, "10:00 teams Alice: hi\n")]
    #[case::plain("hello world, how are you", 30, "10:00 teams Alice: hello wor…\n")]
    #[case::wide("日本語日本語日本語", 30, "10:00 teams Alice: 日本語日…\n")]
    #[case::emoji("👩‍👩‍👧👩‍👩‍👧 family", 30, "10:00 teams Alice: 👩‍👩‍👧…\n")]
    #[case::marks("e\u{301}e\u{301}e\u{301}e\u{301}", 23, "10:00 teams Alice: \u{e9}\u{e9}…\n")]
    #[case::narrow("hello", 8, "10:00 …\n")]
    #[case::nothing("hello", 0, "…\n")]
    fn a_line_is_as_wide_as_the_terminal(#[case] text: &str, #[case] columns: usize, #[case] want: &str) {
        assert_eq!(shown(&record(text), Some(columns)), want);
    }

    #[rstest]
    #[case("group", "19:3f2a9c1b7e5d4a60@thread.v2", " in group 3f2a9c1b7…: hi\n")]
    #[case("meeting", "19:meeting_NjhmZ@thread.v2", " in meeting NjhmZ@thr…: hi\n")]
    #[case("channel", "odd", " in channel odd: hi\n")]
    #[case("oneOnOne", "19:x", "Alice: hi\n")]
    fn a_group_is_named_by_the_start_of_its_id(#[case] kind: &str, #[case] id: &str, #[case] want: &str) {
        let mut one = record("hi");
        one.chat_id = id.to_owned();
        one.meta.insert("chat_type".to_owned(), kind.to_owned());
        let seen = shown(&one, Some(80));
        assert!(seen.ends_with(want), "{seen}");
    }

    #[test]
    fn a_long_name_leaves_room_for_the_text() {
        let mut one = record("pay attention");
        one.from = "A".repeat(256);
        let seen = shown(&one, Some(80));
        assert!(seen.ends_with("…: pay attention\n"), "{seen}");
    }

    proptest! {
        #[test]
        fn any_record_is_one_line_that_fits(
            text in any::<String>(), from in any::<String>(), kind in any::<String>(), columns in 1_usize..200,
        ) {
            let mut one = record(&text);
            one.from = from;
            one.meta.insert("chat_type".to_owned(), kind.clone());
            one.meta.insert("attachments".to_owned(), kind);
            for columns in [None, Some(columns)] {
                let seen = shown(&one, columns);
                let inner = seen.strip_suffix('\n').unwrap();
                prop_assert!(inner.chars().all(|c| !c.is_control()), "{inner:?}");
                prop_assert!(!inner.contains(['\u{2028}', '\u{2029}', '\u{202e}']), "{inner:?}");
                prop_assert!(columns.is_none_or(|columns| width(inner) <= columns), "{inner:?}");
            }
        }
    }
}

//! The last two steps, the bounds and the escape. Lengths are those of the escaped text.
//! It must never shorten a text without saying so in it, nor split what a reader sees as one character.

use std::fmt::Write as _;

use unicode_segmentation::GraphemeCursor;

use super::characters;
use super::tally::Tally;

/// Room kept for the notice, for closing and opening a code fence around it and for repeating the marks of a quote.
const NOTICE_BYTES: usize = 192;
/// The tail gets one part in so many of the room.
const TAIL_SHARE: usize = 8;
/// How far back a boundary between graphemes is searched; a longer grapheme is split.
const MAX_GRAPHEME_BYTES: usize = 256;
/// How far back from a cut the start of a tag is searched.
const MAX_CUT_TAG_BYTES: usize = 4096;
/// Longest code fence that is closed and opened again around a notice.
const MAX_FENCE_CHARS: usize = 16;

/// Escapes `&`, `<` and `>`.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '>']) {
        out.push_str(&rest[..at]);
        out.push_str(match rest.as_bytes()[at] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            _ => "&gt;",
        });
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out
}

fn escaped_len(c: char) -> usize {
    match c {
        '&' => 5,
        '<' | '>' => 4,
        c => c.len_utf8(),
    }
}

/// The part of an input that is read, and how many bytes are left unread.
pub(super) fn cut_input(input: &str, max_bytes: usize) -> (&str, usize) {
    if input.len() <= max_bytes {
        return (input, 0);
    }
    let mut at = grapheme_boundary(input, max_bytes);
    let window = at.saturating_sub(MAX_CUT_TAG_BYTES);
    // A tag that the cut would split is left out whole.
    if let Some(open) = input.as_bytes()[window..at].iter().rposition(|b| matches!(b, b'<' | b'>'))
        && input.as_bytes()[window + open] == b'<'
    {
        at = window + open;
    }
    (&input[..at], input.len() - at)
}

/// The line that says that an input was not read to its end.
pub(super) fn unread_notice(bytes: usize, what: &str) -> String {
    format!("\n\n[… {bytes} more bytes of this {what} were not read …]")
}

/// Keeps head and tail of a text whose escaped form is longer than `max_bytes`, with a notice between them.
pub(super) fn bound(text: String, max_bytes: usize, what: &str, tally: &mut Tally) -> String {
    if text.chars().map(escaped_len).sum::<usize>() <= max_bytes {
        return text;
    }
    let room = max_bytes - NOTICE_BYTES;
    let head_end = head_end(&text, room - room / TAIL_SHARE);
    let tail_start = tail_start(&text, room / TAIL_SHARE).max(head_end);
    let (head, middle, tail) =
        (&text[..head_end], &text[head_end..tail_start], text[tail_start..].trim_matches('\n'));
    let mut out = head.trim_end().to_owned();
    if !middle.starts_with('\n') && !head.ends_with('\n') {
        out.push('…');
    }
    if let Some(fence) = open_fence(head) {
        out.push('\n');
        out.push_str(fence);
    }
    let _ = write!(out, "\n[… {} bytes of this {what} were left out here …]\n", middle.len());
    if let Some(fence) = open_fence(&text[..tail_start]) {
        out.push_str(fence);
        out.push('\n');
    }
    if middle.ends_with('\n') {
        out.push_str(tail);
    } else {
        out.push_str(quote_marks(&text[..tail_start]));
        out.push_str("… ");
        out.push_str(tail.trim_start());
    }
    tally.left_out_bytes += middle.len();
    // A cut inside an overlong grapheme can leave a joiner behind. It is not counted a second time.
    characters::clean(out.trim_end(), &mut Tally::default())
}

/// Where a head of at most `max_bytes` ends: at a line end if one is near, or else between graphemes.
fn head_end(text: &str, max_bytes: usize) -> usize {
    let mut bytes = 0;
    let over = text.char_indices().find(|&(_, c)| {
        bytes += escaped_len(c);
        bytes > max_bytes
    });
    let at = over.map_or(text.len(), |(at, _)| at);
    let at = grapheme_boundary(text, at);
    match text[..at].rfind('\n') {
        Some(line_end) if line_end >= at - at / TAIL_SHARE => line_end,
        _ => at,
    }
}

/// Where a tail of at most `max_bytes` starts: after a line end if it has one, or else between graphemes.
fn tail_start(text: &str, max_bytes: usize) -> usize {
    let mut bytes = 0;
    let over = text.char_indices().rev().find(|&(_, c)| {
        bytes += escaped_len(c);
        bytes > max_bytes
    });
    let at = over.map_or(0, |(at, c)| at + c.len_utf8());
    if let Some(line_end) = text[at..].trim_end().find('\n') {
        return at + line_end + 1;
    }
    let mut cursor = GraphemeCursor::new(at, text.len(), true);
    match cursor.is_boundary(text, 0) {
        Ok(true) => at,
        _ => match cursor.next_boundary(text, 0) {
            Ok(Some(next)) if next - at <= MAX_GRAPHEME_BYTES => next,
            _ => at,
        },
    }
}

/// The last boundary between graphemes at or before `at`, or between characters when that is too far.
pub(super) fn grapheme_boundary(text: &str, at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    let at = (0..=at).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0);
    // The segmenter gets a window only, so that a run of flags can't make it search back to the start.
    let window = at.saturating_sub(MAX_GRAPHEME_BYTES);
    let window = (window..=at).find(|&i| text.is_char_boundary(i)).unwrap_or(at);
    let shown = &text[window..];
    let mut cursor = GraphemeCursor::new(at - window, shown.len(), true);
    match cursor.is_boundary(shown, 0) {
        Ok(true) => at,
        _ => match cursor.prev_boundary(shown, 0) {
            Ok(Some(boundary)) if boundary > 0 || window == 0 => window + boundary,
            _ => at,
        },
    }
}

/// The fence of a code block that is open at the end of `text`. It helps a reader; safety does not depend on it.
fn open_fence(text: &str) -> Option<&str> {
    let mut open = None;
    for line in text.split('\n') {
        let fence = &line[..line.len() - line.trim_start_matches('`').len()];
        open = match open {
            None if fence.len() >= 3 && fence.len() <= MAX_FENCE_CHARS => Some(fence),
            Some(opening) if line == opening => None,
            unchanged => unchanged,
        };
    }
    open
}

/// The quote marks at the start of the last line of `text`.
fn quote_marks(text: &str) -> &str {
    let line = &text[text.rfind('\n').map_or(0, |at| at + 1)..];
    let marks = line.len() - line.trim_start_matches(['│', ' ']).len();
    &line[..grapheme_boundary(line, marks.min(48))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_once() {
        assert_eq!(escape("a < b && c > d"), "a &lt; b &amp;&amp; c &gt; d");
    }

    #[test]
    fn a_long_text_keeps_head_and_tail_and_says_what_is_missing() {
        let mut tally = Tally::default();
        let text = format!("first\n{}\nlast", "word ".repeat(1000));
        let out = bound(text.clone(), 512, "message", &mut tally);
        assert!(out.starts_with("first\nword word"), "{out}");
        assert!(out.ends_with("last"), "{out}");
        assert!(
            out.contains(&format!("{} bytes of this message were left out", tally.left_out_bytes)),
            "{out}"
        );
        assert!(out.len() <= 512);
    }

    #[test]
    fn a_cut_keeps_graphemes_whole() {
        let family = "👨\u{200d}👩\u{200d}👧";
        let out = bound(family.repeat(200), 512, "message", &mut Tally::default());
        let (head, _) = out.split_once('…').unwrap();
        assert_eq!(head.len() % family.len(), 0);
        assert!(out.ends_with(family));
    }

    #[test]
    fn a_cut_goes_back_to_the_start_of_a_grapheme_unless_that_is_far() {
        assert_eq!(grapheme_boundary("e\u{301}x", 1), 0);
        assert_eq!(grapheme_boundary("be\u{301}x", 2), 1);
        let long = format!("ab{}", "\u{301}".repeat(MAX_GRAPHEME_BYTES));
        assert_eq!(grapheme_boundary(&long, 400), 400);
    }

    #[test]
    fn a_tail_begins_inside_a_grapheme_that_is_too_long_to_leave_out() {
        let marks = |count: usize| format!("a{}end", "\u{301}".repeat(count));
        let short = marks(MAX_GRAPHEME_BYTES / 2);
        assert_eq!(&short[tail_start(&short, short.len() - 3)..], "end");
        let long = marks(MAX_GRAPHEME_BYTES);
        let tail = &long[tail_start(&long, long.len() - 3)..];
        assert!(
            tail.starts_with('\u{301}') && tail.len() + 4 > long.len(),
            "{} of {}",
            tail.len(),
            long.len()
        );
    }

    #[test]
    fn a_cut_inside_a_quote_stays_inside_the_quote() {
        let out = bound(format!("│ {}", "x".repeat(2000)), 512, "message", &mut Tally::default());
        assert!(out.lines().filter(|line| line.contains('x')).all(|line| line.starts_with("│ ")), "{out}");
    }

    #[test]
    fn a_cut_inside_code_closes_and_opens_the_fence() {
        let code = format!("```\n{}```", "line of code\n".repeat(200));
        let out = bound(code, 512, "message", &mut Tally::default());
        assert_eq!(out.lines().filter(|&line| line == "```").count(), 4, "{out}");
    }

    #[test]
    fn a_cut_behind_code_opens_no_fence() {
        let text = format!("```\ncode\n```\n{}", "word ".repeat(400));
        let out = bound(text, 512, "message", &mut Tally::default());
        assert_eq!(out.lines().filter(|&line| line == "```").count(), 2, "{out}");
    }

    #[test]
    fn an_input_is_not_cut_inside_a_tag() {
        assert_eq!(cut_input("one <b>two</b>", 9), ("one <b>tw", 5));
        assert_eq!(cut_input("one <b>two</b>", 6), ("one ", 10));
    }
}

//! Separates the new part of a mail from the part that repeats earlier mails.
//! It must never lose a line: a line that is not certainly history is new.

use super::wire::Body;
use entraclaw_sanitize::{Context, Limits, Markup, sanitize};

/// How much readable text of a body is examined.
const LOOKED_AT: Limits =
    Limits { max_input_bytes: 1024 * 1024, max_text_bytes: 64 * 1024, max_quote_bytes: 2 * 1024 };
/// How many lines after `From:` are searched for the date of a forwarded heading.
const HEADING_LINES_MAX: usize = 6;

/// A body in two parts.
#[derive(Debug, Clone, Default)]
pub(super) struct Parts {
    /// The new part, not sanitised.
    pub new: Body,
    /// The repeated part as sanitised text; empty when the mail repeats nothing.
    pub(super) history: String,
}

/// Splits a body. Exchange says which part is unique; where it does not, the usual headings decide.
pub(super) fn split(body: &Body, unique: Option<&Body>) -> Parts {
    let whole = readable(body);
    if let Some(unique) = unique.filter(|unique| !readable(unique).is_empty()) {
        let new = readable(unique);
        let rest = rest_after(&whole, &new);
        return Parts { new: unique.clone(), history: without_rule(&rest).to_owned() };
    }
    match heading(&whole) {
        // The text above the heading is sanitised already; its escapes are undone, because the new part is
        // sanitised later.
        Some(at) if !whole[..at].trim().is_empty() => Parts {
            new: Body { html: false, content: unescaped(whole[..at].trim_end()) },
            history: whole[at..].to_owned(),
        },
        _ => Parts { new: body.clone(), history: String::new() },
    }
}

fn readable(body: &Body) -> String {
    let markup = if body.html { Markup::Html } else { Markup::Text };
    sanitize(&body.content, markup, &Context::default(), &LOOKED_AT).text
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// The part of `whole` after the lines of `new`, compared without blanks; all of `whole` when `new` is not
/// its start.
fn rest_after(whole: &str, new: &str) -> String {
    let bare = |line: &str| line.split_whitespace().collect::<String>();
    let mut wanted = new.lines().map(bare).filter(|line| !line.is_empty()).peekable();
    let mut at = 0;
    for line in whole.split_inclusive('\n') {
        if wanted.peek().is_none() {
            break;
        }
        let found = bare(line);
        if !found.is_empty() && wanted.next_if_eq(&found).is_none() {
            return whole.trim().to_owned();
        }
        at += line.len();
    }
    whole[at..].trim().to_owned()
}

/// Removes the line that mail programs draw above a quoted mail.
fn without_rule(text: &str) -> &str {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let drawn = !first.is_empty() && first.trim().chars().all(|c| matches!(c, '-' | '_'));
    if drawn { rest.trim_start() } else { text }
}

/// The place where the first heading of an earlier mail begins.
fn heading(text: &str) -> Option<usize> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut at = 0;
    for (number, line) in lines.iter().enumerate() {
        let next = &lines[number + 1..lines.len().min(number + HEADING_LINES_MAX)];
        if is_heading(line.trim(), next) {
            return Some(at);
        }
        at += line.len();
    }
    None
}

fn is_heading(line: &str, next: &[&str]) -> bool {
    let dated = || next.iter().any(|l| l.trim().starts_with("Sent:") || l.trim().starts_with("Date:"));
    (line.starts_with("-----") && line.contains("Original Message"))
        || (line.starts_with("From:") && dated())
        || (line.starts_with("On ") && line.ends_with("wrote:"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn html(content: &str) -> Body {
        Body { html: true, content: content.to_owned() }
    }

    fn parts(body: &str, unique: Option<&str>) -> (String, String) {
        let parts = split(&html(body), unique.map(html).as_ref());
        (readable(&parts.new), parts.history)
    }

    #[test]
    fn exchange_says_what_is_new() {
        let body = "<p>Yes, do it.</p><hr><p><b>From:</b> Bob</p><p>Shall I?  Really?</p>";
        let (new, history) = parts(body, Some("<div><p>Yes, do  it.</p></div>"));
        assert_eq!(new, "Yes, do it.");
        assert!(history.starts_with("From: Bob") && history.contains("Shall I?") && !history.contains("Yes"));
        assert_eq!(parts("<p>all new</p>", Some("<p>all new</p>")).1, "");
    }

    #[test]
    fn a_long_mail_is_examined_to_its_end() {
        let said = "<p>a line of words</p>".repeat(400);
        let (_, history) = parts(&format!("{said}<p>before</p>"), Some(&said));
        assert_eq!(history, "before");
    }

    #[test]
    fn a_unique_part_that_is_not_there_hides_nothing() {
        let (new, history) = parts("<p>one</p><p>two</p>", Some("<p>three</p>"));
        assert_eq!((new.as_str(), history.as_str()), ("three", "one\n\ntwo"));
        let (new, history) = parts("<p>one</p>", Some("  "));
        assert_eq!((new.as_str(), history.as_str()), ("one", ""));
    }

    #[rstest]
    #[case("<p>Yes</p><p>-----Original Message-----<br>From: Bob</p>", "Yes", "-----Original")]
    #[case(
        "<p>Yes &lt;b&gt;</p><p>From: Bob<br>Sent: Monday<br>To: Alice</p><p>old</p>",
        "Yes &lt;b&gt;",
        "From: Bob"
    )]
    #[case("<p>Yes</p><p>On Monday, Bob wrote:</p><blockquote>old</blockquote>", "Yes", "On Monday")]
    #[case("<p>From: here to there</p>", "From: here to there", "")]
    #[case("<p>From: Bob<br>Sent: Monday</p><p>forwarded</p>", "From: Bob\nSent: Monday\n\nforwarded", "")]
    #[case("", "", "")]
    fn headings_tell_it_elsewhere(#[case] body: &str, #[case] new: &str, #[case] history: &str) {
        let (found, rest) = parts(body, None);
        assert_eq!(found, new);
        assert!(rest.starts_with(history) && rest.is_empty() == history.is_empty(), "{rest}");
    }
}

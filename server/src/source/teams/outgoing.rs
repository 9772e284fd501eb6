//! What may leave: the bounds and the HTML of a message that a model wrote.
//! It must never let out what Teams would run, load or fetch, nor a secret of ours.

use crate::config::Secret;
use crate::sanitize::{Context, Limits, Markup, sanitize};
use crate::tool::ContentType;

/// The most characters of one message. Teams takes about 28 kB.
pub(super) const CONTENT_CHARS_MAX: usize = 28_000;

/// Elements of Teams' dialect that need nothing beside the text.
const ELEMENTS: &[&str] = &[
    "a",
    "b",
    "blockquote",
    "br",
    "code",
    "codeblock",
    "del",
    "div",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "span",
    "strike",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
];

/// How much of an unknown element's name an error repeats.
const ELEMENT_CHARS_MAX: usize = 32;

/// Why a text may not leave, with what to do.
pub(in crate::source) fn check(
    content: &str,
    content_type: ContentType,
    token: Option<&Secret>,
) -> Result<(), String> {
    let chars = content.chars().count();
    if chars > CONTENT_CHARS_MAX {
        return Err(format!(
            "content: {chars} characters, at most {CONTENT_CHARS_MAX} are taken; send it in parts"
        ));
    }
    if content.trim().is_empty() {
        return Err("content: it is empty; write what to say".to_owned());
    }
    if token.is_some_and(|token| content.contains(token.expose())) {
        return Err("content: it holds the access token; take it out".to_owned());
    }
    match content_type {
        ContentType::Text => Ok(()),
        ContentType::Html => check_html(content),
    }
}

fn check_html(content: &str) -> Result<(), String> {
    let mut rest = content;
    while let Some(open) = rest.find('<') {
        rest = &rest[open + 1..];
        let name = rest.strip_prefix('/').unwrap_or(rest);
        let length = name.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"-:".contains(b)).count();
        let (name, after) = name.split_at(length);
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            if rest.starts_with(['!', '?']) {
                return Err("content: comments and declarations are not sent; take them out".to_owned());
            }
            // A lone bracket is text.
            continue;
        }
        let name: String = name.chars().take(ELEMENT_CHARS_MAX).collect::<String>().to_ascii_lowercase();
        if !ELEMENTS.contains(&name.as_str()) {
            return Err(format!(
                "content: <{name}> is not sent; use plain text elements such as <p>, <b>, <ul>, <pre>, <a href>, or write &lt; for a bracket"
            ));
        }
        let end = end_of_tag(after).ok_or_else(|| format!("content: <{name} is not closed; add >"))?;
        check_attributes(&name, &after[..end])?;
        rest = &after[end..];
    }
    Ok(())
}

/// Where the tag's `>` is; brackets inside quotes do not count.
fn end_of_tag(after: &str) -> Option<usize> {
    let mut quote = None;
    after.bytes().position(|byte| match (quote, byte) {
        (Some(open), _) if open == byte => {
            quote = None;
            false
        }
        (None, b'"' | b'\'') => {
            quote = Some(byte);
            false
        }
        (None, b'>') => true,
        (Some(_) | None, _) => false,
    })
}

fn check_attributes(element: &str, attributes: &str) -> Result<(), String> {
    if holds_entities(attributes) {
        return Err(format!(
            "content: an attribute of <{element}> holds entities; write the characters themselves"
        ));
    }
    let plain: String = attributes.chars().filter(|c| !c.is_whitespace()).collect();
    let plain = plain.to_ascii_lowercase();
    for scheme in ["javascript:", "data:", "vbscript:", "file:"] {
        if plain.contains(scheme) {
            return Err(format!("content: an address with {scheme} is not sent; use https"));
        }
    }
    let lower = attributes.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase();
    let unspaced = lower.replace(" =", "=");
    let mut names = unspaced.split(|c: char| c.is_whitespace() || matches!(c, '/' | '"' | '\''));
    if names.any(|word| word.starts_with("on") && word.contains('=')) {
        return Err(format!("content: an event attribute of <{element}> is not sent; take it out"));
    }
    if lower.contains("url(") {
        return Err(format!("content: a style of <{element}> loads something; take it out"));
    }
    Ok(())
}

/// Whether there are entities that could hide something, such as the letters of a scheme.
fn holds_entities(attributes: &str) -> bool {
    attributes.match_indices('&').any(|(at, _)| {
        let rest = &attributes[at + 1..];
        let name = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        let harmless = ["amp;", "quot;", "lt;", "gt;"].iter().any(|known| rest.starts_with(known));
        rest.starts_with('#') || (name.starts_with(';') && !harmless)
    })
}

/// What a reader sees of a text, to recognise a message of ours in a chat, whose HTML Teams has rewritten.
pub(super) fn visible(content: &str, html: bool) -> String {
    let markup = if html { Markup::Html } else { Markup::Text };
    let limits = Limits { max_text_bytes: 256 * 1024, ..Limits::default() };
    let clean = sanitize(content, markup, &Context::default(), &limits);
    clean.text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("<p>Done: <b>3</b> of 4, see <a href=\"https://contoso.com/x?a=1&amp;b=2\">here</a></p>")]
    #[case("a < b and c > d")]
    #[case("1 <2, 3<4")]
    #[case("<P STYLE=\"color:red\">x</P><br/><hr />")]
    #[case("<span title=\"a > b\">x</span>")]
    #[case("plain & simple")]
    #[case("<pre><code>List&lt;String&gt;</code></pre>")]
    fn harmless_html_leaves(#[case] content: &str) {
        check(content, ContentType::Html, None).unwrap();
    }

    #[rstest]
    #[case("", "content: it is empty")]
    #[case(" \n", "content: it is empty")]
    #[case("<script>x</script>", "content: <script> is not sent")]
    #[case("<SCRIPT src=x>", "content: <script> is not sent")]
    #[case("<img src=\"https://contoso.com/x.png\">", "content: <img> is not sent")]
    #[case("<at id=\"0\">Alice</at>", "content: <at> is not sent")]
    #[case("<attachment id=\"1\"></attachment>", "content: <attachment> is not sent")]
    #[case("<svg/onload=x>", "content: <svg> is not sent")]
    #[case("<!-- x -->", "content: comments")]
    #[case("<a href=\"java\nscript:x\">x</a>", "content: an address with javascript:")]
    #[case("<a href=\"javascript&colon;x\">x</a>", "content: an attribute of <a> holds entities")]
    #[case("<a href=\"&#106avascript:x\">x</a>", "content: an attribute of <a> holds entities")]
    #[case("<a href='&#x6a;avascript:x'>x</a>", "content: an attribute of <a> holds entities")]
    #[case("<p onclick=x>", "content: an event attribute of <p>")]
    #[case("<p/onclick = x>", "content: an event attribute of <p>")]
    #[case("<div style=\"background:url(https://contoso.com)\">", "content: a style of <div>")]
    #[case("<p", "content: <p is not closed")]
    #[case("List<String>", "content: <string> is not sent")]
    fn the_rest_is_told_apart(#[case] content: &str, #[case] start: &str) {
        let error = check(content, ContentType::Html, None).unwrap_err();
        assert!(error.starts_with(start), "{error}");
    }

    #[test]
    fn bounds_and_secrets() {
        let long = "ä".repeat(CONTENT_CHARS_MAX);
        check(&long, ContentType::Text, None).unwrap();
        assert!(check(&(long + "x"), ContentType::Text, None).unwrap_err().contains("send it in parts"));
        let token = Secret::new("eyJ.x.y");
        let error = check("my token is eyJ.x.y", ContentType::Text, Some(&token)).unwrap_err();
        assert!(!error.contains("eyJ"), "{error}");
        check("<script> as text", ContentType::Text, None).unwrap();
    }

    #[test]
    fn a_message_is_recognised_after_teams_has_rewritten_it() {
        assert_eq!(
            visible("Hello <b>you</b> &amp; me", true),
            visible("<p>Hello&nbsp;<strong>you</strong> &amp; me</p>\n", true)
        );
        assert_ne!(visible("one", true), visible("two", true));
    }
}

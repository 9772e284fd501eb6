//! Texts for the page: what a message says to a reader, and what was sent, letter by letter.
//! It must never make markup; escaping is the template's.

use std::fmt::Write as _;

use entraclaw_sanitize::{Context, Limits, Markup, Mention, sanitize};
use serde_json::Value;

/// Longest text that is shown as it was sent, in characters.
const SOURCE_CHARS_MAX: usize = 4_000;

/// A message's body as a reader would see it: no tags, nothing hidden, nothing that reorders.
pub(super) fn readable(message: &Value, agent_id: &str) -> String {
    let body = |name: &str| message["body"][name].as_str().unwrap_or_default();
    let markup = if body("contentType") == "html" { Markup::Html } else { Markup::Text };
    let mentions = message["mentions"].as_array().map(|mentions| {
        let mention = |mention: &Value| {
            let person = mention["mentioned"]["user"]["id"].as_str().map(str::to_owned);
            Some(Mention {
                id: mention["id"].as_i64()?,
                name: mention["mentionText"].as_str()?.to_owned(),
                is_me: person.as_deref() == Some(agent_id),
                person,
            })
        };
        mentions.iter().filter_map(mention).collect()
    });
    let context = Context { mentions: mentions.unwrap_or_default(), ..Context::default() };
    unescaped(&sanitize(body("content"), markup, &context, &Limits::default()).text)
}

/// The same for HTML alone.
pub(super) fn readable_html(html: &str) -> String {
    unescaped(&sanitize(html, Markup::Html, &Context::default(), &Limits::default()).text)
}

/// The text that was sent, cut, with every invisible character as its code point.
pub(super) fn source(text: &str) -> String {
    let mut shown = String::new();
    let mut characters = text.chars();
    for character in characters.by_ref().take(SOURCE_CHARS_MAX) {
        if character == '\n' || character == '\t' || is_plain(character) {
            shown.push(character);
        } else {
            // A string takes everything.
            let _ = write!(shown, "⟨U+{:04X}⟩", u32::from(character));
        }
    }
    match characters.count() {
        0 => shown,
        more => format!("{shown}\n… {more} more characters"),
    }
}

/// Whether a character is visible and does not move other characters.
fn is_plain(character: char) -> bool {
    let hidden = matches!(u32::from(character),
        0x00ad | 0x034f | 0x061c | 0x115f | 0x1160 | 0x17b4 | 0x17b5 | 0x180b..=0x180f | 0x200b..=0x200f
        | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfe00..=0xfe0f | 0xfeff | 0xffa0 | 0xfff0..=0xfffb
        | 0xe0000..=0xe0fff);
    !hidden && !character.is_control()
}

/// A text as the body of a Teams message.
pub(super) fn paragraph(text: &str) -> String {
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!("<p>{}</p>", escaped.replace("\r\n", "\n").replace('\n', "<br>"))
}

/// Takes the sanitiser's three escapes back, for the template escapes again.
fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_is_read_and_hidden_things_are_gone() {
        let message = json!({
            "body": {"contentType": "html", "content": "<p>a &amp;lt; b <script>x</script><at id=\"0\">Agent</at>\u{202e}</p>"},
            "mentions": [{"id": 0, "mentionText": "Agent", "mentioned": {"user": {"id": "me"}}}],
        });
        assert_eq!(readable(&message, "me"), "a &lt; b @Agent");
        assert_eq!(readable(&json!({}), "me"), "");
    }

    #[test]
    fn the_source_names_invisible_characters() {
        assert_eq!(source("<b>\u{202e}x\u{1b}\n"), "<b>⟨U+202E⟩x⟨U+001B⟩\n");
        assert!(source(&"y".repeat(5_000)).ends_with("1000 more characters"));
    }

    #[test]
    fn typed_markup_stays_text() {
        assert_eq!(paragraph("<i>&\r\nnext"), "<p>&lt;i&gt;&amp;<br>next</p>");
    }
}

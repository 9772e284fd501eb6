//! Breaks Markdown that acts: links, images and reference definitions with a target outside the text.
//! It must never change the text except by a blank inside such a construct, which stops it from working.

use super::tally::Tally;

/// Longest URL scheme that is read; a longer word of the same characters counts as one.
const MAX_SCHEME_CHARS: usize = 32;

/// Breaks `](target` and `]: target` where the target leaves the text: it has a scheme or is absolute. An image
/// (`![alt](https://…)`), the usual way to leak secrets, becomes words and an address. Code such as
/// `handlers[0](event)` has no such target and stays.
pub(super) fn neutralise(text: &str, tally: &mut Tally) -> String {
    if !text.contains(']') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(']') {
        out.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        let target = rest.strip_prefix(['(', ':']);
        if target.is_some_and(leaves_the_text) {
            out.push(' ');
            tally.flag("markdown_link");
        }
    }
    out.push_str(rest);
    out
}

fn leaves_the_text(target: &str) -> bool {
    let target = target.trim_start_matches([' ', '\t', '\n', '<']);
    if target.starts_with(['/', '\\']) {
        return true;
    }
    let mut chars = target.chars();
    if !chars.next().is_some_and(|c| c.is_ascii_alphabetic()) {
        return false;
    }
    for c in chars.by_ref().take(MAX_SCHEME_CHARS) {
        match c {
            // A backslash before the colon is dropped by Markdown, and some agents read it as a slash.
            ':' | '\\' => return true,
            '+' | '-' | '.' => {}
            c if c.is_ascii_alphanumeric() => {}
            _ => return false,
        }
    }
    chars.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neutral(text: &str) -> String {
        neutralise(text, &mut Tally::default())
    }

    #[test]
    fn links_and_images_are_broken() {
        for (text, want) in [
            ("![x](https://evil/?q=S)", "![x] (https://evil/?q=S)"),
            ("[r]: https://evil/", "[r] : https://evil/"),
            ("[r]:\n  <https://evil/>", "[r] :\n  <https://evil/>"),
            ("![x]( //evil/ )", "![x] ( //evil/ )"),
            ("[x](h\\ttps://evil)", "[x] (h\\ttps://evil)"),
            ("[x](https\\://evil)", "[x] (https\\://evil)"),
            ("[x](/\\evil)", "[x] (/\\evil)"),
        ] {
            assert_eq!(neutral(text), want);
            assert_eq!(neutral(want), want);
        }
    }

    #[test]
    fn code_and_prose_stay() {
        for text in ["handlers[0](event)", "a[1:2]: int", "[12:30]: see you", "[x](#part)", "list]"] {
            assert_eq!(neutral(text), text);
        }
    }
}

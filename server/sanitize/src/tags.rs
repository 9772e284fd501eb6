//! Tells the angle brackets of tags from those that a person typed. Typed ones become [`TYPED`], so that the tokenizer
//! keeps them as text; by the HTML standard it would drop many of them.
//! It must never read one place of the input more than a bounded number of times.

use std::borrow::Cow;

use super::elements::{self, MAX_NAME_BYTES};
use super::tally::Tally;

/// Stands for a typed `<` until `characters` turns it back, like every full-width bracket. An entity would work too, but
/// the tokenizer takes many times longer for it.
const TYPED: char = '\u{ff1c}';
/// Most attributes of a tag, as html5ever compares each with all earlier ones. A tag with more is text.
const MAX_ATTRIBUTES: usize = 64;
/// How many tags may have too many attributes; after that every `<` is text.
const MAX_OVERFULL: usize = 8;
/// How often, on average over the whole input, a byte may be read in search of the end of tags with unknown names. After
/// that their `<` is text.
const LOOKS_FOR_ENDS: usize = 4;

/// Replaces typed brackets by [`TYPED`], and removes CDATA sections, which HTML does not have.
pub(super) fn keep_typed<'a>(input: &'a str, tally: &mut Tally) -> Cow<'a, str> {
    let last_end = input.rfind('>').unwrap_or(0);
    let mut scan = Scan {
        input,
        last_end,
        out: String::new(),
        copied: 0,
        overfull: 0,
        looks_left: input.len() * LOOKS_FOR_ENDS,
        cdata_ends: true,
    };
    let mut at = 0;
    while let Some(found) = input[at..].find('<') {
        let open = at + found;
        at = scan.bracket(open, tally).unwrap_or(input.len());
    }
    if scan.copied == 0 {
        return Cow::Borrowed(input);
    }
    scan.out.push_str(&input[scan.copied..]);
    Cow::Owned(scan.out)
}

struct Scan<'a> {
    input: &'a str,
    /// The place of the last `>`; no tag ends after it.
    last_end: usize,
    out: String,
    /// How much of the input is in the output.
    copied: usize,
    overfull: usize,
    /// How many bytes may still be read in search of the ends of tags with unknown names.
    looks_left: usize,
    /// False once a CDATA section turned out to have no end.
    cdata_ends: bool,
}

impl Scan<'_> {
    /// Handles the `<` at `open`. Returns where to go on, or `None` if the rest needs no change.
    fn bracket(&mut self, open: usize, tally: &mut Tally) -> Option<usize> {
        let after = &self.input[open + 1..];
        match after.as_bytes().first() {
            Some(b'!') => self.declaration(open, tally),
            Some(b'?') => self.bogus_comment(open, tally),
            Some(b'/') if after.as_bytes().get(1).is_some_and(u8::is_ascii_alphabetic) => {
                self.tag(open, open + 2, true, tally)
            }
            Some(b'/') => Some(self.typed(open)),
            Some(b) if b.is_ascii_alphabetic() => self.tag(open, open + 1, false, tally),
            _ => Some(self.typed(open)),
        }
    }

    fn typed(&mut self, open: usize) -> usize {
        self.out.push_str(&self.input[self.copied..open]);
        self.out.push(TYPED);
        self.copied = open + 1;
        open + 1
    }

    fn declaration(&mut self, open: usize, tally: &mut Tally) -> Option<usize> {
        let rest = &self.input[open..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            // The short forms of the standard. Without an end the rest of the input is a comment.
            if comment.starts_with('>') || comment.starts_with("->") {
                return Some(open + 4);
            }
            return comment_end(comment).map(|end| open + 4 + end);
        }
        if rest.starts_with("<![CDATA[") && self.cdata_ends {
            let Some(end) = rest.find("]]>") else {
                self.cdata_ends = false;
                return self.bogus_comment(open, tally);
            };
            self.out.push_str(&self.input[self.copied..open]);
            self.copied = open + end + 3;
            tally.remove("comment");
            return Some(self.copied);
        }
        self.bogus_comment(open, tally)
    }

    /// Handles `<!…>` and `<?…>`: a comment, which goes to the end of the input if it has no end of its own.
    fn bogus_comment(&mut self, open: usize, tally: &mut Tally) -> Option<usize> {
        if open < self.last_end
            && let Some(end) = self.input[open..].find('>')
        {
            return Some(open + end + 1);
        }
        self.unfinished(open, "comment", tally)
    }

    /// Drops the rest of the input after a tag or comment without an end, as every browser does.
    fn unfinished(&mut self, open: usize, kind: &'static str, tally: &mut Tally) -> Option<usize> {
        self.out.push_str(&self.input[self.copied..open]);
        self.copied = self.input.len();
        tally.remove(kind);
        None
    }

    fn tag(&mut self, open: usize, name_start: usize, is_end: bool, tally: &mut Tally) -> Option<usize> {
        let bytes = self.input.as_bytes();
        let window = &bytes[name_start..bytes.len().min(name_start + MAX_NAME_BYTES + 1)];
        // A name can also end with the input.
        let at_end = (name_start + window.len() == bytes.len()).then_some(window.len());
        let known = window.iter().position(|b| ends_name(*b) || *b == b'<').or(at_end).and_then(|len| {
            let mut name = [0; MAX_NAME_BYTES];
            let name = name.get_mut(..len)?;
            name.copy_from_slice(&window[..len]);
            name.make_ascii_lowercase();
            let element = elements::known(std::str::from_utf8(name).ok()?)?;
            Some((element, name_start + len))
        });
        let Some((element, name_end)) = known else {
            // A browser drops a tag of any name that is open at the end. A tag that ends but is unknown to HTML was typed.
            if self.never_ends(name_start) {
                return self.unfinished(open, "hidden", tally);
            }
            return Some(self.typed(open));
        };
        if name_end > self.last_end {
            return self.unfinished(open, "hidden", tally);
        }
        if self.overfull >= MAX_OVERFULL || bytes[name_end] == b'<' {
            return Some(self.typed(open));
        }
        match tag_end(bytes, name_end) {
            TagEnd::At(end) if !is_end && element.raw().is_some() => {
                // The content of a script or style is not markup; without an end tag it is the rest of the input.
                raw_end(&self.input[end..], element.name).map(|length| end + length)
            }
            TagEnd::At(end) => Some(end),
            TagEnd::Missing => self.unfinished(open, "hidden", tally),
            TagEnd::TooManyAttributes(_) => {
                self.overfull += 1;
                Some(self.typed(open))
            }
        }
    }

    /// Whether a tag with an unknown name, which begins at `name_start`, is open to the end of the input.
    fn never_ends(&mut self, name_start: usize) -> bool {
        if name_start > self.last_end {
            return true;
        }
        let bytes = self.input.as_bytes();
        let seen = &bytes[..bytes.len().min(name_start + self.looks_left)];
        let name_end =
            seen[name_start..].iter().position(|b| ends_name(*b)).map(|length| name_start + length);
        let end = match name_end.map(|name_end| tag_end(seen, name_end)) {
            Some(TagEnd::At(end) | TagEnd::TooManyAttributes(end)) => end,
            Some(TagEnd::Missing) | None if seen.len() == bytes.len() => return true,
            Some(TagEnd::Missing) | None => seen.len(),
        };
        self.looks_left -= end - name_start;
        false
    }
}

/// Whether this byte ends the name of a tag.
fn ends_name(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>')
}

/// The length of a comment from its start to after its end.
fn comment_end(comment: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = comment[at..].find("--") {
        let after = &comment[at + found + 2..];
        if after.starts_with('>') {
            return Some(at + found + 3);
        }
        if after.starts_with("!>") {
            return Some(at + found + 4);
        }
        at += found + 1;
    }
    None
}

/// The length of a raw element's content.
fn raw_end(content: &str, name: &str) -> Option<usize> {
    let bytes = content.as_bytes();
    let mut at = 0;
    while let Some(found) = content[at..].find("</") {
        let start = at + found;
        let after = &bytes[start + 2..];
        let ends = after.len() > name.len()
            && after[..name.len()].eq_ignore_ascii_case(name.as_bytes())
            && ends_name(after[name.len()]);
        if ends {
            return Some(start);
        }
        at = start + 2;
    }
    None
}

enum TagEnd {
    /// Just after the `>`.
    At(usize),
    Missing,
    /// The place where the first attribute too many begins.
    TooManyAttributes(usize),
}

/// Finds a tag's end from the end of its name, by the standard's attribute rules.
fn tag_end(bytes: &[u8], mut at: usize) -> TagEnd {
    let after = |at: usize, skipped: fn(&u8) -> bool| {
        at + bytes[at..].iter().take_while(|byte| skipped(byte)).count()
    };
    let mut attributes = 0;
    loop {
        // Before an attribute name.
        at = after(at, |b| b.is_ascii_whitespace() || *b == b'/');
        match bytes.get(at) {
            None => return TagEnd::Missing,
            Some(b'>') => return TagEnd::At(at + 1),
            Some(_) => attributes += 1,
        }
        if attributes > MAX_ATTRIBUTES {
            return TagEnd::TooManyAttributes(at);
        }
        // An equals sign at the start of a name belongs to the name.
        at = after(at + 1, |b| !ends_name(*b) && *b != b'=');
        at = after(at, u8::is_ascii_whitespace);
        if bytes.get(at) != Some(&b'=') {
            continue;
        }
        at = after(at + 1, u8::is_ascii_whitespace);
        match bytes.get(at) {
            None => return TagEnd::Missing,
            Some(b'>') => return TagEnd::At(at + 1),
            Some(quote @ (b'"' | b'\'')) => {
                let Some(length) = bytes[at + 1..].iter().position(|b| b == quote) else {
                    return TagEnd::Missing;
                };
                at += length + 2;
            }
            Some(_) => at = after(at, |b| !b.is_ascii_whitespace() && *b != b'>'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(input: &str) -> String {
        keep_typed(input, &mut Tally::default()).into_owned()
    }

    #[test]
    fn typed_brackets_become_text() {
        for (input, want) in [
            ("<bob@contoso.com>", "＜bob@contoso.com>"),
            ("List<String> </channel>", "List＜String> ＜/channel>"),
            ("a < b <3", "a ＜ b ＜3"),
            ("</3 and </>", "＜/3 and ＜/>"),
            ("<scr<script>x</script>", "＜scr<script>x</script>"),
            ("x<y and y>z", "x＜y and y>z"),
            ("<x y=\"b>c\">d", "＜x y=\"b>c\">d"),
            ("<p title=\"many words\"><bob@contoso.com>", "<p title=\"many words\">＜bob@contoso.com>"),
            ("<p title='' lang='>'><bob@contoso.com>", "<p title='' lang='>'>＜bob@contoso.com>"),
        ] {
            assert_eq!(kept(input), want);
        }
    }

    #[test]
    fn a_tag_without_an_end_removes_the_rest() {
        for (input, want) in [
            ("a <b", "a "),
            ("a </b", "a "),
            ("<p>hi</p><img src=x", "<p>hi</p>"),
            ("x<a href=\"x>y</a> <b>z</b>", "x"),
            ("x<!bang", "x"),
            ("x<?y", "x"),
            ("x<img<img<img ", "x"),
            ("1 <2 <three <b", "1 ＜2 "),
            ("<p>hello</p><x y=1", "<p>hello</p>"),
            ("a </x", "a "),
            ("a <x", "a "),
            ("<bob@contoso.com> <x y=\"b>c</p>", "＜bob@contoso.com> "),
            ("a <a-name-of-many-letters-that-no-element-has b", "a "),
        ] {
            assert_eq!(kept(input), want);
        }
    }

    #[test]
    fn tags_of_html_stay() {
        for input in [
            "<p title=\"a>b\">x</p>",
            "<p title=\"a><bob@contoso.com>\">x</p>",
            "<BR/><o:p></o:p>",
            "<img src=x alt='<b>'>",
            "<!-- <bob> --><!doctype html><?xml?>",
            "<script>if (a<bob) </scr </script><b>x</b>",
        ] {
            assert_eq!(kept(input), input);
        }
    }

    #[test]
    fn cdata_is_removed_as_a_whole() {
        assert_eq!(kept("a<![CDATA[secret <b>x</b>]]>b"), "ab");
    }

    /// The seven tags are read 138 bytes far in search of their end, which is more than the 56 of the input and less than four
    /// times as many.
    #[test]
    fn the_search_for_ends_goes_over_the_input_more_than_once() {
        let nested = format!("{}>", "<xq a ".repeat(6));
        let input = format!("{nested}hello <xq a=\"> goes");
        assert_eq!(kept(&input), format!("{}hello ", nested.replace('<', "＜")));
    }

    /// The search has a bound, and a person's words are kept beyond it.
    #[test]
    fn the_search_for_ends_of_unknown_tags_is_bounded() {
        let nested = format!("{}>", "<q a".repeat(5_000));
        assert_eq!(kept(&nested), nested.replace('<', "＜"));
        let mut scan = Scan {
            input: "<q a> <q a> <q",
            last_end: 10,
            out: String::new(),
            copied: 0,
            overfull: 0,
            looks_left: 6,
            cdata_ends: true,
        };
        assert!(!scan.never_ends(1) && !scan.never_ends(7));
        assert_eq!(scan.looks_left, 0);
        assert!(!scan.never_ends(1), "text beyond the bound is kept");
        assert!(scan.never_ends(13), "after the last end nothing is read");
    }

    #[test]
    fn too_many_attributes_make_text() {
        let tag = |attributes: usize| format!("<a{}>", " x".repeat(attributes));
        assert_eq!(kept(&tag(64)), tag(64));
        assert_eq!(kept(&tag(65)), tag(65).replace('<', "＜"));
    }

    #[test]
    fn after_eight_tags_with_too_many_attributes_every_bracket_is_text() {
        let tags = |count: usize| format!("<a{}>", " x".repeat(65)).repeat(count);
        let text = |count: usize| tags(count).replace('<', "＜");
        assert_eq!(kept(&format!("{}<b>c</b>", tags(7))), format!("{}<b>c</b>", text(7)));
        assert_eq!(kept(&format!("{}<b>c</b>", tags(8))), format!("{}＜b>c＜/b>", text(8)));
    }
}

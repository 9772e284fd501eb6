//! The sanitiser turns what a stranger typed (Teams HTML, mail HTML or plain text) into safe, readable text.
//! It must never fail, never let through a character that hides or reorders text or drives a terminal, and never
//! take more than linear time. It knows nothing of senders, so it must never be used to decide who may speak.
//!
//! # Order
//! 1. **Parse.** `tags` finds the angle brackets that a person typed and keeps them as text; html5ever's
//!    tokenizer does the rest and decodes entities, once; `document` drops what a reader would not have seen.
//! 2. **Lay out.** `page` keeps paragraphs, lists, tables, code and quotes as lines of text.
//! 3. **Strip.** `ansi` removes terminal sequences with their payload. `characters` removes everything invisible,
//!    composes (NFC) and caps combining marks.
//! 4. **Neutralise.** `markdown` breaks links and images that a Markdown renderer would follow or fetch.
//! 5. **Bound.** `bound` keeps head and tail and says between them how much was left out.
//! 6. **Escape** `&`, `<`, `>`, once.
//!
//! # Decisions
//! - *Idempotence*: let `u` be an output with its three escapes undone. Then `u`, sanitised as [`Markup::Text`]
//!   with an empty [`Context`] and the same [`Limits`], gives that output again, and nothing is counted as removed.
//! - *Quotes* are lines that start with `│ ` (U+2502). `>` would arrive as `&gt;`. Every line of a quote has the mark,
//!   so no text inside a quote can end it. A sender can type such lines but gains nothing, because a quote has no
//!   authority: every quote's heading says `unverified`, and routing uses the ids beside the text.
//!   The same holds for a typed `[file: …]` or `@Name`: the metadata counts, the text is for reading.
//! - *Look-alike brackets*: the compatibility forms of `<` and `>` (full-width `＜ ＞`, small `﹤ ﹥`) become `<` and
//!   `>` and are escaped, so that `＜/channel＞` cannot turn into a tag when a program normalises the text later.
//!   Other similar marks (`‹`, `〈`, `⟨`) are punctuation of languages in use and stay.
//! - *Unknown tags* (`<bob@contoso.com>`, `List<String>`, `</channel>`) stay as escaped text.
//! - *Paragraphs* (`p`) are a blank line apart, `div` and `br` one line; there are never more than two blank lines in a
//!   row.
//! - *Open ends*: in HTML a tag of any name, a declaration or a comment that is open at the end of the input is dropped
//!   with everything inside it, as browsers do, and counted. A program that makes HTML of what a person types writes
//!   their `<` as an entity, so no typed text is lost; in plain text every `<` stays.
//! - *Hidden* is text that a person would not have seen, by whatever means; `css` decides by thresholds. Text in the
//!   colour of its background is hidden; a background that is not stated counts as white. Folded content is hidden, its
//!   summary is not. Style sheets are not read, so text that is hidden only through a class stays visible.
//! - *Characters* are judged by Unicode 18: a character that it does not define becomes U+FFFD. Of the flags made of
//!   tags, only those of England, Scotland and Wales stay; variants of ideographs lose their selector.
//! - *Lines* are not cut by length; only the whole text has a bound.
//! - *Typed addresses* in running text stay unchanged; only links made with `a` are checked and rewritten.

mod ansi;
mod attachment;
mod body;
mod bound;
mod characters;
mod css;
mod document;
mod elements;
mod link;
mod markdown;
mod markers;
mod name;
mod page;
pub mod secrets;
mod stack;
pub mod surrogates;
mod tags;
mod tally;
mod terminal;

use std::collections::BTreeMap;

pub use name::{clean_file_name, clean_name};
use tally::Tally;
pub use terminal::{clean_line, clean_text};

/// The format of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Markup {
    /// HTML as Teams or a mail program writes it.
    Html,
    /// Plain text; `<` is a character like any other.
    Text,
}

/// What the source says of a message beside its text.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// The message's attachments, in the source's order.
    pub attachments: Vec<Attachment>,
    /// The people that the source says are mentioned.
    pub mentions: Vec<Mention>,
}

/// Something attached to a message. In HTML its place is `<attachment id="…">`; without such a tag it goes to the end.
#[derive(Debug, Clone)]
pub struct Attachment {
    /// The id that the tag in the body uses.
    pub id: String,
    /// Its kind, with what each kind shows.
    pub kind: AttachmentKind,
}

/// Kinds of attachments. All texts in here come from a stranger and are raw.
#[derive(Debug, Clone)]
pub enum AttachmentKind {
    /// An earlier message, quoted. The sender types the preview, so it proves nothing.
    Quote {
        /// Display name of the alleged author, if given.
        author: Option<String>,
        /// The preview, HTML.
        html: String,
    },
    /// A message forwarded from elsewhere.
    Forwarded {
        /// Display name of the alleged author, if given.
        author: Option<String>,
        /// The forwarded body, HTML.
        html: String,
    },
    /// A file in the sender's storage.
    File {
        /// Its name.
        name: String,
    },
    /// A card.
    Card {
        /// Its title, if it has one.
        title: Option<String>,
    },
    /// A code snippet kept outside the body.
    Code {
        /// Its language, if given.
        language: Option<String>,
    },
    /// A picture.
    Image {
        /// Its name or description, if given.
        name: Option<String>,
    },
    /// Anything else.
    Other {
        /// The content type that the source states.
        content_type: String,
    },
}

/// A person that the source says is mentioned.
#[derive(Debug, Clone)]
pub struct Mention {
    /// The number that `<at id="…">` uses.
    pub id: i64,
    /// The name to show.
    pub name: String,
    /// Whether the person is the agent.
    pub is_me: bool,
    /// The same for all parts of one name that the source has split; never shown.
    pub person: Option<String>,
}

/// Bounds on input and output, all in bytes of UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most input that is read; the rest is counted in `left_out_bytes`.
    pub max_input_bytes: usize,
    /// Longest output, escapes and notices included; less than 512 counts as 512.
    pub max_text_bytes: usize,
    /// Longest quoted or forwarded text, before its marks; less than 512 counts as 512. Several quotes share half of
    /// `max_text_bytes`.
    pub max_quote_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_input_bytes: 1024 * 1024, max_text_bytes: 16 * 1024, max_quote_bytes: 2 * 1024 }
    }
}

/// A sanitised text, and what was removed or looked suspicious.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sanitized {
    /// Readable text with real newlines; `&`, `<` and `>` are escaped once.
    pub text: String,
    /// How often something was removed, by kind: `ansi`, `bidi`, `comment`, `control`, `data_url`, `hidden`,
    /// `invisible`, `link`, `marks`, `private`, `script`, `style`, `svg`, `tags` (tag characters), `template`,
    /// `userinfo`, `variation`.
    pub removed: BTreeMap<&'static str, u32>,
    /// How often something suspicious was left in, by kind: `idn_host`, `link_mismatch`, `markdown_link`,
    /// `role_marker`, `typed_mention`, `unverified_quote`.
    pub flagged: BTreeMap<&'static str, u32>,
    /// Bytes of readable text, or of input beyond the input bound, that are not in `text`.
    pub left_out_bytes: usize,
    /// No readable text is left.
    pub empty: bool,
    /// The visible text mentions the agent, and the source confirms it.
    pub mentions_me: bool,
    /// Ids of pictures hosted with the message, in order, at most 50. Metadata; not part of the text.
    pub hosted_images: Vec<String>,
}

/// Smallest text bound, into which a notice always fits.
const MIN_BOUND_BYTES: usize = 512;
/// Most of a quote's HTML that is read.
const MAX_QUOTE_INPUT_BYTES: usize = 32 * 1024;

/// Turns a person's text into safe, readable text. Total and linear in the size of the input and the context.
pub fn sanitize(input: &str, markup: Markup, context: &Context, limits: &Limits) -> Sanitized {
    let mut tally = Tally::default();
    let bounds = Bounds {
        input: limits.max_input_bytes,
        text: limits.max_text_bytes.max(MIN_BOUND_BYTES),
        quote: limits.max_quote_bytes.max(MIN_BOUND_BYTES),
        what: "message",
    };
    let readable = readable(input, markup, context, bounds, &mut tally);
    markers::flag(&readable, &mut tally);
    let Tally { removed, flagged, left_out_bytes, mentions_me, hosted_images } = tally;
    Sanitized {
        empty: readable.is_empty(),
        text: bound::escape(&readable),
        removed,
        flagged,
        left_out_bytes,
        mentions_me,
        hosted_images,
    }
}

/// The bounds of one text, and the word for it in notices.
#[derive(Clone, Copy)]
struct Bounds {
    input: usize,
    text: usize,
    quote: usize,
    what: &'static str,
}

/// All steps except the escape.
fn readable(input: &str, markup: Markup, context: &Context, bounds: Bounds, tally: &mut Tally) -> String {
    let (input, unread) = bound::cut_input(input, bounds.input);
    let mut laid_out = match markup {
        Markup::Html => document::lay_out(input, context, bounds, tally),
        Markup::Text => {
            let mut text = ansi::strip(input, tally).into_owned();
            attachment::append_all(&mut text, context, bounds, tally);
            text
        }
    };
    if unread > 0 {
        tally.left_out_bytes += unread;
        laid_out.push_str(&bound::unread_notice(unread, bounds.what));
    }
    let clean = page::tidy(&characters::clean(&laid_out, tally));
    let neutral = markdown::neutralise(&clean, tally);
    bound::bound(neutral, bounds.text, bounds.what, tally)
}

/// A quoted or forwarded body. It has no attachments or mentions of its own, so quotes can't nest further.
fn quoted(html: &str, bounds: Bounds, tally: &mut Tally) -> String {
    let inner =
        Bounds { input: MAX_QUOTE_INPUT_BYTES, text: bounds.quote, quote: bounds.quote, what: "quote" };
    readable(html, Markup::Html, &Context::default(), inner, tally)
}

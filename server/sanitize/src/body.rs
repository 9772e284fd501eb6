//! Writes the visible elements of a document on a page, and what their ends need: breaks, marks, links.
//! It must never be given anything hidden.

use std::collections::BTreeMap;

use html5ever::tokenizer::Tag;

use super::attachment::Attachments;
use super::elements::{Element, Role, Special};
use super::name::{clean_label, clean_name};
use super::page::Page;
use super::tally::Tally;
use super::{Bounds, Context, Mention, ansi, link};

/// Longest description of a picture or emoji that is shown, in characters.
const MAX_LABEL_CHARS: usize = 200;
/// Longest text that a mention's name takes the place of.
const MAX_MENTION_BYTES: usize = 256;
/// Longest name of a code block's language.
const MAX_LANGUAGE_CHARS: usize = 20;
/// Largest number before a list item.
const MAX_ITEM_NUMBER: u32 = 999_999;

/// What to write when an element ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnClose {
    Nothing,
    Break(usize),
    Link,
    Span { opened: bool },
    Quote { marked: bool },
    List,
    Item { marked: bool },
    Table,
    Code,
    Heading,
    Mention,
    TypedMention,
}

struct Row {
    cells: u32,
    lines_before: u64,
}

struct CodeBlock {
    text: String,
    language: String,
}

/// A mention that the source confirms, with the text inside its tag so far.
struct OpenMention<'a> {
    mention: &'a Mention,
    typed: String,
}

/// The page that a document is written on, and the elements that are open on it.
pub(super) struct Body<'a> {
    page: Page,
    pub(super) tally: Tally,
    context: &'a Context,
    attachments: Attachments<'a>,
    mentions: BTreeMap<i64, &'a Mention>,
    /// The next number of each open list; none for bullets.
    lists: Vec<Option<u32>>,
    rows: Vec<Row>,
    code: Option<CodeBlock>,
    mention: Option<OpenMention<'a>>,
    /// The person who was mentioned last, and the length of the page after that.
    last_mention: Option<(&'a str, usize)>,
    /// The next text is inside a mention tag that the source does not confirm, so it must not look like a mention.
    drop_at_sign: bool,
}

impl<'a> Body<'a> {
    pub(crate) fn new(context: &'a Context, bounds: Bounds, tally: Tally) -> Self {
        Self {
            page: Page::default(),
            tally,
            context,
            attachments: Attachments::new(context, bounds),
            mentions: context.mentions.iter().rev().map(|mention| (mention.id, mention)).collect(),
            lists: Vec::new(),
            rows: Vec::new(),
            code: None,
            mention: None,
            last_mention: None,
            drop_at_sign: false,
        }
    }

    /// Writes the remaining attachments and returns the page and the counts.
    pub(crate) fn finish(mut self) -> (String, Tally) {
        self.attachments.place_rest(self.context, &mut self.page, &mut self.tally);
        let text = self.page.finish(&mut self.tally);
        (text, self.tally)
    }

    /// Writes the text between two tags.
    pub(crate) fn text(&mut self, run: &str) {
        let text = ansi::strip(run, &mut self.tally);
        let mut text = &*text;
        if self.drop_at_sign && !text.trim_start().is_empty() {
            text = text.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '@' | '＠' | '﹫'));
            self.drop_at_sign = false;
        }
        if let Some(mention) = &mut self.mention {
            mention.typed.push_str(text);
        } else if let Some(code) = &mut self.code {
            code.text.push_str(text);
        } else {
            self.page.text(text, &mut self.tally);
        }
    }

    /// Begins a visible element.
    pub(super) fn begin(&mut self, element: &'static Element, tag: &Tag) -> OnClose {
        if let Some(code) = &mut self.code {
            // Inside code a block element only starts a new line.
            if element.is_block() && !code.text.is_empty() && !code.text.ends_with('\n') {
                code.text.push('\n');
            }
            return OnClose::Nothing;
        }
        if self.mention.is_some() {
            return OnClose::Nothing;
        }
        match element.role {
            Role::Line => self.break_around(1),
            Role::Paragraph => {
                let inner = element.name == "p" && (!self.lists.is_empty() || !self.rows.is_empty());
                self.break_around(if inner { 1 } else { 2 })
            }
            Role::Special(special) => self.begin_special(special, tag),
            Role::Inline | Role::Void | Role::Dropped(_) => OnClose::Nothing,
        }
    }

    /// Ends an element; `asked` is false when its own end tag never came.
    pub(super) fn close(&mut self, on_close: OnClose, asked: bool) {
        match on_close {
            OnClose::Nothing => {}
            OnClose::Break(newlines) => self.page.block_break(newlines),
            OnClose::Link => self.page.close_link(&mut self.tally),
            OnClose::Span { opened } => {
                if opened {
                    self.page.close_span();
                }
            }
            OnClose::Quote { marked } => {
                if marked {
                    self.page.close_mark();
                }
                self.page.block_break(2);
            }
            OnClose::List => {
                self.lists.pop();
                self.page.block_break(self.list_gap());
            }
            OnClose::Item { marked } => {
                self.page.block_break(1);
                if marked {
                    self.page.close_mark();
                }
            }
            OnClose::Table => {
                self.rows.pop();
                self.page.end_table();
            }
            OnClose::Code => self.end_code(),
            OnClose::Heading => {
                self.page.heading(None);
                self.page.block_break(2);
            }
            OnClose::Mention => self.end_mention(asked),
            OnClose::TypedMention => self.drop_at_sign = false,
        }
    }

    fn begin_special(&mut self, special: Special, tag: &Tag) -> OnClose {
        match special {
            Special::Anchor => {
                let Some(href) = attribute(tag, "href") else { return OnClose::Nothing };
                self.page.open_link(href, &mut self.tally);
                OnClose::Link
            }
            Special::Cell => {
                if let Some(row) = self.rows.last_mut() {
                    row.cells += 1;
                    if row.cells > 1 {
                        self.page.next_cell(row.lines_before);
                    }
                }
                OnClose::Nothing
            }
            Special::Code => OnClose::Span { opened: self.page.open_span("`", "`") },
            Special::Strike => OnClose::Span { opened: self.page.open_span("~~", "~~") },
            Special::Superscript => OnClose::Span { opened: self.page.open_span("^", "") },
            Special::QuoteMarks => OnClose::Span { opened: self.page.open_span("“", "”") },
            Special::CodeBlock => {
                self.page.block_break(2);
                let language = attribute(tag, "class").unwrap_or_default();
                self.code = Some(CodeBlock { text: String::new(), language: language_of(language) });
                OnClose::Code
            }
            Special::Heading(sign) => {
                self.page.block_break(2);
                self.page.heading(Some(sign));
                OnClose::Heading
            }
            Special::Item => self.begin_item(tag),
            Special::Media(what) => {
                self.page.note(&format!("[{what}]"), &mut self.tally);
                OnClose::Nothing
            }
            Special::Mention => self.begin_mention(tag),
            Special::OrderedList => {
                let start = attribute(tag, "start").and_then(|start| start.trim().parse().ok());
                self.begin_list(Some(start.unwrap_or(1)))
            }
            Special::UnorderedList => self.begin_list(None),
            Special::Quote => {
                self.page.block_break(2);
                if attribute(tag, "itemtype").is_some_and(|kind| kind.ends_with("/Reply")) {
                    self.tally.flag("unverified_quote");
                    self.page.word("[quoted message, unverified]", &mut self.tally);
                    self.page.block_break(1);
                }
                OnClose::Quote { marked: self.page.open_quote() }
            }
            Special::Row => {
                let lines_before = self.page.row();
                if let Some(row) = self.rows.last_mut() {
                    *row = Row { cells: 0, lines_before };
                }
                OnClose::Break(1)
            }
            Special::Table => {
                self.page.block_break(if self.rows.is_empty() { 2 } else { 1 });
                self.rows.push(Row { cells: 0, lines_before: 0 });
                OnClose::Table
            }
            Special::Attachment
            | Special::Break
            | Special::CustomEmoji
            | Special::Emoji
            | Special::Image
            | Special::Rule => OnClose::Nothing,
        }
    }

    /// An end tag without a start: the text after it begins a new line.
    pub(super) fn separate(&mut self) {
        if self.code.is_none() && self.mention.is_none() {
            self.page.block_break(1);
        }
    }

    fn break_around(&mut self, newlines: usize) -> OnClose {
        self.page.block_break(newlines);
        OnClose::Break(newlines)
    }

    /// A list inside a list starts on the next line; an outer list has a blank line around it.
    fn list_gap(&self) -> usize {
        if self.lists.is_empty() { 2 } else { 1 }
    }

    fn begin_list(&mut self, next: Option<u32>) -> OnClose {
        self.page.block_break(self.list_gap());
        self.lists.push(next);
        OnClose::List
    }

    fn begin_item(&mut self, tag: &Tag) -> OnClose {
        self.page.block_break(1);
        let value = attribute(tag, "value").and_then(|value| value.trim().parse::<u32>().ok());
        let sign = match self.lists.last_mut() {
            Some(Some(next)) => {
                let number = value.unwrap_or(*next).min(MAX_ITEM_NUMBER);
                *next = number.saturating_add(1);
                format!("{number}. ")
            }
            _ => "- ".to_owned(),
        };
        OnClose::Item { marked: self.page.open_item(sign) }
    }

    fn begin_mention(&mut self, tag: &Tag) -> OnClose {
        let id = attribute(tag, "id").and_then(|id| id.trim().parse().ok());
        if let Some(&mention) = id.and_then(|id: i64| self.mentions.get(&id)) {
            self.mention = Some(OpenMention { mention, typed: String::new() });
            OnClose::Mention
        } else {
            self.tally.flag("typed_mention");
            self.drop_at_sign = true;
            OnClose::TypedMention
        }
    }

    /// Writes `@Name` with the source's name. The tag's own text is shown as well if it is long or the tag never ended,
    /// because then it is the message.
    fn end_mention(&mut self, asked: bool) {
        let Some(OpenMention { mention, typed }) = self.mention.take() else { return };
        self.tally.mentions_me |= mention.is_me;
        let mut name = clean_name(&mention.name);
        let typed_name = typed.split_whitespace().collect::<Vec<_>>().join(" ");
        if name.is_empty() {
            name = clean_name(&typed_name);
        }
        let person = mention.person.as_deref();
        let goes_on = person.is_some() && self.last_mention == person.map(|person| (person, self.page.len()));
        let sign = if goes_on { "" } else { "@" };
        self.page.word(&format!("{sign}{name}"), &mut self.tally);
        self.last_mention = person.map(|person| (person, self.page.len()));
        let replaced = typed_name == mention.name || (asked && typed.len() <= MAX_MENTION_BYTES);
        if !replaced {
            self.page.text(" ", &mut self.tally);
            self.page.text(&typed, &mut self.tally);
        }
    }

    fn end_code(&mut self) {
        let Some(CodeBlock { text, language }) = self.code.take() else { return };
        let text = text.strip_prefix('\n').unwrap_or(&text).trim_end();
        if text.trim_start().is_empty() {
            return;
        }
        // The text can't end a fence that is longer than any in it.
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.page.verbatim(&format!("{fence}{language}\n{text}\n{fence}"), &mut self.tally);
        self.page.block_break(2);
    }

    /// Writes a line end where the document has one.
    pub(super) fn line_end(&mut self) {
        match (&mut self.mention, &mut self.code) {
            (Some(mention), _) => mention.typed.push(' '),
            (None, Some(code)) => code.text.push('\n'),
            (None, None) => self.page.hard_break(),
        }
    }

    /// Writes an element that has no content.
    pub(super) fn void(&mut self, element: &'static Element, tag: &Tag) {
        let Role::Special(special) = element.role else { return };
        if special == Special::Break {
            self.line_end();
            return;
        }
        if self.mention.is_some() {
            return;
        }
        match special {
            Special::Attachment if self.code.is_none() => {
                let id = attribute(tag, "id").unwrap_or_default();
                self.attachments.place(id, &mut self.page, &mut self.tally);
            }
            Special::Emoji => {
                self.word(&emoji_of(tag));
            }
            Special::CustomEmoji => {
                let name = label(tag, "alt").or_else(|| label(tag, "title")).unwrap_or_default();
                let name = name.trim_matches(':');
                if !name.is_empty() {
                    self.word(&format!(":{name}:"));
                }
            }
            Special::Image => self.image(tag),
            Special::Rule if self.code.is_none() => {
                self.page.block_break(2);
                self.page.word("---", &mut self.tally);
                self.page.block_break(2);
            }
            _ => {}
        }
    }

    fn image(&mut self, tag: &Tag) {
        let src = attribute(tag, "src").unwrap_or_default();
        if link::is_data(src) {
            self.tally.remove("data_url");
        }
        let speaks_of_emoji =
            |name| attribute(tag, name).is_some_and(|value| value.to_ascii_lowercase().contains("emoji"));
        if speaks_of_emoji("class") || speaks_of_emoji("itemtype") {
            self.word(&emoji_of(tag));
            return;
        }
        let dot =
            |name| attribute(tag, name).is_some_and(|size| matches!(size.trim(), "0" | "1" | "0px" | "1px"));
        if dot("width") || dot("height") {
            self.tally.remove("hidden");
            return;
        }
        self.tally.hosted_image(src);
        let note = match label(tag, "alt") {
            Some(alt) => format!("[image: {alt}]"),
            None => "[image]".to_owned(),
        };
        match &mut self.code {
            Some(code) => code.text.push_str(&note),
            None => self.page.note(&note, &mut self.tally),
        }
    }

    fn word(&mut self, word: &str) {
        match &mut self.code {
            Some(code) => code.text.push_str(word),
            None => self.page.word(word, &mut self.tally),
        }
    }
}

/// The value of a tag's first attribute of this name.
pub(super) fn attribute<'t>(tag: &'t Tag, name: &str) -> Option<&'t str> {
    tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}

/// The value of an attribute as a label, or `None` if cleaning leaves nothing.
fn label(tag: &Tag, name: &str) -> Option<String> {
    let label = clean_label(attribute(tag, name)?, MAX_LABEL_CHARS);
    (!label.is_empty()).then_some(label)
}

fn emoji_of(tag: &Tag) -> String {
    label(tag, "alt").or_else(|| label(tag, "title").map(|title| format!(":{title}:"))).unwrap_or_default()
}

/// The language in a code block's class: the last word, without the usual prefixes.
fn language_of(class: &str) -> String {
    let word = class.split_ascii_whitespace().last().unwrap_or_default();
    let word = word.strip_prefix("language-").or_else(|| word.strip_prefix("lang-")).unwrap_or(word);
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '.' | '-' | '_'));
    if plain && word.len() <= MAX_LANGUAGE_CHARS { word.to_ascii_lowercase() } else { String::new() }
}

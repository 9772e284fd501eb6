//! From tokens to a page: html5ever's tokenizer on one side, a small stack of open elements in the middle.
//! It must never let the stack grow past its bound, and never write what a reader of the original did not see.

use std::cell::RefCell;
use std::collections::BTreeMap;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use super::ansi;
use super::attachment::Attachments;
use super::css::Style;
use super::elements::{self, Element, Role, Special};
use super::name::{clean_label, clean_name};
use super::page::Page;
use super::tally::Tally;
use super::{Bounds, Context, Mention, link, tags};

/// Most elements inside each other; a deeper one takes the place of the deepest.
const MAX_OPEN_ELEMENTS: usize = 256;
/// Longest description of a picture or emoji that is shown, in characters.
const MAX_LABEL_CHARS: usize = 200;
/// Longest text that a mention's name takes the place of.
const MAX_MENTION_BYTES: usize = 256;
/// Longest name of a code block's language.
const MAX_LANGUAGE_CHARS: usize = 20;
/// Largest number before a list item.
const MAX_ITEM_NUMBER: u32 = 999_999;

/// Reads a document and lays it out as lines. The characters are still the stranger's but for terminal sequences.
pub(super) fn lay_out(input: &str, context: &Context, bounds: Bounds, tally: &mut Tally) -> String {
    let source = tags::keep_typed(input, tally);
    let mentions = context.mentions.iter().rev().map(|mention| (mention.id, mention)).collect();
    let document = Document {
        page: Page::default(),
        tally: std::mem::take(tally),
        attachments: Attachments::new(context, bounds),
        mentions,
        open: Vec::new(),
        run: String::new(),
        lists: Vec::new(),
        rows: Vec::new(),
        code: None,
        mention: None,
        last_mention: None,
        drop_at_sign: false,
        counted_hidden: None,
        next_hidden: 0,
    };
    let tokenizer = Tokenizer::new(Sink(RefCell::new(document)), TokenizerOpts::default());
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from(&*source));
    // A sink that never answers with a script or an encoding gets `Done` at once.
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    let mut document = tokenizer.sink.0.into_inner();
    document.close_all();
    document.attachments.place_rest(context, &mut document.page, &mut document.tally);
    *tally = document.tally;
    document.page.finish(tally)
}

struct Sink<'a>(RefCell<Document<'a>>);

impl TokenSink for Sink<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut document = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => document.run.push_str(&text),
            Token::NullCharacterToken => document.tally.remove("control"),
            Token::CommentToken(_) => document.tally.remove("comment"),
            Token::TagToken(tag) => {
                document.flush();
                let Some(element) = elements::known(&tag.name) else { return TokenSinkResult::Continue };
                match tag.kind {
                    TagKind::StartTag => {
                        document.start(element, &tag);
                        if let Some(kind) = element.raw() {
                            return TokenSinkResult::RawData(kind);
                        }
                    }
                    TagKind::EndTag => document.end(element),
                }
            }
            Token::EOFToken => document.flush(),
            Token::DoctypeToken(_) | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

/// What the end of an element brings with it.
#[derive(Clone, Copy)]
enum OnClose {
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
}

struct Open {
    element: &'static Element,
    style: Style,
    /// The outermost hidden element that this one is in, by its serial number.
    hidden: Option<u32>,
    on_close: OnClose,
}

struct List {
    /// The next number; none for bullets.
    next: Option<u32>,
}

struct Row {
    cells: u32,
    lines_before: u64,
}

struct CodeBlock {
    text: String,
    language: String,
}

/// A mention that the source confirms, with what its tag holds so far.
struct OpenMention<'a> {
    mention: &'a Mention,
    typed: String,
}

struct Document<'a> {
    page: Page,
    tally: Tally,
    attachments: Attachments<'a>,
    mentions: BTreeMap<i64, &'a Mention>,
    open: Vec<Open>,
    /// Text since the last tag.
    run: String,
    lists: Vec<List>,
    rows: Vec<Row>,
    code: Option<CodeBlock>,
    mention: Option<OpenMention<'a>>,
    /// Who was mentioned last, and how long the page was after it.
    last_mention: Option<(&'a str, usize)>,
    /// The next text stands in a mention's tag that nobody confirms: it must not look like one.
    drop_at_sign: bool,
    counted_hidden: Option<u32>,
    next_hidden: u32,
}

impl Document<'_> {
    fn style(&self) -> (Style, Option<u32>) {
        self.open.last().map_or((Style::default(), None), |open| (open.style, open.hidden))
    }

    fn flush(&mut self) {
        if self.run.is_empty() {
            return;
        }
        let run = std::mem::take(&mut self.run);
        if let Some(hidden) = self.style().1 {
            if !run.trim().is_empty() {
                self.count_hidden(hidden);
            }
        } else {
            let text = ansi::strip(&run, &mut self.tally);
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
        // The buffer is kept for the next run.
        self.run = run;
        self.run.clear();
    }

    fn count_hidden(&mut self, hidden: u32) {
        if self.counted_hidden != Some(hidden) {
            self.counted_hidden = Some(hidden);
            self.tally.remove("hidden");
        }
    }

    fn start(&mut self, element: &'static Element, tag: &Tag) {
        self.imply_ends(element);
        let (mut style, outer_hidden) = self.style();
        read_style(&mut style, tag);
        if let Role::Dropped(_) = element.role {
            style.hide();
        }
        let hidden = outer_hidden.or_else(|| {
            style.hides().then(|| {
                self.next_hidden = self.next_hidden.wrapping_add(1);
                self.next_hidden
            })
        });
        // What is only invisible or tiny can hold what is not.
        let hidden = hidden.filter(|_| style.hides());
        if let (Role::Dropped(kind), None) = (element.role, outer_hidden)
            && kind != "hidden"
        {
            self.tally.remove(kind);
            self.counted_hidden = hidden;
        }
        if element.is_void() {
            if let Some(hidden) = hidden {
                if !matches!(element.role, Role::Void | Role::Special(Special::Break | Special::Rule)) {
                    self.count_hidden(hidden);
                }
            } else {
                self.void(element, tag);
            }
            return;
        }
        let foreign = matches!(element.name, "svg" | "math");
        if foreign && tag.self_closing {
            return;
        }
        if self.open.len() == MAX_OPEN_ELEMENTS {
            self.close_last(false);
        }
        let on_close = if hidden.is_some() { OnClose::Nothing } else { self.begin(element, tag) };
        self.open.push(Open { element, style, hidden, on_close });
    }

    /// Ends what the standard says this start tag ends.
    fn imply_ends(&mut self, element: &'static Element) {
        let ends: &[&str] = match element.name {
            "li" => &["li"],
            "dd" | "dt" => &["dd", "dt"],
            "tr" => &["tr"],
            "td" | "th" => &["td", "th"],
            "tbody" | "thead" | "tfoot" => &["tbody", "thead", "tfoot"],
            "option" => &["option"],
            "body" => &["head"],
            "a" => &["a"],
            _ if element.is_block() => &["p"],
            _ => return,
        };
        for at in (0..self.open.len()).rev() {
            let open = &self.open[at];
            if ends.contains(&open.element.name) {
                if element.name == "a" {
                    self.end_formatting(at);
                } else {
                    self.close_down_to(at);
                }
                return;
            }
            let fence = match element.name {
                "li" => matches!(open.on_close, OnClose::List) || open.element.is_table_scope(),
                "td" | "th" | "tr" | "tbody" | "thead" | "tfoot" => {
                    open.element.name == "table" || (element.name == "td" && open.element.name == "tr")
                }
                "body" | "a" => false,
                _ => open.element.is_table_scope() || open.element.name == "button",
            };
            if fence {
                return;
            }
        }
    }

    fn end(&mut self, element: &'static Element) {
        if element.is_void() {
            if element.name == "br" {
                self.start_break();
            }
            return;
        }
        for at in (0..self.open.len()).rev() {
            let open = &self.open[at];
            if std::ptr::eq(open.element, element) {
                self.close_down_to(at);
                return;
            }
            let table_part =
                matches!(element.role, Role::Special(Special::Table | Special::Row | Special::Cell))
                    || matches!(element.name, "tbody" | "thead" | "tfoot");
            if open.element.is_table_scope() && !table_part {
                return;
            }
            if open.element.is_block() && !element.is_block() {
                // An inline end tag across a block ends a link, and nothing else that would be seen.
                if element.name == "a"
                    && let Some(at) = self.open[..at].iter().rposition(|open| open.element.name == "a")
                {
                    self.end_formatting(at);
                }
                return;
            }
        }
    }

    /// Ends a link whose element stays on the stack because a block is in between.
    fn end_formatting(&mut self, at: usize) {
        if let OnClose::Link = std::mem::replace(&mut self.open[at].on_close, OnClose::Nothing) {
            self.page.close_link(&mut self.tally);
        }
        if at + 1 == self.open.len() {
            self.close_last(true);
        }
    }

    fn close_down_to(&mut self, at: usize) {
        while self.open.len() > at + 1 {
            self.close_last(false);
        }
        self.close_last(true);
    }

    fn close_all(&mut self) {
        while !self.open.is_empty() {
            self.close_last(false);
        }
    }

    /// Ends the innermost element; `asked` is false when its own end tag never came.
    fn close_last(&mut self, asked: bool) {
        let Some(open) = self.open.pop() else { return };
        match open.on_close {
            OnClose::Nothing => {}
            OnClose::Break(newlines) => self.block_break(newlines),
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
                self.page.no_heading();
                self.page.block_break(2);
            }
            OnClose::Mention => self.end_mention(asked),
        }
    }

    /// Does what a visible start tag asks for.
    fn begin(&mut self, element: &'static Element, tag: &Tag) -> OnClose {
        if let Some(code) = &mut self.code {
            // Inside code only lines count.
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
                self.page.heading(sign);
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

    fn break_around(&mut self, newlines: usize) -> OnClose {
        self.page.block_break(newlines);
        OnClose::Break(newlines)
    }

    fn block_break(&mut self, newlines: usize) {
        self.page.block_break(newlines);
    }

    /// A list inside a list goes on in the next line; one of its own has a blank line around it.
    fn list_gap(&self) -> usize {
        if self.lists.is_empty() { 2 } else { 1 }
    }

    fn begin_list(&mut self, next: Option<u32>) -> OnClose {
        self.page.block_break(self.list_gap());
        self.lists.push(List { next });
        OnClose::List
    }

    fn begin_item(&mut self, tag: &Tag) -> OnClose {
        self.page.block_break(1);
        let value = attribute(tag, "value").and_then(|value| value.trim().parse::<u32>().ok());
        let sign = match self.lists.last_mut() {
            Some(List { next: Some(next) }) => {
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
            OnClose::Nothing
        }
    }

    /// Writes `@Name`. The name is the source's; what the tag holds is shown as well if it goes on for long or the
    /// tag never ended, for then it is the message.
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
        // A fence longer than any in the text cannot be ended by it.
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        self.page.verbatim(&format!("{fence}{language}\n{text}\n{fence}"), &mut self.tally);
        self.page.block_break(2);
    }

    fn start_break(&mut self) {
        if self.style().1.is_some() {
            return;
        }
        match (&mut self.mention, &mut self.code) {
            (Some(mention), _) => mention.typed.push(' '),
            (None, Some(code)) => code.text.push('\n'),
            (None, None) => self.page.hard_break(),
        }
    }

    fn void(&mut self, element: &'static Element, tag: &Tag) {
        let Role::Special(special) = element.role else { return };
        if special == Special::Break {
            self.start_break();
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
                let emoji = emoji_of(tag, |title| format!(":{title}:"));
                self.word(&emoji);
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
            let emoji = emoji_of(tag, |title| format!(":{title}:"));
            self.word(&emoji);
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

fn read_style(style: &mut Style, tag: &Tag) {
    for attribute in &tag.attrs {
        match &*attribute.name.local {
            "style" => style.apply(&attribute.value),
            "color" | "text" => style.set_colour(&attribute.value),
            "bgcolor" => style.set_background(&attribute.value),
            "background" => style.forget_background(),
            "hidden" => style.hide(),
            "aria-hidden" if attribute.value.trim().eq_ignore_ascii_case("true") => style.hide(),
            _ => {}
        }
    }
}

fn attribute<'t>(tag: &'t Tag, name: &str) -> Option<&'t str> {
    tag.attrs.iter().find(|attribute| &*attribute.name.local == name).map(|attribute| &*attribute.value)
}

/// An attribute as a label, `None` when nothing of it remains.
fn label(tag: &Tag, name: &str) -> Option<String> {
    let label = clean_label(attribute(tag, name)?, MAX_LABEL_CHARS);
    (!label.is_empty()).then_some(label)
}

fn emoji_of(tag: &Tag, named: impl Fn(&str) -> String) -> String {
    label(tag, "alt").or_else(|| label(tag, "title").map(|title| named(&title))).unwrap_or_default()
}

/// The language in a code block's class: its last word, without the usual prefixes.
fn language_of(class: &str) -> String {
    let word = class.split_ascii_whitespace().last().unwrap_or_default();
    let word = word.strip_prefix("language-").or_else(|| word.strip_prefix("lang-")).unwrap_or(word);
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '.' | '-' | '_'));
    if plain && word.len() <= MAX_LANGUAGE_CHARS { word.to_ascii_lowercase() } else { String::new() }
}

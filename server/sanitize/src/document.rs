//! Turns the tokens of html5ever into a page, with a stack of the open elements.
//! It must never write a text that a reader of the original did not see.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use super::body::{Body, OnClose, attribute};
use super::css::Style;
use super::elements::{self, Element, Role, Special};
use super::stack::{Open, Stack};
use super::tally::Tally;
use super::{Bounds, Context, tags};

/// Lays a document out as lines. Its characters are unchanged, except that terminal sequences are removed.
pub(super) fn lay_out(input: &str, context: &Context, bounds: Bounds, tally: &mut Tally) -> String {
    let source = tags::keep_typed(input, tally);
    let document = Document {
        body: Body::new(context, bounds, std::mem::take(tally)),
        stack: Stack::default(),
        run: String::new(),
        counted_hidden: None,
        next_hidden: 0,
    };
    // A byte order mark is counted with the other invisible characters.
    let options = TokenizerOpts { discard_bom: false, ..TokenizerOpts::default() };
    let tokenizer = Tokenizer::new(Sink(RefCell::new(document)), options);
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from(&*source));
    // Without scripts and encodings, `feed` is always done after one call.
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    let mut document = tokenizer.sink.0.into_inner();
    while !document.stack.is_empty() {
        document.close_last(false);
    }
    let (text, counts) = document.body.finish();
    *tally = counts;
    text
}

struct Sink<'a>(RefCell<Document<'a>>);

impl TokenSink for Sink<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut document = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => document.run.push_str(&text),
            Token::NullCharacterToken => document.body.tally.remove("control"),
            Token::CommentToken(_) => document.body.tally.remove("comment"),
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

struct Document<'a> {
    body: Body<'a>,
    stack: Stack,
    /// Text since the last tag.
    run: String,
    /// The hidden element that was counted last, and the last serial number given to one.
    counted_hidden: Option<u32>,
    next_hidden: u32,
}

impl Document<'_> {
    fn flush(&mut self) {
        if self.run.is_empty() {
            return;
        }
        match self.stack.hidden() {
            Some(hidden) if !self.run.trim().is_empty() => self.count_hidden(hidden),
            Some(_) => {}
            None => self.body.text(&self.run),
        }
        self.run.clear();
    }

    fn count_hidden(&mut self, hidden: u32) {
        if self.counted_hidden != Some(hidden) {
            self.counted_hidden = Some(hidden);
            self.body.tally.remove("hidden");
        }
    }

    fn start(&mut self, element: &'static Element, tag: &Tag) {
        self.imply_ends(element);
        let mut style = self.stack.style();
        let outer_hidden = self.stack.hidden();
        self.disclose(element, tag, &mut style);
        read_style(&mut style, element, tag);
        if let Role::Dropped(_) = element.role {
            style.hide();
        }
        let hidden = outer_hidden.or_else(|| {
            style.hides().then(|| {
                self.next_hidden = self.next_hidden.wrapping_add(1);
                self.next_hidden
            })
        });
        // Content of an invisible or tiny element can be visible.
        let hidden = hidden.filter(|_| style.hides());
        if let (Role::Dropped(kind), None) = (element.role, outer_hidden)
            && kind != "hidden"
        {
            self.body.tally.remove(kind);
            self.counted_hidden = hidden;
        }
        if element.is_void() {
            if let Some(hidden) = hidden {
                if !matches!(element.role, Role::Void | Role::Special(Special::Break | Special::Rule)) {
                    self.count_hidden(hidden);
                }
            } else {
                self.body.void(element, tag);
            }
            return;
        }
        let foreign = matches!(element.name, "svg" | "math");
        if foreign && tag.self_closing {
            return;
        }
        if self.stack.is_full() {
            self.close_last(false);
        }
        let on_close = if hidden.is_some() { OnClose::Nothing } else { self.body.begin(element, tag) };
        self.stack.push(Open { element, style, hidden, on_close, has_summary: false });
    }

    /// Folds content that a reader has to open first, except for its first summary.
    fn disclose(&mut self, element: &'static Element, tag: &Tag, style: &mut Style) {
        match element.name {
            "details" if attribute(tag, "open").is_none() => style.fold(),
            "dialog" if attribute(tag, "open").is_none() => style.hide(),
            "summary" => {
                let outer = self.stack.last_mut().filter(|outer| outer.element.name == "details");
                if let Some(outer) = outer.filter(|outer| !outer.has_summary) {
                    outer.has_summary = true;
                    style.unfold();
                }
            }
            _ => {}
        }
    }

    /// Ends the elements that this start tag ends by the HTML standard.
    fn imply_ends(&mut self, element: &'static Element) {
        use elements::id;
        const P: &[usize] = &[id("p")];
        const ROW: &[usize] = &[id("tr"), id("colgroup"), id("caption")];
        const ITEM: &[usize] = &[id("li")];
        const CELL: &[usize] = &[id("td"), id("th"), id("colgroup"), id("caption")];
        const PART: &[usize] = &[id("tbody"), id("thead"), id("tfoot"), id("colgroup"), id("caption")];
        const TERM: &[usize] = &[id("dd"), id("dt")];
        const LISTS: &[usize] = &[id("ul"), id("ol"), id("dir"), id("menu"), id("td"), id("th"), id("table")];
        const TABLE: &[usize] = &[id("table")];
        const SCOPE: &[usize] = &[id("td"), id("th"), id("table"), id("caption"), id("button")];
        let (ends, fences) = match element.name {
            "li" => (ITEM, LISTS),
            "dd" | "dt" => (TERM, SCOPE),
            "tr" => (ROW, TABLE),
            "td" | "th" => (CELL, TABLE),
            "tbody" | "thead" | "tfoot" | "colgroup" | "caption" => (PART, TABLE),
            "option" => (const { &[id("option")] as &[usize] }, SCOPE),
            "body" => (const { &[id("head")] as &[usize] }, &[] as &[usize]),
            "a" => return self.end_link(),
            _ if element.is_block() => (P, SCOPE),
            _ => return,
        };
        if let Some(at) = self.stack.last_of(ends)
            && self.stack.last_of(fences).is_none_or(|fence| fence < at)
        {
            self.close_down_to(at);
        }
    }

    fn end(&mut self, element: &'static Element) {
        if element.is_void() {
            // The standard treats `</br>` as a line end.
            if element.name == "br" && self.stack.hidden().is_none() {
                self.body.line_end();
            }
            return;
        }
        let Some(at) = self.stack.last_of(&[element.id]) else {
            if element.is_block() && self.stack.hidden().is_none() {
                self.body.separate();
            }
            return;
        };
        let scope = self.stack.last_scope();
        if !element.is_table_part() && scope.is_some_and(|scope| scope > at) {
            return;
        }
        if !element.is_block() && self.stack.last_block().is_some_and(|block| block > at) {
            // An inline end tag across a block has a visible effect only on a link.
            if element.name == "a" {
                self.end_link();
            }
            return;
        }
        self.close_down_to(at);
    }

    /// Ends the open link. Its element stays on the stack while others are open in it.
    fn end_link(&mut self) {
        let Some(at) = self.stack.last_of(const { &[elements::id("a")] }) else { return };
        if let Some(on_close) = self.stack.take_on_close(at) {
            self.body.close(on_close, true);
        }
        if at + 1 == self.stack.len() {
            self.close_last(true);
        }
    }

    fn close_down_to(&mut self, at: usize) {
        while self.stack.len() > at + 1 {
            self.close_last(false);
        }
        self.close_last(true);
    }

    /// Ends the innermost element; `asked` is false when its own end tag never came.
    fn close_last(&mut self, asked: bool) {
        if let Some(open) = self.stack.pop() {
            self.body.close(open.on_close, asked);
        }
    }
}

fn read_style(style: &mut Style, element: &'static Element, tag: &Tag) {
    if let Some(factor) = element.text_factor() {
        style.resize(factor);
    }
    for attribute in &tag.attrs {
        match &*attribute.name.local {
            "style" => style.apply(&attribute.value, matches!(element.name, "td" | "th")),
            "color" | "text" => style.set_colour(&attribute.value),
            "bgcolor" => style.set_background(&attribute.value),
            "background" => style.forget_background(),
            "hidden" | "popover" => style.hide(),
            "aria-hidden" if attribute.value.trim().eq_ignore_ascii_case("true") => style.hide(),
            _ => {}
        }
    }
}

//! The attachments of a message as text: quotes as inner blocks, every other attachment as a note.
//! It must never show a quote without saying that its author is unverified, nor an attachment twice.

use std::collections::BTreeMap;

use super::name::{clean_file_name, clean_label, clean_name};
use super::page::Page;
use super::tally::Tally;
use super::{Attachment, AttachmentKind, Bounds, Context, MIN_BOUND_BYTES, quoted};

/// Most attachments that are shown; the others are counted in one line.
const MAX_SHOWN: usize = 50;
/// Longest title, language or type in a note, in characters.
const MAX_LABEL_CHARS: usize = 120;

/// The attachments of a message, and which of them are on the page already.
pub(super) struct Attachments<'a> {
    all: &'a [Attachment],
    by_id: BTreeMap<&'a str, usize>,
    placed: Vec<bool>,
    bounds: Bounds,
}

impl<'a> Attachments<'a> {
    pub(crate) fn new(context: &'a Context, bounds: Bounds) -> Self {
        let all = &context.attachments[..context.attachments.len().min(MAX_SHOWN)];
        let quotes = all.iter().filter(|attachment| attachment.kind.is_quote()).count().max(1);
        // All quotes share half of the room, so that many of them can't push the message out.
        let quote = (bounds.text / 2 / quotes).clamp(MIN_BOUND_BYTES, bounds.quote);
        let bounds = Bounds { quote, ..bounds };
        let by_id =
            all.iter().enumerate().rev().map(|(at, attachment)| (attachment.id.as_str(), at)).collect();
        Self { all, by_id, placed: vec![false; all.len()], bounds }
    }

    /// Shows the attachment with this id here. An unknown id gets a note that something is attached.
    pub(super) fn place(&mut self, id: &str, page: &mut Page, tally: &mut Tally) {
        match self.by_id.get(id) {
            Some(&at) if self.placed[at] => {}
            Some(&at) => {
                self.placed[at] = true;
                show(&self.all[at].kind, self.bounds, page, tally);
            }
            None => note(page, "attachment", "unknown", tally),
        }
    }

    /// Shows the attachments that the body did not place.
    pub(super) fn place_rest(&mut self, context: &Context, page: &mut Page, tally: &mut Tally) {
        for (attachment, placed) in self.all.iter().zip(&self.placed) {
            if !placed {
                show(&attachment.kind, self.bounds, page, tally);
            }
        }
        let more = context.attachments.len() - self.all.len();
        if more > 0 {
            note(page, &format!("{more} more attachments"), "", tally);
        }
    }
}

impl AttachmentKind {
    fn is_quote(&self) -> bool {
        matches!(self, Self::Quote { .. } | Self::Forwarded { .. })
    }
}

pub(super) fn append_all(text: &mut String, context: &Context, bounds: Bounds, tally: &mut Tally) {
    if context.attachments.is_empty() {
        return;
    }
    let mut page = Page::default();
    Attachments::new(context, bounds).place_rest(context, &mut page, tally);
    text.push_str("\n\n");
    text.push_str(&page.finish(tally));
}

fn show(kind: &AttachmentKind, bounds: Bounds, page: &mut Page, tally: &mut Tally) {
    let label = |text: &Option<String>| clean_label(text.as_deref().unwrap_or_default(), MAX_LABEL_CHARS);
    match kind {
        AttachmentKind::Quote { author, html } => {
            block("quoted message", author.as_deref(), html, bounds, page, tally);
        }
        AttachmentKind::Forwarded { author, html } => {
            block("forwarded message", author.as_deref(), html, bounds, page, tally);
        }
        AttachmentKind::File { name } => note(page, "file", &clean_file_name(name), tally),
        AttachmentKind::Card { title } => note(page, "card", &label(title), tally),
        AttachmentKind::Code { language } => note(page, "code snippet", &label(language), tally),
        AttachmentKind::Image { name } => note(page, "image", &label(name), tally),
        AttachmentKind::Other { content_type } => {
            note(page, "attachment", &clean_label(content_type, MAX_LABEL_CHARS), tally);
        }
    }
}

fn block(what: &str, author: Option<&str>, html: &str, bounds: Bounds, page: &mut Page, tally: &mut Tally) {
    tally.flag("unverified_quote");
    let inner = quoted(html, bounds, tally);
    let author = clean_name(author.unwrap_or_default());
    let author = if author.is_empty() { "an unknown author".to_owned() } else { format!("\"{author}\"") };
    page.block_break(2);
    page.word(&format!("[{what} from {author}, unverified]"), tally);
    page.block_break(1);
    let marked = page.open_quote();
    if inner.is_empty() {
        page.word("[no text]", tally);
    } else {
        page.verbatim(&inner, tally);
    }
    if marked {
        page.close_mark();
    }
    page.block_break(2);
}

fn note(page: &mut Page, what: &str, which: &str, tally: &mut Tally) {
    page.block_break(1);
    if which.is_empty() {
        page.word(&format!("[{what}]"), tally);
    } else {
        page.word(&format!("[{what}: {which}]"), tally);
    }
    page.block_break(1);
}

//! What drafts of Teams, mail and the bot have in common: the facts beside a text, names, and attachments.
//! It must never let a raw text of a stranger through.

use std::collections::BTreeMap;

use entraclaw_inbox::permission::{self, Behavior};
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_sanitize::{
    Attachment, AttachmentKind, Context, Limits, Markup, Sanitized, clean_file_name, clean_name, sanitize,
};

/// The name for a person or a file for whom the source gives none.
pub(crate) const NAMELESS: &str = "(no name)";
/// The text of a message that its author deleted.
pub(crate) const DELETED_TEXT: &str = "(this message was deleted by its author)";
/// The most attachments, people or quotes that one fact names; the text names all attachments.
pub(crate) const NAMED_MAX: usize = 10;

/// The version of a message that a draft carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    /// The message itself, as it stands now.
    First,
    /// A later text of a message that was delivered.
    Edit,
    /// The news that a delivered message was deleted.
    Deletion,
}

/// The draft of a message that is being filled with facts.
pub(crate) struct Facts(Draft);

impl Facts {
    /// Begins with what every message has. `from` and the ids are clean.
    pub(crate) fn new(channel: Channel, chat_id: &str, id: &str, from: String, ts: String) -> Self {
        let known = [("chat_id", chat_id), ("message_id", id), ("user", &from), ("ts", &ts)];
        let meta = known.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self(Draft {
            key: String::new(),
            id: id.to_owned(),
            channel,
            chat_id: chat_id.to_owned(),
            from,
            ts,
            content_text_sanitized: String::new(),
            meta: meta.into_iter().filter(|(_, value)| !value.is_empty()).collect(),
            edit_of: None,
            deleted: false,
        })
    }

    /// Adds a fact; an empty one is left out.
    pub(crate) fn put(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        if !value.is_empty() {
            self.0.meta.insert(name.to_owned(), value);
        }
    }

    /// Adds what the sanitiser did to the text.
    pub(crate) fn put_findings(&mut self, clean: &Sanitized) {
        self.put("sanitized", counted(&clean.removed));
        self.put("suspicious", counted(&clean.flagged));
        if clean.left_out_bytes > 0 {
            self.put("left_out_bytes", clean.left_out_bytes.to_string());
        }
    }

    /// The whole draft.
    pub(crate) fn draft(self, key: String, content: String, version: Version) -> Draft {
        let edit_of = (version != Version::First).then(|| self.0.id.clone());
        let deleted = version == Version::Deletion;
        Draft { key, content_text_sanitized: content, edit_of, deleted, ..self.0 }
    }
}

/// The display name, if there is one. It proves nothing.
pub(crate) fn display_name(name: Option<&str>) -> Option<String> {
    name.map(clean_name).filter(|name| !name.is_empty())
}

/// An attachment that its type and its name describe.
pub(crate) fn plain_attachment(content_type: &str, name: Option<String>) -> AttachmentKind {
    match name {
        name if content_type.starts_with("image/") => AttachmentKind::Image { name },
        Some(name) => AttachmentKind::File { name },
        None => AttachmentKind::Other { content_type: content_type.to_owned() },
    }
}

/// The attachments in one line, without the quotes.
pub(crate) fn attachments_named(attachments: &[Attachment]) -> String {
    let names = attachments.iter().filter_map(|attachment| {
        Some(match &attachment.kind {
            AttachmentKind::Quote { .. } => return None,
            AttachmentKind::Forwarded { .. } => "forwarded message".to_owned(),
            AttachmentKind::File { name } => format!("file {}", clean_file_name(name)),
            AttachmentKind::Card { .. } => "card".to_owned(),
            AttachmentKind::Code { .. } => "code snippet".to_owned(),
            AttachmentKind::Image { .. } => "image".to_owned(),
            AttachmentKind::Other { content_type } => clean_name(content_type),
        })
    });
    clean_name(&names.take(NAMED_MAX).collect::<Vec<_>>().join(", "))
}

/// The code and the verdict of a text that has exactly the form of an answer to a permission request.
pub(crate) fn permission_answer(content: &str, html: bool) -> Option<(String, Behavior)> {
    let markup = if html { Markup::Html } else { Markup::Text };
    let clean = sanitize(content, markup, &Context::default(), &Limits::default());
    let is_unchanged = clean.removed.is_empty() && clean.flagged.is_empty() && clean.left_out_bytes == 0;
    permission::parse(&clean.text).filter(|_| is_unchanged)
}

fn counted(counts: &BTreeMap<&'static str, u32>) -> String {
    counts.iter().map(|(kind, count)| format!("{kind}:{count}")).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the person saw must be what is read.
    #[test]
    fn an_answer_is_none_where_something_of_it_was_hidden() {
        for answer in ["<p>yes abcde</p>", "<div>no abcde</div>"] {
            assert!(permission_answer(answer, true).is_some(), "{answer}");
        }
        for hides in
            ["<p>yes abcde<span style=\"display:none\">no abcde</span></p>", "<p>yes\u{200b} abcde</p>"]
        {
            assert!(permission_answer(hides, true).is_none(), "{hides}");
        }
    }
}

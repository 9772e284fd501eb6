//! Turns a message of an allowed person into a draft of a record: sanitised text, and the facts beside it.
//! It must never let a raw text of a stranger through, in the text or in the facts.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::wire::{Message, Part};
use entraclaw_inbox::gate::Agent;
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_sanitize::{
    Attachment, AttachmentKind, Context, Limits, Markup, Mention, clean_file_name, clean_name, sanitize,
};

/// The most attachments that the facts name; the text names all.
const ATTACHMENTS_NAMED_MAX: usize = 10;
/// The name for a person for whom Graph gives none.
const NAMELESS: &str = "(no name)";

/// The version of a message that a draft carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// The message itself, as it stands now.
    First,
    /// A later text of a message that was delivered.
    Edit,
    /// The news that a delivered message was deleted.
    Deletion,
}

/// Makes the draft of one version of a message.
pub(super) fn draft(
    chat_id: &str,
    chat_kind: &str,
    message: &Message,
    version: Version,
    agent: &Agent,
    now: Timestamp,
) -> Draft {
    let context = context(message, agent);
    let markup = if message.html { Markup::Html } else { Markup::Text };
    let clean = sanitize(&message.content, markup, &context, &Limits::default());
    let from = message.sender.name.as_deref().map(clean_name).filter(|n| !n.is_empty());
    let from = from.unwrap_or_else(|| NAMELESS.to_owned());
    let ts = message.created.unwrap_or(now).to_string();

    let mut meta = BTreeMap::new();
    let mut put = |name: &str, value: String| {
        if !value.is_empty() {
            meta.insert(name.to_owned(), value);
        }
    };
    put("chat_id", chat_id.to_owned());
    put("message_id", message.id.clone());
    put("user", from.clone());
    put("ts", ts.clone());
    put("chat_type", clean_name(chat_kind));
    put("sender_id", message.sender.object_id.as_deref().map(str::to_ascii_lowercase).unwrap_or_default());
    put("sender_tenant_id", tenant_of(message, agent));
    put("subject", clean_name(&message.subject));
    if !matches!(message.importance.as_str(), "" | "normal") {
        put("importance", clean_name(&message.importance));
    }
    let mut key = key(chat_id, message);
    let mut content = clean.text;
    match version {
        Version::First | Version::Edit => {
            put("edited_at", clean_name(&message.edited));
            put("reply_to", replied_to(message).join(" "));
            put("attachments", named(&context));
            put("sanitized", counted(&clean.removed));
            put("suspicious", counted(&clean.flagged));
            if clean.left_out_bytes > 0 {
                put("left_out_bytes", clean.left_out_bytes.to_string());
            }
            if clean.mentions_me || context.mentions.iter().any(|m| m.is_me) {
                put("mentions_me", "true".to_owned());
            }
            if version == Version::Edit {
                key = format!("{key}/{}", message.edited);
            }
        }
        Version::Deletion => {
            key.push_str("/deleted");
            "(this message was deleted by its author)".clone_into(&mut content);
        }
    }
    Draft {
        key,
        id: message.id.clone(),
        channel: Channel::Teams,
        chat_id: chat_id.to_owned(),
        from,
        ts,
        content_text_sanitized: content,
        meta,
        edit_of: (version != Version::First).then(|| message.id.clone()),
        deleted: version == Version::Deletion,
    }
}

/// The key under which the journal knows the message as it was written.
pub(super) fn key(chat_id: &str, message: &Message) -> String {
    format!("teams/{chat_id}/{}", message.id)
}

fn tenant_of(message: &Message, agent: &Agent) -> String {
    let stated = message.sender.tenant_id.as_deref().map(str::to_ascii_lowercase);
    stated.or_else(|| agent.tenant_id.as_ref().map(ToString::to_string)).unwrap_or_default()
}

fn context(message: &Message, agent: &Agent) -> Context {
    let attachments = message
        .attachments
        .iter()
        .map(|part| Attachment { id: part.id.clone(), kind: attachment_kind(part) })
        .collect();
    let is_me = |user: &Option<String>| {
        let own = agent.object_id.as_ref().map(entraclaw_inbox::gate::Guid::as_str);
        own.is_some() && user.as_deref().map(str::to_ascii_lowercase).as_deref() == own
    };
    let mentions = message
        .mentions
        .iter()
        .map(|m| Mention {
            id: m.id,
            name: m.text.clone(),
            is_me: is_me(&m.user_id),
            person: m.user_id.clone(),
        })
        .collect();
    Context { attachments, mentions }
}

fn attachment_kind(part: &Part) -> AttachmentKind {
    let name = || part.name.clone().filter(|n| !n.trim().is_empty());
    match part.content_type.as_str() {
        "messageReference" => {
            let content = lenient_json(part);
            AttachmentKind::Quote {
                author: author(&content, "messageSender"),
                html: content.get("messagePreview").and_then(Value::as_str).unwrap_or("").to_owned(),
            }
        }
        "forwardedMessageReference" => {
            let content = lenient_json(part);
            AttachmentKind::Forwarded {
                author: author(&content, "originalMessageSender"),
                html: content.get("originalMessageContent").and_then(Value::as_str).unwrap_or("").to_owned(),
            }
        }
        "reference" => AttachmentKind::File { name: name().unwrap_or_else(|| "(no name)".to_owned()) },
        "application/vnd.microsoft.card.codesnippet" => {
            let content = lenient_json(part);
            let language = content.get("language").and_then(Value::as_str).map(str::to_owned);
            AttachmentKind::Code { language }
        }
        kind if kind.starts_with("application/vnd.microsoft.card.") => {
            let content = lenient_json(part);
            let title = ["title", "name", "fallbackText"].iter().find_map(|k| content.get(*k)?.as_str());
            AttachmentKind::Card { title: title.map(str::to_owned).or_else(name) }
        }
        kind if kind.starts_with("image/") => AttachmentKind::Image { name: name() },
        kind => match name() {
            Some(name) => AttachmentKind::File { name },
            None => AttachmentKind::Other { content_type: kind.to_owned() },
        },
    }
}

/// The JSON text inside an attachment. Teams writes raw line breaks into its strings, which JSON forbids;
/// they are repaired. A text that is no JSON at all gives `null`.
fn lenient_json(part: &Part) -> Value {
    const CONTENT_BYTES_MAX: usize = 256 * 1024;
    let Some(text) = part.content.as_deref().filter(|c| c.len() <= CONTENT_BYTES_MAX) else {
        return Value::Null;
    };
    serde_json::from_str(text).unwrap_or_else(|_| {
        let repaired: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        serde_json::from_str(&repaired).unwrap_or_default()
    })
}

fn author(content: &Value, field: &str) -> Option<String> {
    let sender = content.get(field)?;
    let name =
        ["user", "application"].iter().find_map(|kind| sender.get(*kind)?.get("displayName")?.as_str());
    name.map(str::to_owned)
}

/// The ids of the messages that this one quotes.
fn replied_to(message: &Message) -> Vec<String> {
    let quotes = message.attachments.iter().filter(|part| part.content_type == "messageReference");
    quotes
        .filter_map(|part| {
            let stated = lenient_json(part).get("messageId").and_then(Value::as_str).map(str::to_owned);
            let id = stated.unwrap_or_else(|| part.id.clone());
            let usable =
                !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
            usable.then_some(id)
        })
        .take(ATTACHMENTS_NAMED_MAX)
        .collect()
}

fn named(context: &Context) -> String {
    let names = context.attachments.iter().filter_map(|attachment| {
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
    let names: Vec<String> = names.take(ATTACHMENTS_NAMED_MAX).collect();
    clean_name(&names.join(", "))
}

fn counted(counts: &BTreeMap<&'static str, u32>) -> String {
    counts.iter().map(|(kind, count)| format!("{kind}:{count}")).collect::<Vec<_>>().join(",")
}

//! Turns a message of an allowed person into a draft of a record: sanitised text, and the facts beside it.
//! It must never let a raw text of a stranger through, in the text or in the facts.

use jiff::Timestamp;
use serde_json::Value;

use super::wire::{Message, Part};
use crate::incoming::{
    DELETED_TEXT, Facts, NAMED_MAX, NAMELESS, Version, attachments_named, display_name, plain_attachment,
};
use entraclaw_inbox::gate::Agent;
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_sanitize::{
    Attachment, AttachmentKind, Context, Limits, Markup, Mention, clean_name, sanitize,
};

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
    let from = display_name(message.sender.name.as_deref()).unwrap_or_else(|| NAMELESS.to_owned());
    let ts = message.created.unwrap_or(now).to_string();
    let mut facts = Facts::new(Channel::Teams, chat_id, &message.id, from, ts);
    facts.put("chat_type", clean_name(chat_kind));
    let sender_id = message.sender.object_id.as_deref().unwrap_or_default();
    facts.put("sender_id", sender_id.to_ascii_lowercase());
    facts.put("sender_tenant_id", tenant_of(message, agent));
    facts.put("subject", clean_name(&message.subject));
    if !matches!(message.importance.as_str(), "" | "normal") {
        facts.put("importance", clean_name(&message.importance));
    }
    let mut key = key(chat_id, message);
    if version == Version::Deletion {
        key.push_str("/deleted");
        return facts.draft(key, DELETED_TEXT.to_owned(), version);
    }
    facts.put("edited_at", clean_name(&message.edited));
    facts.put("reply_to", replied_to(message).join(" "));
    facts.put("attachments", attachments_named(&context.attachments));
    facts.put_findings(&clean);
    if clean.mentions_me || context.mentions.iter().any(|m| m.is_me) {
        facts.put("mentions_me", "true");
    }
    if version == Version::Edit {
        key = format!("{key}/{}", message.edited);
    }
    facts.draft(key, clean.text, version)
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
        "reference" => AttachmentKind::File { name: name().unwrap_or_else(|| NAMELESS.to_owned()) },
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
        kind => plain_attachment(kind, name()),
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
        .take(NAMED_MAX)
        .collect()
}

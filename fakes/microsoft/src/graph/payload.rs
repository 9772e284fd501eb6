//! Makes the body, attachments and mentions that Graph shows for a message of a scenario.
//! It must never change hostile text; the reader has to make it harmless.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::chat::Chat;
use super::draw;
use super::people::{Directory, Who, user_json};
use super::rules::RuleId;
use super::script_error::ScriptError;
use super::spec::{AttachmentSpec, CardKind, ForwardSpec, MentionSpec, MessageSpec, SystemEventSpec};
use super::trace::Trace;

/// How many characters of the quoted message a quote shows.
const PREVIEW_CHARS_MAX: usize = 100;

/// A body with its attachments and mentions.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Composed {
    pub(super) html: bool,
    pub(super) content: String,
    pub(super) attachments: Vec<Value>,
    pub(super) mentions: Vec<Value>,
}

/// Makes a message. The ids of its attachments are made from its own id, `id`.
pub(super) fn compose(
    spec: &MessageSpec,
    id: &str,
    chat: &Chat,
    people: &Directory,
    base_url: &str,
    trace: &mut Trace,
) -> Result<Composed, ScriptError> {
    let mut head = String::new();
    let mut tail = String::new();
    let mut attachments = Vec::new();
    for name in &spec.quotes {
        attachments.push(quote(name, chat, people, trace)?);
    }
    if let Some(forward) = &spec.forwarded {
        attachments.push(forwarded(forward, id, people, trace)?);
    }
    for attachment in &attachments {
        head.push_str(&marker(attachment));
    }
    for (index, attachment) in spec.attachments.iter().enumerate() {
        let own_id = draw::guid(0, &format!("attachment/{}/{id}/{index}", chat.id));
        let hosted =
            format!("{base_url}/v1.0/chats/{}/messages/{id}/hostedContents/{own_id}/$value", chat.id);
        match attachment {
            AttachmentSpec::Image { alt } => {
                trace.note(RuleId::HostedImage);
                let alt = escape(alt);
                let _ = write!(
                    tail,
                    r#"<p><img src="{hosted}" width="64" height="64" alt="{alt}" style="vertical-align:bottom"></p>"#
                );
            }
            AttachmentSpec::CustomEmoji { alt } => {
                trace.note(RuleId::CustomEmoji);
                let alt = escape(alt);
                let _ = write!(
                    tail,
                    r#"<customemoji id="{own_id}" alt="{alt}" source="{hosted}"></customemoji>"#
                );
            }
            other => {
                let json = attached(other, &own_id, &hosted, people, trace)?;
                tail.push_str(&marker(&json));
                attachments.push(json);
            }
        }
    }
    let written = spec.html.clone().unwrap_or_default();
    let mentions = mention(spec, &written, &mut head, chat, people, trace)?;
    let plain = spec.html.is_none() && head.is_empty() && tail.is_empty();
    let content = match &spec.text {
        Some(text) if plain => text.clone(),
        Some(text) => format!("{head}<p>{}</p>{tail}", escape(text)),
        None => format!("{head}{written}{tail}"),
    };
    Ok(Composed { html: !(plain && spec.text.is_some()), content, attachments, mentions })
}

/// The tag in a body that marks the place of an attachment.
pub(super) fn marker(attachment: &Value) -> String {
    format!(r#"<attachment id="{}"></attachment>"#, escape(attachment["id"].as_str().unwrap_or_default()))
}

fn attachment_json(id: &str, content_type: &str, content: Option<&str>) -> Value {
    json!({
        "id": id,
        "contentType": content_type,
        "contentUrl": null,
        "content": content,
        "name": null,
        "thumbnailUrl": null,
        "teamsAppId": null,
    })
}

/// A quote of a message in the chat, as `replyWithQuote` makes it.
pub(super) fn quote(
    name_or_id: &str,
    chat: &Chat,
    people: &Directory,
    trace: &mut Trace,
) -> Result<Value, ScriptError> {
    let quoted = chat.resolve(name_or_id).and_then(|id| chat.get(id)).ok_or_else(|| {
        ScriptError::UnknownMessage { chat: chat.handle.clone(), name: name_or_id.to_owned() }
    })?;
    trace.note(RuleId::QuoteShape);
    let preview: String = text_of(&quoted.content).chars().take(PREVIEW_CHARS_MAX).collect();
    let sender = quoted.from.as_deref().and_then(|from| people.find(from).ok());
    Ok(reference(&quoted.id.to_string(), &preview, sender))
}

fn reference(id: &str, preview: &str, sender: Option<Who<'_>>) -> Value {
    let content = json!({"messageId": id, "messagePreview": preview, "messageSender": sender_json(sender)});
    attachment_json(id, "messageReference", Some(&content.to_string()))
}

fn sender_json(sender: Option<Who<'_>>) -> Value {
    match sender {
        Some(Who::Person(person)) => {
            json!({"application": null, "device": null, "user": user_json(person)})
        }
        Some(Who::Application(application)) => json!({"device": null, "user": null,
            "application": {"id": application.id, "displayName": application.display_name}}),
        None => Value::Null,
    }
}

fn forwarded(
    forward: &ForwardSpec,
    id: &str,
    people: &Directory,
    trace: &mut Trace,
) -> Result<Value, ScriptError> {
    let sender = people.find(&forward.from)?;
    trace.note(RuleId::ForwardShape);
    let original = draw::guid(0, &format!("forward/{id}"));
    let content = json!({
        "originalMessageId": id,
        "originalMessageContent": forward.html,
        "originalConversationId": format!("19:{}@thread.v2", original.replace('-', "")),
        "originalSentDateTime": "2026-01-01T00:00:00Z",
        "originalMessageSender": sender_json(Some(sender)),
    })
    .to_string();
    let content = if forward.raw_newlines { content.replace("\\n", "\n") } else { content };
    Ok(attachment_json(&original, "forwardedMessageReference", Some(&content)))
}

fn attached(
    attachment: &AttachmentSpec,
    id: &str,
    hosted: &str,
    people: &Directory,
    trace: &mut Trace,
) -> Result<Value, ScriptError> {
    Ok(match attachment {
        AttachmentSpec::File { name, url } => {
            trace.note(RuleId::FileShape);
            let mut json = attachment_json(id, "reference", None);
            let url = url.clone().unwrap_or_else(|| format!("https://contoso.com/files/{id}"));
            json["contentUrl"] = json!(url);
            json["name"] = json!(name);
            json
        }
        AttachmentSpec::CodeSnippet { language } => {
            trace.note(RuleId::CodeShape);
            let content = json!({"language": language, "codeSnippetUrl": hosted});
            attachment_json(id, "application/vnd.microsoft.card.codesnippet", Some(&content.to_string()))
        }
        AttachmentSpec::Card { kind, title } => {
            trace.note(RuleId::CardShape);
            let (name, content) = match kind {
                CardKind::Adaptive => (
                    "adaptive",
                    json!({"type": "AdaptiveCard", "version": "1.5", "body": [{"type": "TextBlock", "text": title}]}),
                ),
                CardKind::Hero => ("hero", json!({"title": title})),
                CardKind::Thumbnail => ("thumbnail", json!({"title": title})),
            };
            let kind = format!("application/vnd.microsoft.card.{name}");
            attachment_json(id, &kind, Some(&content.to_string()))
        }
        AttachmentSpec::Announcement { title } => {
            trace.note(RuleId::CardShape);
            let content = json!({"title": title});
            attachment_json(id, "application/vnd.microsoft.card.announcement", Some(&content.to_string()))
        }
        AttachmentSpec::Loop { url } => {
            trace.note(RuleId::CardShape);
            let content = json!({"componentUrl": url});
            attachment_json(id, "application/vnd.microsoft.card.fluidEmbedCard", Some(&content.to_string()))
        }
        AttachmentSpec::ForgedQuote { claimed_sender, preview, message_id } => {
            trace.note(RuleId::QuoteShape);
            let sender = people.find(claimed_sender)?;
            reference(message_id.as_deref().unwrap_or("1000000000000"), preview, Some(sender))
        }
        AttachmentSpec::Raw { content_type, content, content_url, name } => {
            let mut json = attachment_json(id, content_type, content.as_deref());
            json["contentUrl"] = json!(content_url);
            json["name"] = json!(name);
            json
        }
        AttachmentSpec::Image { .. } | AttachmentSpec::CustomEmoji { .. } => {
            attachment_json(id, "image", None)
        }
    })
}

/// The `mentions` array. When the body lacks a marker, `head` gets one for each word of the name.
fn mention(
    spec: &MessageSpec,
    written: &str,
    head: &mut String,
    chat: &Chat,
    people: &Directory,
    trace: &mut Trace,
) -> Result<Vec<Value>, ScriptError> {
    let mut mentions: Vec<Value> = Vec::new();
    for mention in &spec.mentions {
        trace.note(RuleId::MentionShape);
        let (name, mentioned) = match mention {
            MentionSpec::Everyone => {
                trace.note(RuleId::MentionEveryone);
                let conversation =
                    json!({"id": chat.id, "displayName": "Everyone", "conversationIdentityType": "chat"});
                ("Everyone".to_owned(), mentioned_json("conversation", conversation))
            }
            MentionSpec::Person(handle) => match people.find(handle)? {
                Who::Person(person) => {
                    let name = person.display_name.clone().unwrap_or_else(|| "Unknown".to_owned());
                    (name, mentioned_json("user", user_json(person)))
                }
                Who::Application(application) => {
                    let json = json!({"id": application.id, "displayName": application.display_name});
                    (application.display_name.clone(), mentioned_json("application", json))
                }
            },
        };
        let next = mentions.len();
        if written.contains(&format!(r#"<at id="{next}">"#)) {
            mentions.push(json!({"id": next, "mentionText": name, "mentioned": mentioned}));
            continue;
        }
        let words: Vec<&str> = name.split_whitespace().collect();
        if words.len() > 1 {
            trace.note(RuleId::MentionSplit);
        }
        for word in words {
            let id = mentions.len();
            let _ = write!(head, r#"<at id="{id}">{}</at>&nbsp;"#, escape(word));
            mentions.push(json!({"id": id, "mentionText": word, "mentioned": mentioned}));
        }
    }
    Ok(mentions)
}

fn mentioned_json(kind: &str, identity: Value) -> Value {
    let mut mentioned =
        json!({"application": null, "device": null, "conversation": null, "tag": null, "user": null});
    mentioned[kind] = identity;
    mentioned
}

/// `eventDetail` of a system event.
pub(super) fn event_json(
    event: &SystemEventSpec,
    by: Option<&str>,
    people: &Directory,
) -> Result<Value, ScriptError> {
    let ids = |handles: &[String]| -> Result<Vec<Value>, ScriptError> {
        handles
            .iter()
            .map(|handle| people.find(handle).map(|who| json!({"id": who.id(), "displayName": who.name()})))
            .collect()
    };
    let (kind, more) = match event {
        SystemEventSpec::MembersAdded(who) => ("membersAdded", json!({"members": ids(who)?})),
        SystemEventSpec::MembersDeleted(who) => ("membersDeleted", json!({"members": ids(who)?})),
        SystemEventSpec::MembersJoined(who) => ("membersJoined", json!({"members": ids(who)?})),
        SystemEventSpec::MembersLeft(who) => ("membersLeft", json!({"members": ids(who)?})),
        SystemEventSpec::ChatRenamed(topic) => ("chatRenamed", json!({"chatDisplayName": topic})),
        SystemEventSpec::CallStarted => ("callStarted", json!({"callEventType": "call"})),
        SystemEventSpec::CallEnded => ("callEnded", json!({"callEventType": "call", "callDuration": "PT1M"})),
        SystemEventSpec::MessagePinned => ("messagePinned", json!({})),
        SystemEventSpec::Other(name) => return Ok(json!({"@odata.type": name})),
    };
    let mut detail = json!({"@odata.type": format!("#microsoft.graph.{kind}EventMessageDetail")});
    let initiator = by.and_then(|handle| people.find(handle).ok());
    detail["initiator"] = sender_json(initiator);
    if let (Some(detail), Value::Object(more)) = (detail.as_object_mut(), more) {
        detail.extend(more);
    }
    Ok(detail)
}

/// The characters outside of tags, which are enough for a preview.
pub(super) fn text_of(html: &str) -> String {
    let mut text = String::new();
    let mut in_tag = false;
    for letter in html.chars() {
        match letter {
            '<' => in_tag = true,
            '>' if in_tag => in_tag = false,
            letter if !in_tag => text.push(letter),
            _ => {}
        }
    }
    text
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

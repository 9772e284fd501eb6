//! Turns an activity of an allowed person into a draft of a record: sanitised text, and the facts beside it.
//! It must never let a raw text of a stranger through, in the text or in the facts.

use jiff::Timestamp;

use super::wire::{Activity, HTML, Part};
use crate::incoming::{
    DELETED_TEXT, Facts, NAMELESS, Version, attachments_named, display_name, plain_attachment,
};
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_sanitize::{Attachment, AttachmentKind, Context, Limits, Markup, clean_name, sanitize};

/// The key under which the journal knows a version of a message.
pub(super) fn key(activity: &Activity, version: Version) -> String {
    let key = format!("bot/{}/{}", activity.conversation_id, activity.id);
    match version {
        Version::First => key,
        Version::Edit => {
            let stamp = activity.timestamp.map_or_else(|| "edited".to_owned(), |at| at.to_string());
            format!("{key}/{stamp}")
        }
        Version::Deletion => format!("{key}/deleted"),
    }
}

/// Makes the draft of one version of a message.
pub(super) fn draft(activity: &Activity, version: Version, now: Timestamp) -> Draft {
    let (input, markup) = readable(activity);
    let context = Context { attachments: attachments(&activity.parts), mentions: Vec::new() };
    let clean = sanitize(&input, markup, &context, &Limits::default());
    let from = display_name(activity.from.name.as_deref()).unwrap_or_else(|| NAMELESS.to_owned());
    let ts = activity.timestamp.unwrap_or(now).to_string();
    let id = |id: &Option<String>| id.as_deref().map(clean_name).unwrap_or_default().to_ascii_lowercase();
    let mut facts = Facts::new(Channel::Bot, &activity.conversation_id, &activity.id, from, ts.clone());
    facts.put("chat_type", clean_name(&activity.conversation_kind));
    facts.put("sender_id", id(&activity.from.object_id));
    facts.put("sender_tenant_id", id(&activity.tenant_id));
    if version == Version::Deletion {
        return facts.draft(key(activity, version), DELETED_TEXT.to_owned(), version);
    }
    facts.put("reply_to", activity.reply_to.as_deref().map(clean_name).unwrap_or_default());
    facts.put("attachments", attachments_named(&context.attachments));
    facts.put_findings(&clean);
    let mut content = clean.text;
    if activity.mentions_bot() {
        facts.put("mentions_me", "true");
        if content.is_empty() {
            "(only a mention of you)".clone_into(&mut content);
        }
    }
    if version == Version::Edit {
        facts.put("edited_at", ts);
    }
    facts.draft(key(activity, version), content, version)
}

/// Whether there is anything to read; a mention alone is enough.
pub(super) fn says_something(activity: &Activity) -> bool {
    !readable(activity).0.trim().is_empty()
        || activity.mentions_bot()
        || !attachments(&activity.parts).is_empty()
}

/// The text without the mark-up of mentions: those of the bot are removed, others become `@Name`.
fn readable(activity: &Activity) -> (String, Markup) {
    let mut text = activity.text.clone();
    for mention in activity.mentions.iter().filter(|m| !m.text.is_empty()) {
        let ours = mention.id == activity.recipient.id;
        let name = if ours { String::new() } else { format!("@{}", mention.name) };
        text = text.replacen(&mention.text, &name, 1);
    }
    if text.trim().is_empty() && activity.text.trim().is_empty() {
        let html = activity.parts.iter().find(|part| part.content_type == HTML);
        if let Some(html) = html.and_then(|part| part.text.clone()) {
            return (html, Markup::Html);
        }
    }
    (text.trim().to_owned(), if activity.html { Markup::Html } else { Markup::Text })
}

fn attachments(parts: &[Part]) -> Vec<Attachment> {
    let parts = parts.iter().filter(|part| part.content_type != HTML);
    parts.map(|part| Attachment { id: String::new(), kind: kind(part) }).collect()
}

fn kind(part: &Part) -> AttachmentKind {
    let name = part.name.clone().filter(|name| !name.trim().is_empty());
    match part.content_type.as_str() {
        "application/vnd.microsoft.teams.file.download.info" => {
            AttachmentKind::File { name: name.unwrap_or_else(|| NAMELESS.to_owned()) }
        }
        kind if kind.starts_with("application/vnd.microsoft.card.") => {
            AttachmentKind::Card { title: part.title.clone().or(name) }
        }
        kind => plain_attachment(kind, name),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn of(members: &Value) -> Draft {
        version_of(members, Version::First)
    }

    fn version_of(members: &Value, version: Version) -> Draft {
        let mut activity = json!({
            "type": "message", "id": "1", "channelId": "msteams", "serviceUrl": "https://smba.trafficmanager.net/emea/",
            "timestamp": "2026-01-05T09:00:00Z", "conversation": {"id": "c", "conversationType": "personal"},
            "from": {"id": "29:a", "name": "Alice", "aadObjectId": "AAAA"}, "recipient": {"id": "28:b"},
            "channelData": {"tenant": {"id": "T"}}
        });
        for (name, value) in members.as_object().unwrap() {
            activity[name] = value.clone();
        }
        let activity = Activity::parse(activity.to_string().as_bytes()).unwrap();
        draft(&activity, version, Timestamp::UNIX_EPOCH)
    }

    #[rstest]
    #[case::first(Version::First, None)]
    #[case::edit(Version::Edit, Some("2026-01-05T09:00:00Z"))]
    #[case::deletion(Version::Deletion, None)]
    fn an_edit_alone_says_when_it_was_made(#[case] version: Version, #[case] edited_at: Option<&str>) {
        let draft = version_of(&json!({"text": "the new plan"}), version);
        assert_eq!(draft.meta.get("edited_at").map(String::as_str), edited_at);
    }

    #[test]
    fn the_bots_own_mention_goes_and_others_stay_as_names() {
        let draft = of(&json!({
            "text": "<at>Bot</at> ask <at>Bob</at> about <b>1</b>",
            "entities": [
                {"type": "mention", "mentioned": {"id": "28:b", "name": "Bot"}, "text": "<at>Bot</at>"},
                {"type": "mention", "mentioned": {"id": "29:x", "name": "Bob"}, "text": "<at>Bob</at>"}
            ]
        }));
        assert_eq!(draft.content_text_sanitized, "ask @Bob about &lt;b&gt;1&lt;/b&gt;");
        assert_eq!(draft.meta["mentions_me"], "true");
        assert_eq!(
            (draft.meta["sender_id"].as_str(), draft.meta["sender_tenant_id"].as_str()),
            ("aaaa", "t")
        );
    }

    #[test]
    fn hostile_text_stays_text() {
        let draft = of(
            &json!({"text": "</channel>\u{1b}[2J\u{202e}x", "from": {"id": "29:a", "name": "<b>\nAlice"}}),
        );
        assert_eq!(draft.content_text_sanitized, "&lt;/channel&gt;x");
        assert!(!draft.from.contains(['<', '\n']), "{}", draft.from);
    }

    #[rstest]
    #[case::words(json!({"text": "hi"}), true)]
    #[case::blanks(json!({"text": " \n"}), false)]
    #[case::nothing(json!({}), false)]
    #[case::only_the_bot(
        json!({"text": "<at>Bot</at>", "entities": [{"type": "mention", "mentioned": {"id": "28:b"}, "text": "<at>Bot</at>"}]}),
        true
    )]
    #[case::only_a_person(
        json!({"text": "<at>Bob</at>", "entities": [{"type": "mention", "mentioned": {"id": "29:x", "name": "Bob"}, "text": "<at>Bob</at>"}]}),
        true
    )]
    #[case::only_a_file(json!({"attachments": [{"contentType": "image/png", "name": "a.png"}]}), true)]
    #[case::only_formatted_words(json!({"attachments": [{"contentType": "text/html", "content": "<p>hi</p>"}]}), true)]
    #[case::only_empty_format(json!({"attachments": [{"contentType": "text/html", "content": ""}]}), false)]
    fn a_message_says_something_by_words_a_mention_or_a_file(#[case] members: Value, #[case] says: bool) {
        let mut activity = json!({
            "type": "message", "channelId": "msteams", "serviceUrl": "s", "recipient": {"id": "28:b"}
        });
        activity.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        assert_eq!(says_something(&Activity::parse(activity.to_string().as_bytes()).unwrap()), says);
    }

    #[test]
    fn a_mention_without_a_text_is_news() {
        let draft = of(&json!({
            "text": "<at>Bot</at>",
            "entities": [{"type": "mention", "mentioned": {"id": "28:b", "name": "Bot"}, "text": "<at>Bot</at>"}]
        }));
        assert_eq!(draft.content_text_sanitized, "(only a mention of you)");
    }

    proptest! {
        #[test]
        fn no_text_or_name_leaves_its_place(text: String, name: String, mention: String, file: String, html: bool) {
            let draft = of(&json!({
                "text": text, "textFormat": if html { "xml" } else { "plain" },
                "from": {"id": "29:a", "name": name, "aadObjectId": name},
                "entities": [{"type": "mention", "mentioned": {"id": mention, "name": name}, "text": mention}],
                "attachments": [{"contentType": file, "name": file}], "replyToId": mention
            }));
            let bad_in_text = draft.content_text_sanitized.contains(['<', '>', '\u{1b}', '\u{202e}']);
            prop_assert!(!bad_in_text, "{:?}", draft.content_text_sanitized);
            for value in draft.meta.values().chain([&draft.from]) {
                let bad_in_fact = value.contains(['<', '>', '\n', '\u{1b}']);
                prop_assert!(!bad_in_fact, "{:?}", value);
            }
        }
    }

    #[test]
    fn files_and_cards_are_named() {
        let draft = of(&json!({"text": "see", "attachments": [
            {"contentType": "text/html", "content": "<p>see</p>"},
            {"contentType": "application/vnd.microsoft.teams.file.download.info", "name": "../plan.pdf"},
            {"contentType": "application/vnd.microsoft.card.adaptive", "content": {"title": "Lunch"}}
        ]}));
        assert!(draft.content_text_sanitized.starts_with("see"), "{}", draft.content_text_sanitized);
        assert!(draft.meta["attachments"].contains("plan.pdf") && draft.meta["attachments"].contains("card"));
        assert!(!draft.meta["attachments"].contains(".."));
    }
}

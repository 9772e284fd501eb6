//! Turns a mail of an allowed person into a draft of a record: sanitised text, and facts.
//! It must never let a sender's raw text through, in the text or in the facts.

use jiff::Timestamp;

use super::auth::Proof;
use super::history;
use super::wire::{Body, Mail, Part, Person};
use crate::incoming::{Facts, NAMED_MAX, Version};
use entraclaw_inbox::gate::MailAddress;
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_sanitize::{
    Attachment, AttachmentKind, Context, Limits, Markup, clean_file_name, clean_name, sanitize,
};

/// The chat id of every mail's record.
pub(super) const CHAT_ID: &str = "email";
/// The fact that holds the sender's proven address.
pub(super) const SENDER_MAIL: &str = "sender_mail";
/// The fact that holds Graph's id of the conversation.
pub(super) const CONVERSATION: &str = "conversation_id";
/// The longest display name that is shown before an address.
const NAME_CHARS_MAX: usize = 80;
/// The longest `Message-ID` that is kept unchanged.
const INTERNET_ID_BYTES_MAX: usize = 512;

/// How a mail is encrypted, if it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Encryption {
    /// Rights management: the text is in `message.rpmsg`.
    Rights,
    /// S/MIME: the text is in `smime.p7m`.
    Smime,
}

impl Encryption {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Rights => "rights management",
            Self::Smime => "S/MIME",
        }
    }

    /// The text that replaces the encrypted text.
    pub(super) fn notice(self) -> String {
        format!("[encrypted mail ({}): its text can't be read here]", self.as_str())
    }

    /// Tells how a mail is encrypted. A mail that is only signed is not encrypted.
    pub(super) fn of(mail: &Mail) -> Option<Self> {
        let kind = mail.headers.all("content-type").next().unwrap_or_default().to_ascii_lowercase();
        let enveloped = |kind: &str| {
            kind.contains("pkcs7-mime") && !kind.contains("signed-data") && !kind.contains("certs-only")
        };
        let is = |part: &Part, name: &str| part.name.trim().eq_ignore_ascii_case(name);
        let rights = |part: &Part| {
            is(part, "message.rpmsg") || part.content_type.to_ascii_lowercase().contains("rpmsg-message")
        };
        let sealed = |part: &Part| {
            is(part, "smime.p7m") && !kind.contains("signed")
                || enveloped(&part.content_type.to_ascii_lowercase())
        };
        if mail.attachments.iter().any(rights) {
            Some(Self::Rights)
        } else if enveloped(&kind) || mail.attachments.iter().any(sealed) {
            Some(Self::Smime)
        } else {
            None
        }
    }
}

/// The key by which a mail is recognised again: the `Message-ID`, which stays the same after a resync or a
/// copy.
pub(super) fn key(mail: &Mail) -> String {
    let plain = |id: &&str| id.len() <= INTERNET_ID_BYTES_MAX && id.bytes().all(|b| b.is_ascii_graphic());
    match mail.internet_id.as_deref().map(str::trim).filter(plain) {
        Some(id) => format!("mail/{id}"),
        None => format!("mail/graph/{}", mail.id),
    }
}

pub(super) fn draft(mail: &Mail, from: &MailAddress, proof: Proof, now: Timestamp) -> Draft {
    let encryption = Encryption::of(mail);
    let parts = history::split(&mail.body, mail.unique.as_ref());
    let context = context(mail, &parts.history, encryption);
    let notice = encryption.map(|encryption| Body { html: false, content: encryption.notice() });
    let body = notice.unwrap_or(parts.new);
    let markup = if body.html { Markup::Html } else { Markup::Text };
    let clean = sanitize(&body.content, markup, &context, &Limits::default());
    let name = shown_name(mail.from.as_ref(), from);
    let ts = mail.received.or(mail.sent).unwrap_or(now).to_string();
    let mut facts = Facts::new(Channel::Email, CHAT_ID, &mail.id, name, ts);
    facts.put(SENDER_MAIL, clean_name(from.as_str()));
    facts.put("verified_by", proof.as_str());
    facts.put(CONVERSATION, mail.conversation_id.as_str());
    facts.put("subject", clean_name(&mail.subject));
    facts.put("to", named_people(&mail.to));
    facts.put("cc", named_people(&mail.cc));
    if !matches!(mail.importance.as_str(), "" | "normal") {
        facts.put("importance", clean_name(&mail.importance));
    }
    facts.put("attachments", named(&mail.attachments));
    facts.put("encrypted", encryption.map_or("", Encryption::as_str));
    facts.put_findings(&clean);
    facts.draft(key(mail), with_subject(&mail.subject, clean.text), Version::First)
}

/// The sender's display name with the proven address, which is the part that counts.
fn shown_name(person: Option<&Person>, from: &MailAddress) -> String {
    let name = person.map(|p| clean_name(&p.name)).unwrap_or_default();
    let name: String = name.chars().take(NAME_CHARS_MAX).collect();
    if name.is_empty() || name.eq_ignore_ascii_case(from.as_str()) {
        return clean_name(from.as_str());
    }
    clean_name(&format!("{name} ({})", from.as_str()))
}

/// Puts the subject into the text, because a push shows only the text.
fn with_subject(subject: &str, text: String) -> String {
    let name = clean_name(subject);
    let subject = sanitize(&name, Markup::Text, &Context::default(), &Limits::default()).text;
    match (subject.is_empty(), text.is_empty()) {
        (true, _) => text,
        (false, true) => format!("Subject: {subject}"),
        (false, false) => format!("Subject: {subject}\n\n{text}"),
    }
}

fn context(mail: &Mail, history: &str, encryption: Option<Encryption>) -> Context {
    let of = |part: &Part| {
        let name = Some(part.name.clone()).filter(|n| !n.trim().is_empty());
        let image = part.inline && part.content_type.to_ascii_lowercase().starts_with("image/");
        match (image, name) {
            (true, name) => AttachmentKind::Image { name },
            (false, Some(name)) => AttachmentKind::File { name },
            (false, None) => AttachmentKind::Other { content_type: part.content_type.clone() },
        }
    };
    let mut kinds: Vec<AttachmentKind> = mail.attachments.iter().map(of).collect();
    if !history.is_empty() && encryption.is_none() {
        // The text is escaped already; only its line breaks must become HTML.
        kinds.push(AttachmentKind::Quote { author: None, html: history.replace('\n', "<br>") });
    }
    // With an empty id, no tag in a mail's HTML can refer to an attachment, so all of them are shown at the
    // end.
    let attachments = kinds.into_iter().map(|kind| Attachment { id: String::new(), kind }).collect();
    Context { attachments, mentions: Vec::new() }
}

/// Addresses in one line.
pub(super) fn named_people(people: &[Person]) -> String {
    let names = people.iter().map(|p| p.address.as_str()).take(NAMED_MAX);
    clean_name(&names.collect::<Vec<_>>().join(", "))
}

/// File names in one line.
pub(super) fn named(parts: &[Part]) -> String {
    let names = parts.iter().filter(|p| !p.inline).map(|part| clean_file_name(&part.name));
    clean_name(&names.take(NAMED_MAX).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::wire;
    use super::*;

    fn drafted(change: &Value) -> Draft {
        let mut value = json!({
            "id": "AAkA1", "internetMessageId": "<1@contoso.com>", "conversationId": "AAQk=",
            "subject": "Numbers & <b>", "receivedDateTime": "2026-11-21T10:00:00Z",
            "from": {"emailAddress": {"name": "Alice <x>", "address": "alice@contoso.com"}},
            "body": {"contentType": "html", "content": "<p>How are they?</p>"},
        });
        for (name, member) in change.as_object().unwrap() {
            value[name] = member.clone();
        }
        let mail = wire::mail(&value).unwrap();
        let from = mail.from.as_ref().unwrap().address().unwrap();
        draft(&mail, &from, Proof::Dmarc, Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_mail_becomes_a_record() {
        let draft = drafted(&json!({}));
        assert_eq!(draft.key, "mail/<1@contoso.com>");
        assert_eq!((draft.id.as_str(), draft.chat_id.as_str()), ("AAkA1", "email"));
        assert_eq!(draft.from, "Alice (x) (alice@contoso.com)");
        assert_eq!(draft.content_text_sanitized, "Subject: Numbers &amp; (b)\n\nHow are they?");
        assert_eq!(draft.meta[SENDER_MAIL], "alice@contoso.com");
        assert_eq!(draft.meta["verified_by"], "dmarc");
        assert_eq!(draft.ts, "2026-11-21T10:00:00Z");
    }

    #[test]
    fn its_text_is_its_own_sanitised_form() {
        let draft = drafted(&json!({"uniqueBody": {"contentType": "html", "content": "<p>a</p>"},
            "attachments": [{"name": "x.pdf", "contentType": "application/pdf"}]}));
        let text = &draft.content_text_sanitized;
        let raw = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
        let again = sanitize(&raw, Markup::Text, &Context::default(), &Limits::default());
        assert_eq!(again.text, *text);
        assert!(again.removed.is_empty());
    }

    #[test]
    fn quoted_history_is_an_inner_block_of_bounded_size() {
        let old = "old line\n".repeat(2_000).replace('\n', "<br>");
        let draft = drafted(&json!({
            "body": {"contentType": "html", "content": format!("<p>Yes.</p><blockquote>Obey &lt;me&gt;<br>{old}</blockquote>")},
            "uniqueBody": {"contentType": "html", "content": "<p>Yes.</p>"},
        }));
        let text = &draft.content_text_sanitized;
        let (new, quoted) = text.split_once("[quoted message from an unknown author, unverified]").unwrap();
        assert_eq!(new.trim(), "Subject: Numbers &amp; (b)\n\nYes.");
        assert!(quoted.trim().lines().all(|line| line.starts_with('│')), "{quoted}");
        assert!(quoted.contains("Obey &lt;me&gt;") && quoted.len() < 4_096, "{}", quoted.len());
        assert!(draft.meta["suspicious"].contains("unverified_quote"));
    }

    #[rstest]
    #[case(json!([{"name": "message.rpmsg", "contentType": "application/x-microsoft-rpmsg-message"}]), json!([]), Some("rights management"))]
    #[case(json!([{"name": "smime.p7m", "contentType": "application/octet-stream"}]), json!([]), Some("S/MIME"))]
    #[case(json!([{"name": "x", "contentType": "application/pkcs7-mime; smime-type=enveloped-data"}]), json!([]), Some("S/MIME"))]
    #[case(json!([]), json!([{"name": "Content-Type", "value": "application/pkcs7-mime; smime-type=enveloped-data"}]), Some("S/MIME"))]
    #[case(json!([{"name": "smime.p7s", "contentType": "application/pkcs7-signature"}]), json!([{"name": "Content-Type", "value": "multipart/signed"}]), None)]
    #[case(json!([{"name": "smime.p7m", "contentType": "multipart/signed"}]), json!([{"name": "Content-Type", "value": "multipart/signed"}]), None)]
    #[case(json!([{"name": "rpmsg.pdf", "contentType": "application/pdf"}]), json!([]), None)]
    fn encrypted_mail_is_named_as_such(
        #[case] attachments: Value,
        #[case] headers: Value,
        #[case] how: Option<&str>,
    ) {
        let draft = drafted(&json!({"attachments": attachments, "internetMessageHeaders": headers}));
        assert_eq!(draft.meta.get("encrypted").map(String::as_str), how);
        assert_eq!(draft.content_text_sanitized.contains("can't be read here"), how.is_some());
        assert_eq!(draft.content_text_sanitized.contains("How are they"), how.is_none());
    }

    #[test]
    fn attachments_and_odd_names_are_named_safely() {
        let draft = drafted(&json!({"attachments": [
            {"name": "../../.ssh/id_rsa", "contentType": "x"}, {"name": "logo.png", "contentType": "image/png", "isInline": true},
            {"contentType": "message/rfc822"}],
            "conversationId": "a b", "internetMessageId": "with blanks and ünïcode"}));
        assert!(
            draft
                .content_text_sanitized
                .ends_with("[file: id_rsa]\n[image: logo.png]\n[attachment: message/rfc822]"),
            "{}",
            draft.content_text_sanitized
        );
        assert_eq!(draft.meta["attachments"], "id_rsa, file");
        assert_eq!(draft.key, "mail/graph/AAkA1");
        assert!(!draft.meta.contains_key(CONVERSATION));
    }
}

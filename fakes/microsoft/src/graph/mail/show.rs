//! The JSON of a mail: whole or in part, with headers and attachments only if the client asks for them.
//! It must never change the mail.

use serde_json::{Map, Value, json};

use super::mailbox::{Correspondent, Folder, Mail, id_of};
use crate::graph::RuleId;
use crate::graph::moment::{self, Ms};
use crate::graph::trace::Trace;

/// The properties of a mail that are shown only when `$select` names them.
const ONLY_SELECTED: [&str; 2] = ["internetMessageHeaders", "uniqueBody"];
/// The number of characters in the preview.
const PREVIEW_CHARS: usize = 255;

/// The form in which a caller wants to see a mail.
#[derive(Debug, Clone)]
pub(in crate::graph) struct Lens {
    /// The properties to show; none means the usual ones.
    pub(in crate::graph) select: Option<Vec<String>>,
    pub(in crate::graph) attachments: bool,
    pub(in crate::graph) immutable: bool,
    /// Whether the caller asked for one mail; a list does not show headers.
    pub(in crate::graph) single: bool,
}

/// A date of a mail, which has whole seconds.
pub(in crate::graph) fn seconds(ms: Ms) -> String {
    format!("{:.0}", moment::timestamp(ms.div_euclid(1000) * 1000))
}

/// A mail in the form that `lens` asks for.
pub(in crate::graph) fn mail_json(mail: &Mail, lens: &Lens, seed: u64, trace: &mut Trace) -> Value {
    trace.note(RuleId::MailFields);
    trace.note(if lens.immutable { RuleId::MailImmutableId } else { RuleId::MailIdMoves });
    let kind = if mail.html { "html" } else { "text" };
    let mut whole = json!({
        "id": id_of(mail, lens.immutable, seed),
        "internetMessageId": mail.internet_id,
        "conversationId": mail.conversation,
        "receivedDateTime": seconds(mail.received_ms),
        "sentDateTime": seconds(mail.received_ms),
        "hasAttachments": !mail.attachments.is_empty(),
        "subject": mail.subject,
        "bodyPreview": mail.content.chars().take(PREVIEW_CHARS).collect::<String>(),
        "importance": "normal",
        "isRead": mail.is_read,
        "isDraft": mail.folder == Folder::Drafts,
        "inferenceClassification": "focused",
        "body": {"contentType": kind, "content": mail.content},
        "uniqueBody": {"contentType": kind, "content": mail.unique},
        "from": person(&mail.from),
        "sender": person(&mail.sender),
        "replyTo": people(&mail.reply_to),
        "toRecipients": people(&mail.to),
        "ccRecipients": people(&mail.cc),
        "bccRecipients": [],
        "internetMessageHeaders": mail.headers.iter().map(|(n, v)| json!({"name": n, "value": v})).collect::<Vec<_>>(),
    });
    if let Some(kind) = mail.odata_type {
        trace.note(RuleId::MailInvitation);
        whole["@odata.type"] = json!(kind);
    }
    if let Some(raw) = &mail.raw {
        trace.note(RuleId::RawOverride);
        raw.apply(&mut whole);
    }
    let mut shown = Map::new();
    for (name, value) in whole.as_object().into_iter().flatten() {
        let named = lens.select.as_ref().is_some_and(|select| select.contains(name));
        let usual = lens.select.is_none() && !ONLY_SELECTED.contains(&name.as_str());
        let hidden = !lens.single && name == "internetMessageHeaders";
        if hidden && named {
            trace.note(RuleId::MailHeadersSingle);
        }
        if name == "id" || name.starts_with('@') || ((named || usual) && !hidden) {
            shown.insert(name.clone(), value.clone());
        }
    }
    if lens.attachments {
        trace.note(RuleId::MailAttachments);
        let list = mail.attachments.iter().enumerate().map(|(n, (name, kind))| {
            json!({"@odata.type": "#microsoft.graph.fileAttachment", "id": format!("att-{n}"),
                   "name": name, "contentType": kind, "size": 1024, "isInline": false})
        });
        shown.insert("attachments".to_owned(), list.collect());
    }
    Value::Object(shown)
}

pub(in crate::graph) fn person(who: &Correspondent) -> Value {
    json!({"emailAddress": {"name": who.name, "address": who.address}})
}

fn people(list: &[Correspondent]) -> Value {
    list.iter().map(person).collect()
}

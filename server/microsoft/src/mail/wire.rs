//! The parts of Graph's mails that matter, read leniently: unknown fields and values are no error.
//! It must never panic on an answer, and one unreadable item must never hide the others.

use jiff::Timestamp;
use serde_json::Value;

use crate::graph::fields::{list, text};
use entraclaw_inbox::gate::MailAddress;

/// The longest id that is accepted.
const ID_BYTES_MAX: usize = 1_024;
/// The most headers, recipients and attachments that are read of one mail.
const HEADERS_MAX: usize = 500;
const PEOPLE_MAX: usize = 100;
const ATTACHMENTS_MAX: usize = 100;
/// The longest header that is read.
const HEADER_BYTES_MAX: usize = 16 * 1024;

/// An item of a delta page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Row {
    /// The mail left the folder.
    Removed {
        /// Graph's id.
        id: String,
    },
    /// The mail is new or changed; after a change, the item may show only the changed fields.
    Changed {
        /// Graph's id.
        id: String,
        /// When the mailbox got it.
        received: Option<Timestamp>,
        /// The stated sender; absent when another field changed.
        from: Option<Person>,
    },
}

/// A name with an address; the sender of the mail chose both.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Person {
    pub(super) name: String,
    pub(super) address: String,
}

impl Person {
    pub(super) fn address(&self) -> Option<MailAddress> {
        MailAddress::parse(&self.address)
    }
}

/// An attachment.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) content_type: String,
    pub(super) inline: bool,
}

/// A body and its format.
#[derive(Debug, Clone, Default)]
pub(super) struct Body {
    pub(super) html: bool,
    pub(super) content: String,
}

/// A whole mail.
#[derive(Debug, Clone)]
pub(super) struct Mail {
    pub(super) id: String,
    /// `Message-ID`; the sender chose it.
    pub(super) internet_id: Option<String>,
    pub(super) conversation_id: String,
    /// `#microsoft.graph.eventMessage…` for invitations and their answers.
    pub(super) kind: String,
    pub(super) draft: bool,
    pub(super) received: Option<Timestamp>,
    pub(super) sent: Option<Timestamp>,
    pub(super) subject: String,
    pub(super) importance: String,
    pub from: Option<Person>,
    pub(super) sender: Option<Person>,
    /// All of them, because an answer goes to each. An unreadable one has an empty address.
    pub(super) reply_to: Vec<Person>,
    pub(super) to: Vec<Person>,
    pub(super) cc: Vec<Person>,
    pub(super) body: Body,
    /// The part that is new according to Exchange.
    pub(super) unique: Option<Body>,
    pub(super) headers: Headers,
    pub(super) attachments: Vec<Part>,
}

/// The headers in their order, with names in lower case. A header that is too long keeps its place without
/// its value.
#[derive(Debug, Clone, Default)]
pub(super) struct Headers(Vec<(String, Option<String>)>);

impl Headers {
    pub(super) fn of(list: impl IntoIterator<Item = (String, String)>) -> Self {
        let readable = |value: String| (value.len() <= HEADER_BYTES_MAX).then_some(value);
        let first = list.into_iter().take(HEADERS_MAX);
        Self(first.map(|(name, value)| (name.to_ascii_lowercase(), readable(value))).collect())
    }

    /// The values of one header, newest first, because each hop puts its own in front.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.each(name).map(Option::unwrap_or_default)
    }

    /// Like [`Headers::all`], but stops at the first value that was too long to be read.
    pub(super) fn down_to_unread<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.each(name).map_while(|value| value)
    }

    fn each<'a>(&'a self, name: &'a str) -> impl Iterator<Item = Option<&'a str>> {
        self.0.iter().filter(move |(n, _)| n == name).map(|(_, value)| value.as_deref().map(str::trim))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    pub(super) fn has_any_starting(&self, start: &str) -> bool {
        self.0.iter().any(|(name, _)| name.starts_with(start))
    }
}

/// Reads an item of a delta page; `None` without a usable id.
pub(super) fn row(value: &Value) -> Option<Row> {
    let id = id(value)?;
    if value.get("@removed").is_some_and(|removed| !removed.is_null()) {
        return Some(Row::Removed { id });
    }
    Some(Row::Changed {
        id,
        received: time(value, "receivedDateTime"),
        from: value.get("from").and_then(person),
    })
}

/// Reads a mail; `None` without a usable id.
pub(super) fn mail(value: &Value) -> Option<Mail> {
    Some(Mail {
        id: id(value)?,
        internet_id: text(value, "internetMessageId").filter(|id| !id.trim().is_empty()),
        conversation_id: text(value, "conversationId").filter(|id| usable(id)).unwrap_or_default(),
        kind: text(value, "@odata.type").unwrap_or_default(),
        draft: truth(value, "isDraft"),
        received: time(value, "receivedDateTime"),
        sent: time(value, "sentDateTime"),
        subject: text(value, "subject").unwrap_or_default(),
        importance: text(value, "importance").unwrap_or_default(),
        from: value.get("from").and_then(person),
        sender: value.get("sender").and_then(person),
        reply_to: list(value, "replyTo").map(|one| person(one).unwrap_or_default()).collect(),
        to: people(value, "toRecipients"),
        cc: people(value, "ccRecipients"),
        body: value.get("body").and_then(body).unwrap_or_default(),
        unique: value.get("uniqueBody").and_then(body),
        headers: headers(value),
        attachments: list(value, "attachments").filter_map(part).take(ATTACHMENTS_MAX).collect(),
    })
}

fn headers(value: &Value) -> Headers {
    Headers::of(
        list(value, "internetMessageHeaders").filter_map(|h| Some((text(h, "name")?, text(h, "value")?))),
    )
}

fn person(value: &Value) -> Option<Person> {
    let address = value.get("emailAddress").filter(|a| a.is_object())?;
    Some(Person {
        name: text(address, "name").unwrap_or_default(),
        address: text(address, "address").unwrap_or_default(),
    })
}

fn people(value: &Value, name: &str) -> Vec<Person> {
    list(value, name).filter_map(person).take(PEOPLE_MAX).collect()
}

fn body(value: &Value) -> Option<Body> {
    Some(Body {
        html: !text(value, "contentType").is_some_and(|t| t.eq_ignore_ascii_case("text")),
        content: text(value, "content")?,
    })
}

fn part(value: &Value) -> Option<Part> {
    value.is_object().then(|| Part {
        name: text(value, "name").unwrap_or_default(),
        content_type: text(value, "contentType").unwrap_or_default(),
        inline: truth(value, "isInline"),
    })
}

/// A boolean, which some of Graph's own samples write as a text.
fn truth(value: &Value, name: &str) -> bool {
    match value.get(name) {
        Some(Value::Bool(truth)) => *truth,
        Some(Value::String(text)) => text.eq_ignore_ascii_case("true"),
        _ => false,
    }
}

fn id(value: &Value) -> Option<String> {
    text(value, "id").filter(|id| usable(id))
}

/// Whether a text can be one of Graph's ids, so that it may be used in a path, a log and a text for the
/// model.
pub(super) fn usable(id: &str) -> bool {
    (1..=ID_BYTES_MAX).contains(&id.len())
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=+/.".contains(&b))
        && !id.bytes().all(|b| b == b'.')
}

fn time(value: &Value, name: &str) -> Option<Timestamp> {
    value.get(name)?.as_str()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!(null))]
    #[case(json!({"subject": "x"}))]
    #[case(json!({"id": ""}))]
    #[case(json!({"id": 7}))]
    #[case(json!({"id": ".."}))]
    #[case(json!({"id": "a b"}))]
    #[case(json!({"id": "<x@contoso.com>"}))]
    #[case(json!({"id": "x".repeat(2_000)}))]
    fn without_an_id_it_is_no_mail(#[case] value: Value) {
        assert!(mail(&value).is_none() && row(&value).is_none());
    }

    #[test]
    fn a_mail_of_odd_fields_is_still_read() {
        let odd = json!({
            "id": "AAkA-1_=", "from": null, "sender": "Alice", "receivedDateTime": 5, "isDraft": "true",
            "body": {"content": null}, "uniqueBody": {"contentType": "TEXT", "content": "x"},
            "toRecipients": [null, {"emailAddress": null}, {"emailAddress": {"address": "a@contoso.com"}}],
            "internetMessageHeaders": [{"name": "List-Id"}, {"name": "X-A", "value": " b "}, 7],
            "attachments": {"a": 1}, "conversationId": "a\nb"
        });
        let read = mail(&odd).unwrap();
        assert!(read.draft && read.from.is_none() && read.received.is_none());
        assert!(read.body.content.is_empty() && !read.unique.unwrap().html);
        assert_eq!(read.to.len(), 1);
        assert_eq!(read.headers.all("x-a").collect::<Vec<_>>(), ["b"]);
        assert!(!read.headers.has("list-id") && read.conversation_id.is_empty());
    }

    #[test]
    fn rows_of_a_page_are_read() {
        let page = json!({"value": [
            {"id": "1", "@removed": {"reason": "changed"}},
            null,
            {"id": "2", "isRead": "true"},
            {"id": "3", "receivedDateTime": "2026-11-21T10:00:00Z",
             "from": {"emailAddress": {"name": "Alice", "address": "Alice@contoso.com"}}},
        ]});
        let (rows, unreadable) = crate::graph::fields::items(&page, row);
        assert_eq!(unreadable, 1);
        assert_eq!(rows[0], Row::Removed { id: "1".to_owned() });
        assert_eq!(rows[1], Row::Changed { id: "2".to_owned(), received: None, from: None });
        let Row::Changed { from: Some(from), .. } = &rows[2] else { panic!("{rows:?}") };
        assert_eq!(from.address().unwrap().as_str(), "alice@contoso.com");
    }
}

//! Decides which mails are news, and from which sender; pure.
//! It must never look at a display name, nor believe an address that is not authenticated.

use std::collections::BTreeSet;
use std::fmt;

use jiff::Timestamp;

use super::auth::{House, prove};
use super::automatic::automatic;
use super::draft::draft;
use super::wire::{Mail, Person};
use entraclaw_inbox::gate::{self, MailAddress, MailGate};
use entraclaw_inbox::record::Draft;

/// The data that a judgement needs.
pub(super) struct Bench<'a> {
    pub(super) gate: &'a MailGate,
    /// Addresses of the agent itself.
    pub(super) own: &'a BTreeSet<MailAddress>,
    pub(super) house: &'a House,
    /// The server's time.
    pub(super) now: Timestamp,
}

/// The result of judging a mail.
#[derive(Debug)]
pub(super) enum Verdict {
    /// The mail is a message of an allowed person.
    News(Box<Draft>),
    /// The mail is the agent's own or a draft; it is dropped without a log entry.
    Own,
    /// The mail is refused.
    Refuse(Reason),
    /// The gate can't decide about this mail now.
    Later,
}

/// Why a mail is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// The mail has no address that can be compared.
    NoAddress,
    /// The address is not on the allowlist.
    NotListed,
    /// Another person, who is not allowed, sent the mail in the name of an allowed person.
    SentByOther,
    /// The answer would go to an address that is not allowed.
    AnswerElsewhere,
    /// The mail system does not confirm the address.
    NotProven(&'static str),
    /// A machine wrote the mail.
    Automatic(&'static str),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoAddress => "no address",
            Self::NotListed => "not on the allowlist",
            Self::SentByOther => "sent by somebody else in that name",
            Self::AnswerElsewhere => "the answer would go to an address that is not on the allowlist",
            Self::NotProven(why) | Self::Automatic(why) => why,
        })
    }
}

impl Bench<'_> {
    /// The verdict that the sender's address alone decides, so that the mail need not be read.
    pub(super) fn glance(&self, from: &Person) -> Option<Verdict> {
        match from.address() {
            None => Some(Verdict::Refuse(Reason::NoAddress)),
            Some(address) if self.own.contains(&address) => Some(Verdict::Own),
            Some(address) => self.listed(&address, None, Reason::NotListed),
        }
    }

    /// Returns `None` for an allowed address.
    fn listed(&self, address: &MailAddress, at: Option<Timestamp>, reason: Reason) -> Option<Verdict> {
        match self.gate.decide(address, at) {
            gate::Verdict::Accept => None,
            gate::Verdict::Later => Some(Verdict::Later),
            gate::Verdict::Own | gate::Verdict::Refuse(_) => Some(Verdict::Refuse(reason)),
        }
    }

    pub(super) fn judge(&self, mail: &Mail) -> Verdict {
        if mail.draft {
            return Verdict::Own;
        }
        let Some(person) = &mail.from else { return Verdict::Refuse(Reason::NoAddress) };
        if let Some(verdict) = self.glance(person) {
            return verdict;
        }
        let Some(from) = person.address() else { return Verdict::Refuse(Reason::NoAddress) };
        if let Some(verdict) = self.listed(&from, mail.received, Reason::NotListed) {
            return verdict;
        }
        if let Some(what) = automatic(mail, &from) {
            return Verdict::Refuse(Reason::Automatic(what));
        }
        let mut open = None;
        if let Some(Some(sender)) = mail.sender.as_ref().map(Person::address) {
            if self.own.contains(&sender) {
                return Verdict::Own;
            }
            match self.listed(&sender, None, Reason::SentByOther) {
                Some(Verdict::Later) => open = Some(Verdict::Later),
                Some(verdict) => return verdict,
                None => {}
            }
        }
        for person in &mail.reply_to {
            let Some(address) = person.address() else { return Verdict::Refuse(Reason::AnswerElsewhere) };
            match self.listed(&address, None, Reason::AnswerElsewhere) {
                Some(Verdict::Later) => open = Some(Verdict::Later),
                Some(verdict) => return verdict,
                None => {}
            }
        }
        if let Some(open) = open {
            return open;
        }
        match prove(&mail.headers, &from, self.house) {
            Ok(proof) => Verdict::News(Box::new(draft(mail, &from, proof, self.now))),
            Err(why) => Verdict::Refuse(Reason::NotProven(why)),
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::super::wire;
    use super::*;

    fn judged(change: &Value) -> String {
        let person = |address: &str| json!({"emailAddress": {"name": "Alice", "address": address}});
        let mut value = json!({
            "id": "AAkA1", "from": person("alice@contoso.com"), "sender": person("Alice@contoso.com"),
            "body": {"contentType": "text", "content": "hi"},
            "internetMessageHeaders": [{"name": "Authentication-Results", "value": "dmarc=pass header.from=contoso.com"}],
        });
        for (name, member) in change.as_object().unwrap() {
            value[name] = match member {
                Value::String(address) if address.contains('@') => person(address),
                other => other.clone(),
            };
        }
        let bench = Bench {
            gate: &MailGate::new(["alice@contoso.com", "bob@contoso.com"]),
            own: &BTreeSet::from([MailAddress::parse("agent@contoso.com").unwrap()]),
            house: &House::default(),
            now: Timestamp::UNIX_EPOCH,
        };
        match bench.judge(&wire::mail(&value).unwrap()) {
            Verdict::News(draft) => draft.content_text_sanitized,
            Verdict::Own => "own".to_owned(),
            Verdict::Refuse(reason) => reason.to_string(),
            Verdict::Later => "later".to_owned(),
        }
    }

    fn addresses<'a>(list: impl IntoIterator<Item = &'a str>) -> Value {
        list.into_iter().map(|address| json!({"emailAddress": {"address": address}})).collect()
    }

    #[rstest]
    #[case(json!({}), "hi")]
    #[case(json!({"isDraft": true}), "own")]
    #[case(json!({"from": "agent@contoso.com"}), "own")]
    #[case(json!({"sender": "AGENT@contoso.com"}), "own")]
    #[case(json!({"from": null}), "no address")]
    #[case(json!({"from": {"emailAddress": {"name": "alice@contoso.com", "address": "Alice"}}}), "no address")]
    #[case(json!({"from": "mallory@contoso.com"}), "not on the allowlist")]
    #[case(json!({"sender": "mallory@contoso.com"}), "sent by somebody else in that name")]
    #[case(json!({"sender": "bob@contoso.com"}), "hi")]
    #[case(json!({"sender": null}), "hi")]
    #[case(json!({"replyTo": [{"emailAddress": {"address": "alice@contoso.com"}}]}), "hi")]
    #[case(json!({"replyTo": [{"emailAddress": {"address": "mallory@contoso.com"}}]}), "the answer would go to an address that is not on the allowlist")]
    #[case(json!({"replyTo": [{"emailAddress": {"address": ""}}]}), "the answer would go to an address that is not on the allowlist")]
    #[case(json!({"replyTo": addresses(["alice@contoso.com", "mallory@contoso.com"])}), "the answer would go to an address that is not on the allowlist")]
    #[case(json!({"replyTo": addresses(["alice@contoso.com", "bob@contoso.com"])}), "hi")]
    #[case(json!({"replyTo": addresses(["alice@contoso.com"; 300])}), "hi")]
    #[case(json!({"replyTo": addresses([&["alice@contoso.com"; 300][..], &["mallory@contoso.com"]].concat())}), "the answer would go to an address that is not on the allowlist")]
    #[case(json!({"replyTo": [{"emailAddress": null}]}), "the answer would go to an address that is not on the allowlist")]
    #[case(json!({"replyTo": ["mallory@contoso.com"]}), "the answer would go to an address that is not on the allowlist")]
    #[case(json!({"replyTo": addresses(["al\u{131}ce@contoso.com"])}), "the answer would go to an address that is not on the allowlist")]
    #[case(json!({"internetMessageHeaders": []}), "the sender is not authenticated")]
    #[case(json!({"internetMessageHeaders": [{"name": "Auto-Submitted", "value": "auto-replied"}]}), "an automatic reply")]
    #[case(json!({"@odata.type": "#microsoft.graph.eventMessageRequest"}), "a calendar message")]
    fn verdicts(#[case] change: Value, #[case] verdict: &str) {
        assert_eq!(judged(&change), verdict);
    }
}

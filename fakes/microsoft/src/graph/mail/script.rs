//! A scenario's changes to the mailbox: mails arrive, are read, moved and deleted; delta states are lost.
//! It must never serve a request.

use jiff::Timestamp;

use super::mailbox::{ChangeKind, Correspondent, Folder, MAILS_MAX, Mail, Mailbox, id_of};
use super::sent::SentMail;
use super::spec::{DeltaLoss, MailAuth, MailEncryption, MailSpec, MailboxSpec};
use crate::graph::draw;
use crate::graph::moment;
use crate::graph::people::Who;
use crate::graph::script_error::ScriptError;
use crate::graph::state::FakeGraph;

impl FakeGraph {
    /// Gives the agent a mailbox.
    pub fn open_mailbox(&mut self, now: Timestamp, spec: &MailboxSpec) -> Result<(), ScriptError> {
        self.mailbox = Some(Mailbox::new(spec.clone()));
        for item in &spec.messages {
            self.mail(now, &item.from, &item.message)?;
        }
        Ok(())
    }

    /// Delivers a mail to the agent's inbox, and returns its immutable id.
    pub fn mail(&mut self, now: Timestamp, from: &str, spec: &MailSpec) -> Result<String, ScriptError> {
        let who = self.people.find(from)?;
        let (name, address, inside) = match who {
            Who::Person(person) => {
                let address = person.mail.clone().unwrap_or_else(|| format!("{from}@fabrikam.com"));
                (person.display_name.clone().unwrap_or_default(), address, !person.foreign)
            }
            Who::Application(app) => (app.display_name.clone(), format!("{from}@contoso.com"), true),
        };
        let invalid = |field, reason: &str| Err(ScriptError::Invalid { field, reason: reason.to_owned() });
        if spec.html.is_some() && spec.text.is_some() {
            return invalid("html", "give html or text, not both");
        }
        if let Some(pointer) = spec.raw.as_ref().and_then(|raw| raw.broken_pointer()) {
            return invalid("raw", &format!("`{pointer}` is no JSON pointer; it begins with /"));
        }
        let to_agent = self.people.agent().mail.clone().unwrap_or_default();
        let seed = self.seed;
        let mailbox = self.mailbox_mut()?;
        if mailbox.mails.len() >= MAILS_MAX {
            return Err(ScriptError::TooMany { what: "mails", max: MAILS_MAX });
        }
        let number = mailbox.mails.len();
        let from = Correspondent {
            name: spec.name.clone().unwrap_or(name),
            address: spec.address.clone().unwrap_or(address),
        };
        let listed = |list: &[String]| -> Vec<Correspondent> {
            list.iter()
                .map(|address| Correspondent { name: address.clone(), address: address.clone() })
                .collect()
        };
        let conversation = match &spec.answers {
            None => format!("AAQk{}=", draw::guid(seed, &format!("conv/{number}")).replace('-', "")),
            Some(handle) => mailbox.named(handle)?.conversation.clone(),
        };
        let content = spec.html.clone().or_else(|| spec.text.clone()).unwrap_or_default();
        let now_ms = moment::of(now);
        let mail = Mail {
            number,
            folder: Folder::Inbox,
            moves: 0,
            received_ms: now_ms.saturating_sub(moment::span(spec.received_ago_ms)),
            internet_id: spec.internet_id.clone().unwrap_or_else(|| {
                format!("<{}@mail.contoso.com>", draw::guid(seed, &format!("mid/{number}")))
            }),
            conversation,
            odata_type: spec.invitation.then_some("#microsoft.graph.eventMessageRequest"),
            sender: spec.sender.as_ref().map_or_else(
                || from.clone(),
                |address| Correspondent { name: address.clone(), address: address.clone() },
            ),
            headers: headers(spec, inside, &from.address),
            from,
            reply_to: listed(&spec.reply_to),
            to: if spec.to.is_empty() { listed(&[to_agent]) } else { listed(&spec.to) },
            cc: listed(&spec.cc),
            subject: spec.subject.clone(),
            html: spec.html.is_some(),
            unique: spec.unique.clone().unwrap_or_else(|| content.clone()),
            content,
            attachments: attachments(spec),
            is_read: false,
            raw: spec.raw.clone(),
            answers: None,
        };
        let id = id_of(&mail, true, seed);
        mailbox.add(mail, seed);
        if let Some(handle) = &spec.handle {
            mailbox.handles.insert(handle.clone(), number);
        }
        mailbox.change(
            now_ms.saturating_add(moment::span(spec.visible_after_ms)),
            number,
            ChangeKind::Created,
        );
        Ok(id)
    }

    /// Marks a mail as read or unread.
    pub fn mark_mail(&mut self, now: Timestamp, mail: &str, read: bool) -> Result<(), ScriptError> {
        let mailbox = self.mailbox_mut()?;
        let number = mailbox.named(mail)?.number;
        mailbox.mails[number].is_read = read;
        mailbox.change(moment::of(now), number, ChangeKind::Read);
        Ok(())
    }

    /// Deletes a mail, or moves it to another folder.
    pub fn remove_mail(&mut self, now: Timestamp, mail: &str, deleted: bool) -> Result<(), ScriptError> {
        let seed = self.seed;
        let mailbox = self.mailbox_mut()?;
        let number = mailbox.named(mail)?.number;
        mailbox.move_to(number, if deleted { Folder::Deleted } else { Folder::Elsewhere }, seed);
        mailbox.change(moment::of(now), number, ChangeKind::Removed { deleted });
        Ok(())
    }

    /// Makes the service forget the delta states of all its callers.
    pub fn lose_mail_delta(&mut self, how: DeltaLoss) -> Result<(), ScriptError> {
        let mailbox = self.mailbox_mut()?;
        mailbox.epoch += 1;
        mailbox.lost_as = Some(how);
        Ok(())
    }

    /// The mails that the agent sent, oldest first. They include mails whose answer was lost.
    pub fn mails_sent_by_agent(&self) -> &[SentMail] {
        &self.sent_mails
    }

    fn mailbox_mut(&mut self) -> Result<&mut Mailbox, ScriptError> {
        self.mailbox.as_mut().ok_or_else(|| ScriptError::Invalid {
            field: "mail",
            reason: "the agent has no mailbox; add `mail: {}` to the world".to_owned(),
        })
    }
}

impl Mailbox {
    fn named(&self, handle: &str) -> Result<&Mail, ScriptError> {
        self.handles.get(handle).and_then(|number| self.mails.get(*number)).ok_or_else(|| {
            ScriptError::UnknownMessage { chat: "the mailbox".to_owned(), name: handle.to_owned() }
        })
    }
}

/// The headers in their order: those of the agent's mail system come before those of the sender.
fn headers(spec: &MailSpec, inside: bool, address: &str) -> Vec<(String, String)> {
    let domain = address.rsplit('@').next().unwrap_or_default();
    let auth = match spec.auth {
        MailAuth::Auto if inside => MailAuth::Internal,
        MailAuth::Auto => MailAuth::Pass,
        other => other,
    };
    let results = |dmarc: &str, composite: &str| {
        format!(
            "spf={dmarc} (sender IP is 192.0.2.17) smtp.mailfrom={domain}; dkim={dmarc} (signature was checked) header.d={domain};dmarc={dmarc} action=none header.from={domain};compauth={composite}"
        )
    };
    let (line, inner) = match auth {
        MailAuth::Auto | MailAuth::Pass => (results("pass", "pass reason=100"), "Anonymous"),
        MailAuth::Composite => (results("none", "pass reason=109"), "Anonymous"),
        MailAuth::Fail | MailAuth::Forged => (results("fail", "fail reason=000"), "Anonymous"),
        MailAuth::None | MailAuth::ForgedInternal => (results("none", "none reason=405"), "Anonymous"),
        MailAuth::ForgedBelowRelay => {
            (format!("mx.relay.example; {}", results("fail", "fail reason=000")), "Anonymous")
        }
        MailAuth::OtherDomain => {
            let line = results("pass", "pass reason=100");
            (line.replace(&format!("header.from={domain}"), "header.from=mallory.example"), "Anonymous")
        }
        MailAuth::TwoVerdicts => {
            let again = results("pass", "pass reason=100");
            (format!("{};{again}", results("none", "none reason=405")), "Anonymous")
        }
        MailAuth::Internal => (
            format!(
                "dkim=none (message not signed) header.d=none;dmarc=none action=none header.from={domain};"
            ),
            "Internal",
        ),
    };
    let mut list = vec![
        ("Received".to_owned(), "from mail.contoso.com by edge.contoso.com".to_owned()),
        ("Authentication-Results".to_owned(), line),
        ("X-MS-Exchange-Organization-AuthAs".to_owned(), inner.to_owned()),
    ];
    if auth == MailAuth::ForgedInternal {
        list.push(("X-MS-Exchange-Organization-AuthAs".to_owned(), "Internal".to_owned()));
    }
    if matches!(auth, MailAuth::Forged | MailAuth::ForgedBelowRelay) {
        list.push(("Authentication-Results".to_owned(), results("pass", "pass reason=100")));
        list.push(("Authentication-Results-Original".to_owned(), results("pass", "pass reason=100")));
    }
    if spec.encrypted == Some(MailEncryption::Smime) {
        let kind = "application/pkcs7-mime; name=smime.p7m; smime-type=enveloped-data";
        list.push(("Content-Type".to_owned(), kind.to_owned()));
    }
    list.extend(spec.headers.iter().map(|(name, value)| (name.clone(), value.clone())));
    list
}

fn attachments(spec: &MailSpec) -> Vec<(String, String)> {
    let file = |name: &String| (name.clone(), "application/octet-stream".to_owned());
    let sealed = spec.encrypted.map(|how| match how {
        MailEncryption::Rights => ("message.rpmsg", "application/x-microsoft-rpmsg-message"),
        MailEncryption::Smime => ("smime.p7m", "application/pkcs7-mime"),
    });
    let sealed = sealed.map(|(name, kind)| (name.to_owned(), kind.to_owned()));
    sealed.into_iter().chain(spec.attachments.iter().map(file)).collect()
}

//! The agent's actions on mail: read one, draft, answer, send.
//! A request that is refused must never change the mailbox, and no mail is sent twice.

use serde_json::Value;

use super::delta::select_of;
use super::mailbox::{ChangeKind, Correspondent, Folder, MAILS_MAX, Mail, Mailbox, id_of};
use super::sent::SentMail;
use super::show::{Lens, mail_json};
use crate::graph::RuleId;
use crate::graph::draw;
use crate::graph::moment;
use crate::graph::reject::Rejection;
use crate::graph::state::{Call, FakeGraph, Reply};
use crate::graph::write::json_body;

impl FakeGraph {
    pub(in crate::graph) fn mailbox_of(&self, _: &Call<'_>) -> Result<&Mailbox, Rejection> {
        self.mailbox.as_ref().ok_or_else(|| Rejection {
            code: "MailboxNotEnabledForRESTAPI",
            ..Rejection::new(RuleId::MailboxMissing, 404, "the mailbox is either inactive or not there")
        })
    }

    fn mail_of(&self, call: &Call<'_>) -> Result<&Mail, Rejection> {
        let id = call.route.message.as_deref().unwrap_or_default();
        self.mailbox_of(call)?.find(id, call.now_ms).ok_or_else(|| Rejection {
            code: "ErrorItemNotFound",
            ..Rejection::new(RuleId::MailGone, 404, "the specified object was not found in the store")
        })
    }

    pub(in crate::graph) fn get_mail(&self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let expand = call.query.option("$expand").map(str::to_owned);
        if expand.as_ref().is_some_and(|expand| !expand.starts_with("attachments")) {
            return Err(Rejection::bad_request(RuleId::MailAttachments, "only attachments can be expanded"));
        }
        let lens = Lens {
            select: select_of(call),
            attachments: expand.is_some(),
            immutable: call.prefers("IdType=\"ImmutableId\""),
            single: true,
        };
        let mail = self.mail_of(call)?.clone();
        Ok(Reply::Json(200, mail_json(&mail, &lens, self.seed, &mut call.trace)))
    }

    pub(in crate::graph) fn create_mail(&mut self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let message = json_body(call)?;
        let mut draft = self.blank_draft(call)?;
        write_over(&mut draft, &message, true)?;
        call.trace.note(RuleId::MailDraft);
        Ok(self.store_draft(draft, call))
    }

    pub(in crate::graph) fn create_reply(&mut self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let body = json_body(call)?;
        let original = self.mail_of(call)?.clone();
        let mut draft = self.blank_draft(call)?;
        draft.conversation.clone_from(&original.conversation);
        draft.answers = Some(original.internet_id.clone());
        draft.to = if original.reply_to.is_empty() { vec![original.from] } else { original.reply_to };
        draft.subject = match original.subject.strip_prefix("RE: ") {
            Some(_) => original.subject,
            None => format!("RE: {}", original.subject),
        };
        draft.html = true;
        let comment = body["comment"].as_str().unwrap_or_default();
        if !body["comment"].is_null() && !body["message"]["body"].is_null() {
            return Err(Rejection::bad_request(
                RuleId::MailReplyBoth,
                "a comment and a body exclude each other",
            ));
        }
        draft.content = format!("{comment}<hr><div>From: {}</div>{}", draft.to[0].address, original.content);
        write_over(&mut draft, &body["message"], true)?;
        call.trace.note(RuleId::MailReplyDraft);
        Ok(self.store_draft(draft, call))
    }

    pub(in crate::graph) fn edit_mail(&mut self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let message = json_body(call)?;
        let mut draft = self.mail_of(call)?.clone();
        if draft.folder != Folder::Drafts {
            return Err(Rejection::bad_request(RuleId::MailEditDraft, "only a draft can be changed so"));
        }
        write_over(&mut draft, &message, false)?;
        call.trace.note(RuleId::MailEditDraft);
        let shown = self.shown(&draft, call);
        if let Some(mailbox) = &mut self.mailbox {
            let number = draft.number;
            mailbox.mails[number] = draft;
        }
        Ok(Reply::Json(200, shown))
    }

    pub(in crate::graph) fn send_draft(&mut self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let draft = self.mail_of(call)?.clone();
        if draft.folder != Folder::Drafts {
            return Err(Rejection {
                code: "ErrorInvalidOperation",
                ..Rejection::bad_request(RuleId::MailSendOnce, "the item is not a draft")
            });
        }
        if draft.to.is_empty() {
            return Err(Rejection {
                code: "ErrorInvalidRecipients",
                ..Rejection::bad_request(RuleId::MailSendNobody, "at least one recipient is not valid")
            });
        }
        call.trace.note(RuleId::MailSend);
        self.dispatch(&draft, call);
        Ok(Reply::Empty(202))
    }

    /// Answers `reply`: drafts, writes and sends a mail in one call, and returns nothing about it.
    pub(in crate::graph) fn reply_mail(&mut self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        self.create_reply(call)?;
        let draft = self.mailbox_of(call)?.mails.last().cloned();
        if let Some(draft) = draft {
            self.dispatch(&draft, call);
        }
        call.trace.note(RuleId::MailReply);
        Ok(Reply::Empty(202))
    }

    /// Hands a draft to the transport, which also delivers it to the agent's inbox if `To` names the agent.
    fn dispatch(&mut self, draft: &Mail, call: &mut Call<'_>) {
        let seed = self.seed;
        let addresses =
            |list: &[Correspondent]| list.iter().map(|who| who.address.clone()).collect::<Vec<_>>();
        self.sent_mails.push(SentMail {
            at: moment::timestamp(call.now_ms),
            message_id: id_of(draft, true, seed),
            to: addresses(&draft.to),
            cc: addresses(&draft.cc),
            subject: draft.subject.clone(),
            content: draft.content.clone(),
            answers: draft.answers.clone(),
            headers: draft.headers.clone(),
        });
        let Some(mailbox) = &mut self.mailbox else { return };
        let delay_ms = moment::span(mailbox.spec.sent_delay_ms);
        call.trace.note(RuleId::MailSentLate);
        mailbox.move_to(draft.number, Folder::OnItsWay { until_ms: call.now_ms + delay_ms }, seed);
        mailbox.settle(call.now_ms, seed);
        if draft.to.iter().any(|who| who.address.eq_ignore_ascii_case(&draft.from.address)) {
            call.trace.note(RuleId::MailToOneself);
            let number = mailbox.mails.len();
            let copy =
                Mail { number, folder: Folder::Inbox, received_ms: call.now_ms, moves: 0, ..draft.clone() };
            mailbox.add(copy, seed);
            mailbox.change(call.now_ms, number, ChangeKind::Created);
        }
    }

    fn blank_draft(&self, call: &Call<'_>) -> Result<Mail, Rejection> {
        let mailbox = self.mailbox_of(call)?;
        if mailbox.mails.len() >= MAILS_MAX {
            return Err(Rejection::new(RuleId::MailDraft, 507, "the fake mailbox holds no more mails"));
        }
        let me = self.people.agent();
        let own = Correspondent {
            name: me.display_name.clone().unwrap_or_default(),
            address: me.mail.clone().unwrap_or_default(),
        };
        let number = mailbox.mails.len();
        Ok(Mail {
            number,
            folder: Folder::Drafts,
            moves: 0,
            received_ms: call.now_ms,
            internet_id: format!("<{}@agent.contoso.com>", draw::guid(self.seed, &format!("mid/{number}"))),
            conversation: format!(
                "AAQk{}=",
                draw::guid(self.seed, &format!("conv/{number}")).replace('-', "")
            ),
            odata_type: None,
            from: own.clone(),
            sender: own,
            reply_to: Vec::new(),
            to: Vec::new(),
            cc: Vec::new(),
            subject: String::new(),
            html: false,
            content: String::new(),
            unique: String::new(),
            headers: Vec::new(),
            attachments: Vec::new(),
            is_read: true,
            raw: None,
            answers: None,
        })
    }

    fn store_draft(&mut self, draft: Mail, call: &mut Call<'_>) -> Reply {
        let shown = self.shown(&draft, call);
        let seed = self.seed;
        if let Some(mailbox) = &mut self.mailbox {
            mailbox.add(draft, seed);
        }
        Reply::Json(201, shown)
    }

    fn shown(&self, mail: &Mail, call: &mut Call<'_>) -> Value {
        let immutable = call.prefers("IdType=\"ImmutableId\"");
        let lens = Lens { select: None, attachments: false, immutable, single: true };
        mail_json(mail, &lens, self.seed, &mut call.trace)
    }
}

/// Copies the properties that a client gave. Headers are possible only when a mail is made.
fn write_over(draft: &mut Mail, message: &Value, new: bool) -> Result<(), Rejection> {
    let invalid = |reason: &str| Rejection::bad_request(RuleId::MailInvalid, reason);
    if let Some(subject) = message.get("subject") {
        subject.as_str().ok_or_else(|| invalid("subject must be a text"))?.clone_into(&mut draft.subject);
    }
    if let Some(body) = message.get("body") {
        draft.html = match body["contentType"].as_str().map(str::to_ascii_lowercase).as_deref() {
            Some("html") => true,
            Some("text") | None => false,
            Some(_) => return Err(invalid("body.contentType must be text or html")),
        };
        body["content"]
            .as_str()
            .ok_or_else(|| invalid("body.content is missing"))?
            .clone_into(&mut draft.content);
    }
    for (name, list) in [("toRecipients", &mut draft.to), ("ccRecipients", &mut draft.cc)] {
        if let Some(given) = message.get(name) {
            let given = given.as_array().ok_or_else(|| invalid("recipients must be a list"))?;
            *list = given
                .iter()
                .map(correspondent)
                .collect::<Option<_>>()
                .ok_or_else(|| invalid("an address is missing"))?;
        }
    }
    if let Some(given) = message.get("internetMessageHeaders").and_then(Value::as_array) {
        for header in given {
            let name = header["name"].as_str().unwrap_or_default();
            if !new || !name.to_ascii_lowercase().starts_with("x-") {
                let reason = "the Internet message header name is not valid, it must begin with x-";
                return Err(Rejection::bad_request(RuleId::MailOwnHeaders, reason));
            }
            draft.headers.push((name.to_owned(), header["value"].as_str().unwrap_or_default().to_owned()));
        }
    }
    Ok(())
}

fn correspondent(value: &Value) -> Option<Correspondent> {
    let address = value.pointer("/emailAddress/address")?.as_str()?.to_owned();
    let name = value.pointer("/emailAddress/name").and_then(Value::as_str).unwrap_or(&address).to_owned();
    Some(Correspondent { name, address })
}

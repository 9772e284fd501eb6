//! The mail service: it shows delivered mails whole, and sends the model's mails to allowed addresses, at
//! most once.
//! It must never repeat a mail because an answer was lost; it checks the state of the mail's draft instead.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::delta::{self, advice};
use super::draft::{self, CHAT_ID, CONVERSATION, Encryption, SENDER_MAIL};
use super::quota::Quota;
use crate::graph::{Failure, GraphClient, GraphError, Scope};
use crate::outgoing;
use entraclaw_inbox::gate::{MailAddress, MailGate};
use entraclaw_inbox::journal::{Interaction, InteractionKind, Journal};
use entraclaw_inbox::record::{Channel, Record};
use entraclaw_inbox::tool::{
    ContentType, EmailResult, MailError, MailService, MailTarget, OutgoingMail, SentMail,
};
use entraclaw_sanitize::{Context, Limits, Markup, clean_name, sanitize};
use entraclaw_seams::random::Random;

/// How long sending one mail may take in all, so that the answer comes within the shortest time limit of a
/// host.
const SEND_TIME_MAX: Duration = Duration::from_secs(45);
/// How long reading a mail is tried.
const READ_PATIENCE: Duration = Duration::from_secs(20);
/// The pauses before each check of the draft after a lost answer: a sent mail becomes visible late.
const LOOKS_BACK: [Duration; 3] = [Duration::from_secs(2), Duration::from_secs(4), Duration::from_secs(8)];
/// How much of a mail is shown.
const SHOWN: Limits =
    Limits { max_input_bytes: 4 * 1024 * 1024, max_text_bytes: 256 * 1024, max_quote_bytes: 2 * 1024 };
/// A header that names the attempt in the mail itself, so that a person can find out where the mail came
/// from.
const ATTEMPT_HEADER: &str = "x-entraclaw-attempt";

/// The parts of the mail service; a clone is cheap.
#[derive(Clone)]
pub struct GraphMailService {
    /// The client for Graph.
    pub client: Arc<GraphClient>,
    /// Holds the delivered mails and the interaction log.
    pub journal: Journal,
    /// Decides which addresses may get mail.
    pub gate: Arc<MailGate>,
    /// Gives the names of attempts.
    pub random: Arc<dyn Random>,
    /// Limits how many mails may be sent.
    pub quota: Arc<Quota>,
}

/// The checked recipients of a mail, and the subject.
struct Letter {
    to: Vec<MailAddress>,
    /// Empty for a reply, which keeps the conversation's.
    subject: String,
    /// The mail that it answers.
    answers: Option<String>,
    /// The names that count it in the quota.
    counted_by: Vec<String>,
}

/// The state of a draft after a lost answer.
enum Fate {
    Sent,
    StillDraft,
    Unknown,
}

impl MailService for GraphMailService {
    fn read_email(&self, message_id: String) -> BoxFuture<'static, Result<EmailResult, MailError>> {
        let service = self.clone();
        Box::pin(async move { service.read(&message_id).await })
    }

    fn send_email(&self, mail: OutgoingMail) -> BoxFuture<'static, Result<SentMail, MailError>> {
        let service = self.clone();
        Box::pin(async move {
            let outcome = service.send(&mail).await;
            let detail = match &outcome {
                Ok(sent) => format!("sent as {}", sent.message_id),
                Err(error) => format!("not sent, or not known to be: {error}"),
            };
            service.log(&mail.target, detail);
            outcome
        })
    }
}

impl GraphMailService {
    /// The record of a delivered mail, if its sender may still speak.
    fn delivered(&self, message_id: &str) -> Result<(Record, MailAddress), MailError> {
        let found = self.journal.find(message_id).ok().flatten().filter(|r| r.channel == Channel::Email);
        let record = found.ok_or(MailError::UnknownMail)?;
        let sender = record.meta.get(SENDER_MAIL).and_then(|text| MailAddress::parse(text));
        match sender.filter(|sender| self.gate.allows(sender)) {
            Some(sender) => Ok((record, sender)),
            None => Err(MailError::UnknownMail),
        }
    }

    async fn read(&self, message_id: &str) -> Result<EmailResult, MailError> {
        let (record, _) = self.delivered(message_id)?;
        let mail = delta::mail(&self.client, message_id, READ_PATIENCE).await.map_err(|e| refused(&e))?;
        let mail = mail.ok_or(MailError::Gone)?;
        let encryption = Encryption::of(&mail);
        let read = || {
            let markup = if mail.body.html { Markup::Html } else { Markup::Text };
            sanitize(&mail.body.content, markup, &Context::default(), &SHOWN).text
        };
        let text = encryption.map_or_else(read, Encryption::notice);
        Ok(EmailResult {
            subject: clean_name(&mail.subject),
            from: record.from,
            to: draft::named_people(&mail.to),
            cc: draft::named_people(&mail.cc),
            ts: record.ts,
            attachments: draft::named(&mail.attachments),
            encrypted: encryption.map_or("", Encryption::as_str).to_owned(),
            content_text_sanitized: text,
            ..EmailResult::default()
        })
    }

    async fn send(&self, mail: &OutgoingMail) -> Result<SentMail, MailError> {
        let token = self.client.token().await;
        let content = outgoing::made_anew(&mail.content, mail.content_type, token.as_ref())
            .map_err(MailError::Refused)?;
        let letter = self.address(&mail.target)?;
        if token.is_some_and(|token| letter.subject.contains(token.expose())) {
            return Err(MailError::Refused("subject: it holds the access token; take it out".to_owned()));
        }
        let now = Instant::now();
        if !letter.counted_by.iter().all(|name| self.quota.take(name, now)) {
            return Err(MailError::TooMany);
        }
        // The attempt is logged before it is sent.
        self.log(&mail.target, "about to send".to_owned());
        let deadline = now + SEND_TIME_MAX;
        let prepared =
            tokio::time::timeout_at(deadline, self.prepare(mail.content_type, &content, &letter)).await;
        let prepared = prepared.unwrap_or_else(|_| {
            Err(MailError::Graph("preparing the mail took too long; it is not sent".to_owned()))
        });
        let (id, subject) = prepared?;
        let sent = tokio::time::timeout_at(deadline, self.post(&id)).await;
        sent.unwrap_or_else(|_| Err(unknown("it took too long")))?;
        let to = letter.to.iter().map(|address| address.as_str().to_owned()).collect();
        Ok(SentMail { message_id: id, to, subject: clean_name(&subject) })
    }

    /// Determines the recipients of a mail, and refuses every address that the gate does not allow.
    fn address(&self, target: &MailTarget) -> Result<Letter, MailError> {
        match target {
            MailTarget::Reply { message_id } => {
                let (record, sender) = self.delivered(message_id)?;
                let conversation = record.meta.get(CONVERSATION).cloned();
                let counted_by = conversation.unwrap_or_else(|| format!("to {}", sender.as_str()));
                Ok(Letter {
                    to: vec![sender],
                    subject: String::new(),
                    answers: Some(message_id.clone()),
                    counted_by: vec![counted_by],
                })
            }
            MailTarget::New { to, subject } => {
                let allowed = |text: &String| {
                    let address = MailAddress::parse(text).filter(|address| self.gate.allows(address));
                    address.ok_or_else(|| MailError::NotAllowed(clean_name(text)))
                };
                let to: Vec<MailAddress> = to.iter().map(allowed).collect::<Result<_, _>>()?;
                let counted_by = to.iter().map(|address| format!("to {}", address.as_str())).collect();
                Ok(Letter { to, subject: subject.clone(), answers: None, counted_by })
            }
        }
    }

    /// Makes the draft. Only the agent can see drafts, so an attempt that may have been applied can be
    /// repeated.
    async fn prepare(
        &self,
        content_type: ContentType,
        content: &str,
        letter: &Letter,
    ) -> Result<(String, String), MailError> {
        let to: Vec<Value> =
            letter.to.iter().map(|address| json!({"emailAddress": {"address": address.as_str()}})).collect();
        let body = json!({"contentType": content_type.as_str(), "content": content});
        let Some(answered) = &letter.answers else {
            let message = json!({
                "subject": letter.subject, "body": body, "toRecipients": to,
                "internetMessageHeaders": [
                    {"name": ATTEMPT_HEADER, "value": self.random.uuid()},
                    {"name": "x-auto-response-suppress", "value": "All"},
                ],
            });
            let draft = self.create(&self.client.url(&["me", "messages"], &[]), &message).await?;
            return known_draft(&draft);
        };
        let url = self.client.url(&["me", "messages", answered, "createReply"], &[]);
        let (id, subject) = known_draft(&self.create(&url, &json!({})).await?)?;
        // Graph takes the recipients from the mail's headers, and they may differ from the proven address.
        let change = json!({"body": body, "toRecipients": to, "ccRecipients": [], "bccRecipients": []});
        let url = self.client.url(&["me", "messages", &id], &[]);
        self.client.patch(&url, &change, Scope::Mailbox).await.map_err(|e| refused(&e))?;
        Ok((id, subject))
    }

    async fn create(&self, url: &str, message: &Value) -> Result<Value, MailError> {
        let made = match self.client.post(url, message, Scope::Mailbox).await {
            Err(error) if !error.was_not_applied() => self.client.post(url, message, Scope::Mailbox).await,
            done => done,
        };
        made.map_err(|error| refused(&error))
    }

    /// Sends a draft. When the answer is lost, the draft's state shows whether it was sent.
    async fn post(&self, id: &str) -> Result<(), MailError> {
        let url = self.client.url(&["me", "messages", id, "send"], &[]);
        let mut problem = String::new();
        for _ in 0..2 {
            let error = match self.client.post(&url, &json!({}), Scope::Mailbox).await {
                Ok(_) => return Ok(()),
                Err(error) if error.was_not_applied() && problem.is_empty() => return Err(refused(&error)),
                Err(error) => error,
            };
            problem = error.to_string();
            match self.look_back(id).await {
                Fate::Sent => return Ok(()),
                // Every check showed that the draft is not sent, so one more attempt is no blind repetition.
                Fate::StillDraft => {}
                Fate::Unknown => break,
            }
        }
        Err(unknown(&problem))
    }

    async fn look_back(&self, id: &str) -> Fate {
        let url = self.client.url(&["me", "messages", id], &[("$select", "id,isDraft")]);
        let mut drafts = 0;
        for pause in LOOKS_BACK {
            tokio::time::sleep(pause).await;
            // A mail on its way from the drafts to the sent items is in neither folder.
            let Ok(answer) = self.client.get_once(&url, Scope::Mailbox).await else { continue };
            match answer.get("isDraft").and_then(Value::as_bool) {
                Some(false) => return Fate::Sent,
                Some(true) => drafts += 1,
                None => {}
            }
        }
        if drafts == LOOKS_BACK.len() { Fate::StillDraft } else { Fate::Unknown }
    }

    fn log(&self, target: &MailTarget, detail: String) {
        let (id, who) = match target {
            MailTarget::Reply { message_id } => (Some(message_id.clone()), None),
            MailTarget::New { to, .. } => (None, Some(clean_name(&to.join(", ")))),
        };
        let line =
            Interaction::new(InteractionKind::Outbound).in_chat(Channel::Email, CHAT_ID).detail(detail);
        self.journal.interaction(Interaction { id, who, ..line });
    }
}

/// The id and subject of a draft that Graph made.
fn known_draft(draft: &Value) -> Result<(String, String), MailError> {
    let text = |name: &str| draft.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let id = text("id");
    if super::wire::usable(&id) {
        return Ok((id, text("subject")));
    }
    Err(MailError::Graph("the draft has no usable id; it is not sent".to_owned()))
}

fn unknown(problem: &str) -> MailError {
    MailError::UnknownOutcome(format!(
        "{problem}; it was looked for and not found to be sent, and was not sent again"
    ))
}

fn refused(error: &GraphError) -> MailError {
    match error.failure {
        Failure::NotFound => MailError::Gone,
        Failure::Forbidden => MailError::Graph(format!("{error}; {}", advice(error))),
        _ => MailError::Graph(format!("{error}; {}", error.advice_for_call())),
    }
}

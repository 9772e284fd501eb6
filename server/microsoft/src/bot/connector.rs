//! Sends answers through the connector: each at most once, to a conversation in which an allowed person
//! spoke.
//! It must never repeat a message that may have been accepted, nor send a token to an address that is not
//! Microsoft's.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::conversations::{Conversation, Conversations};
use super::service::Service;
use super::token::Tokens;
use crate::http::{HttpRequest, HttpResponse, HttpTransport, Method, TransportError, one_line, send_within};
use entraclaw_inbox::gate::{Agent, ChatRule, Gate, Sender, SenderKind, Verdict};
use entraclaw_inbox::journal::{Interaction, InteractionKind, Journal};
use entraclaw_inbox::record::Channel;
use entraclaw_inbox::tool::{SendError, Sent};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::secret::Secret;
use entraclaw_seams::storage::Storage;

/// How long sending one message may take in all, so that it ends within the shortest time limit of a host.
const SEND_TIME_MAX: Duration = Duration::from_secs(45);
/// How long one request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);
/// The longest `Retry-After` that the bot waits for; the model is told about a longer one.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(10);
/// The pause where a throttled answer names none.
const RETRY_AFTER_DEFAULT: Duration = Duration::from_secs(2);
/// How often a message that was certainly not accepted is sent again.
const REPEATS_MAX: u32 = 2;

/// Sends answers; cheap to clone.
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) transport: Arc<dyn HttpTransport>,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) journal: Journal,
    pub(super) gate: Arc<Gate>,
    pub(super) agent: Agent,
    pub(super) tokens: Arc<Tokens>,
    /// Whether connectors on this machine are trusted too.
    pub(super) loopback: bool,
}

/// A message that the model wants to send.
#[derive(Debug, Clone)]
pub(super) struct Outgoing {
    pub(super) conversation_id: String,
    pub(super) content: String,
    /// The id of the activity that it answers; empty for none.
    pub(super) reply_to: String,
    /// Whether the content is HTML; only for words of the server's own.
    pub(super) html: bool,
}

impl Outgoing {
    /// A message with words of the server's own, as HTML.
    pub(super) fn own_words(conversation_id: &str, html: String) -> Self {
        let conversation_id = conversation_id.to_owned();
        Self { conversation_id, content: html, reply_to: String::new(), html: true }
    }
}

impl Connector {
    /// Sends a message if it may go to its conversation. The interaction log has it before and after.
    pub(super) async fn send(&self, message: &Outgoing) -> Result<Sent, SendError> {
        let sending = tokio::time::timeout(SEND_TIME_MAX, self.try_to_send(message));
        let outcome = sending.await.unwrap_or_else(|_| {
            Err(SendError::UnknownOutcome(format!("no answer within {} s", SEND_TIME_MAX.as_secs())))
        });
        self.log(
            message,
            match &outcome {
                Ok(sent) => format!("sent as {}", sent.message_id),
                Err(error) => format!("not sent, or not known to be: {error}"),
            },
        );
        outcome
    }

    async fn try_to_send(&self, message: &Outgoing) -> Result<Sent, SendError> {
        let (conversation, service) = self.conversation(&message.conversation_id)?;
        if self.tokens.is_in(&message.content).await {
            let what = "content: it holds the bot's secret or token; take it out";
            return Err(SendError::Refused(what.to_owned()));
        }
        self.deliver(&service, &conversation.bot_id, message).await
    }

    /// Posts a message. The caller has decided that it may go there.
    pub(super) async fn deliver(
        &self,
        service: &Service,
        bot_id: &str,
        message: &Outgoing,
    ) -> Result<Sent, SendError> {
        let url = service.activities(&message.conversation_id, &message.reply_to);
        let mut activity = json!({
            "type": "message",
            "from": {"id": bot_id},
            "conversation": {"id": message.conversation_id},
            "text": message.content,
            // A model's text must not load pictures or look like a card.
            "textFormat": if message.html { "xml" } else { "plain" },
        });
        if !message.reply_to.is_empty() {
            activity["replyToId"] = json!(message.reply_to);
        }
        let body = activity.to_string().into_bytes();
        let mut token = self.token(None).await?;
        self.log(message, "about to send".to_owned());
        let mut renewed = false;
        let mut repeats = 0;
        loop {
            let answer = self.post(&url, &body, &token).await?;
            match answer.status {
                200..=299 => return Ok(self.sent(&answer)),
                401 if !renewed => {
                    renewed = true;
                    token = self.token(Some(&token)).await?;
                }
                429 if repeats < REPEATS_MAX && wait_of(&answer) <= RETRY_AFTER_MAX => {
                    repeats += 1;
                    tokio::time::sleep(wait_of(&answer)).await;
                }
                404 => return Err(SendError::UnknownChat),
                status @ 400..=499 => {
                    return Err(SendError::Refused(format!(
                        "the connector answered {status}{}",
                        reason(&answer)
                    )));
                }
                status => return Err(SendError::UnknownOutcome(format!("the connector answered {status}"))),
            }
        }
    }

    /// The conversation, if a person who may speak now has spoken there and the operator did not switch it
    /// off.
    fn conversation(&self, id: &str) -> Result<(Conversation, Service), SendError> {
        // A person who was shut out a moment ago must not be written to.
        self.gate.look(&self.journal);
        let file = Conversations::read(&*self.storage, self.journal.term()).map_err(|why| {
            SendError::Refused(format!("the list of the bot's conversations can't be read: {why}"))
        })?;
        let conversation = file.conversations.get(id).ok_or(SendError::UnknownChat)?.clone();
        let is_allowed = |person: &String| {
            let Some((tenant_id, object_id)) = person.split_once('/') else { return false };
            let sender =
                Sender { tenant_id: Some(tenant_id), object_id: Some(object_id), kind: SenderKind::Person };
            self.gate.decide(&sender, &self.agent) == Verdict::Accept
        };
        let is_off = self.gate.chat_rule(id) == Some(ChatRule::Off);
        if is_off || !conversation.people.iter().any(is_allowed) {
            return Err(SendError::NotAllowed);
        }
        let service =
            Service::parse(&conversation.service_url, self.loopback).ok_or(SendError::NotAllowed)?;
        Ok((conversation, service))
    }

    async fn token(&self, refused: Option<&Secret>) -> Result<Secret, SendError> {
        self.tokens.token(refused).await.map_err(|error| SendError::Refused(error.to_string()))
    }

    async fn post(&self, url: &str, body: &[u8], token: &Secret) -> Result<HttpResponse, SendError> {
        let bearer = format!("Bearer {}", token.expose());
        let headers = [
            ("authorization", &*bearer),
            ("content-type", "application/json"),
            ("accept", "application/json"),
        ];
        let request = HttpRequest::new(Method::Post, url.to_owned(), &headers, Some(body.to_vec()));
        send_within(&*self.transport, request, REQUEST_TIMEOUT).await.map_err(|error| match error {
            TransportError::Connect { .. } => SendError::Refused(format!("{error}; try again later")),
            TransportError::Broken { .. } => SendError::UnknownOutcome(error.to_string()),
        })
    }

    fn sent(&self, answer: &HttpResponse) -> Sent {
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        let message_id = body.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        Sent { message_id, ts: self.clock.now().to_string() }
    }

    fn log(&self, message: &Outgoing, detail: String) {
        let line = Interaction::new(InteractionKind::Outbound).detail(detail);
        self.journal.interaction(line.in_chat(Channel::Bot, &message.conversation_id));
    }
}

fn wait_of(answer: &HttpResponse) -> Duration {
    let stated = answer.header("retry-after").and_then(|seconds| seconds.trim().parse().ok());
    stated.map_or(RETRY_AFTER_DEFAULT, Duration::from_secs)
}

/// The connector's own words, as one short line.
fn reason(answer: &HttpResponse) -> String {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let message = body.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
    let message = one_line(message);
    if message.is_empty() { String::new() } else { format!(": {message}") }
}

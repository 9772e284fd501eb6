//! The outbox: it sends a model's messages, each at most once, to chats that an allowed person is in.
//! It must never repeat a message because an answer was lost; it looks for the message in the chat instead.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, LocalBoxFuture};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::claims::claim;
use super::identity::identify;
use super::known::Look;
use super::turn::turn;
use super::{Known, members, wire};
use crate::graph::{Failure, GraphClient, GraphError, Scope, fields};
use crate::outgoing::{self, CONTENT_CHARS_MAX};
use entraclaw_inbox::gate::{ChatRule, Gate, Sender, SenderKind, Verdict};
use entraclaw_inbox::journal::{Interaction, InteractionKind, Journal};
use entraclaw_inbox::permission::Teller;
use entraclaw_inbox::record::Channel;
use entraclaw_inbox::tool::{ContentType, Outbox, OutgoingTeams, SendError, Sent};
use entraclaw_seams::random::Random;
use entraclaw_seams::storage::{Lock, Storage};

/// Graph's limit of quoted messages for `replyWithQuote`.
const QUOTES_MAX: usize = 10;
/// How long sending one message may take in all, so that it ends within the shortest time limit of a host.
const SEND_TIME_MAX: Duration = Duration::from_secs(45);
/// How long the outbox tries to look up a chat.
const LOOK_UP_PATIENCE: Duration = Duration::from_secs(10);
/// How long the outbox waits for other sessions of this machine that send in the same chat.
const TURN_PATIENCE: Duration = Duration::from_secs(20);
/// The pauses before the looks into the chat after a lost answer: a message can become visible late.
const LOOKS_BACK: [Duration; 3] =
    [Duration::from_millis(1_100), Duration::from_secs(3), Duration::from_secs(6)];
/// How far the server's clock may be behind our estimate of it.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_secs(5);
/// The most members that `$expand` shows.
pub(super) const EXPANDED_MEMBERS_MAX: usize = 25;
/// The most pages of members that are searched for an allowed person.
const MEMBER_PAGES_MAX: usize = 20;

/// The outbox for Teams; cheap to clone.
#[derive(Clone)]
pub struct TeamsOutbox {
    /// The client for Microsoft Graph.
    pub client: Arc<GraphClient>,
    /// The journal, for its interaction log.
    pub journal: Journal,
    /// The gate, which decides who may speak and so who may be written to.
    pub gate: Arc<Gate>,
    /// The facts that the source learns; shared with it.
    pub known: Arc<Known>,
    /// The storage with the locks and files by which the sessions of this machine take turns.
    pub storage: Arc<dyn Storage>,
    /// The randomness in the pause between two tries for a turn.
    pub random: Arc<dyn Random>,
}

impl Teller for TeamsOutbox {
    fn now(&self) -> Timestamp {
        self.client.server_now()
    }

    fn tell<'a>(&'a self, chat_id: &'a str, html: String) -> LocalBoxFuture<'a, Result<Sent, SendError>> {
        TeamsOutbox::tell(self, chat_id, html).boxed_local()
    }
}

impl Outbox for TeamsOutbox {
    fn send_teams_message(&self, message: OutgoingTeams) -> BoxFuture<'static, Result<Sent, SendError>> {
        let outbox = self.clone();
        Box::pin(async move {
            let outcome = outbox.send(message.clone()).await;
            let detail = match &outcome {
                Ok(sent) => format!("sent as {}", sent.message_id),
                Err(error) => format!("not sent, or not known to be: {error}"),
            };
            outbox.log(&message, detail);
            outcome
        })
    }
}

impl TeamsOutbox {
    async fn send(&self, mut message: OutgoingTeams) -> Result<Sent, SendError> {
        let deadline = tokio::time::Instant::now() + SEND_TIME_MAX;
        if message.content.chars().count() > CONTENT_CHARS_MAX {
            return Err(SendError::TooLarge { bytes_max: CONTENT_CHARS_MAX });
        }
        let token = self.client.token().await;
        message.content = outgoing::made_anew(&message.content, message.content_type, token.as_ref())
            .map_err(SendError::Refused)?;
        if message.reply_to.len() > QUOTES_MAX {
            let count = message.reply_to.len();
            return Err(SendError::Refused(format!(
                "reply_to: {count} messages, at most {QUOTES_MAX} can be quoted"
            )));
        }
        let _turn = self.turn(&message.chat_id).await;
        let acceptable = tokio::time::timeout_at(deadline, self.chat_is_acceptable(&message.chat_id)).await;
        acceptable
            .unwrap_or_else(|_| Err(SendError::Graph("looking up the chat took too long".to_owned())))?;
        self.deliver(&message, deadline).await
    }

    /// Sends words of the server's own. The caller has decided that they may go there: no model is asked, and
    /// no model can reach this.
    pub async fn tell(&self, chat_id: &str, html: String) -> Result<Sent, SendError> {
        let mut message = OutgoingTeams {
            chat_id: chat_id.to_owned(),
            content: html,
            content_type: ContentType::Html,
            reply_to: Vec::new(),
        };
        let token = self.client.token().await;
        message.content = outgoing::made_anew(&message.content, message.content_type, token.as_ref())
            .map_err(SendError::Refused)?;
        let deadline = tokio::time::Instant::now() + SEND_TIME_MAX;
        let _turn = self.turn(chat_id).await;
        let outcome = self.deliver(&message, deadline).await;
        if let Err(error) = &outcome {
            self.log(&message, format!("not sent, or not known to be: {error}"));
        }
        outcome
    }

    async fn turn(&self, chat_id: &str) -> Option<Box<dyn Lock>> {
        turn(&*self.storage, &*self.random, chat_id, tokio::time::Instant::now() + TURN_PATIENCE).await
    }

    async fn deliver(
        &self,
        message: &OutgoingTeams,
        deadline: tokio::time::Instant,
    ) -> Result<Sent, SendError> {
        // The interaction log has the message before Graph gets it.
        self.log(message, "about to send".to_owned());
        let posted_at = self.client.server_now();
        let (url, body) = self.request(message);
        let scope = Scope::Chat(&message.chat_id);
        let posted = tokio::time::timeout_at(deadline, self.client.post(&url, &body, scope)).await;
        let problem = match posted {
            Ok(Ok(answer)) => match self.sent(&message.chat_id, &answer) {
                Some(sent) => return Ok(sent),
                None => "graph took it without saying its id".to_owned(),
            },
            Ok(Err(error)) if error.was_not_applied() => return Err(refused(&error)),
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} s", SEND_TIME_MAX.as_secs()),
        };
        let found = tokio::time::timeout_at(deadline, self.look_back(message, posted_at)).await;
        match found {
            Ok(Some(sent)) => Ok(sent),
            _ => Err(SendError::UnknownOutcome(format!(
                "{problem}; it was not among the newest messages of the chat when looked for, and was not sent again"
            ))),
        }
    }

    fn request(&self, message: &OutgoingTeams) -> (String, Value) {
        let content_type = message.content_type.as_str();
        let body = json!({"body": {"contentType": content_type, "content": message.content}});
        let mut path = vec!["chats", message.chat_id.as_str(), "messages"];
        if message.reply_to.is_empty() {
            return (self.client.url(&path, &[]), body);
        }
        path.push("replyWithQuote");
        (self.client.url(&path, &[]), json!({"messageIds": message.reply_to, "replyMessage": body}))
    }

    /// Reads Graph's answer about a message that it took.
    fn sent(&self, chat_id: &str, body: &Value) -> Option<Sent> {
        let message = wire::message(body)?;
        self.known.note_sent(chat_id, &message.id);
        claim(&*self.storage, chat_id, &message.id);
        let ts = message.created.unwrap_or_else(|| self.client.server_now());
        Some(Sent { message_id: message.id, ts: ts.to_string() })
    }

    /// Looks in the chat for a message of ours with the same words that is not older than the attempt and
    /// that no other session has sent.
    async fn look_back(&self, message: &OutgoingTeams, posted_at: Timestamp) -> Option<Sent> {
        let wanted = outgoing::visible(&message.content, message.content_type == ContentType::Html);
        let since = posted_at.checked_sub(CLOCK_TOLERANCE).unwrap_or(posted_at);
        let query = [("$top", "20"), ("$orderby", "createdDateTime desc")];
        let url = self.client.url(&["me", "chats", &message.chat_id, "messages"], &query);
        for pause in LOOKS_BACK {
            tokio::time::sleep(pause).await;
            let Ok(page) = self.client.get_once(&url, Scope::Chat(&message.chat_id)).await else { continue };
            let (messages, _) = fields::items(&page, wire::message);
            let ours = messages.into_iter().find(|candidate| {
                let may_be_it = self.is_own(candidate)
                    && candidate.created.is_some_and(|at| at >= since)
                    && !self.known.was_sent(&message.chat_id, &candidate.id)
                    // A quoted reply begins with its quotes.
                    && outgoing::visible(&candidate.content, candidate.html).ends_with(&wanted);
                may_be_it && claim(&*self.storage, &message.chat_id, &candidate.id)
            });
            if let Some(found) = ours {
                self.known.note_sent(&message.chat_id, &found.id);
                let ts = found.created.unwrap_or(posted_at).to_string();
                return Some(Sent { message_id: found.id, ts });
            }
        }
        None
    }

    fn is_own(&self, message: &wire::Message) -> bool {
        let agent = self.known.agent();
        let sender = message.sender.object_id.as_deref();
        match agent.object_id {
            Some(own) => sender.is_some_and(|id| id.eq_ignore_ascii_case(own.as_str())),
            // While the agent's id is unknown, at least a message of an allowed person is certainly not the
            // agent's.
            None => self.judge_member(&message.sender.as_sender()) != Verdict::Accept,
        }
    }

    /// Judges the author of a message by its time: a message from before its author was let in stays unheard.
    pub(super) fn judge_message(&self, message: &wire::Message) -> Verdict {
        let written = message.created.and_then(|at| self.client.on_our_clock(at));
        self.gate.decide_at(&message.sender.as_sender(), &self.known.agent(), written)
    }

    /// Begins a look at chats. It reads one file of ours and asks nothing of Graph.
    pub(super) fn look(&self) -> Look {
        match members::stamp(&*self.storage) {
            Ok(word) => self.known.heard_of_members(word),
            Err(error) => {
                tracing::debug!(%error, "what other sessions know of members can't be seen; every chat is asked for");
                self.known.forget_chats();
            }
        }
        self.known.look(self.gate.generation())
    }

    /// Checks that an allowed person has just written in the chat or is a member.
    pub(super) async fn chat_is_acceptable(&self, chat_id: &str) -> Result<(), SendError> {
        // A person who was shut out a moment ago must not be written to.
        self.gate.look(&self.journal);
        let look = self.look();
        if self.gate.chat_rule(chat_id) == Some(ChatRule::Off) {
            return Err(SendError::NotAllowed);
        }
        let now = tokio::time::Instant::now();
        if self.known.is_accepted(chat_id, look, now) {
            return Ok(());
        }
        if self.gate.is_closed() {
            return Err(SendError::NotAllowed);
        }
        // An id of dots alone would name another resource in a path.
        if chat_id.bytes().all(|b| b == b'.') || chat_id.contains(['\\', '?', '#']) {
            return Err(SendError::UnknownChat);
        }
        // A failure only leaves the agent's own tenant unknown, and then fewer people are let in.
        let _ = identify(&self.client, &self.known).await;
        let scope = Scope::Chat(chat_id);
        let url = self.client.url(&["chats", chat_id], &[("$expand", "members")]);
        let chat = self.client.get(&url, scope, LOOK_UP_PATIENCE).await.map_err(|e| unknown_chat(&e))?;
        let listed = chat.get("members").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        if listed.iter().any(|member| self.is_allowed(member)) {
            self.known.accept_chat(chat_id, look, now);
            return Ok(());
        }
        // The other members of a larger chat are asked for.
        if listed.len() >= EXPANDED_MEMBERS_MAX {
            let mut url = self.client.url(&["chats", chat_id, "members"], &[]);
            for _ in 0..MEMBER_PAGES_MAX {
                let page =
                    self.client.get(&url, scope, LOOK_UP_PATIENCE).await.map_err(|e| unknown_chat(&e))?;
                let members = page.get("value").and_then(Value::as_array);
                if members.is_some_and(|members| members.iter().any(|member| self.is_allowed(member))) {
                    self.known.accept_chat(chat_id, look, now);
                    return Ok(());
                }
                match self.client.next_link(&page).map_err(|e| refused(&e))? {
                    Some(next) => url = next,
                    None => break,
                }
            }
        }
        Err(SendError::NotAllowed)
    }

    fn is_allowed(&self, member: &Value) -> bool {
        self.judge_member(&member_of(member)) == Verdict::Accept
    }

    pub(super) fn judge_member(&self, member: &Sender<'_>) -> Verdict {
        self.gate.decide(member, &self.known.agent())
    }

    fn log(&self, message: &OutgoingTeams, detail: String) {
        let line = Interaction::new(InteractionKind::Outbound).detail(detail);
        self.journal.interaction(line.in_chat(Channel::Teams, &message.chat_id));
    }
}

/// A member of a chat in the gate's form of a sender.
pub(super) fn member_of(member: &Value) -> Sender<'_> {
    let id = |name: &str| member.get(name).and_then(Value::as_str);
    Sender { tenant_id: id("tenantId"), object_id: id("userId"), kind: SenderKind::Person }
}

fn refused(error: &GraphError) -> SendError {
    SendError::Graph(format!("{error}; {}", error.advice_for_call()))
}

fn unknown_chat(error: &GraphError) -> SendError {
    match error.failure {
        Failure::NotFound | Failure::BadRequest => SendError::UnknownChat,
        _ => refused(error),
    }
}

//! The loop between a host that asks and a chat that answers. It must never ask a person who may not speak,
//! and never answer for the operator.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::book::{self, QUESTION_LIFE, Question};
use super::{BOOK_FILE, PermissionAnswer, PermissionRequest, REQUESTS_MAX, notice};
use crate::gate::{ChatRule, Gate, Guid};
use crate::journal::{Interaction, InteractionKind, Journal};
use crate::record::Channel;
use crate::tool::{SendError, Sent};
use entraclaw_seams::storage::{Stamp, Storage};

/// How often the answers to open questions are looked for.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// How long after it was written an answer may be read.
const ANSWER_GRACE: Duration = Duration::from_secs(300);
/// How many of the newest records are searched for the operator's chat.
const CHAT_LOOK_BACK_RECORDS: u64 = 1_000;

/// How many times a change of the book is tried while another process holds it. The pause between two tries
/// must not block the caller's thread.
const BOOK_TRIES: u32 = 50;
const BOOK_PAUSE: Duration = Duration::from_millis(100);

/// A channel to an operator that the server itself can write to, such as a Teams chat.
pub trait Teller: Send + Sync {
    /// The time by which messages of this channel are judged.
    fn now(&self) -> Timestamp;

    /// Writes the server's own `html` into a chat. A failed write is not tried again.
    fn tell<'a>(&'a self, chat_id: &'a str, html: String) -> LocalBoxFuture<'a, Result<Sent, SendError>>;
}

/// The parts of the relay; cloning is cheap.
#[derive(Clone)]
pub struct Relay {
    /// The channels on which the operator can be asked. No other channel is used.
    pub ways: BTreeMap<Channel, Arc<dyn Teller>>,
    /// The gate, which decides who may speak.
    pub gate: Arc<Gate>,
    /// The journal, for the operator's chat and the interaction log.
    pub journal: Journal,
    /// The storage of open questions.
    pub storage: Arc<dyn Storage>,
    /// The operator's tenant and object id; without it, the first allowed person with a known 1:1 chat.
    pub operator: Option<(Guid, Guid)>,
    /// This session's id, which marks its own questions.
    pub session: String,
}

/// The operator and their chat.
struct OperatorChat<'a> {
    ids: (Guid, Guid),
    channel: Channel,
    chat_id: String,
    /// The way into it.
    way: &'a dyn Teller,
}

/// Runs the relay without end.
pub async fn run(
    relay: Relay,
    mut requests: mpsc::Receiver<PermissionRequest>,
    answers: mpsc::Sender<PermissionAnswer>,
) -> Infallible {
    let mut asking: FuturesUnordered<LocalBoxFuture<'_, Option<String>>> = FuturesUnordered::new();
    // Codes of open questions, and until when they wait.
    let mut open: BTreeMap<String, Instant> = BTreeMap::new();
    let mut seen: Option<Stamp> = None;
    let mut look_at = Instant::now();
    loop {
        tokio::select! {
            biased;
            Some(request) = requests.recv(), if asking.len() < REQUESTS_MAX => {
                asking.push(Box::pin(relay.ask(request)));
            }
            Some(asked) = asking.next(), if !asking.is_empty() => {
                if let Some(code) = asked {
                    let life = Duration::try_from(QUESTION_LIFE).unwrap_or_default();
                    open.insert(code, Instant::now() + life + ANSWER_GRACE);
                    (seen, look_at) = (None, Instant::now() + LOOK_INTERVAL);
                }
            }
            () = sleep_until(look_at), if !open.is_empty() => {
                let now = Instant::now();
                look_at = now + LOOK_INTERVAL;
                let stamp = relay.storage.stamp(BOOK_FILE).ok().flatten();
                if stamp != seen {
                    seen = stamp;
                    for answer in relay.answered(&open) {
                        open.remove(&answer.request_id);
                        relay.log(None, format!("the host is told of {}: {:?}", answer.request_id, answer.behavior));
                        // A host that has disconnected needs no answer.
                        let _ = answers.send(answer).await;
                    }
                }
                let (over, waiting) = open.into_iter().partition(|(_, until)| *until <= now);
                open = waiting;
                let over: BTreeMap<String, Instant> = over;
                for code in over.keys() {
                    relay.log(None, format!("request {code} has expired without an answer"));
                }
            }
            else => return std::future::pending().await,
        }
    }
}

/// Repeats a change while another process holds the book.
async fn patiently<T>(mut change: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..BOOK_TRIES {
        match change() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(BOOK_PAUSE).await,
            outcome => return outcome,
        }
    }
    change()
}

impl Relay {
    /// Sends a request to the operator. Returns its code if the operator can answer it.
    async fn ask(&self, request: PermissionRequest) -> Option<String> {
        let Some(operator_chat) = self.operator_chat() else {
            self.log(None, "a permission request was not relayed: no operator with a known 1:1 chat; let them write to the agent once".to_owned());
            return None;
        };
        let code = request.request_id.clone();
        let tool = entraclaw_sanitize::clean_name(&request.tool_name);
        let begun = Instant::now();
        let (tenant_id, object_id) = operator_chat.ids.clone();
        let question = Question {
            code: code.clone(),
            session: self.session.clone(),
            chat_id: operator_chat.chat_id.clone(),
            tenant_id,
            object_id,
            asked_at: operator_chat.way.now(),
            answer: None,
        };
        let storage = &*self.storage;
        let refused = match patiently(|| book::ask(storage, question.clone())).await {
            Ok(true) => None,
            Ok(false) => Some("another one with this code is open".to_owned()),
            Err(error) => Some(format!("{BOOK_FILE}: {error}")),
        };
        if let Some(why) = refused {
            self.log(Some(&operator_chat), format!("request {code} for {tool} was not relayed: {why}"));
            return None;
        }
        let told = operator_chat.way.tell(&operator_chat.chat_id, notice::html(&request)).await;
        let (noted, detail) = match told {
            Ok(sent) => {
                let at = sent.ts.parse().unwrap_or(question.asked_at);
                let noted = patiently(|| book::asked(storage, &question, at)).await;
                (noted, format!("request {code} for {tool} was relayed as {}", sent.message_id))
            }
            Err(error @ SendError::UnknownOutcome(_)) => {
                // The server's time may be known more exactly by now.
                let ago = SignedDuration::try_from(begun.elapsed()).unwrap_or_default();
                let at = operator_chat.way.now().saturating_sub(ago).unwrap_or(question.asked_at);
                let noted = patiently(|| book::asked(storage, &question, at)).await;
                (noted, format!("request {code} for {tool}: {error}; if it did, its answer counts"))
            }
            Err(error) => {
                if let Err(error) = patiently(|| book::forget(storage, &question)).await {
                    tracing::warn!(%error, file = BOOK_FILE, "a question that was not asked could not be taken out");
                }
                self.log(Some(&operator_chat), format!("request {code} for {tool} was not relayed: {error}"));
                return None;
            }
        };
        if let Err(error) = noted {
            tracing::warn!(%error, file = BOOK_FILE, "the time of a question could not be noted");
        }
        self.log(Some(&operator_chat), detail);
        Some(code)
    }

    /// Answers to this session's open questions.
    fn answered(&self, open: &BTreeMap<String, Instant>) -> Vec<PermissionAnswer> {
        let mut told = BTreeSet::new();
        let newest_first = book::questions(&*self.storage).questions.into_iter().rev();
        newest_first
            .filter(|question| question.session == self.session && open.contains_key(&question.code))
            .filter(|question| told.insert(question.code.clone()))
            .filter_map(|question| {
                Some(PermissionAnswer { behavior: question.answer?, request_id: question.code })
            })
            .collect()
    }

    /// The operator's chat, if the operator may speak now and the chat is known and not switched off.
    fn operator_chat(&self) -> Option<OperatorChat<'_>> {
        let people = self.gate.people();
        let people = people.into_iter().filter_map(|person| {
            let paired_in = person.chat_id.clone().map(|id| (person.channel.unwrap_or(Channel::Teams), id));
            Some((person.ids()?, paired_in.filter(|(channel, _)| self.ways.contains_key(channel))))
        });
        let people = people.filter(|(ids, _)| self.operator.as_ref().is_none_or(|operator| operator == ids));
        let chats = self.known_chats();
        people
            .filter_map(|(ids, paired_in)| {
                let known = |channel| Some((channel, chats.get(&(channel, ids.clone()))?.clone()));
                let (channel, chat_id) =
                    known(Channel::Teams).or_else(|| known(Channel::Bot)).or(paired_in)?;
                Some(OperatorChat { ids, channel, chat_id, way: &**self.ways.get(&channel)? })
            })
            .find(|operator_chat| self.gate.chat_rule(&operator_chat.chat_id) != Some(ChatRule::Off))
    }

    /// 1:1 chats of the people who wrote lately, if this session can write there.
    fn known_chats(&self) -> BTreeMap<(Channel, (Guid, Guid)), String> {
        let after = self.journal.last_seq().saturating_sub(CHAT_LOOK_BACK_RECORDS);
        let count = usize::try_from(CHAT_LOOK_BACK_RECORDS).unwrap_or(usize::MAX);
        let records = self.journal.read_after(after, count).unwrap_or_default();
        let of_two = |record: &crate::record::Record| {
            let of_two = if record.channel == Channel::Bot { "personal" } else { "oneOnOne" };
            self.ways.contains_key(&record.channel)
                && record.meta.get("chat_type").is_some_and(|kind| kind == of_two)
        };
        records
            .into_iter()
            .filter(of_two)
            .filter_map(|record| {
                let id = |name: &str| record.meta.get(name).and_then(|text| Guid::parse(text));
                let ids = (id("sender_tenant_id")?, id("sender_id")?);
                Some(((record.channel, ids), record.chat_id.clone()))
            })
            .collect()
    }

    fn log(&self, operator_chat: Option<&OperatorChat<'_>>, detail: String) {
        tracing::info!("{detail}");
        self.journal.interaction(Interaction {
            channel: operator_chat.map(|operator_chat| operator_chat.channel),
            chat_id: operator_chat.map(|operator_chat| operator_chat.chat_id.clone()),
            who: operator_chat
                .map(|operator_chat| format!("{}/{}", operator_chat.ids.0, operator_chat.ids.1)),
            ..Interaction::new(InteractionKind::Permission).detail(detail)
        });
    }
}

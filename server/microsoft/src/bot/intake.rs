//! The reception intake: it takes each request from its headers to the journal.
//! It must never believe, remember or answer an activity whose token has not passed every check.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::conversations::{CONVERSATIONS_FILE, Conversations};
use super::draft::{draft, key, says_something};
use super::endpoint::{BOT_BODY_BYTES_MAX, BotReply, BotRequest, Reception};
use super::jwt::{Believed, Fault, Token, bearer};
use super::keys::{Found, Key, Keys};
use super::service::Service;
use super::strangers::Told;
use super::wire::{Activity, Kind, is_id};
use super::{BotParts, SourceStatus};
use crate::incoming::Version;
use entraclaw_inbox::gate::{Guid, Reason, Refusals, Verdict};
use entraclaw_inbox::journal::{Interaction, InteractionKind, Journal, JournalError};
use entraclaw_inbox::record::{Channel, Draft};

/// The path to which the channel sends activities.
const PATH: &str = "/api/messages";
/// The only channel that is accepted: others let a client choose its own identity.
const CHANNEL: &str = "msteams";
/// The most requests that are handled at once.
const REQUESTS_MAX: usize = 32;
/// The most records that wait while the disk takes no writes. Further activities are refused so that they
/// come again.
const UNSAVED_MAX: usize = 100;
/// The pause between two tries to write the waiting records.
const SAVE_INTERVAL: Duration = Duration::from_secs(1);
/// Each kind of fault gets one line an interval, so that no client can fill the disk.
const FAULT_LINE_INTERVAL: SignedDuration = SignedDuration::from_mins(10);

/// The intake of one term.
pub(super) struct Intake<'a> {
    pub(super) parts: &'a BotParts,
    pub(super) journal: &'a Journal,
    status: SourceStatus,
    app_id: Guid,
    keys: &'a Keys,
    busy: Cell<usize>,
    conversations: RefCell<Conversations>,
    /// The term in which the conversations are saved.
    term: u64,
    unsaved: RefCell<VecDeque<Draft>>,
    pub(super) refusals: RefCell<Refusals>,
    /// The latest time that the channel stated, with the moment at which it came.
    pub(super) channel_time: Cell<Option<(Timestamp, Instant)>>,
    /// The way by which pairing codes go to the task that sends them.
    pub(super) strangers: mpsc::Sender<Told>,
    faults: RefCell<BTreeMap<Fault, (Timestamp, u64)>>,
}

/// The place of one request; it is given back when the work ends or is dropped.
struct Place<'a>(&'a Cell<usize>);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

impl Reception for Intake<'_> {
    fn listening(&self) {
        tracing::info!(address = %self.parts.options.listen, "the bot endpoint listens");
        let conversations = self.conversations.borrow().conversations.len() as u64;
        self.status.update(|state| {
            state.error = None;
            state.failures = 0;
            state.conversations = conversations;
        });
    }

    fn receive(&self, request: BotRequest) -> LocalBoxFuture<'_, BotReply> {
        Box::pin(async move {
            if self.busy.get() >= REQUESTS_MAX {
                return later();
            }
            self.busy.set(self.busy.get() + 1);
            let _place = Place(&self.busy);
            self.answer(&request).await
        })
    }
}

/// The answer that tells the channel to try again.
fn later() -> BotReply {
    BotReply { status: 503, header: Some(("retry-after", "5")) }
}

impl<'a> Intake<'a> {
    pub(super) fn new(
        parts: &'a BotParts,
        journal: &'a Journal,
        status: SourceStatus,
        app_id: Guid,
        keys: &'a Keys,
        strangers: mpsc::Sender<Told>,
    ) -> Self {
        let term = journal.term();
        let (conversations, problem) = Conversations::open(&*parts.storage, term);
        if let Some(problem) = problem {
            tracing::warn!(
                problem,
                file = CONVERSATIONS_FILE,
                "the list of the bot's conversations is broken and begun anew"
            );
            let what = format!("{CONVERSATIONS_FILE} was broken and is begun anew: {problem}");
            journal.interaction(Interaction::fault(what));
        }
        Self {
            parts,
            journal,
            status,
            app_id,
            keys,
            busy: Cell::new(0),
            conversations: RefCell::new(conversations),
            term,
            unsaved: RefCell::default(),
            refusals: RefCell::default(),
            channel_time: Cell::new(None),
            strangers,
            faults: RefCell::default(),
        }
    }

    async fn answer(&self, request: &BotRequest) -> BotReply {
        if request.path != PATH {
            return BotReply::status(404);
        }
        if request.method != "POST" {
            return BotReply { status: 405, header: Some(("allow", "POST")) };
        }
        let (believed, signer) = match self.believe(request).await {
            Ok(believed) => believed,
            Err(reply) => return reply,
        };
        if request.oversized || request.body.len() > BOT_BODY_BYTES_MAX {
            return BotReply::status(413);
        }
        let kind = request.header("content-type").unwrap_or_default();
        if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
            return BotReply::status(415);
        }
        let Some(activity) = Activity::parse(&request.body) else { return BotReply::status(400) };
        if activity.channel_id != CHANNEL || !signer.speaks_for(&activity.channel_id) {
            return self.turn_away(Fault::Channel);
        }
        if !believed.is_for(&activity.service_url) {
            return self.turn_away(Fault::ServiceUrl);
        }
        if Service::parse(&activity.service_url, self.parts.options.trusts_loopback()).is_none() {
            return self.turn_away(Fault::ForeignService);
        }
        let now = self.parts.clock.now();
        self.status.update(|state| {
            state.asked_at = Some(now);
            state.answered_at = Some(now);
        });
        self.note_time(&activity);
        self.take(&activity, now)
    }

    /// Checks the token as far as that is possible without the activity.
    async fn believe(&self, request: &BotRequest) -> Result<(Believed, std::sync::Arc<Key>), BotReply> {
        let token = bearer(request.header("authorization")).and_then(Token::parse);
        let token = token.map_err(|fault| self.turn_away(fault))?;
        let key = match self.keys.find(&token.kid).await {
            Ok(Found::Published(key)) => key,
            Ok(Found::Unpublished) => return Err(self.turn_away(Fault::UnknownKey)),
            Ok(Found::TooEarly) => {
                self.turn_away(Fault::UnknownKey);
                return Err(later());
            }
            Err(why) => {
                self.status.update(|state| {
                    state.failures = state.failures.saturating_add(1);
                    state.error =
                        Some(format!("the keys that the channel signs with can't be fetched: {why}"));
                });
                return Err(later());
            }
        };
        let believed = token.verify(&key, self.app_id.as_str(), self.parts.clock.now());
        let believed = believed.map_err(|fault| self.turn_away(fault))?;
        self.status.update(|state| {
            state.failures = 0;
            state.error = None;
        });
        Ok((believed, key))
    }

    fn turn_away(&self, fault: Fault) -> BotReply {
        let now = self.parts.clock.now();
        let mut faults = self.faults.borrow_mut();
        let (written_at, unwritten) = faults.entry(fault).or_insert((Timestamp::MIN, 0));
        if *written_at == Timestamp::MIN || now.duration_since(*written_at).abs() >= FAULT_LINE_INTERVAL {
            let more =
                if *unwritten > 0 { format!(" (and {unwritten} times before)") } else { String::new() };
            (*written_at, *unwritten) = (now, 0);
            tracing::warn!(reason = fault.as_str(), "a request to the bot endpoint was turned away");
            self.journal.interaction(Interaction {
                channel: Some(Channel::Bot),
                ..Interaction::new(InteractionKind::Refused).detail(format!("{}{more}", fault.as_str()))
            });
        } else {
            *unwritten += 1;
        }
        let header = (fault == Fault::NoToken).then_some(("www-authenticate", "Bearer"));
        BotReply { status: fault.status(), header }
    }

    /// Takes a believed activity.
    fn take(&self, activity: &Activity, now: Timestamp) -> BotReply {
        if !is_id(&activity.conversation_id) || !is_id(&activity.recipient.id) {
            return BotReply::status(400);
        }
        match activity.kind {
            Kind::Other => BotReply::status(200),
            Kind::ConversationUpdate => self.came_or_went(activity, now),
            Kind::Message | Kind::MessageUpdate | Kind::MessageDelete => self.take_message(activity, now),
        }
    }

    /// Handles that the bot was removed from a conversation, that an allowed person added it, or that people
    /// left.
    fn came_or_went(&self, activity: &Activity, now: Timestamp) -> BotReply {
        let bot = &activity.recipient.id;
        if activity.removed.iter().any(|went| went.id == *bot) {
            if self.conversations.borrow_mut().forget(&activity.conversation_id) {
                self.save_conversations();
            }
        } else if activity.added.contains(bot) {
            match self.judge(activity) {
                Verdict::Accept => self.remember(activity, now),
                Verdict::Later => return later(),
                Verdict::Own | Verdict::Refuse(_) => {}
            }
        }
        let gone: Vec<Option<Guid>> =
            activity.removed.iter().map(|went| went.object_id.as_deref().and_then(Guid::parse)).collect();
        if self.conversations.borrow_mut().leave(&activity.conversation_id, &gone) {
            self.save_conversations();
        }
        BotReply::status(200)
    }

    fn take_message(&self, activity: &Activity, now: Timestamp) -> BotReply {
        if !is_id(&activity.id) {
            return BotReply::status(400);
        }
        if activity.kind != Kind::Message && !self.journal.is_settled() {
            // While the disk takes no writes, it is unknown whether the first version was delivered.
            return later();
        }
        let known = self.has(&key(activity, Version::First));
        let version = match activity.kind {
            Kind::MessageDelete if known => Version::Deletion,
            Kind::MessageDelete => return BotReply::status(200),
            Kind::MessageUpdate if known => Version::Edit,
            _ => Version::First,
        };
        let key_now = key(activity, version);
        if self.journal.has(&key_now) {
            return BotReply::status(200);
        }
        if self.has(&key_now) {
            // The disk has not taken the record yet.
            return later();
        }
        // A person who was let in a moment ago may have written at once, and the channel sends a refused
        // message only once.
        self.parts.gate.look(self.journal);
        let verdict = self.judge(activity);
        let is_chatter = version == Version::First && self.is_chatter(activity);
        match verdict {
            Verdict::Own => return BotReply::status(200),
            Verdict::Refuse(reason) => {
                if reason == Reason::NotListed {
                    self.meet(activity, version);
                }
                self.refuse(activity, reason, now);
                // The channel is not told who may speak.
                return BotReply::status(200);
            }
            Verdict::Accept | Verdict::Later if is_chatter => {
                if self.parts.gate.was_heard_whole(&activity.conversation_id) {
                    return later();
                }
                self.refuse(activity, Reason::NotMentioned, now);
                return BotReply::status(200);
            }
            // The gate can't decide now, so the channel has to send the message again.
            Verdict::Later => return later(),
            Verdict::Accept => {}
        }
        if version == Version::First && !says_something(activity) {
            return BotReply::status(200);
        }
        if version == Version::First {
            match self.takes_answer(activity, now) {
                Ok(true) => return BotReply::status(200),
                Ok(false) => {}
                Err(error) => {
                    tracing::warn!(%error, "an answer to a permission request could not be kept; the channel is asked to send it again");
                    return later();
                }
            }
        }
        if self.unsaved.borrow().len() >= UNSAVED_MAX {
            return later();
        }
        // The conversation is saved before the message, so that no model gets a message that it can't answer.
        self.remember(activity, now);
        self.append(draft(activity, version, now))
    }

    fn has(&self, key: &str) -> bool {
        self.journal.has(key) || self.unsaved.borrow().iter().any(|draft| draft.key == key)
    }

    fn append(&self, draft: Draft) -> BotReply {
        match self.journal.append(vec![draft.clone()]) {
            Ok(_) => BotReply::status(200),
            Err(error @ JournalError::NotDurable { .. }) => {
                // The model already gets the message; the disk gets it as soon as it takes writes.
                tracing::warn!(%error, "a message to the bot is in memory only");
                self.unsaved.borrow_mut().push_back(draft);
                later()
            }
            Err(error) => {
                tracing::warn!(%error, "a message to the bot could not be kept; the channel is asked to send it again");
                later()
            }
        }
    }

    /// Writes the waiting records to the disk, again and again.
    pub(super) async fn keep_saving(&self) -> Infallible {
        loop {
            tokio::time::sleep(SAVE_INTERVAL).await;
            let waiting: Vec<Draft> = self.unsaved.borrow().iter().cloned().collect();
            if waiting.is_empty() {
                continue;
            }
            let count = waiting.len();
            match self.journal.append(waiting) {
                Ok(_) => drop(self.unsaved.borrow_mut().drain(..count)),
                Err(error) => tracing::debug!(%error, count, "messages to the bot still wait for the disk"),
            }
        }
    }

    fn remember(&self, activity: &Activity, now: Timestamp) {
        let Some(person) = Self::person(activity) else { return };
        let changed = self.conversations.borrow_mut().note(
            &activity.conversation_id,
            &activity.service_url,
            &activity.recipient.id,
            &person,
            now,
        );
        if changed {
            self.save_conversations();
        }
    }

    fn save_conversations(&self) {
        let conversations = self.conversations.borrow();
        self.status.update(|state| state.conversations = conversations.conversations.len() as u64);
        if let Err(error) = conversations.save(&*self.parts.storage, self.term) {
            tracing::warn!(%error, file = CONVERSATIONS_FILE, "the list of the bot's conversations could not be written");
        }
    }
}

//! The polling loop of Teams: after each event it decides what to list, read and append next.
//! It must never wait for one chat before it serves another, nor save a position that the journal does not
//! cover.

mod listed;
mod taken;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::TeamsParts;
use super::cursor::{ChatCursor, Cursor};
use super::identity::identify;
use super::judge::News;
use super::known::Look;
use super::listing::{ListJob, ListUrls, Listing, list};
use super::members;
use super::page::LastPage;
use super::reading::{ReadDone, ReadJob, read};
use super::wire::{ChatRow, Message, Preview};
use crate::graph::{Failure, GraphError};
use entraclaw_inbox::gate::Refusals;
use entraclaw_inbox::journal::{Journal, ReadAgain};
use entraclaw_inbox::record::Channel;
use entraclaw_inbox::source::position::{self, FirstStart};
use entraclaw_inbox::source::status::{Failed, SourceState, SourceStatus};

/// The most chats that are read at the same time.
const READS_MAX: usize = 8;
/// The most of those that are only swept; the rest is for chats with a message to fetch.
const SWEEPS_MAX: usize = 6;
/// The most active chats that are swept for edits and deletions.
const SWEPT_CHATS_MAX: usize = 20;
/// How long the news of one chat wait for the news of others, so that they can be put in order.
const GATHER: Duration = Duration::from_millis(500);
/// How often a chat is read again because the reading did not contain its newest message.
const MISSING_TRIES_MAX: u32 = 3;
const MISSING_PAUSE: Duration = Duration::from_secs(2);
/// The first pause after Graph refused a request; it doubles.
const REFUSAL_PAUSE: Duration = Duration::from_secs(30);
/// The first pause after Graph refused the token.
const SIGNED_OUT_PAUSE: Duration = Duration::from_secs(5);
/// The longest pause after failures for which the server named no time.
const FAILURE_PAUSE_MAX: Duration = Duration::from_secs(600);
/// Pause before the sign-in is asked for again.
const SIGN_IN_PAUSE: Duration = Duration::from_secs(30);
/// How long a form of request that Graph refused is not tried again.
const REFUSED_PAUSE: Duration = Duration::from_secs(3_600);
/// Pause before a chat is read again after the journal did not keep its messages.
const APPEND_PAUSE: Duration = Duration::from_secs(5);
/// How long a message that can't be judged now holds up later messages of its chat, to keep their order.
const HELD_ORDER: Duration = Duration::from_secs(60);

enum Event {
    Read(ReadDone),
    Listed(Result<Listing, GraphError>),
    Due,
}

/// The state of a chat in the running loop.
#[derive(Default)]
struct Live {
    kind: String,
    /// The last value from the list of chats; empty before the first.
    updated: String,
    /// The ids of the membership messages in the last reading.
    comings: BTreeSet<String>,
    /// The preview that has not been read yet.
    wanted: Option<Preview>,
    reading: bool,
    /// Shared with the running reading.
    hurry: Rc<Cell<bool>>,
    /// The first page of the last reading, while the chat is swept.
    last_page: Rc<LastPage<Message>>,
    /// Whether a reading waits to be appended.
    gathered: bool,
    not_before: Option<Instant>,
    failures: u32,
    /// When the last reading began.
    asked_at: Option<Timestamp>,
    missing_tries: u32,
    held: Option<Held>,
    /// The preview whose message was not found. Sweeps look for the message.
    given_up: Option<String>,
    last_read: Option<Instant>,
    /// When the running reading began, else the last one.
    began: Option<Instant>,
    /// When the chat is read once more for messages that may turn up late.
    back_at: Option<Instant>,
    hot_until: Option<Instant>,
}

/// A chat with a message that could not be judged.
#[derive(Clone, Copy)]
struct Held {
    since: Instant,
    /// The generation of the gate at that time.
    generation: u64,
}

impl Live {
    /// Whether work would be lost if the chat were forgotten now.
    fn is_needed(&self) -> bool {
        self.reading || self.gathered || self.wanted.is_some()
    }

    /// Has the chat read again when the gate changes, and once when later messages need not wait any longer.
    fn hold(&mut self, held: Held, read_to: Timestamp) {
        let (now, order_until) = (Instant::now(), held.since + HELD_ORDER);
        self.held = Some(held);
        self.not_before = Some(if order_until > now { order_until } else { now + FAILURE_PAUSE_MAX });
        self.wanted.get_or_insert(Preview { print: String::new(), message_id: None, created: Some(read_to) });
    }
}

/// A judged reading that waits to be appended.
struct Gathered {
    chat_id: String,
    news: Vec<News>,
    cursor: ChatCursor,
    /// Opens the chat for answers: the look by which the newest message was accepted, and when it was
    /// written. `None` opens nothing.
    opened: Option<(Look, Instant)>,
}

pub(super) struct Poll<'a> {
    parts: &'a TeamsParts,
    journal: &'a Journal,
    status: SourceStatus,
    /// When this process began to poll.
    begun: Instant,
    cursor: Cursor,
    /// The term in which the position is saved.
    term: u64,
    /// The first start, as long as no list has been read since.
    first_look: Option<FirstStart>,
    chats: BTreeMap<String, Live>,
    reads: FuturesUnordered<LocalBoxFuture<'static, ReadDone>>,
    listing: Option<LocalBoxFuture<'static, Result<Listing, GraphError>>>,
    list_urls: Rc<ListUrls>,
    last_list: Rc<LastPage<ChatRow>>,
    next_list: Instant,
    list_failures: u32,
    unsorted_until: Option<Instant>,
    unfiltered_until: Option<Instant>,
    gathered: Vec<Gathered>,
    flush_at: Option<Instant>,
    refusals: Refusals,
    dirty: bool,
    /// Why the position could not be saved.
    unsaved: Option<String>,
    /// Why the journal did not keep the messages of the last append.
    unkept: Option<String>,
    /// The last answer to a permission request that could not be kept.
    untaken: Option<String>,
}

impl<'a> Poll<'a> {
    pub(super) fn new(
        parts: &'a TeamsParts,
        journal: &'a Journal,
        status: SourceStatus,
        started: Instant,
    ) -> Self {
        let now = Instant::now();
        let (cursor, first_look, term) = position::begin(&*parts.storage, journal, &*parts.clock, started);
        Self {
            parts,
            journal,
            status,
            begun: now,
            cursor,
            term,
            first_look,
            chats: BTreeMap::new(),
            reads: FuturesUnordered::new(),
            listing: None,
            list_urls: Rc::new(ListUrls::new(&parts.client, parts.options.page_size)),
            last_list: Rc::default(),
            next_list: now,
            list_failures: 0,
            unsorted_until: None,
            unfiltered_until: None,
            gathered: Vec::new(),
            flush_at: None,
            refusals: Refusals::default(),
            dirty: false,
            unsaved: None,
            unkept: None,
            untaken: None,
        }
    }

    /// Runs the loop; it never ends.
    pub(super) async fn run(mut self) -> Infallible {
        loop {
            if !self.is_going_back() {
                self.start_what_is_due();
            }
            match self.next_event().await {
                Event::Read(done) => self.on_read(done),
                Event::Listed(outcome) => self.on_listed(outcome),
                Event::Due => {}
            }
            self.append_what_is_gathered();
            self.save();
            self.report();
        }
    }

    /// Moves the position back where the journal's files have lost messages. Returns whether that must wait
    /// for running readings, because they began from the old position.
    fn is_going_back(&mut self) -> bool {
        let Some(again) = self.journal.to_read_again(self.cursor.losses_done) else { return false };
        if !self.reads.is_empty() || !self.gathered.is_empty() || self.listing.is_some() {
            return true;
        }
        let from = again.from().unwrap_or(self.cursor.since);
        self.cursor.go_back_to(from);
        self.cursor.losses_done = Some(again.noticed_at);
        self.chats.clear();
        self.last_list.forget();
        self.next_list = Instant::now();
        self.dirty = true;
        self.journal.interaction(ReadAgain::told(Channel::Teams, from.max(self.cursor.since)));
        false
    }

    async fn next_event(&mut self) -> Event {
        let wake = self.next_wake();
        let Self { reads, listing, .. } = self;
        let listed = async {
            match listing {
                Some(future) => future.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(done) = reads.next(), if !reads.is_empty() => Event::Read(done),
            outcome = listed => Event::Listed(outcome),
            () = tokio::time::sleep_until(wake) => Event::Due,
        }
    }

    /// The next moment at which work is due that no future announces.
    fn next_wake(&self) -> Instant {
        let now = Instant::now();
        let mut wake = now + FAILURE_PAUSE_MAX;
        if self.listing.is_none() {
            wake = wake.min(self.next_list);
        }
        wake = self.flush_at.map_or(wake, |at| wake.min(at));
        if self.reads.len() < READS_MAX {
            wake = self.readable(now).map(|(_, at)| at).fold(wake, Instant::min);
        }
        wake
    }

    /// The chats to read, each with the moment from which it may be read.
    fn readable(&self, now: Instant) -> impl Iterator<Item = (&String, Instant)> {
        let sweep = self.parts.options.sweep_interval;
        let generation = self.parts.gate.generation();
        let may_sweep = self.sweeps() < SWEEPS_MAX;
        self.chats.iter().filter(|(_, live)| !live.reading && !live.gathered).filter_map(move |(id, live)| {
            let due = match (&live.wanted, live.hot_until) {
                (Some(_), _) => now,
                (None, _) if !may_sweep => return None,
                (None, hot_until) => {
                    let is_hot = hot_until.is_some_and(|until| until > now);
                    let sweep_at = live.last_read.unwrap_or(self.begun) + sweep;
                    is_hot.then_some(sweep_at).into_iter().chain(live.back_at).min()?
                }
            };
            let free = self.parts.client.free_at(id).unwrap_or(now);
            // A held chat is read again as soon as the gate has changed.
            let knows_more = live.held.is_some_and(|held| held.generation != generation);
            let not_before = live.not_before.filter(|_| !knows_more).unwrap_or(now);
            Some((id, due.max(free).max(not_before)))
        })
    }

    fn start_what_is_due(&mut self) {
        let now = Instant::now();
        if self.listing.is_none() && self.next_list <= now {
            self.start_list(now);
        }
        let mut due: Vec<(bool, u32, String)> = self
            .readable(now)
            .filter(|(_, at)| *at <= now)
            .filter_map(|(id, _)| {
                let live = self.chats.get(id)?;
                Some((live.wanted.is_none(), live.failures, id.clone()))
            })
            .collect();
        // Chats with a message to fetch come before chats that are only swept, and working chats before
        // failing ones.
        due.sort();
        for (is_sweep, _, id) in due {
            if self.reads.len() >= READS_MAX || (is_sweep && self.sweeps() >= SWEEPS_MAX) {
                break;
            }
            self.start_read(id, now);
        }
    }

    /// The number of running readings that are only sweeps.
    fn sweeps(&self) -> usize {
        self.chats.values().filter(|live| live.reading && live.wanted.is_none()).count()
    }

    fn start_list(&mut self, now: Instant) {
        let overlap = self.overlap();
        // After a restart, the list also goes back to messages that were listed and not read.
        let known_to = self.cursor.behind.map_or(self.cursor.watermark, |b| b.min(self.cursor.watermark));
        let known_to = known_to.min(self.active_before().unwrap_or(known_to));
        let job = ListJob {
            stop_before: known_to.checked_sub(overlap).unwrap_or(known_to),
            sorted: self.unsorted_until.is_none_or(|until| until <= now),
        };
        for live in self.chats.values().filter(|live| live.hot_until.is_none_or(|until| until <= now)) {
            live.last_page.forget();
        }
        self.next_list = now + self.parts.client.jitter(self.cadence(now));
        let (client, known) = (self.parts.client.clone(), self.parts.known.clone());
        let (urls, last_list) = (Rc::clone(&self.list_urls), Rc::clone(&self.last_list));
        let asked_at = self.parts.clock.now();
        self.status.update(|state| state.asked_at = Some(asked_at));
        self.listing = Some(Box::pin(async move {
            identify(&client, &known).await?;
            list(client, urls, job, last_list).await
        }));
    }

    /// The oldest activity for which a chat is still swept; only as long as this process knows no chat.
    fn active_before(&self) -> Option<Timestamp> {
        if !self.chats.is_empty() {
            return None;
        }
        let hot_for = SignedDuration::try_from(self.parts.options.hot_for).ok()?;
        let since = self.parts.client.server_now().checked_sub(hot_for).ok()?;
        let active = self.cursor.chats.values().filter(|chat| chat.was_active());
        active.map(|chat| chat.read_to).filter(|read_to| *read_to > since).min()
    }

    /// The time to the next list. The configuration may make it longer when no message has come for a while.
    fn cadence(&self, now: Instant) -> Duration {
        let options = &self.parts.options;
        let hot = self.chats.values().any(|live| live.wanted.is_some() || live.hot_until > Some(now));
        let fresh = now.duration_since(self.begun) < options.hot_for;
        if hot || fresh { options.poll_interval } else { options.idle_poll_interval }
    }

    fn start_read(&mut self, chat_id: String, now: Instant) {
        let overlap = self.overlap();
        let Some(chat) = self.cursor.chats.get(&chat_id) else { return };
        let (after, read_to) = (chat.unsettled_from(overlap), chat.read_to);
        let Some(live) = self.chats.get_mut(&chat_id) else { return };
        live.reading = true;
        live.began = Some(now);
        live.asked_at = Some(self.parts.clock.now());
        live.hurry = Rc::new(Cell::new(live.wanted.is_some()));
        let job = ReadJob {
            chat_id,
            after,
            read_to,
            page_size: self.parts.options.page_size,
            filtered: self.unfiltered_until.is_none_or(|until| until <= now),
            wanted: live.wanted.clone(),
            hurry: Rc::clone(&live.hurry),
            last: Rc::clone(&live.last_page),
        };
        self.reads.push(Box::pin(read(self.parts.client.clone(), job)));
    }

    fn overlap(&self) -> SignedDuration {
        SignedDuration::try_from(self.parts.options.overlap).unwrap_or(SignedDuration::ZERO)
    }

    fn report(&self) {
        let behind = self.chats.values().filter(|live| live.wanted.is_some()).count() as u64;
        let conversations = self.cursor.chats.len() as u64;
        let unsaved = self.unkept.as_ref().or(self.unsaved.as_ref());
        let is_told = self.status.is(|state| {
            (state.behind, state.conversations, state.unsaved.as_ref()) == (behind, conversations, unsaved)
        });
        if is_told {
            return;
        }
        self.status.update(|state| {
            state.behind = behind;
            state.conversations = conversations;
            state.unsaved = unsaved.cloned();
        });
    }

    /// Notes that a chat's members have changed, so that they are looked up before a message is sent there.
    fn members_changed(&self, chat_id: &str) {
        self.parts.known.members_changed(chat_id);
        members::tell(&*self.parts.storage, chat_id, self.parts.clock.now());
    }

    fn pause_after(&self, error: &GraphError, failures: u32) -> Duration {
        if error.is_transient() {
            return self.parts.client.delay_after(error, failures);
        }
        if error.failure == Failure::SignIn {
            // The sign-in has a pause of its own. Asking for it costs nothing, and the operator may have
            // repaired it.
            return SIGN_IN_PAUSE;
        }
        // A repetition does not help soon, but the operator may repair the cause. A refused token may be
        // replaced at any moment.
        let signed_out = error.failure == Failure::Unauthorized;
        let pause = if signed_out { SIGNED_OUT_PAUSE } else { REFUSAL_PAUSE };
        let pause = pause.saturating_mul(1 << failures.saturating_sub(1).min(8));
        pause.min(FAILURE_PAUSE_MAX)
    }

    fn failed(&self, what: &str, error: &GraphError, asked_at: Option<Timestamp>, pause: Duration) {
        tracing::warn!(%error, fix = error.advice(), "{what} could not be read");
        let now = self.parts.clock.now();
        let failed = Failed {
            error: format!("{what} could not be read: {error}; {}", error.advice()),
            asked_at: asked_at.unwrap_or(now),
            pause,
            lasts: !error.is_transient(),
        };
        self.status.update(|state| state.fail(failed, now));
    }

    /// Clears the error after an answer, unless another request still fails.
    fn recovered(&self) {
        if self.list_failures == 0 && self.chats.values().all(|live| live.failures == 0) {
            self.status.update(SourceState::recover);
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn unread() -> Preview {
        Preview { print: "1".to_owned(), message_id: None, created: None }
    }

    #[rstest]
    #[case::idle(Live::default(), false)]
    #[case::read(Live { reading: true, ..Live::default() }, true)]
    #[case::gathered(Live { gathered: true, ..Live::default() }, true)]
    #[case::wanted(Live { wanted: Some(unread()), ..Live::default() }, true)]
    fn a_chat_with_unfinished_work_is_not_forgotten(#[case] live: Live, #[case] is_needed: bool) {
        assert_eq!(live.is_needed(), is_needed);
    }
}

//! The loop: one event at a time decides what is listed, read and appended next.
//! It must never wait for one chat before it serves another, nor save a position that the journal does not cover.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use tokio::time::Instant;

use super::TeamsParts;
use super::cursor::{self, CHATS_MAX, ChatCursor, Cursor, Found};
use super::judge::{Bench, Judged, News};
use super::listing::{ListJob, Listing, list};
use super::reading::{ReadDone, ReadJob, read};
use super::wire::{ChatRow, Preview};
use crate::entra;
use crate::gate::{Agent, Guid, Refusals};
use crate::graph::{Failure, GraphClient, GraphError, Scope};
use crate::journal::{Interaction, InteractionKind, Journal};
use crate::record::Channel;
use crate::source::SourceStatus;

/// Chats that are read at the same time.
const READS_MAX: usize = 8;
/// Active chats that are swept for edits and deletions.
const SWEPT_CHATS_MAX: usize = 20;
/// How long the news of one chat wait for those of others, so that they can be put in order.
const GATHER: Duration = Duration::from_millis(500);
/// How often a chat is read again because its newest message was not in what was read.
const MISSING_TRIES_MAX: u32 = 3;
const MISSING_PAUSE: Duration = Duration::from_secs(2);
/// The longest pause after failures that the server named no time for.
const FAILURE_PAUSE_MAX: Duration = Duration::from_secs(600);
/// How long a question that Graph refused is not asked again.
const REFUSED_PAUSE: Duration = Duration::from_secs(3_600);
/// How long the agent's own identity is not asked for again after that failed.
const IDENTITY_PAUSE: Duration = Duration::from_secs(600);
/// Pause before a chat is read again whose messages the journal did not keep.
const APPEND_PAUSE: Duration = Duration::from_secs(5);

/// What can happen.
enum Event {
    Read(ReadDone),
    Listed(Result<Listing, GraphError>),
    Due,
}

/// A chat while the loop runs.
#[derive(Default)]
struct Live {
    kind: String,
    /// The preview that has not been read yet.
    wanted: Option<Preview>,
    reading: bool,
    /// Read, and waiting to be appended.
    gathered: bool,
    not_before: Option<Instant>,
    failures: u32,
    missing_tries: u32,
    last_read: Option<Instant>,
    hot_until: Option<Instant>,
}

/// A judged reading that waits to be appended.
struct Gathered {
    chat_id: String,
    news: Vec<News>,
    cursor: ChatCursor,
}

pub(super) struct Poll<'a> {
    parts: &'a TeamsParts,
    journal: &'a Journal,
    status: SourceStatus,
    started: Instant,
    cursor: Cursor,
    /// Nothing has been listed yet, and there was no saved position.
    first_look: bool,
    chats: BTreeMap<String, Live>,
    reads: FuturesUnordered<LocalBoxFuture<'static, ReadDone>>,
    listing: Option<LocalBoxFuture<'static, Result<Listing, GraphError>>>,
    next_list: Instant,
    list_failures: u32,
    unsorted_until: Option<Instant>,
    unfiltered_until: Option<Instant>,
    gathered: Vec<Gathered>,
    flush_at: Option<Instant>,
    refusals: Refusals,
    dirty: bool,
}

impl<'a> Poll<'a> {
    pub(super) fn new(parts: &'a TeamsParts, journal: &'a Journal, status: SourceStatus) -> Self {
        let now = Instant::now();
        let (cursor, first_look) = match cursor::load(&*parts.storage, journal) {
            Found::Saved(cursor) => (cursor, false),
            Found::Nothing => (Cursor::starting_at(parts.client.server_now()), true),
            Found::Broken(cursor, problem) => {
                let detail =
                    format!("the teams cursor was broken ({problem}); reading again from {}", cursor.since);
                tracing::warn!("{detail}");
                journal.interaction(Interaction::fault(detail));
                (cursor, false)
            }
        };
        Self {
            parts,
            journal,
            status,
            started: now,
            cursor,
            first_look,
            chats: BTreeMap::new(),
            reads: FuturesUnordered::new(),
            listing: None,
            next_list: now,
            list_failures: 0,
            unsorted_until: None,
            unfiltered_until: None,
            gathered: Vec::new(),
            flush_at: None,
            refusals: Refusals::default(),
            dirty: false,
        }
    }

    /// Runs for ever.
    pub(super) async fn run(mut self) -> Infallible {
        loop {
            self.start_what_is_due();
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

    /// The next moment at which something is due that no future tells of.
    fn next_wake(&self) -> Instant {
        let mut wake = Instant::now() + FAILURE_PAUSE_MAX;
        if self.listing.is_none() {
            wake = wake.min(self.next_list);
        }
        wake = self.flush_at.map_or(wake, |at| wake.min(at));
        if self.reads.len() < READS_MAX {
            wake = self.readable().map(|(_, at)| at).fold(wake, Instant::min);
        }
        wake
    }

    /// Chats to read, with the moment from which they may be.
    fn readable(&self) -> impl Iterator<Item = (&String, Instant)> {
        let now = Instant::now();
        let sweep = self.parts.options.sweep_interval;
        self.chats.iter().filter(|(_, live)| !live.reading && !live.gathered).filter_map(move |(id, live)| {
            let due = match (&live.wanted, live.hot_until) {
                (Some(_), _) => now,
                (None, Some(until)) if until > now => live.last_read? + sweep,
                _ => return None,
            };
            let free = self.parts.client.free_at(id).unwrap_or(now);
            Some((id, due.max(free).max(live.not_before.unwrap_or(now))))
        })
    }

    fn start_what_is_due(&mut self) {
        let now = Instant::now();
        if self.listing.is_none() && self.next_list <= now {
            self.start_list(now);
        }
        let mut due: Vec<(u32, String)> = self
            .readable()
            .filter(|(_, at)| *at <= now)
            .map(|(id, _)| (self.chats.get(id).map_or(0, |live| live.failures), id.clone()))
            .collect();
        // A chat that fails comes after one that does not.
        due.sort();
        for (_, id) in due.into_iter().take(READS_MAX.saturating_sub(self.reads.len())) {
            self.start_read(id, now);
        }
    }

    fn start_list(&mut self, now: Instant) {
        let overlap = self.overlap();
        // After a restart, also what had been seen and not read is looked for.
        let known_to =
            self.cursor.behind.take().map_or(self.cursor.watermark, |b| b.min(self.cursor.watermark));
        let job = ListJob {
            stop_before: known_to.checked_sub(overlap).unwrap_or(known_to),
            page_size: self.parts.options.page_size,
            sorted: self.unsorted_until.is_none_or(|until| until <= now),
        };
        self.next_list = now + self.parts.options.poll_interval;
        let (client, known) = (self.parts.client.clone(), self.parts.known.clone());
        let asked_at = self.parts.clock.now();
        self.status.update(|state| state.asked_at = Some(asked_at));
        self.listing = Some(Box::pin(async move {
            identify(&client, &known).await?;
            list(client, job).await
        }));
    }

    fn start_read(&mut self, chat_id: String, now: Instant) {
        let overlap = self.overlap();
        let Some(chat) = self.cursor.chats.get(&chat_id) else { return };
        let after = chat.read_to.checked_sub(overlap).unwrap_or(chat.read_to).max(chat.floor);
        let Some(live) = self.chats.get_mut(&chat_id) else { return };
        live.reading = true;
        let job = ReadJob {
            chat_id,
            after,
            page_size: self.parts.options.page_size,
            filtered: self.unfiltered_until.is_none_or(|until| until <= now),
            wanted: live.wanted.clone(),
        };
        self.reads.push(Box::pin(read(self.parts.client.clone(), job)));
    }

    fn overlap(&self) -> SignedDuration {
        SignedDuration::try_from(self.parts.options.overlap).unwrap_or(SignedDuration::ZERO)
    }

    fn on_listed(&mut self, outcome: Result<Listing, GraphError>) {
        self.listing = None;
        let now = Instant::now();
        let listing = match outcome {
            Ok(listing) => listing,
            Err(error) => {
                self.list_failures += 1;
                let pause = self.pause_after(&error, self.list_failures);
                self.next_list = self.next_list.max(now + pause);
                self.failed("the list of chats", &error);
                return;
            }
        };
        self.list_failures = 0;
        if !listing.sorted && self.unsorted_until.is_none_or(|until| until <= now) {
            self.unsorted_until = Some(now + REFUSED_PAUSE);
        }
        if listing.unreadable > 0 {
            tracing::warn!(count = listing.unreadable, "chats without a usable id are passed over");
        }
        if self.first_look {
            self.begin_history();
        }
        let before = self.cursor.watermark;
        let server_now = self.parts.client.server_now();
        for row in listing.rows {
            if let Some(created) = row.preview.as_ref().and_then(|p| p.created) {
                // A date from the future must not hide what comes before it.
                self.cursor.watermark = self.cursor.watermark.max(created.min(server_now));
            }
            self.on_row(row, before);
        }
        if self.first_look {
            self.first_look = false;
            self.cursor.all_known = listing.complete;
            self.dirty = true;
        }
        let answered_at = self.parts.clock.now();
        self.status.update(|state| {
            state.answered_at = Some(answered_at);
            state.error = None;
            state.failures = 0;
        });
    }

    /// On a first start, what was written before the server started is history. The server's clock counts, and it
    /// is known only now.
    fn begin_history(&mut self) {
        let ago = self.started.elapsed() + self.parts.options.look_back;
        let ago = SignedDuration::try_from(ago).unwrap_or(SignedDuration::ZERO);
        let now = self.parts.client.server_now();
        self.cursor = Cursor::starting_at(now.checked_sub(ago).unwrap_or(now));
    }

    fn on_row(&mut self, row: ChatRow, watermark_before: Timestamp) {
        let ChatRow { id, kind, preview } = row;
        if !self.cursor.chats.contains_key(&id) && !self.meet(&id, preview.as_ref(), watermark_before) {
            return;
        }
        let live = self.chats.entry(id.clone()).or_default();
        live.kind = kind;
        let Some(chat) = self.cursor.chats.get(&id) else { return };
        let Some(preview) = preview.filter(|p| p.print != chat.print) else { return };
        if live.wanted.as_ref() != Some(&preview) {
            live.missing_tries = 0;
            live.wanted = Some(preview);
        }
    }

    /// A chat that has no position yet gets one. Returns whether it has one now.
    fn meet(&mut self, id: &str, preview: Option<&Preview>, watermark_before: Timestamp) -> bool {
        const MOMENT: SignedDuration = SignedDuration::from_millis(1);
        let created = preview.and_then(|p| p.created);
        let floor = if self.first_look {
            self.cursor.since
        } else {
            // Had it had a message since, it would have been in the list.
            let floor = watermark_before.checked_sub(self.overlap()).unwrap_or(watermark_before);
            let floor = floor.max(self.cursor.since);
            match created.and_then(|at| at.checked_sub(MOMENT).ok()) {
                // It did not exist when everything was listed, so its newest message is news whatever its date.
                Some(before_newest) if self.cursor.all_known => floor.min(before_newest),
                _ => floor,
            }
        };
        let silent = preview.is_none() || created.is_some_and(|at| at <= floor);
        if silent && self.cursor.chats.len() >= CHATS_MAX {
            self.cursor.all_known = false;
            return false;
        }
        let mut chat = ChatCursor::from_floor(floor);
        if silent && let Some(preview) = preview {
            chat.print.clone_from(&preview.print);
            chat.floor = created.unwrap_or(floor).min(floor);
            chat.read_to = chat.floor;
        }
        self.cursor.chats.insert(id.to_owned(), chat);
        self.dirty = true;
        true
    }

    fn on_read(&mut self, done: ReadDone) {
        let now = Instant::now();
        let refused_filter = done.filter_was_refused();
        let ReadDone { job, outcome } = done;
        let Some(live) = self.chats.get_mut(&job.chat_id) else { return };
        live.reading = false;
        live.last_read = Some(now);
        let pages = match outcome {
            Ok(pages) => pages,
            Err(error) if refused_filter => {
                tracing::warn!(%error, "graph refused to filter messages; they are filtered here");
                self.unfiltered_until = Some(now + REFUSED_PAUSE);
                return;
            }
            Err(error) => {
                live.failures += 1;
                let failures = live.failures;
                let pause = self.pause_after(&error, failures);
                if let Some(live) = self.chats.get_mut(&job.chat_id) {
                    live.not_before = Some(now + pause);
                }
                self.failed(&format!("chat {}", job.chat_id), &error);
                return;
            }
        };
        live.failures = 0;
        live.not_before = None;
        let missing = job.wanted.as_ref().and_then(|w| w.message_id.as_ref()).is_some_and(|wanted| {
            !pages.messages.iter().any(|m| m.id == *wanted)
                && job.wanted.as_ref().and_then(|w| w.created).is_some_and(|at| at > job.after)
        });
        let again = missing && live.missing_tries < MISSING_TRIES_MAX;
        if again {
            live.missing_tries += 1;
            live.not_before = Some(now + MISSING_PAUSE);
        }
        let kind = live.kind.clone();
        if pages.unreadable > 0 {
            let count = pages.unreadable;
            tracing::warn!(chat_id = job.chat_id, count, "messages without a usable id are passed over");
        }
        if pages.cut {
            let detail = "too many unread messages at once; the oldest of them were passed over";
            self.journal.interaction(Interaction {
                channel: Some(Channel::Teams),
                chat_id: Some(job.chat_id.clone()),
                ..Interaction::new(InteractionKind::Dropped).detail(detail)
            });
        }
        let Some(position) = self.cursor.chats.get(&job.chat_id).cloned() else { return };
        let bench = Bench {
            gate: &self.parts.gate,
            known: &self.parts.known,
            agent: self.parts.known.agent(),
            group_messages: self.parts.options.group_messages,
            now: self.parts.client.server_now(),
        };
        let Judged { news, refused, mut cursor, active_at } =
            bench.judge(&job.chat_id, &kind, position, &pages);
        self.heat(&job.chat_id, active_at, now);
        for one in refused {
            self.refuse(&job.chat_id, &one.message_id, &one.who, one.reason);
        }
        if let (Some(wanted), false) = (&job.wanted, again) {
            cursor.print.clone_from(&wanted.print);
        }
        if let Some(live) = self.chats.get_mut(&job.chat_id) {
            live.gathered = true;
        }
        self.gathered.push(Gathered { chat_id: job.chat_id, news, cursor });
        self.flush_at = self.flush_at.or(Some(now + GATHER));
    }

    /// A chat where somebody was active lately is swept for a while.
    fn heat(&mut self, chat_id: &str, active_at: Option<Timestamp>, now: Instant) {
        let Some(active_at) = active_at else { return };
        let ago = self.parts.client.server_now().duration_since(active_at);
        let ago = Duration::try_from(ago).unwrap_or(Duration::ZERO);
        let left = self.parts.options.hot_for.saturating_sub(ago);
        if let Some(live) = self.chats.get_mut(chat_id).filter(|_| left > Duration::ZERO) {
            live.hot_until = live.hot_until.max(Some(now + left));
        }
        let mut hot: Vec<(Instant, String)> = self
            .chats
            .iter()
            .filter_map(|(id, live)| Some((live.hot_until.filter(|until| *until > now)?, id.clone())))
            .collect();
        hot.sort();
        for (_, id) in hot.iter().rev().skip(SWEPT_CHATS_MAX) {
            if let Some(live) = self.chats.get_mut(id) {
                live.hot_until = None;
            }
        }
    }

    fn refuse(&mut self, chat_id: &str, message_id: &str, who: &str, reason: crate::gate::Reason) {
        let Some(unwritten) = self.refusals.note(chat_id, who, reason, self.parts.clock.now()) else {
            return;
        };
        let detail = match unwritten {
            0 => reason.to_string(),
            _ => format!("{reason}; {unwritten} refusals before it were not written"),
        };
        self.journal.interaction(Interaction {
            channel: Some(Channel::Teams),
            chat_id: Some(chat_id.to_owned()),
            id: Some(message_id.to_owned()),
            who: Guid::parse(who).map(|guid| guid.to_string()),
            ..Interaction::new(InteractionKind::Refused).detail(detail)
        });
    }

    /// Appends as soon as nothing more is on its way, or the time to gather is over.
    fn append_what_is_gathered(&mut self) {
        let now = Instant::now();
        let Some(flush_at) = self.flush_at else { return };
        if flush_at > now && !self.reads.is_empty() {
            return;
        }
        self.flush_at = None;
        let mut gathered = std::mem::take(&mut self.gathered);
        let mut news: Vec<News> = gathered.iter_mut().flat_map(|g| std::mem::take(&mut g.news)).collect();
        let with_news: Vec<String> = news.iter().map(|n| n.draft.chat_id.clone()).collect();
        news.sort_by(|a, b| (a.written, &a.draft.id).cmp(&(b.written, &b.draft.id)));
        if !news.is_empty()
            && let Err(error) = self.journal.append(news.into_iter().map(|n| n.draft).collect())
        {
            tracing::error!(%error, "the journal does not keep the messages; they are read again");
            self.status.update(|state| state.error = Some(error.to_string()));
            for Gathered { chat_id, .. } in gathered {
                if let Some(live) = self.chats.get_mut(&chat_id) {
                    live.gathered = false;
                    live.not_before = Some(now + APPEND_PAUSE);
                }
            }
            return;
        }
        for chat_id in with_news {
            self.parts.known.accept_chat(&chat_id);
        }
        for Gathered { chat_id, cursor, .. } in gathered {
            if let Some(live) = self.chats.get_mut(&chat_id) {
                live.gathered = false;
                if live.wanted.as_ref().is_some_and(|wanted| wanted.print == cursor.print) {
                    live.wanted = None;
                }
            }
            if self.cursor.chats.get(&chat_id) != Some(&cursor) {
                self.cursor.chats.insert(chat_id, cursor);
                self.dirty = true;
            }
        }
    }

    /// Saves the position if it moved. A failure costs only what a restart reads again.
    fn save(&mut self) {
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        self.cursor.prune();
        let mut cursor = self.cursor.clone();
        let unread = self.chats.values().filter_map(|live| live.wanted.as_ref()?.created);
        cursor.behind = unread.min();
        if let Err(error) = cursor::save(&*self.parts.storage, &cursor) {
            tracing::warn!(%error, file = cursor::CURSOR_FILE, "the position could not be saved");
            let detail = format!("{} could not be saved: {error}", cursor::CURSOR_FILE);
            self.status.update(|state| state.error = Some(detail));
        }
    }

    fn report(&self) {
        let behind = self.chats.values().filter(|live| live.wanted.is_some()).count();
        let conversations = self.cursor.chats.len();
        self.status.update(|state| {
            state.behind = behind;
            state.conversations = conversations;
        });
    }

    fn pause_after(&self, error: &GraphError, failures: u32) -> Duration {
        if error.is_transient() {
            return self.parts.client.delay_after(error, failures);
        }
        // Repeating it does not help soon, but somebody may repair it.
        let pause = Duration::from_secs(30).saturating_mul(1 << failures.saturating_sub(1).min(8));
        pause.min(FAILURE_PAUSE_MAX)
    }

    fn failed(&self, what: &str, error: &GraphError) {
        tracing::warn!(%error, fix = error.advice(), "{what} could not be read");
        self.status.update(|state| {
            state.failures = state.failures.saturating_add(1);
            state.error = Some(format!("{what} could not be read: {error}; {}", error.advice()));
        });
    }
}

/// Finds out who the agent is: from its token, else from Graph. What can't be known stays unknown.
async fn identify(client: &GraphClient, known: &super::Known) -> Result<(), GraphError> {
    if known.agent().object_id.is_some() && known.agent().tenant_id.is_some() {
        return Ok(());
    }
    if let Some(token) = client.token().await {
        let claims = entra::claims(&token);
        known.learn_agent(Agent { tenant_id: claims.tenant_id, object_id: claims.object_id });
    }
    let now = Instant::now();
    if known.agent().object_id.is_some() || !known.may_ask_identity(now, IDENTITY_PAUSE) {
        return Ok(());
    }
    match client.get_once(&client.url(&["me"], &[]), Scope::Common).await {
        Ok(answer) => {
            let object_id = answer.body.get("id").and_then(Value::as_str).and_then(Guid::parse);
            known.learn_agent(Agent { tenant_id: None, object_id });
            Ok(())
        }
        Err(error)
            if matches!(error.failure, Failure::Forbidden | Failure::NotFound | Failure::BadRequest) =>
        {
            tracing::warn!(%error, "graph does not say who the agent is; set `identity.object_id`");
            Ok(())
        }
        Err(error) => {
            known.forget_identity_asked();
            Err(error)
        }
    }
}

//! The poll loop: it reads the delta and the new mails, appends them to the journal, and then saves the
//! position.
//! It must never save a position that the journal does not cover, nor let one unreadable mail hold up the
//! others.

mod take;

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use super::cursor::{Cursor, PENDING_MAX, SEEN_MAX};
use super::delta::{self, Page, advice};
use super::draft::CHAT_ID;
use super::judge::{Bench, Reason, Verdict};
use super::wire::Row;
use super::{MailParts, auth};
use crate::graph::{Failure, GraphError};
use entraclaw_inbox::gate::{MailAddress, Refusal, Refusals};
use entraclaw_inbox::journal::{Interaction, Journal, ReadAgain};
use entraclaw_inbox::record::Channel;
use entraclaw_inbox::source::position::{self, FirstStart, Position as _};
use entraclaw_inbox::source::status::{Failed, SourceState, SourceStatus};
use entraclaw_sanitize::clean_name;

/// The most pages in one round; the rest is read in the next.
const ROUND_PAGES_MAX: usize = 200;
/// The most mails that are gathered and sorted together: as many as the marks of handled mails hold, so that a
/// round that is read again asks for none of them twice.
const GATHERED_MAX: usize = SEEN_MAX / 2;
/// After a reset, a new series begins this long before the newest mail; handled mails are not news again.
const RESET_OVERLAP: SignedDuration = SignedDuration::from_hours(72);
/// The age at which a series is started anew: Graph limits how many mails a series with a filter holds.
const SERIES_AGE_MAX: SignedDuration = SignedDuration::from_hours(30 * 24);
/// A kept link is given up after this many refusals.
const LINK_REFUSALS_MAX: u32 = 3;
/// How many times in a row a page may fail before the mails that are already known are handled without it.
const ORDER_FAILURES_MAX: u32 = 2;
/// The longest pause after failures for which a retry does not help soon.
const FAILURE_PAUSE_MAX: Duration = Duration::from_secs(600);
/// The pause before reading mails again that the journal could not keep.
const APPEND_PAUSE: Duration = Duration::from_secs(5);

/// The mails of a round by id, with their times of receipt as far as rows told them.
type Gathered = BTreeMap<String, Option<Timestamp>>;

/// Why a round ended early.
enum Trouble {
    Graph(GraphError),
    /// Graph forgot our position, and a new series can begin at once.
    Reset,
    /// The journal could not keep the mails, or too many mails wait to be read again.
    Journal,
}

impl From<GraphError> for Trouble {
    fn from(error: GraphError) -> Self {
        Self::Graph(error)
    }
}

pub(super) struct Poll<'a> {
    parts: &'a MailParts,
    journal: &'a Journal,
    status: SourceStatus,
    cursor: Cursor,
    /// The term in which the position is saved.
    term: u64,
    /// The first start, until the inbox has answered.
    first_look: Option<FirstStart>,
    failures: u32,
    /// The number of resets since the last completed round.
    resets: u32,
    refusals: Refusals<Reason>,
    /// The newest time of receipt in this round.
    newest: Option<Timestamp>,
    rounds: usize,
    /// A mail could not be read in this round.
    mails_failed: bool,
    /// A row of this round can't be judged now, so the position stays and the next round brings the row
    /// again.
    held: bool,
    /// Why the position could not be saved.
    unsaved: Option<String>,
}

impl<'a> Poll<'a> {
    pub(super) fn new(
        parts: &'a MailParts,
        journal: &'a Journal,
        status: SourceStatus,
        started: Instant,
    ) -> Self {
        let (cursor, first_look, term) = position::begin(&*parts.storage, journal, &*parts.clock, started);
        Self {
            parts,
            journal,
            status,
            cursor,
            term,
            first_look,
            failures: 0,
            resets: 0,
            refusals: Refusals::default(),
            newest: None,
            rounds: 0,
            mails_failed: false,
            held: false,
            unsaved: None,
        }
    }

    pub(super) async fn run(mut self) -> Infallible {
        loop {
            let next = Instant::now() + self.parts.options.poll_interval;
            self.note_asked();
            self.rounds = self.rounds.wrapping_add(1);
            self.mails_failed = false;
            self.held = false;
            let wake = match self.round().await {
                Ok(()) => {
                    self.succeeded();
                    next
                }
                Err(trouble) => Instant::now() + self.pause_after(&trouble),
            };
            let behind = self.cursor.pending.len() as u64;
            self.status.update(|state| state.behind = behind);
            tokio::time::sleep_until(wake).await;
        }
    }

    fn succeeded(&mut self) {
        self.failures = 0;
        self.resets = 0;
        let answered_at = self.parts.clock.now();
        self.status.update(|state| {
            state.answered_at = Some(answered_at);
            state.conversations = 1;
        });
        if !self.mails_failed {
            self.status.update(SourceState::recover);
        }
    }

    fn note_asked(&self) {
        let asked_at = self.parts.clock.now();
        self.status.update(|state| state.asked_at = Some(asked_at));
    }

    async fn round(&mut self) -> Result<(), Trouble> {
        self.parts.known.identify(&self.parts.client).await?;
        self.begin_history();
        self.go_back();
        let mut gathered: Gathered = self.cursor.pending.keys().map(|id| (id.clone(), None)).collect();
        let (mut link, mut new) = self.begin_series();
        let mut asked = BTreeSet::new();
        for _ in 0..ROUND_PAGES_MAX {
            self.note_asked();
            let page = match delta::page(&self.parts.client, &link).await {
                Ok(page) => page,
                Err(error) => {
                    self.on_missing_page(gathered, Some(link).filter(|_| !new), &error).await?;
                    return Err(self.on_refused_page(error));
                }
            };
            asked.insert(link);
            new = false;
            let Page { rows, unreadable, link: next, last } = page;
            link = next;
            if unreadable > 0 {
                tracing::warn!(count = unreadable, "mails without a usable id are passed over");
            }
            for row in rows {
                self.on_row(row, &mut gathered);
            }
            if last || gathered.len() >= GATHERED_MAX {
                self.take_in_order(std::mem::take(&mut gathered), Some(link.clone())).await?;
            }
            if last {
                let newest = self.newest.take().filter(|_| !self.held);
                self.cursor.read_to = self.cursor.read_to.max(newest.unwrap_or(Timestamp::MIN));
                if !self.held && self.cursor.pending.is_empty() && self.cursor.again_from.take().is_some() {
                    self.save();
                }
                return Ok(());
            }
            if asked.contains(&link) {
                tracing::warn!("a page of mail leads back to an earlier one; the rest is read later");
                break;
            }
        }
        self.take_in_order(gathered, Some(link)).await
    }

    /// On a first start, sets the time before which mails are history. The server's clock counts, and it is
    /// known only now. Times of receipt are whole seconds.
    fn begin_history(&mut self) {
        let Some(first) = self.first_look.take() else { return };
        let since = first.history_ends(self.parts.options.look_back, self.parts.client.server_now());
        self.cursor = Cursor::starting_at(Timestamp::from_second(since.as_second()).unwrap_or(since));
        self.save();
    }

    /// Moves the position back when the journal's files have lost messages.
    fn go_back(&mut self) {
        let Some(again) = self.journal.to_read_again(self.cursor.losses_done) else { return };
        let from = again.from().unwrap_or(self.cursor.since);
        self.cursor.go_back_to(from);
        self.cursor.losses_done = Some(again.noticed_at);
        self.newest = None;
        self.save();
        self.journal.interaction(ReadAgain::told(Channel::Email, from.max(self.cursor.since)));
    }

    /// Returns the link to read next, and whether it begins a new series.
    fn begin_series(&mut self) -> (String, bool) {
        let client = &self.parts.client;
        let now = client.server_now();
        let stale = self.cursor.begun.is_some_and(|begun| now.duration_since(begun) > SERIES_AGE_MAX);
        // A kept link is checked like any other, because the file or the configured root may have changed.
        let kept = self.cursor.link.as_ref().filter(|_| !stale).and_then(|link| client.own_link(link).ok());
        if let Some(link) = kept {
            return (link, false);
        }
        self.cursor.begun = Some(now);
        self.cursor.link = None;
        let before = self.cursor.read_to.checked_sub(RESET_OVERLAP).unwrap_or(self.cursor.since);
        (delta::first_link(client, before.max(self.cursor.since)), true)
    }

    /// Handles a page that can't be read. The mails that are already known wait for the page, so that all can
    /// be sorted together; after a few failures they are handled without it.
    async fn on_missing_page(
        &mut self,
        gathered: Gathered,
        link: Option<String>,
        error: &GraphError,
    ) -> Result<(), Trouble> {
        if gathered.is_empty() {
            return Ok(());
        }
        if self.failures >= ORDER_FAILURES_MAX && !delta::is_reset(error) {
            return self.take_in_order(gathered, link).await;
        }
        if gathered.len() > PENDING_MAX {
            // The position stays, and the next round brings them all again.
            return Ok(());
        }
        let now = self.parts.clock.now();
        for id in gathered.into_keys() {
            self.cursor.pending.entry(id).or_insert(now);
        }
        self.move_to(link);
        self.save();
        Ok(())
    }

    /// Moves the position, unless a row can't be judged now.
    fn move_to(&mut self, link: Option<String>) {
        if !self.held {
            self.cursor.link = link;
        }
    }

    /// Drops a link that Graph has forgotten, so that a new series begins.
    fn on_refused_page(&mut self, error: GraphError) -> Trouble {
        let refused = matches!(error.failure, Failure::BadRequest | Failure::NotFound)
            && self.failures + 1 >= LINK_REFUSALS_MAX;
        if self.cursor.link.is_none() || !(delta::is_reset(&error) || refused) {
            return error.into();
        }
        self.cursor.link = None;
        self.newest = None;
        self.resets = self.resets.saturating_add(1);
        self.save();
        let detail =
            format!("graph forgot how far the inbox was read ({error}); reading again what may be new");
        tracing::warn!("{detail}");
        self.journal.interaction(Interaction { channel: Some(Channel::Email), ..Interaction::fault(detail) });
        if self.resets == 1 { Trouble::Reset } else { error.into() }
    }

    /// Notes which mail a row of the delta asks for. The last row about a mail counts.
    fn on_row(&mut self, row: Row, gathered: &mut Gathered) {
        let (id, received, from) = match row {
            Row::Removed { id } => {
                gathered.remove(&id);
                self.cursor.pending.remove(&id);
                return;
            }
            Row::Changed { id, received, from } => (id, received, from),
        };
        if let Some(received) = received {
            self.newest = self.newest.max(Some(received.min(self.parts.client.server_now())));
            if received < self.cursor.since {
                return;
            }
        }
        if self.cursor.seen.has(&id) {
            if self.cursor.is_again(received) {
                gather(gathered, id, received);
            }
            return;
        }
        // When the address alone decides, no request is needed.
        let own = self.parts.known.own();
        let house = auth::House::default();
        match from.as_ref().and_then(|from| self.bench(&own, &house).glance(from)) {
            Some(Verdict::Later) => self.held = true,
            Some(verdict) => {
                let who = from.map(|from| from.address).unwrap_or_default();
                if let Verdict::Refuse(reason) = verdict {
                    self.refuse(&id, &who, reason);
                }
                self.cursor.seen.note(&id);
            }
            None => gather(gathered, id, received),
        }
    }

    fn bench<'b>(&'b self, own: &'b BTreeSet<MailAddress>, house: &'b auth::House) -> Bench<'b> {
        Bench { gate: &self.parts.gate, own, house, now: self.parts.client.server_now() }
    }

    fn refuse(&mut self, id: &str, who: &str, reason: Reason) {
        let who = Some(clean_name(who)).filter(|who| !who.is_empty());
        let refusal = Refusal { channel: Channel::Email, chat_id: CHAT_ID, id, who, reason };
        self.refusals.write(self.journal, refusal, self.parts.clock.now());
    }

    /// Saves the position. After a failure, a restart only reads some mails again.
    fn save(&mut self) {
        let saved = position::save(&*self.parts.storage, self.term, &self.cursor);
        self.unsaved = position::note_saved::<Cursor>(self.unsaved.as_ref(), saved);
        self.status.update(|state| state.unsaved.clone_from(&self.unsaved));
    }

    fn pause_after(&mut self, trouble: &Trouble) -> Duration {
        let error = match trouble {
            Trouble::Journal => return APPEND_PAUSE,
            Trouble::Reset => return Duration::ZERO,
            Trouble::Graph(error) => error,
        };
        self.failures = self.failures.saturating_add(1);
        let pause = if error.is_transient() {
            self.parts.client.delay_after(error, self.failures)
        } else {
            // A retry does not help soon, but the operator may repair the cause.
            let pause = Duration::from_secs(30).saturating_mul(1 << self.failures.saturating_sub(1).min(8));
            pause.min(FAILURE_PAUSE_MAX)
        };
        self.failed("the inbox", error, pause);
        pause
    }

    fn failed(&self, what: &str, error: &GraphError, pause: Duration) {
        tracing::warn!(%error, fix = advice(error), "{what} could not be read");
        let now = self.parts.clock.now();
        let failed = Failed {
            error: format!("{what} could not be read: {error}; {}", advice(error)),
            asked_at: self.status.get().asked_at.unwrap_or(now),
            pause,
            lasts: !error.is_transient(),
        };
        self.status.update(|state| state.fail(failed, now));
    }
}

/// Notes a mail. A later row about it can show only what changed, and then does not tell when it was received.
fn gather(gathered: &mut Gathered, id: String, received: Option<Timestamp>) {
    let known = gathered.entry(id).or_default();
    *known = received.or(*known);
}

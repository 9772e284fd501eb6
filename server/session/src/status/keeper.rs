//! Writes this session's status files when something changed, at most once a second.
//! It must never delay or lose a delivery: a failed write is skipped, and no delivery waits for it.

use std::collections::{BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    GraphLine, SESSIONS, SessionFile, SourceLine, SponsorsLine, StatusFile, session_file, session_lock,
};
use entraclaw_inbox::gate::Gate;
use entraclaw_inbox::journal::{Journal, JournalStats};
use entraclaw_inbox::presence::{Presence, PresenceState};
use entraclaw_inbox::sessions::{write_session, write_status};
use entraclaw_inbox::source::{SourceState, SourceStatus};
use entraclaw_inbox::upkeep::{self, LastRound};
use entraclaw_microsoft::graph::{GraphClient, REQUESTS_PER_SECOND_MAX, Usage};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::{Lock, Storage};

/// The pause before the first write, so that the host's first requests are answered before.
const FIRST_AFTER: Duration = Duration::from_millis(100);
/// The time from a change to its write, which is also the shortest time between two writes.
const TELL_AFTER: Duration = Duration::from_secs(1);
/// How often to look for changes that are not reported, such as a disk that fails or recovers, and to write the times of
/// polls that were answered.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// How long the word of a session that polls stands, beside the time between two polls.
pub(super) const WORD_LASTS: Duration = LOOK_EVERY.saturating_add(Duration::from_secs(5));
/// How often the leader removes the files of ended sessions.
const CLEAR_EVERY: Duration = Duration::from_secs(600);
/// The time over which requests are counted.
const MINUTE: Duration = Duration::from_secs(60);

/// A source whose state is reported.
pub struct WatchedSource {
    /// The name of the source.
    pub name: &'static str,
    /// The time between two polls; `None` for a source that does not poll.
    pub poll_interval: Option<Duration>,
    /// The state of the source.
    pub status: SourceStatus,
}

/// Reports the state of a session in files, and removes them when it is dropped.
pub struct Keeper {
    /// The home folder.
    pub storage: Arc<dyn Storage>,
    /// The clock for wall time.
    pub clock: Arc<dyn Clock>,
    /// The journal, for the lead and the counters.
    pub journal: Journal,
    /// The hosts at the other end.
    pub presence: Presence,
    /// The client, for the count of requests to Graph.
    pub client: Arc<GraphClient>,
    /// The sources.
    pub sources: Vec<WatchedSource>,
    /// The gate, for the trouble with sponsors.
    pub gate: Arc<Gate>,
    /// The last round in which old files were deleted.
    pub upkeep: LastRound,
    /// The unique id of this session.
    pub id: String,
    /// The number of this process.
    pub pid: u32,
    /// Whether this process can poll.
    pub may_lead: bool,
    /// The problem that keeps it from its work.
    pub trouble: Option<String>,
}

/// The state that was last written, and the counts between two looks.
#[derive(Default)]
struct Round {
    alive: Option<Box<dyn Lock>>,
    started_at: Timestamp,
    leads_since: Option<Timestamp>,
    lines: (u64, Option<Timestamp>),
    requests: VecDeque<(Instant, u64)>,
    session: Option<SessionNews>,
    status: Option<StatusNews>,
    cleared: Option<Instant>,
}

/// Everything that `sessions/<id>.json` depends on, cheap to compare.
type SessionNews = (bool, bool, PresenceState, JournalStats);

/// Everything that `status.json` depends on.
type StatusNews = (Vec<SourceState>, Option<SponsorsLine>, Usage, Option<upkeep::Round>);

/// A state that has changed.
enum Changed {
    /// The state of a source, with the receiver of its next change.
    Source(watch::Receiver<SourceState>),
    Other,
}

impl Keeper {
    /// Writes the files for ever.
    pub async fn run(self, leading: watch::Receiver<bool>) -> Infallible {
        sleep(FIRST_AFTER).await;
        let mut round = Round { started_at: self.clock.now(), ..Round::default() };
        loop {
            let changes = self.changes(&leading);
            self.look(&mut round);
            self.until_due(changes, &round).await;
        }
    }

    /// Waits until the next look. A poll like the one before it, once it is answered, is no reason for one: it comes every
    /// few seconds, and each write would wake the disk and every session that listens to it.
    async fn until_due(
        &self,
        mut changes: FuturesUnordered<LocalBoxFuture<'static, Changed>>,
        round: &Round,
    ) {
        let look_at = Instant::now() + LOOK_EVERY;
        let (mut polled_at, mut other_at) = (None, None);
        loop {
            let due = [polled_at, other_at].into_iter().flatten().min().unwrap_or(look_at);
            let changed = tokio::select! {
                biased;
                Some(changed) = changes.next() => changed,
                () = sleep_until(due) => return,
            };
            let soon = Instant::now() + TELL_AFTER;
            match changed {
                Changed::Source(next) => {
                    changes.push(source_changed(next));
                    polled_at = if self.is_as_written(round) { None } else { polled_at.or(Some(soon)) };
                }
                Changed::Other => other_at = other_at.or(Some(soon)),
            }
        }
    }

    /// Whether the file says of the sources what they say now, but for the times of polls.
    fn is_as_written(&self, round: &Round) -> bool {
        let Some((written, ..)) = &round.status else { return false };
        self.sources.iter().zip(written).all(|(source, written)| {
            let state = source.status.get();
            state == *written || (source.poll_interval.is_some() && state.was_only_polled_since(written))
        })
    }

    /// Futures that end at the next change of each kind.
    fn changes(&self, leading: &watch::Receiver<bool>) -> FuturesUnordered<LocalBoxFuture<'static, Changed>> {
        let mut changes = FuturesUnordered::new();
        changes.push(changed(leading.clone()));
        changes.push(changed(self.presence.watch()));
        changes.push(changed(self.journal.watch()));
        changes.push(changed(self.journal.watch_silence()));
        changes.push(changed(self.upkeep.watch()));
        changes.extend(self.sources.iter().map(|source| source_changed(source.status.watch())));
        changes
    }

    fn look(&self, round: &mut Round) {
        if round.alive.is_none() {
            let lock = self.storage.create_dir(SESSIONS);
            round.alive =
                lock.and_then(|()| self.storage.try_lock(&session_lock(&self.id))).unwrap_or_default();
            if round.alive.is_none() {
                // A session that can't lock its file would be taken for an ended one.
                return;
            }
        }
        let now = self.clock.now();
        let leads = self.journal.is_leader() && self.may_lead;
        round.leads_since = if leads { round.leads_since.or(Some(now)) } else { None };
        let news = (leads, self.journal.is_leader_silent(), self.presence.get(), self.journal.stats());
        if round.session.as_ref() != Some(&news)
            && write_session(&*self.storage, &self.session(round, &news, now))
        {
            round.session = Some(news);
        }
        let Some(since) = round.leads_since else { return };
        let states = self.sources.iter().map(|source| source.status.get()).collect();
        let sponsors = self.gate.sponsors_trouble();
        let sponsors = sponsors.map(|(trouble, awaited)| SponsorsLine { trouble, awaited });
        let news = (states, sponsors, self.client.usage(), self.upkeep.get());
        if round.status.as_ref() != Some(&news)
            && write_status(&*self.storage, &self.status(round, &news, since, now))
        {
            round.status = Some(news);
        }
        if round.cleared.is_none_or(|at| at.elapsed() >= CLEAR_EVERY) {
            round.cleared = Some(Instant::now());
            self.clear_ended();
        }
    }

    fn session(&self, round: &mut Round, news: &SessionNews, now: Timestamp) -> SessionFile {
        let (leads, leader_silent, seen, stats) = news;
        if seen.lines_total != round.lines.0 {
            round.lines = (seen.lines_total, Some(now));
        }
        SessionFile {
            v: 1,
            id: self.id.clone(),
            pid: self.pid,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: round.started_at.to_string(),
            host_seen_at: round.lines.1.map(|at| at.to_string()),
            leads: *leads,
            may_lead: self.may_lead,
            leader_silent: *leader_silent,
            trouble: self.trouble.clone(),
            hosts: seen.hosts.iter().cloned().collect(),
            consumers: seen.consumers.iter().cloned().collect(),
            carriers: seen.carriers.iter().map(|carrier| (*carrier).to_owned()).collect(),
            wake_ups_from: seen.wake_ups_from.map(|from| from.to_string()),
            waiting_calls: seen.waiting_calls as u64,
            journal: stats.counts.clone(),
        }
    }

    fn status(&self, round: &mut Round, news: &StatusNews, since: Timestamp, now: Timestamp) -> StatusFile {
        let (states, sponsors, usage, last_upkeep) = news;
        let instant = Instant::now();
        round.requests.push_back((instant, usage.requests_total));
        // The file may be written rarely, so the count reaches back to the newest look that is a minute old.
        while round.requests.get(1).is_some_and(|(at, _)| instant.duration_since(*at) >= MINUTE) {
            round.requests.pop_front();
        }
        let requests_last_minute = round.requests.front().map_or(0, |(at, total)| {
            let passed = instant.duration_since(*at).max(MINUTE).as_secs();
            (usage.requests_total - total) * MINUTE.as_secs() / passed
        });
        StatusFile {
            v: 1,
            written_at: now.to_string(),
            session: self.id.clone(),
            pid: self.pid,
            leads_since: since.to_string(),
            sources: self
                .sources
                .iter()
                .zip(states)
                .map(|(source, state)| source_line(source, state))
                .collect(),
            sponsors: sponsors.clone(),
            graph: GraphLine {
                requests_total: usage.requests_total,
                throttled_total: usage.throttled_total,
                requests_last_minute,
                budget_per_minute: u64::from(REQUESTS_PER_SECOND_MAX) * MINUTE.as_secs(),
            },
            upkeep: last_upkeep.clone(),
        }
    }

    /// Removes the files of sessions that were killed.
    fn clear_ended(&self) {
        let names = self.storage.list(SESSIONS).unwrap_or_default();
        let ids = names.iter().filter_map(|name| name.split_once('.').map(|(id, _)| id));
        let ids: BTreeSet<&str> = ids.filter(|id| *id != self.id).collect();
        for id in ids {
            // Ids are used once, so no session takes this lock again.
            if let Ok(Some(_lock)) = self.storage.try_lock(&session_lock(id)) {
                let _ = self.storage.remove(&session_file(id));
                let _ = self.storage.remove(&format!("{}.tmp", session_file(id)));
                let _ = self.storage.remove(&session_lock(id));
            }
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // A file that stays is recognised as left over.
        let _ = self.storage.remove(&session_file(&self.id));
        let _ = self.storage.remove(&session_lock(&self.id));
    }
}

fn changed<T: 'static>(mut watched: watch::Receiver<T>) -> LocalBoxFuture<'static, Changed> {
    watched.mark_unchanged();
    Box::pin(next_change(watched).map(|_| Changed::Other))
}

fn source_changed(watched: watch::Receiver<SourceState>) -> LocalBoxFuture<'static, Changed> {
    Box::pin(next_change(watched).map(Changed::Source))
}

/// Waits for the next change; for ever if the sender is gone.
async fn next_change<T>(mut watched: watch::Receiver<T>) -> watch::Receiver<T> {
    if watched.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
    watched
}

fn source_line(source: &WatchedSource, state: &SourceState) -> SourceLine {
    SourceLine {
        name: source.name.to_owned(),
        poll_interval_ms: source
            .poll_interval
            .map(|interval| u64::try_from(interval.as_millis()).unwrap_or(u64::MAX)),
        state: state.clone(),
    }
}

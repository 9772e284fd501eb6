//! Which resources have changed: the system tells that something did, and a look says what.
//!
//! Nothing is watched while no client listens. A burst of writes is one notification. It must never notify for a look that
//! shows the same, nor rely on the system alone where that may miss a change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::pending;
use jiff::{Timestamp, ToSpan as _};
use tokio::time::Instant;

use super::resources::{WORKSPACES, Wanted};
use super::shared::{From, Shared};
use super::sight::{Sight, listen};
use crate::files::News;

/// How long nothing may happen before a burst of writes counts as over.
const QUIET: Duration = Duration::from_millis(30);
/// Longest wait for that end after a time without writes.
const BURST_MAX: Duration = Duration::from_millis(70);
/// Longest wait for that end while one burst follows the other.
const STORM_MAX: Duration = Duration::from_millis(500);
/// How soon after a notification another burst is a part of the same storm.
const STORM_GAP: Duration = Duration::from_millis(250);
/// How often a look is taken where the system can't tell of every folder, and where it may miss a change.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const LOOK_SELDOM: Duration = Duration::from_secs(15);
/// By how much a file's time may lie before the write, in milliseconds: systems keep it coarsely.
const COARSE_MS: i64 = 50;

/// The resources that clients listen to.
#[derive(Default)]
pub(super) struct Watch {
    /// The addresses that are listened to, with the moment since when.
    wanted: BTreeMap<String, Timestamp>,
    sights: BTreeMap<String, Sight>,
    /// The folders that the listener is for; `None` before the first one.
    folders: Option<BTreeSet<PathBuf>>,
    news: News,
    is_looking: bool,
    /// When to look because something happened, and since when it happens.
    due: Option<(Instant, Instant)>,
    /// When to look though nothing was told.
    look_at: Option<Instant>,
    told_at: Option<Instant>,
}

/// A look to take beside the connection.
pub(super) struct Look {
    wanted: Vec<String>,
    folders: Option<BTreeSet<PathBuf>>,
}

/// What a look has shown.
pub(super) struct Looked {
    sights: BTreeMap<String, Sight>,
    folders: BTreeSet<PathBuf>,
    /// The new listener, if other folders are watched now.
    news: Option<News>,
}

impl Look {
    /// Takes the look. What changes while it is taken is told by the listener, which is there before.
    pub(super) fn take(self, shared: &Shared, from: &From) -> Looked {
        let parsed: Vec<(String, Wanted)> = self
            .wanted
            .into_iter()
            .filter_map(|uri| Wanted::parse(&uri)?.ok().map(|wanted| (uri, wanted)))
            .collect();
        let sights = || -> BTreeMap<String, Sight> {
            parsed.iter().map(|(uri, wanted)| (uri.clone(), Sight::of(wanted, shared, from))).collect()
        };
        let mut seen = sights();
        let of = |(uri, wanted): &(String, Wanted)| seen.get(uri).map(|sight| sight.folders(wanted, shared));
        let folders: BTreeSet<PathBuf> = parsed.iter().filter_map(of).flatten().collect();
        let news = (self.folders.as_ref() != Some(&folders)).then(|| listen(shared, &folders));
        if news.is_some() {
            seen = sights();
        }
        Looked { sights: seen, folders, news }
    }
}

impl Watch {
    /// Learns what clients listen to.
    pub(super) fn listen_to(&mut self, listened: BTreeSet<String>, now: Timestamp) {
        let ours: BTreeSet<String> =
            listened.into_iter().filter(|uri| matches!(Wanted::parse(uri), Some(Ok(_)))).collect();
        if ours.iter().eq(self.wanted.keys()) {
            return;
        }
        if ours.is_empty() {
            *self = Self { is_looking: self.is_looking, ..Self::default() };
            return;
        }
        self.sights.retain(|uri, _| ours.contains(uri));
        let since = |uri: String| {
            let since = self.wanted.get(&uri).copied().unwrap_or(now - COARSE_MS.milliseconds());
            (uri, since)
        };
        self.wanted = ours.into_iter().map(since).collect();
        self.due = Some((Instant::now(), Instant::now()));
    }

    /// The look that is due.
    pub(super) fn due_look(&mut self) -> Option<Look> {
        let now = Instant::now();
        let is_due = self.deadline().is_some_and(|at| at <= now);
        if !is_due || self.is_looking {
            return None;
        }
        self.is_looking = true;
        self.due = None;
        Some(Look { wanted: self.wanted.keys().cloned().collect(), folders: self.folders.clone() })
    }

    /// Takes what a look has shown, and gives the resources that have changed.
    pub(super) fn looked(&mut self, looked: Looked) -> Vec<String> {
        self.is_looking = false;
        if self.wanted.is_empty() {
            return Vec::new();
        }
        if let Some(news) = looked.news {
            self.news = news;
            self.folders = Some(looked.folders);
        }
        let is_complete =
            self.news.changes.as_ref().is_some_and(entraclaw_seams::storage::Changes::is_complete);
        // What lies in the home folder is not watched.
        let is_watched = |uri: &String| uri != WORKSPACES;
        let has_gaps =
            self.news.changes.is_none() || self.news.has_gaps || !self.wanted.keys().all(is_watched);
        self.look_at = match (has_gaps, is_complete) {
            (true, _) => Some(Instant::now() + LOOK_EVERY),
            (false, false) => Some(Instant::now() + LOOK_SELDOM),
            (false, true) => None,
        };
        let mut changed = Vec::new();
        for (uri, sight) in looked.sights {
            let Some(since) = self.wanted.get(&uri) else { continue };
            let is_changed = match self.sights.get(&uri) {
                Some(before) => *before != sight,
                // What was written after the client began to listen, and before this first look.
                None => sight.is_newer_than(*since),
            };
            if is_changed {
                changed.push(uri.clone());
            }
            self.sights.insert(uri, sight);
        }
        if !changed.is_empty() {
            self.told_at = Some(Instant::now());
        }
        changed
    }

    /// When a look is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        if self.is_looking {
            return None;
        }
        self.due.map(|(at, _)| at).into_iter().chain(self.look_at).min()
    }

    /// Waits for news, and plans a look. It loses nothing when it is dropped.
    pub(super) async fn news(&mut self) {
        match &mut self.news.changes {
            Some(changes) => changes.next().await,
            None => pending().await,
        }
        let now = Instant::now();
        let began = self.due.map_or(now, |(_, began)| began);
        let is_storm = self.told_at.is_some_and(|told| began < told + STORM_GAP);
        let end = began + if is_storm { STORM_MAX } else { BURST_MAX };
        self.due = Some(((now + QUIET).min(end), began));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use entraclaw_seams::storage::{MemoryStorage, Storage as _};

    use super::super::machine::shared;
    use super::super::resources::CURRENT;
    use super::*;

    fn at(milliseconds: i64) -> Timestamp {
        Timestamp::from_millisecond(milliseconds).unwrap()
    }

    fn uris(uris: &[&str]) -> BTreeSet<String> {
        uris.iter().map(|uri| (*uri).to_owned()).collect()
    }

    /// What a look at the context file shows.
    fn seen(shared: &Shared, news: Option<News>) -> Looked {
        let wanted = Wanted::parse(CURRENT).unwrap().unwrap();
        let sights = BTreeMap::from([(CURRENT.to_owned(), Sight::of(&wanted, shared, &From::default()))]);
        Looked { sights, folders: BTreeSet::from(["/p".into()]), news }
    }

    fn machine() -> (MemoryStorage, Shared) {
        shared(&["p/context.md"])
    }

    fn news() -> (MemoryStorage, News) {
        let storage = MemoryStorage::new();
        let changes = storage.every_change();
        (storage, News { changes, has_gaps: false })
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_is_due_at_once_when_something_else_is_listened_to() {
        let mut watch = Watch::default();
        watch.listen_to(uris(&["context://nowhere", "entraclaw://inbox"]), at(0));
        assert!(watch.deadline().is_none() && watch.due_look().is_none());
        watch.listen_to(uris(&[CURRENT]), at(0));
        assert_eq!(watch.deadline(), Some(Instant::now()));
        assert!(watch.due_look().is_some());
        assert!(watch.due_look().is_none() && watch.deadline().is_none(), "one look at a time");
        let (_, shared) = machine();
        watch.looked(seen(&shared, Some(news().1)));
        watch.listen_to(uris(&[CURRENT]), at(9));
        assert!(watch.deadline().is_none(), "nothing else is listened to");
        watch.listen_to(uris(&[CURRENT, WORKSPACES]), at(9));
        assert_eq!(watch.deadline(), Some(Instant::now()));
        watch.listen_to(BTreeSet::new(), at(9));
        assert!(watch.deadline().is_none() && watch.due_look().is_none());
        assert!(watch.looked(seen(&shared, None)).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_written_since_a_client_listens_is_told_and_later_what_looks_otherwise() {
        for (later, is_told) in [(0, true), (COARSE_MS, true), (COARSE_MS + 1, false)] {
            let (storage, shared) = machine();
            let written = shared.parts.files.look(Path::new("/p/context.md")).unwrap().unwrap().modified;
            let mut watch = Watch::default();
            watch.listen_to(uris(&[CURRENT]), written + later.milliseconds());
            assert_eq!(watch.looked(seen(&shared, Some(news().1))).len(), usize::from(is_told), "{later}");
            assert!(watch.looked(seen(&shared, None)).is_empty(), "it shows the same");
            storage.set_bytes("p/context.md", b"text");
            assert_eq!(watch.looked(seen(&shared, None)), [CURRENT]);
        }
        let mut watch = Watch::default();
        watch.listen_to(uris(&[WORKSPACES]), at(0));
        assert!(watch.looked(seen(&machine().1, None)).is_empty(), "nobody listens to it any more");
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_is_taken_now_and_then_only_where_a_change_may_be_missed() {
        let looks_again = |listened: &[&str], news: Option<News>| {
            let mut watch = Watch::default();
            watch.listen_to(uris(listened), at(0));
            watch.due_look();
            watch.looked(seen(&machine().1, news));
            watch.deadline().map(|deadline| deadline - Instant::now())
        };
        assert_eq!(looks_again(&[CURRENT], Some(news().1)), None);
        assert_eq!(looks_again(&[CURRENT], Some(News { has_gaps: true, ..news().1 })), Some(LOOK_EVERY));
        assert_eq!(looks_again(&[CURRENT], Some(News::default())), Some(LOOK_EVERY));
        assert_eq!(looks_again(&[CURRENT, WORKSPACES], Some(news().1)), Some(LOOK_EVERY));
    }

    /// How long after the first of some changes the look is due, when they are so far apart.
    async fn due_after(changes: u32, apart: Duration, told_before: Option<Duration>) -> Duration {
        let (storage, news) = news();
        let mut watch = Watch { told_at: told_before.map(|_| Instant::now()), news, ..Watch::default() };
        tokio::time::sleep(told_before.unwrap_or_default()).await;
        let began = Instant::now();
        for n in 0..changes {
            tokio::time::sleep(if n == 0 { Duration::ZERO } else { apart }).await;
            storage.set_bytes("p/context.md", &n.to_le_bytes());
            watch.news().await;
        }
        watch.deadline().unwrap() - began
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_is_over_when_it_rests_or_has_lasted_and_a_storm_lasts_longer() {
        let apart = Duration::from_millis(20);
        assert_eq!(due_after(1, apart, None).await, QUIET);
        assert_eq!(due_after(2, apart, None).await, apart + QUIET);
        assert_eq!(due_after(9, apart, None).await, BURST_MAX);
        assert_eq!(due_after(9, apart, Some(STORM_GAP)).await, BURST_MAX);
        let soon = STORM_GAP.saturating_sub(Duration::from_millis(1));
        assert_eq!(due_after(9, apart, Some(soon)).await, 8 * apart + QUIET);
        assert_eq!(due_after(60, apart, Some(soon)).await, STORM_MAX);
    }
}

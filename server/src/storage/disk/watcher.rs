//! The system's news of a folder.
//! It must never fail anybody: where the system can't watch, there is simply no news.

use std::path::Path;

use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::watch;

use crate::storage::Changes;

/// Watches a folder, not what is in its folders.
pub(super) fn watch(folder: &Path) -> Option<Changes> {
    let (changed, count) = watch::channel(0_u64);
    let tell = move |event: notify::Result<Event>| {
        // Readers change nothing; an error is a reason to look.
        if event.is_ok_and(|event| event.kind.is_access()) {
            return;
        }
        changed.send_modify(|count| *count = count.wrapping_add(1));
    };
    let config = Config::default().with_follow_symlinks(false);
    let watched = RecommendedWatcher::new(tell, config)
        .and_then(|mut watcher| watcher.watch(folder, RecursiveMode::NonRecursive).map(|()| watcher));
    match watched {
        Ok(watcher) => Some(Changes::best_effort(count, watcher)),
        Err(error) => {
            tracing::debug!(%error, "the system does not tell of changes; they are looked for");
            None
        }
    }
}

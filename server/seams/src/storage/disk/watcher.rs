//! News of changes in a folder from the system.
//! It must never make its caller fail: where the system can't watch, there are no news.

use std::path::Path;
use std::sync::Arc;

use crate::storage::{Changes, Signal};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

/// Watches a folder, but not the folders inside it.
pub(super) fn watch(folder: &Path) -> Option<Changes> {
    let signal = Arc::new(Signal::default());
    let notified = Arc::clone(&signal);
    let tell = move |event: notify::Result<Event>| {
        // A read changes nothing. An error is a reason to look.
        if event.is_ok_and(|event| event.kind.is_access()) {
            return;
        }
        notified.notify();
    };
    let config = Config::default().with_follow_symlinks(false);
    let watched = RecommendedWatcher::new(tell, config)
        .and_then(|mut watcher| watcher.watch(folder, RecursiveMode::NonRecursive).map(|()| watcher));
    match watched {
        Ok(watcher) => Some(Changes::best_effort(signal, watcher)),
        Err(error) => {
            tracing::debug!(%error, "the system does not report changes; the folder is polled instead");
            None
        }
    }
}

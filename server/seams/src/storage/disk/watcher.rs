//! The system's news of a folder.
//! It must never fail anybody: where the system can't watch, there is simply no news.

use std::path::Path;
use std::sync::Arc;

use crate::storage::{Changes, Signal};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

/// Watches a folder, not what is in its folders.
pub(super) fn watch(folder: &Path) -> Option<Changes> {
    let signal = Arc::new(Signal::default());
    let notified = Arc::clone(&signal);
    let tell = move |event: notify::Result<Event>| {
        // Readers change nothing; an error is a reason to look.
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
            tracing::debug!(%error, "the system does not tell of changes; they are looked for");
            None
        }
    }
}

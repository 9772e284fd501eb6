//! News of changes in folders from the system.
//! It must never make its caller fail: where the system can't watch, there are no news.

use std::path::Path;
use std::sync::Arc;

use crate::storage::{Changes, Signal};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

/// Watches a folder, but not the folders inside it.
pub(super) fn watch(folder: &Path) -> Option<Changes> {
    watch_folders([folder]).map(|(changes, _)| changes)
}

/// Watches folders, but not the folders inside them, and says how many of them can't be watched; `None` if none can.
pub fn watch_folders<'a>(folders: impl IntoIterator<Item = &'a Path>) -> Option<(Changes, usize)> {
    let signal = Arc::new(Signal::default());
    let notified = Arc::clone(&signal);
    let tell = move |event: notify::Result<Event>| {
        // A read changes nothing. An error is a reason to look.
        if event.is_ok_and(|event| event.kind.is_access()) {
            return;
        }
        notified.notify();
    };
    let unwatched = |error: &notify::Error| {
        tracing::debug!(%error, "the system does not report changes; the folder is polled instead");
    };
    let watcher = RecommendedWatcher::new(tell, Config::default().with_follow_symlinks(false));
    let mut watcher = watcher.inspect_err(unwatched).ok()?;
    let (mut watched, mut missed) = (0, 0);
    for folder in folders {
        match watcher.watch(folder, RecursiveMode::NonRecursive) {
            Ok(()) => watched += 1,
            Err(error) => {
                unwatched(&error);
                missed += 1;
            }
        }
    }
    (watched > 0).then(|| (Changes::best_effort(signal, watcher), missed))
}

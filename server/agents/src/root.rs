//! The working folder of a question: the first folder that the host tells as its own.
//! It must never keep a question waiting for a host that does not tell, nor take what is no folder here.

use std::path::PathBuf;
use std::time::Duration;

use entraclaw_mcp::Roots;

use crate::find::{Finder, Place};

/// How long a question waits for the host's answer about its folders.
const ROOTS_WAIT: Duration = Duration::from_secs(1);

/// The first folder of the host that exists here; `None` leaves the server's own.
pub(crate) async fn folder(roots: Roots, finder: &dyn Finder) -> Option<PathBuf> {
    let folders = roots.folders_within(ROOTS_WAIT).await;
    folders.into_iter().find(|path| finder.place(path) == Place::Folder)
}

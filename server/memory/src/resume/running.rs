//! Whether a session runs now.
//!
//! It must never guess from a time or a name, nor take a lock to see whether it is held.

use std::path::Path;

use entraclaw_seams::processes::{ProcessId, Processes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rows::{Sign, row};
use crate::files::{Files, read_whole};
use crate::stores::{Library, Session};

/// Longest file that names a session.
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// Most files of running sessions that are looked at.
const FILES_MAX: usize = 1_000;

/// Whether a session runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Running {
    /// A process holds it open.
    Yes,
    /// No process does.
    No,
    /// Nothing shows it.
    Unknown,
}

/// Whether a session runs now.
pub fn running(library: &Library, processes: &dyn Processes, session: &Session) -> Running {
    let look = Look { files: library.files(), processes, session };
    let homes = library.homes().of(session.agent);
    let Some(home) = homes.iter().find(|home| session.file.starts_with(home)) else {
        return Running::Unknown;
    };
    match row(session.agent).sign {
        Sign::SessionFile => look.session_file(&home.join("sessions")),
        Sign::InUse => look.in_use(),
        Sign::WriterLock => look.writer_lock(&home.join("thread-writer-locks")),
        Sign::None => Running::Unknown,
    }
}

struct Look<'a> {
    files: &'a dyn Files,
    processes: &'a dyn Processes,
    session: &'a Session,
}

/// What Claude Code says of a running session.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionFile {
    pid: u32,
    session_id: String,
    /// When the process began, in the system's own form.
    proc_start: Option<String>,
}

impl Look<'_> {
    fn session_file(&self, folder: &Path) -> Running {
        // A version that writes no such files has no such folder.
        if self.files.folder(folder).is_none() {
            return Running::Unknown;
        }
        let Ok(names) = self.files.list(folder) else { return Running::Unknown };
        let names = names.iter().filter(|name| Path::new(name).extension().is_some_and(|e| e == "json"));
        let mut is_unsure = false;
        for name in names.take(FILES_MAX) {
            let read = read_whole(self.files, &folder.join(name), FILE_BYTES_MAX);
            let Ok(Some((bytes, _))) = read else { continue };
            let Ok(file) = serde_json::from_slice::<SessionFile>(&bytes) else { continue };
            if file.session_id != self.session.id {
                continue;
            }
            // Older versions don't say when the process began, so another one may have its number.
            match (self.processes.identify(file.pid), file.proc_start) {
                (None, _) => {}
                (Some(ProcessId { began: Some(now), .. }), Some(then)) if now != then => {}
                (Some(ProcessId { began: Some(_), .. }), Some(_)) => return Running::Yes,
                (Some(_), _) => is_unsure = true,
            }
        }
        if is_unsure { Running::Unknown } else { Running::No }
    }

    fn in_use(&self) -> Running {
        let Some(folder) = self.session.file.parent() else { return Running::Unknown };
        let Ok(names) = self.files.list(folder) else { return Running::Unknown };
        let mut is_unsure = false;
        for name in names.iter() {
            let Some(pid) = name.strip_prefix("inuse.").and_then(|rest| rest.strip_suffix(".lock")) else {
                continue;
            };
            let Some(pid) = pid.parse::<u32>().ok().filter(|pid| self.processes.identify(*pid).is_some())
            else {
                continue;
            };
            // A crash leaves both files, and another process may have the number; the lock ends with its process.
            match self.files.is_locked(&folder.join(format!("inuse.{pid}.hold"))) {
                Some(true) => return Running::Yes,
                Some(false) => {}
                None => is_unsure = true,
            }
        }
        if is_unsure { Running::Unknown } else { Running::No }
    }

    fn writer_lock(&self, folder: &Path) -> Running {
        if self.files.folder(folder).is_none() {
            return Running::Unknown;
        }
        let path = folder.join(format!("{}.lock", self.session.id));
        match (self.files.exists(&path), self.files.is_locked(&path)) {
            (false, _) | (true, Some(false)) => Running::No,
            (true, Some(true)) => Running::Yes,
            (true, None) => Running::Unknown,
        }
    }
}

//! The operations on context files.
//!
//! Each holds the lock of its file, so that of many processes one writes at a time. It must never write before what a
//! crash has left is settled.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::{Lock, Storage};
use jiff::tz::TimeZone;

use super::document::{Document, Format, preamble_after_moving, section, template};
use super::entry::{Entry, Project};
use super::error::ContextError;
use super::home::{self, Home};
use super::pending::{Pending, Write, read, recover};
use super::range::Range;
use super::results::{
    Appended, ContextSummary, Initialized, KnownWorkspace, ReadContext, ReadMetadata, RecentSession, Stats,
    rfc3339,
};
use crate::files::{ContextFiles, Standing};

/// How long a writer waits for the others.
const WRITE_WAIT_MS: u64 = 20_000;
/// How long a reader waits for a writer. After that it reads what the writer's note says.
const READ_WAIT_MS: u64 = 2_000;
/// Longest text of one section.
const CONTENT_BYTES_MAX: usize = 256 * 1024;
/// Sessions in a summary.
const RECENT_MAX: usize = 5;
/// Characters of each of them.
const PREVIEW_CHARS: usize = 100;

/// What [`Contexts`] is made of.
pub struct ContextsParts {
    /// The home folder.
    pub storage: Arc<dyn Storage>,
    /// The files of the workspaces.
    pub files: Arc<dyn ContextFiles>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// In which zone a section's time is written.
    pub zone: TimeZone,
    /// The name of the context file. One with a separator or a dot alone counts as the usual name.
    pub file_name: String,
    /// The length at which the older half of the sections is moved out of the file.
    pub bytes_max: usize,
}

/// The context files of all workspaces.
pub struct Contexts {
    parts: ContextsParts,
}

/// One context file.
struct Place {
    path: PathBuf,
    home: Home,
}

impl Contexts {
    /// The length at which sections are moved out, unless the operator gives another one.
    pub const BYTES_MAX: usize = 256 * 1024;

    /// Makes the operations.
    pub fn new(mut parts: ContextsParts) -> Self {
        if !super::is_file_name(&parts.file_name) {
            super::FILE_NAME.clone_into(&mut parts.file_name);
        }
        Self { parts }
    }

    /// Reads a context file, or a part of it.
    pub fn read(&self, workspace: &Path, format: Format, range: Range) -> Result<ReadContext, ContextError> {
        let place = self.place(workspace);
        let (text, standing) = self.text(&place)?;
        let document = Document::new(&text);
        let part = match range {
            Range::All => text.clone(),
            Range::LastSessions(count) => {
                let older = count.saturating_sub(document.session_count());
                let older = place.older(older).map_err(ContextError::read(&place.path))?;
                format!("{}{older}{}", document.preamble(), document.last(count))
            }
        };
        Ok(ReadContext {
            content: format.show(&part),
            metadata: ReadMetadata {
                path: place.shown(),
                size: standing.bytes,
                last_modified: rfc3339(standing.modified),
                session_count: document.session_count(),
            },
        })
    }

    /// Appends a section. It is on the disk when this returns.
    pub fn append(&self, workspace: &Path, entry: &Entry<'_>) -> Result<Appended, ContextError> {
        if entry.content.trim().is_empty() {
            return Err(ContextError::InvalidParams("the content is empty; say what to note".to_owned()));
        }
        if entry.content.len() > CONTENT_BYTES_MAX {
            let problem = format!(
                "the content has {} bytes, at most {CONTENT_BYTES_MAX} are taken; note what matters",
                entry.content.len()
            );
            return Err(ContextError::InvalidParams(problem));
        }
        let place = self.place(workspace);
        if self.standing(&place)?.is_none() {
            return Err(ContextError::FileNotFound(place.path));
        }
        let _lock = self.settle(&place)?;
        let mut before = self.bytes(&place)?;
        let at = self.time();
        let mut text = section(entry, &at, &String::from_utf8_lossy(&before));
        if before.len() + text.len() > self.parts.bytes_max && self.rotate(&place, &before, &at)? {
            before = self.bytes(&place)?;
            text = section(entry, &at, &String::from_utf8_lossy(&before));
        }
        let write = ContextError::write(&place.path);
        let pending = Pending::append(&before, text);
        pending.perform(&place.home, &*self.parts.files, &place.path).map_err(write)?;
        Ok(Appended { success: true, timestamp: at, path: place.shown() })
    }

    /// Creates a context file.
    pub fn init(&self, workspace: &Path, project: &Project<'_>) -> Result<Initialized, ContextError> {
        let place = self.place(workspace);
        if self.parts.files.folder(workspace).is_none() {
            let why = format!("the folder {} does not exist; create it first", workspace.display());
            return Err(ContextError::Write { path: place.path, why });
        }
        let _lock = self.settle(&place)?;
        if self.parts.files.exists(&place.path) {
            return Err(ContextError::FileExists(place.path));
        }
        let pending = Pending { write: Write::Create, text: template(project) };
        let write = ContextError::write(&place.path);
        pending.perform(&place.home, &*self.parts.files, &place.path).map_err(write)?;
        Ok(Initialized { success: true, path: place.shown(), template: "standard".to_owned() })
    }

    /// Counts what a context file holds.
    pub fn summary(&self, workspace: &Path) -> Result<ContextSummary, ContextError> {
        let place = self.place(workspace);
        let (text, standing) = self.text(&place)?;
        let document = Document::new(&text);
        let recent = document.sections().rev().take(RECENT_MAX).map(|section| RecentSession {
            timestamp: section.time.unwrap_or(section.title).to_owned(),
            preview: section.preview(PREVIEW_CHARS),
        });
        Ok(ContextSummary {
            path: place.shown(),
            exists: true,
            stats: Stats {
                size: standing.bytes,
                lines: text.lines().count(),
                words: text.split_whitespace().count(),
                sessions: document.session_count(),
            },
            last_modified: rfc3339(standing.modified),
            recent_sessions: recent.collect(),
        })
    }

    /// The workspaces whose context file this program has written.
    ///
    /// # Errors
    /// Fails with the error of the home folder.
    pub fn workspaces(&self) -> std::io::Result<Vec<KnownWorkspace>> {
        let paths = home::known(&*self.parts.storage)?.into_iter();
        let exists = |path: &str| self.parts.files.exists(Path::new(path));
        Ok(paths.map(|path| KnownWorkspace { exists: exists(&path), path }).collect())
    }

    /// The path of the context file of a workspace.
    pub fn path(&self, workspace: &Path) -> PathBuf {
        self.place(workspace).path
    }

    /// One folder has one context file, by whatever path it is reached.
    fn place(&self, workspace: &Path) -> Place {
        let folder = self.parts.files.folder(workspace).unwrap_or_else(|| workspace.to_owned());
        let path = folder.join(&self.parts.file_name);
        Place { home: Home::new(Arc::clone(&self.parts.storage), &path), path }
    }

    fn time(&self) -> String {
        let now = self.parts.clock.now().to_zoned(self.parts.zone.clone());
        now.strftime("%Y-%m-%d %H:%M").to_string()
    }

    /// Takes the lock and settles what a crash has left.
    fn settle(&self, place: &Place) -> Result<Box<dyn Lock>, ContextError> {
        let write = ContextError::write(&place.path);
        place.home.create(&place.path).map_err(&write)?;
        let Some(lock) = place.home.lock(WRITE_WAIT_MS).map_err(&write)? else {
            let why = format!("other processes have written it for {WRITE_WAIT_MS} ms; try again");
            return Err(ContextError::Write { path: place.path.clone(), why });
        };
        recover(&place.home, &*self.parts.files, &place.path).map_err(&write)?;
        Ok(lock)
    }

    fn standing(&self, place: &Place) -> Result<Option<Standing>, ContextError> {
        self.parts.files.look(&place.path).map_err(ContextError::read(&place.path))
    }

    fn bytes(&self, place: &Place) -> Result<Vec<u8>, ContextError> {
        let found = read(&*self.parts.files, &place.path).map_err(ContextError::read(&place.path))?;
        found.ok_or_else(|| ContextError::FileNotFound(place.path.clone()))
    }

    /// The text of the file without what a crash has left. It can be read where nothing can be written.
    fn text(&self, place: &Place) -> Result<(String, Standing), ContextError> {
        let is_known = place.home.exists();
        let lock = if is_known { place.home.lock(READ_WAIT_MS).ok().flatten() } else { None };
        if lock.is_some() {
            let _ = recover(&place.home, &*self.parts.files, &place.path);
        }
        let missing = || ContextError::FileNotFound(place.path.clone());
        let standing = self.standing(place)?.ok_or_else(missing)?;
        let mut bytes = self.bytes(place)?;
        if is_known && let Ok(Some(pending)) = Pending::of(&place.home) {
            bytes = pending.settled(bytes);
        }
        Ok((String::from_utf8_lossy(&bytes).into_owned(), standing))
    }

    /// Moves older sections out of the file; `false` if none can be moved.
    fn rotate(&self, place: &Place, before: &[u8], at: &str) -> Result<bool, ContextError> {
        let write = ContextError::write(&place.path);
        let text = String::from_utf8_lossy(before);
        let document = Document::new(&text);
        let first = document.first_that_fits(self.parts.bytes_max / 2);
        if first == 0 {
            return Ok(false);
        }
        let archive = place.home.next_archive().map_err(&write)?;
        let kept = format!("{}{}", preamble_after_moving(document.preamble(), at), document.from(first));
        let pending = Pending::replace(before, kept, archive, document.up_to(first).to_owned());
        pending.perform(&place.home, &*self.parts.files, &place.path).map_err(&write)?;
        place.home.bound_archives().map_err(&write)?;
        Ok(true)
    }
}

impl Place {
    fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// The last sections that were moved out of the file.
    fn older(&self, mut count: usize) -> std::io::Result<String> {
        let mut out = String::new();
        for name in self.home.archives()?.iter().rev() {
            if count == 0 {
                break;
            }
            let text = self.home.archive(name)?;
            let document = Document::new(&text);
            out.insert_str(0, document.last(count));
            count = count.saturating_sub(document.session_count());
        }
        Ok(out)
    }
}

//! Looks at a job from outside, for a caller that holds its ticket: how far it is, what it has said, how it ended.
//! It must never change who gets the result.

use std::io;
use std::sync::Arc;

use entraclaw_seams::storage::Storage;
use serde_json::Value;

use crate::claim::Claim;
use crate::folder::{EVENTS, Folder, OUTPUT, ids, is_id};
use crate::request::{Request, WorkResult};

/// Most bytes of events that one look reads.
const EVENTS_BYTES_AT_ONCE: usize = 64 * 1024;

/// A job as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    /// The request of the job.
    pub request: Request,
    /// Its result, if it has ended.
    pub result: Option<WorkResult>,
    /// Who gets the result.
    pub claim: Option<Claim>,
    /// Whether its process runs or is about to start, if it has not ended.
    pub runs: bool,
}

/// Looks at one job; `None` if there is none of this id.
///
/// # Errors
/// Fails with the error of the disk.
pub fn look(storage: &Arc<dyn Storage>, id: &str) -> io::Result<Option<Look>> {
    if !is_id(id) {
        return Ok(None);
    }
    let folder = Folder::new(storage.clone(), id);
    let Some(request) = folder.request()? else { return Ok(None) };
    let result = folder.result()?;
    let runs = result.is_none() && (folder.trace()?.is_none() || folder.is_locked()?);
    Ok(Some(Look { request, result, claim: folder.claim()?, runs }))
}

/// The jobs of one kind. A job that can't be read is left out.
///
/// # Errors
/// Fails with the error of the disk.
pub fn looks(storage: &Arc<dyn Storage>, kind: &str) -> io::Result<Vec<Look>> {
    let found = ids(&**storage)?.into_iter().filter_map(|id| look(storage, &id).ok().flatten());
    Ok(found.filter(|look| look.request.ask.kind == kind).collect())
}

/// A part of the output that a job has kept, and how many bytes of it there are.
///
/// # Errors
/// Fails with the error of the disk.
pub fn kept_output(
    storage: &Arc<dyn Storage>,
    id: &str,
    offset: u64,
    bytes: usize,
) -> io::Result<(Vec<u8>, u64)> {
    let path = Folder::new(storage.clone(), id).path(OUTPUT);
    let Some(length) = storage.len(&path)? else { return Ok((Vec::new(), 0)) };
    Ok((storage.read(&path, offset, bytes)?, length))
}

/// The events of a job, each read once.
pub struct Events {
    folder: Folder,
    read: u64,
}

impl Events {
    pub(crate) fn new(folder: Folder) -> Self {
        Self { folder, read: 0 }
    }

    /// The events of a job from its first on.
    pub fn of(storage: &Arc<dyn Storage>, id: &str) -> Self {
        Self::new(Folder::new(storage.clone(), id))
    }

    /// The events since the last look. An event that is written at this moment is in the next.
    pub fn news(&mut self) -> Vec<Value> {
        let path = self.folder.path(EVENTS);
        let bytes = self.folder.storage.read(&path, self.read, EVENTS_BYTES_AT_ONCE).unwrap_or_default();
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.read += whole as u64;
        let lines = bytes[..whole].split(|byte| *byte == b'\n');
        lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
    }
}

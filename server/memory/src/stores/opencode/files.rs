//! Sessions of opencode as files: one for each session, each message and each part.
//!
//! It must never open more files than a session may have.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Head, RECORD_BYTES_MAX, ROWS_MAX, Said};
use crate::files::{Files, Standing, read_whole};
use crate::stores::gather::{is_id, word};
use crate::stores::tally::Tally;

/// The files of sessions with their ids.
pub(super) fn sessions(
    files: &dyn Files,
    storage: &Path,
    troubles: &mut Vec<(PathBuf, String)>,
) -> Vec<(PathBuf, String)> {
    let mut below = |folder: &Path| match files.list(folder) {
        Ok(names) => names.iter().map(|name| folder.join(name)).collect(),
        Err(error) => {
            troubles.push((folder.to_owned(), error.to_string()));
            Vec::new()
        }
    };
    let mut found = Vec::new();
    for project in below(&storage.join("session")) {
        for path in below(&project) {
            let id =
                path.file_stem().and_then(|stem| stem.to_str()).filter(|id| is_id(id)).map(str::to_owned);
            if let Some(id) = id.filter(|_| path.extension().is_some_and(|extension| extension == "json")) {
                found.push((path, id));
            }
            if found.len() >= ROWS_MAX {
                return found;
            }
        }
    }
    found
}

/// The folder above those of sessions, messages and parts, and the session's id.
fn place(path: &Path) -> Option<(&Path, &str)> {
    Some((path.ancestors().nth(3)?, path.file_stem()?.to_str()?))
}

/// How a session stands: its file, its messages, and the parts of the last one, which alone are still written.
pub(super) fn standing(files: &dyn Files, path: &Path) -> io::Result<Option<Standing>> {
    let (Some(mut standing), Some((storage, id))) = (files.look(path)?, place(path)) else { return Ok(None) };
    let messages = storage.join("message").join(id);
    let names = files.list(&messages)?;
    let Some(last) = names.last() else { return Ok(Some(standing)) };
    standing.bytes = standing.bytes.wrapping_add(names.len() as u64);
    let mut add = |path: PathBuf| -> io::Result<()> {
        if let Some(found) = files.look(&path)? {
            standing.bytes = standing.bytes.wrapping_add(found.bytes);
            standing.modified = standing.modified.max(found.modified);
        }
        Ok(())
    };
    add(messages.join(last))?;
    let parts = storage.join("part").join(last.strip_suffix(".json").unwrap_or(last));
    for name in files.list(&parts)?.iter() {
        add(parts.join(name))?;
    }
    Ok(Some(standing))
}

/// What is said of a session.
pub(super) fn head(files: &dyn Files, path: &Path) -> io::Result<Head> {
    let value = json(files, path)?.unwrap_or_default();
    let member = |name: &str| word(&value, name).map(str::to_owned);
    Ok(Head {
        parent: member("parentID"),
        folder: member("directory"),
        title: member("title"),
        version: member("version"),
        reverted_from: value.get("revert").and_then(|revert| word(revert, "messageID")).map(str::to_owned),
    })
}

/// A session with its messages, oldest first.
pub(super) fn read(files: &dyn Files, path: &Path, tally: &mut Tally) -> io::Result<(Head, Vec<Said>)> {
    let head = head(files, path)?;
    let mut said = Vec::new();
    let Some((storage, id)) = place(path) else { return Ok((head, said)) };
    let folder = storage.join("message").join(id);
    let mut count = 0;
    // Names ascend with time.
    for name in files.list(&folder)?.iter() {
        let Some(id) = name.strip_suffix(".json") else { continue };
        let Some(message) = taken(files, &folder.join(name), tally)? else { continue };
        let mut parts = Vec::new();
        let below = storage.join("part").join(id);
        for part in files.list(&below)?.iter() {
            count += 1;
            if count > ROWS_MAX {
                return Ok((head, said));
            }
            parts.extend(taken(files, &below.join(part), tally)?);
        }
        said.push(Said { id: id.to_owned(), message, parts });
    }
    Ok((head, said))
}

fn json(files: &dyn Files, path: &Path) -> io::Result<Option<Value>> {
    let bytes = read_whole(files, path, RECORD_BYTES_MAX)?;
    Ok(bytes.and_then(|(bytes, _)| serde_json::from_slice(&bytes).ok()))
}

/// A record; one that can't be read is counted.
fn taken(files: &dyn Files, path: &Path, tally: &mut Tally) -> io::Result<Option<Value>> {
    match json(files, path) {
        Ok(Some(value)) => Ok(Some(value)),
        Ok(None) => {
            tally.malformed += 1;
            Ok(None)
        }
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => {
            tally.too_long += 1;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

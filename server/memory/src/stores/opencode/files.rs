//! Sessions of opencode as files: one for each session, each message and each part.
//!
//! It must never open more files than a session may have.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Head, RECORD_BYTES_MAX, ROWS_MAX, Said};
use crate::files::{Files, Standing, read_whole};
use crate::stores::gather::{is_id, word};
use crate::stores::json::json;
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
    let value = record(files, path)?.unwrap_or_default();
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

fn record(files: &dyn Files, path: &Path) -> io::Result<Option<Value>> {
    let bytes = read_whole(files, path, RECORD_BYTES_MAX)?;
    Ok(bytes.and_then(|(bytes, _)| json(&bytes)))
}

/// A record; one that can't be read is counted.
fn taken(files: &dyn Files, path: &Path, tally: &mut Tally) -> io::Result<Option<Value>> {
    match record(files, path) {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::{Fault, MemoryStorage};

    use super::*;
    use crate::files::SimulatedFiles;

    const SESSION: &str = "/o/storage/session/p/ses_a.json";

    fn machine(files: &[(&str, &[u8])]) -> (MemoryStorage, SimulatedFiles) {
        let storage = MemoryStorage::new();
        for (path, bytes) in files {
            storage.set_bytes(&format!("o/storage/{path}"), bytes);
        }
        (storage.clone(), SimulatedFiles::new(storage, Arc::new(SystemClock)))
    }

    #[test]
    fn all_sessions_of_all_projects_are_found() {
        let (_, files) = machine(&[
            ("session/p/ses_a.json", b"{}"),
            ("session/p/ses_b.json", b"{}"),
            ("session/p/--x.json", b"{}"),
            ("session/p/ses_d.txt", b"{}"),
            ("session/q/ses_c.json", b"{}"),
        ]);
        let mut troubles = Vec::new();
        let found = sessions(&files, Path::new("/o/storage"), &mut troubles);
        let ids: Vec<&str> = found.iter().map(|(_, id)| id.as_str()).collect();
        assert_eq!((ids, troubles.len()), (vec!["ses_a", "ses_b", "ses_c"], 0));
        assert_eq!(found[0].0, Path::new(SESSION));
    }

    #[test]
    fn a_session_stands_by_its_own_file_its_messages_and_the_parts_of_the_last_one() {
        let (storage, files) = machine(&[("session/p/ses_a.json", b"{}")]);
        let bytes = |files: &SimulatedFiles| standing(files, Path::new(SESSION)).unwrap().unwrap().bytes;
        assert_eq!(bytes(&files), 2);
        for (path, length, expected) in [
            // One message, and its bytes.
            ("message/ses_a/msg_1.json", 10, 2 + 1 + 10),
            ("part/msg_1/prt_1.json", 100, 2 + 1 + 10 + 100),
            ("part/msg_1/prt_2.json", 200, 2 + 1 + 10 + 300),
            // The parts of an earlier message are not written any more.
            ("message/ses_a/msg_2.json", 20, 2 + 2 + 20),
            ("part/msg_2/prt_3.json", 400, 2 + 2 + 20 + 400),
            ("message/ses_b/msg_3.json", 30, 2 + 2 + 20 + 400),
        ] {
            storage.set_bytes(&format!("o/storage/{path}"), &vec![b'x'; length]);
            assert_eq!(bytes(&files), expected, "{path}");
        }
        assert!(standing(&files, Path::new("/o/storage/session/p/ses_x.json")).unwrap().is_none());
    }

    #[test]
    fn what_is_said_of_a_session_is_what_its_file_says() {
        let text = br#"{"parentID":"ses_0","directory":"/p","title":"A","version":"1","revert":{"messageID":"msg_9"}}"#;
        let (_, files) = machine(&[("session/p/ses_a.json", text), ("session/p/ses_b.json", b"{")]);
        let found = head(&files, Path::new(SESSION)).unwrap();
        let members = [found.parent, found.folder, found.title, found.version, found.reverted_from];
        assert_eq!(members.map(Option::unwrap), ["ses_0", "/p", "A", "1", "msg_9"]);
        assert_eq!(head(&files, Path::new("/o/storage/session/p/ses_b.json")).unwrap().title, None);
    }

    #[test]
    fn messages_have_their_parts_and_what_can_not_be_read_is_counted() {
        let long = vec![b' '; usize::try_from(RECORD_BYTES_MAX).unwrap() + 1];
        let (storage, files) = machine(&[
            ("session/p/ses_a.json", b"{}"),
            ("message/ses_a/msg_1.json", b"{\"n\":1}"),
            ("message/ses_a/msg_2.json", b"{"),
            ("message/ses_a/msg_3.json", &long),
            ("message/ses_a/msg_4.json", b"{\"n\":4}"),
            ("message/ses_a/other.txt", b"{}"),
            ("part/msg_1/prt_1.json", b"1"),
            ("part/msg_1/prt_2.json", b"no JSON"),
            ("part/msg_1/prt_3.json", b"3"),
            ("part/msg_2/prt_4.json", b"4"),
        ]);
        let mut tally = Tally::default();
        let (_, said) = read(&files, Path::new(SESSION), &mut tally).unwrap();
        let found: Vec<(&str, Vec<i64>)> = said
            .iter()
            .map(|one| (one.id.as_str(), one.parts.iter().filter_map(Value::as_i64).collect()))
            .collect();
        assert_eq!(found, [("msg_1", vec![1, 3]), ("msg_4", vec![])]);
        assert_eq!((tally.malformed, tally.too_long), (2, 1));

        // A disk that fails is no fault of a record.
        let mut failed = 0;
        for n in 0..20 {
            storage.fail_call(n, Fault::Error(io::ErrorKind::PermissionDenied));
            let mut again = Tally::default();
            let read = read(&files, Path::new(SESSION), &mut again);
            failed += usize::from(read.is_err());
            assert!(read.is_err() || again == tally, "{again:?}");
        }
        assert!(failed > 5, "{failed}");
    }
}

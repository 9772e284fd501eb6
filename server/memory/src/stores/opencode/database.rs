//! Sessions in opencode's database.
//!
//! It must never read a table but those of sessions, messages and parts.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row};
use serde_json::Value;

use super::{Head, RECORD_BYTES_MAX, ROWS_MAX, Said};
use crate::files::{Database, Files, Standing};
use crate::stores::gather::{is_id, word};
use crate::stores::tally::Tally;

/// The sessions: the path below the database, and the id.
pub(super) fn sessions(files: &dyn Files, path: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let Some(database) = files.database(path)? else { return Ok(Vec::new()) };
    let rows = |connection: &Connection| -> rusqlite::Result<Vec<(PathBuf, String)>> {
        let mut query = connection.prepare("SELECT id, parent_id FROM session LIMIT ?1")?;
        let rows = query.query_map([rows_max()], |row| Ok((text(row, 0)?, text(row, 1)?)))?;
        let mut found = Vec::new();
        for row in rows {
            let (Some(id), parent) = row? else { continue };
            let parent = parent.filter(|parent| is_id(parent));
            if is_id(&id) {
                found.push((
                    parent.map_or_else(|| PathBuf::from(&id), |parent| Path::new(&parent).join(&id)),
                    id,
                ));
            }
        }
        Ok(found)
    };
    rows(&database.connection()).map_err(failed)
}

/// How a session stands: its parts and when it last changed.
pub(super) fn standing(files: &dyn Files, path: &Path, id: &str) -> io::Result<Option<Standing>> {
    let Some(database) = files.database(path)? else { return Ok(None) };
    // All are counted at once: for each session alone it costs a look at each of its parts.
    let counts = if let Some(counts) = database.counts.get() {
        counts
    } else {
        let counts = counts(&database.connection()).map_err(failed)?;
        database.counts.get_or_init(|| counts)
    };
    Ok(counts.get(id).map(|(count, updated)| Standing {
        bytes: *count,
        modified: Timestamp::from_millisecond(*updated).unwrap_or(Timestamp::UNIX_EPOCH),
        identity: u64::from(crc32c::crc32c(id.as_bytes())),
    }))
}

/// The parts of each session, and when it last changed.
fn counts(connection: &Connection) -> rusqlite::Result<BTreeMap<String, (u64, i64)>> {
    let mut counts = BTreeMap::new();
    for (query, is_part) in [
        ("SELECT id, 0, time_updated FROM session LIMIT ?1", false),
        ("SELECT session_id, count(*), max(time_updated) FROM part GROUP BY session_id LIMIT ?1", true),
    ] {
        let mut query = connection.prepare(query)?;
        let mut rows = query.query([rows_max()])?;
        while let Some(row) = rows.next()? {
            let (Some(id), count, updated) = (text(row, 0)?, number(row, 1)?, number(row, 2)?) else {
                continue;
            };
            if !is_part {
                counts.insert(id, (0, updated));
            } else if let Some(session) = counts.get_mut(&id) {
                *session = (count.unsigned_abs(), session.1.max(updated));
            }
        }
    }
    Ok(counts)
}

/// What is said of a session.
pub(super) fn head(files: &dyn Files, path: &Path, id: &str) -> io::Result<Head> {
    let database = there(files, path)?;
    head_of(&database.connection(), id).map_err(failed)
}

/// A session with its messages, oldest first.
pub(super) fn read(
    files: &dyn Files,
    path: &Path,
    id: &str,
    tally: &mut Tally,
) -> io::Result<(Head, Vec<Said>)> {
    let database = there(files, path)?;
    let connection = database.connection();
    let head = head_of(&connection, id).map_err(failed)?;
    let said = said(&connection, id, tally).map_err(failed)?;
    // The tables of a later form are there, and empty in what was recorded.
    let later = "SELECT count(*) FROM session_message WHERE session_id = ?1";
    let later: i64 = connection.query_row(later, [id], |row| number(row, 0)).unwrap_or(0);
    (0..later.min(1)).for_each(|_| tally.count_unknown("session_message"));
    Ok((head, said))
}

fn there(files: &dyn Files, path: &Path) -> io::Result<Arc<Database>> {
    files.database(path)?.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the database is gone"))
}

fn head_of(connection: &Connection, id: &str) -> rusqlite::Result<Head> {
    let mut query = connection
        .prepare("SELECT parent_id, directory, title, version, revert FROM session WHERE id = ?1")?;
    let head = query.query_row([id], |row| {
        let revert: Option<Value> = text(row, 4)?.and_then(|revert| serde_json::from_str(&revert).ok());
        Ok(Head {
            parent: text(row, 0)?,
            folder: text(row, 1)?,
            title: text(row, 2)?,
            version: text(row, 3)?,
            reverted_from: revert.and_then(|revert| word(&revert, "messageID").map(str::to_owned)),
        })
    });
    Ok(head.optional()?.unwrap_or_default())
}

fn said(connection: &Connection, id: &str, tally: &mut Tally) -> rusqlite::Result<Vec<Said>> {
    let mut query = connection.prepare(
        "SELECT m.id, m.data, p.data FROM message m LEFT JOIN part p ON p.message_id = m.id \
         WHERE m.session_id = ?1 AND length(m.data) <= ?2 AND length(p.data) <= ?2 \
         ORDER BY m.time_created, m.id, p.id LIMIT ?3",
    )?;
    let bytes_max = i64::try_from(RECORD_BYTES_MAX).unwrap_or(i64::MAX);
    let mut rows = query.query(rusqlite::params![id, bytes_max, rows_max()])?;
    let mut said: Vec<Said> = Vec::new();
    while let Some(row) = rows.next()? {
        let (Some(id), Some(data), Some(part)) = (text(row, 0)?, text(row, 1)?, text(row, 2)?) else {
            continue;
        };
        let Ok(part) = serde_json::from_str::<Value>(&part) else {
            tally.malformed += 1;
            continue;
        };
        match said.last_mut() {
            Some(last) if last.id == id => last.parts.push(part),
            _ => match serde_json::from_str(&data) {
                Ok(message) => said.push(Said { id, message, parts: vec![part] }),
                Err(_) => tally.malformed += 1,
            },
        }
    }
    let long = "SELECT count(*) FROM part WHERE session_id = ?1 AND length(data) > ?2";
    let long: i64 = connection.query_row(long, rusqlite::params![id, bytes_max], |row| number(row, 0))?;
    tally.too_long += long.unsigned_abs();
    Ok(said)
}

fn rows_max() -> i64 {
    i64::try_from(ROWS_MAX).unwrap_or(i64::MAX)
}

/// A column that should be a text; nothing if it is something else.
fn text(row: &Row<'_>, at: usize) -> rusqlite::Result<Option<String>> {
    Ok(row.get_ref(at)?.as_str_or_null().ok().flatten().map(str::to_owned))
}

fn number(row: &Row<'_>, at: usize) -> rusqlite::Result<i64> {
    Ok(row.get_ref(at)?.as_i64_or_null().ok().flatten().unwrap_or(0))
}

#[expect(clippy::needless_pass_by_value, reason = "it maps an error")]
fn failed(error: rusqlite::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("its form is not known: {error}"))
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;

    use super::*;
    use crate::files::SimulatedFiles;

    const TABLES: &str = "
        CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, revert TEXT,
            time_updated INTEGER);
        CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
        CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_updated INTEGER, data TEXT);";

    /// A machine whose database was made so.
    fn machine(rows: &str) -> SimulatedFiles {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&format!("{TABLES} {rows}")).unwrap();
        let storage = MemoryStorage::new();
        storage.set_bytes("o/opencode.db", &connection.serialize(rusqlite::MAIN_DB).unwrap());
        SimulatedFiles::new(storage, Arc::new(SystemClock))
    }

    const PATH: &str = "/o/opencode.db";

    #[test]
    fn a_session_stands_by_its_parts_and_by_what_of_it_changed_last() {
        let files = machine(
            "INSERT INTO session VALUES ('ses_a', NULL, '/p', 'A', '2', NULL, 5000);
            INSERT INTO session VALUES ('ses_b', NULL, '/p', 'B', '2', NULL, 9000);
            INSERT INTO session VALUES ('ses_c', NULL, '/p', 'C', '2', NULL, 3000);
            INSERT INTO session VALUES (7, NULL, '/p', 'D', '2', NULL, 3000);
            INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_a', 6000, '{}');
            INSERT INTO part VALUES ('prt_2', 'msg_1', 'ses_a', 8000, '{}');
            INSERT INTO part VALUES ('prt_3', 'msg_2', 'ses_b', 7000, '{}');
            INSERT INTO part VALUES ('prt_4', 'msg_3', 'ses_gone', 7000, '{}');",
        );
        let mut identities = Vec::new();
        for (id, expected) in
            [("ses_a", Some((2, 8))), ("ses_b", Some((1, 9))), ("ses_c", Some((0, 3))), ("ses_gone", None)]
        {
            let found = standing(&files, Path::new(PATH), id).unwrap();
            assert_eq!(found.map(|found| (found.bytes, found.modified.as_second())), expected, "{id}");
            identities.extend(found.map(|found| found.identity));
        }
        identities.sort_unstable();
        identities.dedup();
        assert_eq!(identities.len(), 3);
        assert!(standing(&files, Path::new("/o/opencode-dev.db"), "ses_a").unwrap().is_none());
    }

    #[test]
    fn a_session_is_below_the_one_that_began_it() {
        let files = machine(
            "INSERT INTO session VALUES ('ses_a', NULL, '/p', 'A', '2', NULL, 5);
            INSERT INTO session VALUES ('ses_b', 'ses_a', '/p', 'B', '2', NULL, 5);
            INSERT INTO session VALUES ('ses_c', '../x', '/p', 'C', '2', NULL, 5);
            INSERT INTO session VALUES ('--x', NULL, '/p', 'D', '2', NULL, 5);",
        );
        let found = sessions(&files, Path::new(PATH)).unwrap();
        let expected = [("ses_a", "ses_a"), ("ses_a/ses_b", "ses_b"), ("ses_c", "ses_c")];
        assert_eq!(found, expected.map(|(path, id)| (path.into(), id.to_owned())));
        assert!(sessions(&files, Path::new("/o/other.db")).unwrap().is_empty());
    }

    #[test]
    fn messages_have_their_parts_in_order_and_what_is_wrong_is_counted() {
        let files = machine(&format!(
            "INSERT INTO session VALUES ('ses_a', 'ses_0', '/p', 'A', '2', '{{\"messageID\":\"msg_9\"}}', 5);
            CREATE TABLE session_message (session_id TEXT);
            INSERT INTO session_message VALUES ('ses_a');
            INSERT INTO session_message VALUES ('ses_a');
            INSERT INTO message VALUES ('msg_2', 'ses_a', 1, '{{\"n\":2}}');
            INSERT INTO message VALUES ('msg_1', 'ses_a', 2, '{{\"n\":1}}');
            INSERT INTO message VALUES ('msg_3', 'ses_a', 3, 'no JSON');
            INSERT INTO message VALUES ('msg_4', 'ses_b', 4, '{{}}');
            INSERT INTO part VALUES ('prt_3', 'msg_1', 'ses_a', 1, '3');
            INSERT INTO part VALUES ('prt_2', 'msg_1', 'ses_a', 1, '2');
            INSERT INTO part VALUES ('prt_4', 'msg_1', 'ses_a', 1, 'no JSON');
            INSERT INTO part VALUES ('prt_1', 'msg_2', 'ses_a', 1, '1');
            INSERT INTO part VALUES ('prt_5', 'msg_3', 'ses_a', 1, '5');
            INSERT INTO part VALUES ('prt_6', 'msg_4', 'ses_b', 1, '6');
            INSERT INTO part VALUES ('prt_7', 'msg_1', 'ses_a', 1, '\"' || hex(zeroblob({0})) || '\"');",
            RECORD_BYTES_MAX / 2
        ));
        let mut tally = Tally::default();
        let (head, said) = read(&files, Path::new(PATH), "ses_a", &mut tally).unwrap();
        let found: Vec<(&str, Vec<i64>)> = said
            .iter()
            .map(|one| (one.id.as_str(), one.parts.iter().filter_map(Value::as_i64).collect()))
            .collect();
        assert_eq!(found, [("msg_2", vec![1]), ("msg_1", vec![2, 3])]);
        assert_eq!(said[0].message, serde_json::json!({"n": 2}));
        assert_eq!((tally.malformed, tally.too_long, tally.unknown["session_message"]), (2, 1, 1));
        let members = [head.parent, head.folder, head.title, head.version, head.reverted_from];
        assert_eq!(members.map(Option::unwrap), ["ses_0", "/p", "A", "2", "msg_9"]);
        let mut other = Tally::default();
        assert_eq!(read(&files, Path::new(PATH), "ses_b", &mut other).unwrap().1.len(), 1);
        assert!(other.is_empty(), "{other:?}");
    }

    #[test]
    fn what_is_said_of_a_session_needs_its_database() {
        let files = machine("INSERT INTO session VALUES ('ses_a', NULL, '/p', 'A', '2', 'no JSON', 5);");
        let found = head(&files, Path::new(PATH), "ses_a").unwrap();
        assert_eq!((found.title.as_deref(), found.parent, found.reverted_from), (Some("A"), None, None));
        assert_eq!(head(&files, Path::new(PATH), "ses_b").unwrap().title, None);
        let gone = head(&files, Path::new("/o/other.db"), "ses_a").unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }
}

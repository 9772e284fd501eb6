//! Sessions in opencode's database.
//!
//! It must never read a table but those of sessions, messages and parts.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde_json::Value;

use super::{Head, RECORD_BYTES_MAX, ROWS_MAX, Said};
use crate::files::{Database, Files, Row, Standing, Table, Value as Column, ask, ask_again};
use crate::stores::gather::{is_id, word};
use crate::stores::json::json;
use crate::stores::tally::Tally;

/// Longest id.
const KEY_BYTES_MAX: u64 = 1024;
const GO_ON: io::Result<ControlFlow<()>> = Ok(ControlFlow::Continue(()));

/// Where the rows of a session stand.
struct Rows {
    session: i64,
    /// When it was last changed, or a message or a part of it, in milliseconds of the epoch.
    updated: i64,
    /// A sum of its id and of when each message and each part was last changed.
    sum: u32,
    /// How much its messages and parts are.
    bytes: u64,
    messages: Vec<i64>,
    parts: Vec<i64>,
}

impl Rows {
    /// Adds a message or a part.
    fn add(&mut self, bytes: u64, updated: Option<i64>) {
        self.bytes = self.bytes.saturating_add(bytes);
        let updated = updated.unwrap_or_default();
        self.updated = self.updated.max(updated);
        self.sum = crc32c::crc32c_append(self.sum, &updated.to_le_bytes());
    }
}

/// What is learnt of a database in one look through its tables, which have no other way to the rows of a session.
struct Index {
    sessions: BTreeMap<String, Rows>,
    /// The sessions that have rows in a table of a later form, which were never seen in what was recorded.
    later: BTreeSet<String>,
}

/// The sessions: the path below the database, and the id.
pub(super) fn sessions(files: &dyn Files, path: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let sessions = ask(files, path, |database| {
        let mut found = Vec::new();
        database.table("session", ["id", "parent_id"])?.each(
            KEY_BYTES_MAX,
            |Row { values: [id, parent], .. }| {
                let parent = parent.into_text().filter(|parent| is_id(parent));
                if let Some(id) = id.into_text().filter(|id| is_id(id)) {
                    let below =
                        parent.map_or_else(|| PathBuf::from(&id), |parent| Path::new(&parent).join(&id));
                    found.push((below, id));
                }
                Ok(if found.len() < ROWS_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
            },
        )?;
        Ok(found)
    })?;
    Ok(sessions.unwrap_or_default())
}

/// How a session stands: how much is said in it, and when it last changed.
pub(super) fn standing(files: &dyn Files, path: &Path, id: &str) -> io::Result<Option<Standing>> {
    let standing = ask_again(files, path, |database| {
        let rows = database.learnt(index)?.sessions.get(id);
        Ok(rows.map(|rows| Standing {
            bytes: rows.bytes,
            modified: Timestamp::from_millisecond(rows.updated).unwrap_or(Timestamp::UNIX_EPOCH),
            identity: u64::from(rows.sum),
        }))
    })?;
    Ok(standing.flatten())
}

fn index(database: &Database) -> io::Result<Index> {
    let mut sessions = BTreeMap::new();
    database.table("session", ["id", "time_updated"])?.each(KEY_BYTES_MAX, |row| {
        let Row { number: session, values: [id, updated], .. } = row;
        if let Some(id) = id.into_text() {
            let updated = updated.as_integer().unwrap_or_default();
            let sum = crc32c::crc32c(id.as_bytes());
            let rows = Rows { session, updated, sum, bytes: 0, messages: Vec::new(), parts: Vec::new() };
            sessions.insert(id, rows);
        }
        Ok(if sessions.len() < ROWS_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    // Whether each version has said when a message was changed is not known.
    let messages = database.table("message", ["session_id", "time_updated"]);
    let messages = messages.or_else(|_| database.table("message", ["session_id", "session_id"]))?;
    messages.each(KEY_BYTES_MAX, |Row { number, bytes, values: [session, updated] }| {
        if let Some(rows) = session.into_text().and_then(|session| sessions.get_mut(&session)) {
            rows.messages.push(number);
            rows.add(bytes, updated.as_integer());
        }
        GO_ON
    })?;
    let parts = database.table("part", ["session_id", "time_updated"])?;
    parts.each(KEY_BYTES_MAX, |Row { number, bytes, values: [session, updated] }| {
        if let Some(rows) = session.into_text().and_then(|session| sessions.get_mut(&session)) {
            rows.parts.push(number);
            rows.add(bytes, updated.as_integer());
        }
        GO_ON
    })?;
    let mut later = BTreeSet::new();
    // Older versions have no such table.
    if let Ok(table) = database.table("session_message", ["session_id"]) {
        table.each(KEY_BYTES_MAX, |Row { values: [session], .. }| {
            later.extend(session.into_text());
            GO_ON
        })?;
    }
    Ok(Index { sessions, later })
}

/// What is said of a session.
pub(super) fn head(files: &dyn Files, path: &Path, id: &str) -> io::Result<Head> {
    ask_again(files, path, |database| head_of(database, id))?.ok_or_else(gone)
}

/// A session with its messages, oldest first.
pub(super) fn read(
    files: &dyn Files,
    path: &Path,
    id: &str,
    tally: &mut Tally,
) -> io::Result<(Head, Vec<Said>)> {
    let asked = ask_again(files, path, |database| {
        let head = head_of(database, id)?;
        let index = database.learnt(index)?;
        let mut tally = Tally::default();
        let said = index.sessions.get(id).map_or(Ok(Vec::new()), |rows| said(database, rows, &mut tally))?;
        if index.later.contains(id) {
            tally.count_unknown("session_message");
        }
        Ok((head, said, tally))
    })?;
    let (head, said, found) = asked.ok_or_else(gone)?;
    tally.add(&found);
    Ok((head, said))
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the database is gone")
}

fn head_of(database: &Database, id: &str) -> io::Result<Head> {
    let Some(rows) = database.learnt(index)?.sessions.get(id) else { return Ok(Head::default()) };
    let table = database.table("session", ["parent_id", "directory", "title", "version", "revert"])?;
    let Some(columns) = table.row(rows.session, RECORD_BYTES_MAX)? else { return Ok(Head::default()) };
    let [parent, folder, title, version, revert] = columns.map(Column::into_text);
    let revert: Option<Value> = revert.and_then(|revert| json(revert.as_bytes()));
    let reverted_from = revert.and_then(|revert| word(&revert, "messageID").map(str::to_owned));
    Ok(Head { parent, folder, title, version, reverted_from })
}

fn said(database: &Database, rows: &Rows, tally: &mut Tally) -> io::Result<Vec<Said>> {
    // Ids and times say what belongs together, and in which order; what was said is read one by one after it.
    let messages = database.table("message", ["id", "time_created"])?;
    let mut order = Vec::new();
    for row in &rows.messages {
        let Some([id, created]) = messages.row(*row, KEY_BYTES_MAX)? else { continue };
        if let Some(id) = id.into_text() {
            order.push((created.as_integer().unwrap_or_default(), id, *row));
        }
    }
    order.sort_unstable();
    let parts = database.table("part", ["id", "message_id"])?;
    let mut below: BTreeMap<String, Vec<(String, i64)>> = BTreeMap::new();
    for row in &rows.parts {
        let Some(columns) = parts.row(*row, KEY_BYTES_MAX)? else { continue };
        if let [Some(id), Some(message)] = columns.map(Column::into_text) {
            below.entry(message).or_default().push((id, *row));
        }
    }
    let messages = database.table("message", ["data"])?;
    let parts = database.table("part", ["data"])?;
    let mut left = ROWS_MAX;
    let mut said = Vec::new();
    for (_, id, row) in order {
        let mut ids = below.remove(&id).unwrap_or_default();
        ids.sort_unstable();
        ids.truncate(left);
        left -= ids.len();
        let Some(message) = record(&messages, row, tally)? else { continue };
        let mut one = Said { id, message, parts: Vec::new() };
        for (_, row) in ids {
            one.parts.extend(record(&parts, row, tally)?);
        }
        said.push(one);
    }
    Ok(said)
}

/// The JSON in a row; nothing if there is none.
fn record(data: &Table<'_, 1>, row: i64, tally: &mut Tally) -> io::Result<Option<Value>> {
    let Some([data]) = data.row(row, RECORD_BYTES_MAX)? else { return Ok(None) };
    if data == Column::TooLong {
        tally.too_long += 1;
    }
    let Some(text) = data.into_text() else { return Ok(None) };
    let found = json(text.as_bytes());
    tally.malformed += u64::from(found.is_none());
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;
    use rusqlite::Connection;

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
    fn a_session_stands_by_the_bytes_of_its_records_and_by_what_of_it_changed_last() {
        let files = machine(
            "INSERT INTO session VALUES ('ses_a', NULL, '/p', 'A', '2', NULL, 5000);
            INSERT INTO session VALUES ('ses_b', NULL, '/p', 'B', '2', NULL, 9000);
            INSERT INTO session VALUES ('ses_c', NULL, '/p', 'C', '2', NULL, 3000);
            INSERT INTO session VALUES (7, NULL, '/p', 'D', '2', NULL, 3000);
            INSERT INTO message VALUES ('msg_1', 'ses_a', 6000, '1234567');
            INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_a', 6000, '{}');
            INSERT INTO part VALUES ('prt_2', 'msg_1', 'ses_a', 8000, '{}');
            INSERT INTO part VALUES ('prt_3', 'msg_2', 'ses_b', 7000, '{}');
            INSERT INTO part VALUES ('prt_4', 'msg_3', 'ses_gone', 7000, '{}');",
        );
        let mut identities = Vec::new();
        for (id, expected) in
            [("ses_a", Some((74, 8))), ("ses_b", Some((25, 9))), ("ses_c", Some((0, 3))), ("ses_gone", None)]
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
    fn a_session_stands_otherwise_after_each_change_of_what_is_said_in_it() {
        let rows = "INSERT INTO session VALUES ('ses_a', NULL, '/p', 'A', '2', NULL, 9000);
            ALTER TABLE message ADD COLUMN time_updated INTEGER;
            INSERT INTO message VALUES ('msg_1', 'ses_a', 1, '{\"a\":1}', 1000);
            INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_a', 1000, '{\"a\":1}');
            INSERT INTO part VALUES ('prt_2', 'msg_1', 'ses_a', 2000, '{\"a\":1}');";
        let mut standings = Vec::new();
        for change in [
            "",
            "UPDATE message SET data = '{\"a\":2}', time_updated = 1001;",
            "UPDATE part SET data = '{\"a\":2}', time_updated = 1001 WHERE id = 'prt_1';",
            "UPDATE part SET data = '{\"a\":22}' WHERE id = 'prt_1';",
            "DELETE FROM part WHERE id = 'prt_1';",
            "UPDATE session SET time_updated = 9001;",
        ] {
            let files = machine(&format!("{rows} {change}"));
            let standing = standing(&files, Path::new(PATH), "ses_a").unwrap().unwrap();
            assert!(!standings.contains(&standing), "{change}");
            standings.push(standing);
        }
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
            INSERT INTO session VALUES ('ses_b', NULL, '/p', 'B', '2', NULL, 5);
            CREATE TABLE session_message (session_id TEXT);
            INSERT INTO session_message VALUES ('ses_a');
            INSERT INTO session_message VALUES ('ses_a');
            INSERT INTO message VALUES ('msg_2', 'ses_a', 1, '{{\"n\":2}}');
            INSERT INTO message VALUES ('msg_1', 'ses_a', 2, '{{\"n\":1}}');
            INSERT INTO message VALUES ('msg_3', 'ses_a', 3, 'no JSON');
            INSERT INTO message VALUES ('msg_4', 'ses_b', 4, '{{}}');
            INSERT INTO message VALUES ('msg_5', 'ses_a', 5, '{{\"error\":\"x\\ud83d\"}}');
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
        assert_eq!(found, [("msg_2", vec![1]), ("msg_1", vec![2, 3]), ("msg_5", vec![])]);
        assert_eq!(said[0].message, serde_json::json!({"n": 2}));
        assert_eq!(said[2].message, serde_json::json!({"error": "x\u{fffd}"}));
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

//! The tables of the store, and how an older file becomes a newer one.
//!
//! It must never touch a file of a newer version.

use rusqlite::Connection;

use super::StoreError;

/// The version of the tables, in SQLite's own field for it.
const VERSION: i64 = 3;

/// The tables of version 1.
const TABLES: &str = "
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    began_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE tasks (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    session INTEGER NOT NULL REFERENCES sessions,
    source TEXT NOT NULL,
    message TEXT NOT NULL,
    context TEXT NOT NULL,
    hint TEXT NOT NULL,
    state TEXT NOT NULL,
    model TEXT,
    step INTEGER NOT NULL DEFAULT 0,
    heard INTEGER,
    partial TEXT NOT NULL DEFAULT '',
    was_asking INTEGER NOT NULL DEFAULT 0,
    held TEXT,
    resumed TEXT,
    result TEXT,
    notes TEXT NOT NULL DEFAULT '[]',
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    malformed INTEGER NOT NULL DEFAULT 0,
    cancel_reason TEXT,
    created_ms INTEGER NOT NULL,
    started_ms INTEGER,
    ended_ms INTEGER,
    worked_ms INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX open_tasks ON tasks (number) WHERE state IN ('queued', 'in_progress', 'preempted');
CREATE TABLE messages (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    session INTEGER NOT NULL REFERENCES sessions,
    task TEXT NOT NULL REFERENCES tasks (id),
    speaker TEXT NOT NULL,
    text TEXT NOT NULL,
    at_ms INTEGER NOT NULL
) STRICT;
CREATE INDEX messages_of_session ON messages (session, number);
CREATE TABLE steps (
    task TEXT NOT NULL REFERENCES tasks (id),
    step INTEGER NOT NULL,
    heard INTEGER NOT NULL,
    text TEXT NOT NULL,
    requests TEXT NOT NULL,
    PRIMARY KEY (task, step)
) STRICT;
CREATE TABLE tool_calls (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    task TEXT NOT NULL REFERENCES tasks (id),
    step INTEGER NOT NULL,
    request TEXT NOT NULL,
    state TEXT NOT NULL,
    asks TEXT,
    text TEXT,
    status TEXT,
    shown TEXT,
    runs INTEGER NOT NULL DEFAULT 0,
    started_ms INTEGER,
    ended_ms INTEGER
) STRICT;
CREATE INDEX calls_of_task ON tool_calls (task, number);
CREATE TABLE issues (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    source TEXT NOT NULL,
    task TEXT,
    model TEXT,
    hint TEXT NOT NULL,
    kind TEXT NOT NULL,
    description TEXT NOT NULL,
    expected TEXT,
    at_ms INTEGER NOT NULL
) STRICT;
";

/// What version 2 adds to version 1. What was there before is owed to no host.
const ADDED_IN_2: &str = "
ALTER TABLE tasks ADD COLUMN claim TEXT NOT NULL DEFAULT 'seen';
ALTER TABLE messages ADD COLUMN model TEXT;
UPDATE messages SET model = (SELECT model FROM tasks WHERE id = messages.task) WHERE speaker = 'entraclaw';
CREATE INDEX owed_tasks ON tasks (number) WHERE claim NOT IN ('seen', 'told');
";

/// What version 3 adds to version 2.
const ADDED_IN_3: &str = "ALTER TABLE tasks ADD COLUMN consumer TEXT;";

/// The tables with rows, each before those that it refers to; the last holds the numbers that were given.
const FILLED: [&str; 7] =
    ["tool_calls", "steps", "messages", "tasks", "sessions", "issues", "sqlite_sequence"];

/// Removes every row, so that the next one has the number 1.
pub(super) fn empty(connection: &Connection) -> rusqlite::Result<()> {
    for table in FILLED {
        connection.prepare_cached(&format!("DELETE FROM {table}"))?.execute([])?;
    }
    Ok(())
}

/// Makes the tables, or checks that they are of a known version.
pub(super) fn prepare(connection: &mut Connection, file: &str) -> Result<(), StoreError> {
    let found: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if found > VERSION {
        return Err(StoreError::Newer { file: file.to_owned(), found, known: VERSION });
    }
    if found < VERSION {
        let transaction = connection.transaction()?;
        for (version, statements) in [(1, TABLES), (2, ADDED_IN_2), (3, ADDED_IN_3)] {
            if found < version {
                transaction.execute_batch(statements)?;
            }
        }
        transaction.execute_batch(&format!("PRAGMA user_version = {VERSION}"))?;
        transaction.commit()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_emptied() {
        let mut connection = Connection::open_in_memory().unwrap();
        prepare(&mut connection, "memory").unwrap();
        let mut statement =
            connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").unwrap();
        let tables: Vec<String> =
            statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
        let mut filled = FILLED;
        filled.sort_unstable();
        assert_eq!(tables, filled);
    }
}

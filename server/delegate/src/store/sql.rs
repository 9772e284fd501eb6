//! Statements that are compiled once for each connection and kept.
//!
//! It must never be given a text with a value in it: values are parameters, so that there are as many texts as places.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OptionalExtension as _, Params, Result, Row};

/// Most statements that a connection keeps. The store has fewer places that ask or change.
const KEPT_MAX: usize = 64;

/// Asks and changes by kept statements.
pub(super) trait Sql {
    /// The first row, if there is one.
    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>>;

    /// All rows, in their order.
    fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>>;

    /// How many rows were changed.
    fn change(&self, sql: &str, params: impl Params) -> Result<usize>;
}

impl Sql for Connection {
    fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        self.prepare_cached(sql)?.query_row(params, read).optional()
    }

    fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.prepare_cached(sql)?.query_map(params, read)?.collect()
    }

    fn change(&self, sql: &str, params: impl Params) -> Result<usize> {
        self.prepare_cached(sql)?.execute(params)
    }
}

/// Lets a connection keep all statements of the store; SQLite's library keeps few.
pub(super) fn keep_statements(connection: &Connection) -> Result<()> {
    connection.set_prepared_statement_cache_capacity(KEPT_MAX);
    // Otherwise SQLite compiles a statement anew for each new value of a parameter, as the value could change its plan.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

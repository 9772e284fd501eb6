//! Issues, and where a model has proven to be good.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::sql::Sql as _;
use super::{Place, Store, StoreError};
use crate::issue::Issue;
use crate::task::Hint;

/// What a reported issue is filed under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    /// The number of the report.
    pub number: i64,
    /// The model that answered, if the task is known.
    pub model: Option<String>,
    /// The kind of task.
    pub hint: Hint,
}

/// How a model has done with one kind of task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindQuality {
    /// The model.
    pub model: String,
    /// The kind of task.
    pub hint: Hint,
    /// Tasks with an answer.
    pub completed: u64,
    /// Tasks that failed.
    pub failed: u64,
    /// Tasks that were cancelled after they had begun.
    pub cancelled: u64,
    /// Tasks that a caller reported an issue with.
    pub with_issues: u64,
    /// Reports by kind of issue.
    pub issues: BTreeMap<String, u64>,
}

impl Store {
    /// Files an issue under the model and the kind of its task.
    ///
    /// # Errors
    /// Fails if it can't be written.
    pub fn add_issue(&mut self, issue: &Issue, now_ms: i64) -> Result<Reported, StoreError> {
        self.write(|transaction| {
            let about: Option<(Option<String>, String)> = match &issue.task {
                Some(task) => {
                    let sql = "SELECT model, hint FROM tasks WHERE id = ?";
                    transaction.one(sql, [&task.0], |row| Ok((row.get(0)?, row.get(1)?)))?
                }
                None => None,
            };
            let (model, hint) = about.unwrap_or((None, Hint::General.as_str().to_owned()));
            transaction.change(
                "INSERT INTO issues (source, task, model, hint, kind, description, expected, at_ms) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    issue.source.as_str(),
                    issue.task.as_ref().map(|task| &task.0),
                    model,
                    hint,
                    issue.kind.as_str(),
                    issue.description,
                    issue.expected,
                    now_ms
                ],
            )?;
            let hint = Hint::by_name(&hint).unwrap_or_default();
            Ok(Reported { number: transaction.last_insert_rowid(), model, hint })
        })
    }

    /// How each model has done with each kind of task.
    ///
    /// # Errors
    /// Fails if it can't be read.
    pub fn quality(&self) -> Result<Vec<KindQuality>, StoreError> {
        quality(self.read()?)
    }

    /// The same while an engine may work in the project; nothing if no model has worked there.
    ///
    /// # Errors
    /// Fails if it can't be read.
    pub fn look(place: &Place) -> Result<Vec<KindQuality>, StoreError> {
        place.look()?.map_or_else(|| Ok(Vec::new()), |connection| quality(&connection))
    }
}

fn quality(connection: &Connection) -> Result<Vec<KindQuality>, StoreError> {
    let sql = "SELECT model, hint, sum(state = 'completed'), sum(state = 'failed'), \
         sum(state = 'cancelled' AND started_ms IS NOT NULL), \
         sum(EXISTS (SELECT 1 FROM issues WHERE issues.task = tasks.id)) \
         FROM tasks WHERE model IS NOT NULL GROUP BY model, hint ORDER BY model, hint";
    let count = |number: i64| number.max(0).cast_unsigned();
    let mut all = connection.all(sql, [], |row| {
        let hint: String = row.get(1)?;
        Ok(KindQuality {
            model: row.get(0)?,
            hint: Hint::by_name(&hint).unwrap_or_default(),
            completed: count(row.get(2)?),
            failed: count(row.get(3)?),
            cancelled: count(row.get(4)?),
            with_issues: count(row.get(5)?),
            issues: BTreeMap::new(),
        })
    })?;
    let sql =
        "SELECT model, hint, kind, count(*) FROM issues WHERE model IS NOT NULL GROUP BY model, hint, kind";
    let issues: Vec<(String, String, String, i64)> =
        connection.all(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    for (model, hint, kind, number) in issues {
        let row = all.iter_mut().find(|one| one.model == model && one.hint.as_str() == hint);
        if let Some(row) = row {
            row.issues.insert(kind, count(number));
        }
    }
    Ok(all)
}

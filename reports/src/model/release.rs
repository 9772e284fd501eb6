//! Makes the history line of a release from a run.

use super::Report;
use crate::counts::supported;
use crate::event::Status;
use crate::history::{HISTORY_VERSION, Release};

impl Release {
    /// The line of a run that is released under a name.
    pub fn new(name: &str, report: &Report) -> Self {
        let levels = report.levels().into_iter();
        let rows = report.rows().map(|row| {
            (row.id.clone(), row.cells.iter().map(|cell| cell.state.symbol()).collect::<String>())
        });
        let version = report.server.version.as_deref().unwrap_or("unknown");
        Self {
            v: HISTORY_VERSION,
            release: name.to_owned(),
            server: format!("{} {version}", report.server.name),
            tool: report.tool.clone(),
            seeds: report.seeds,
            runs: report.totals.runs,
            cells: report.totals.cells.clone(),
            levels: levels
                .map(|(level, cells)| (level.to_owned(), (cells[&Status::Pass], supported(cells))))
                .collect(),
            hosts: report.hosts.iter().map(|host| host.id.clone()).collect(),
            rows: rows.collect(),
        }
    }
}

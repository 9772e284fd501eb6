//! Writes the reports into a folder. It writes nothing for an invalid stream, and never writes
//! `events.jsonl`, which belongs to the runner.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::model::Report;
use crate::stream::Stream;
use crate::{badge_json, badge_svg, html, junit, markdown, pull_request, sarif};

/// Why the reports could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The page could not be rendered.
    #[error("could not render report.html: {0}")]
    Html(#[from] askama::Error),
    /// The model could not be serialized.
    #[error("could not render a report as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The XML could not be made.
    #[error("could not render junit.xml: {0}")]
    Junit(#[from] quick_junit::SerializeError),
    /// The folder or a file could not be written.
    #[error("could not write {path}: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// The files of a report in its folder.
pub const FILES: [&str; 8] = [
    "report.html",
    "report.md",
    "report.json",
    "junit.xml",
    "summary.md",
    "report.sarif",
    "badge.svg",
    "badge.json",
];

/// Writes `report.html`, `.md`, `.json` and `.sarif`, `junit.xml`, `summary.md`, `badge.svg` and `badge.json`
/// into `folder`, which is created if it is missing. `report` must be that of `stream`. All files are
/// rendered before the first is written. Returns their paths in this order.
pub fn write_all(report: &Report, stream: &Stream, folder: &Path) -> Result<Vec<PathBuf>, WriteError> {
    let texts = [
        html(report, stream)?,
        markdown(report),
        // Without indentation, which would double it.
        serde_json::to_string(report)? + "\n",
        junit(report)?,
        pull_request(report),
        sarif(report)?,
        badge_svg(report),
        badge_json(report)?,
    ];
    make_folder(folder).map_err(|source| WriteError::Io { path: folder.to_owned(), source })?;
    let mut paths = Vec::new();
    for (name, text) in FILES.into_iter().zip(texts) {
        let path = folder.join(name);
        write_file(&path, &text).map_err(|source| WriteError::Io { path: path.clone(), source })?;
        paths.push(path);
    }
    Ok(paths)
}

#[expect(
    clippy::disallowed_methods,
    reason = "reports are ordinary files; the ban is about the server's data"
)]
fn make_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[expect(
    clippy::disallowed_methods,
    reason = "reports are ordinary files; the ban is about the server's data"
)]
fn write_file(path: &Path, text: &str) -> io::Result<()> {
    fs::write(path, text)
}

//! How far the first indexing is, on a terminal: it may take a minute.
//!
//! It must never write to a pipe, nor change what is read.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use entraclaw_memory::files::{Database, Files, Standing};
use entraclaw_memory::stores::{Homes, find};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a second the bar is drawn.
const DRAWN_HZ: u8 = 10;
/// Fewer bytes are read before a person has seen the bar.
const SHOWN_FROM_BYTES: u64 = 8 * 1024 * 1024;

/// The files of the agents, whose reading is shown.
pub(super) struct Watched<F> {
    files: F,
    homes: Homes,
    is_shown: bool,
    bar: OnceLock<ProgressBar>,
}

impl<F: Files> Watched<F> {
    /// Shows how these files are read, if `is_shown`.
    pub(super) fn new(files: F, homes: Homes, is_shown: bool) -> Self {
        Self { files, homes, is_shown, bar: OnceLock::new() }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }

    fn bar(&self) -> &ProgressBar {
        self.bar.get_or_init(|| {
            if !self.is_shown {
                return ProgressBar::hidden();
            }
            let (found, _) = find(&self.files, &self.homes);
            let standings = found.iter().filter_map(|found| self.files.look(&found.path).ok().flatten());
            let total = standings.map(|standing| standing.bytes).sum();
            if total < SHOWN_FROM_BYTES {
                return ProgressBar::hidden();
            }
            // It fits into 80 columns: a longer line would be drawn anew below itself.
            let template = "reading all sessions once {bar:20} {bytes} of {total_bytes}, {eta}";
            let style =
                ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(DRAWN_HZ))
                .with_style(style)
        })
    }
}

impl<F: Files> Files for Watched<F> {
    fn list(&self, folder: &Path) -> io::Result<Arc<[String]>> {
        self.files.list(folder)
    }

    fn look(&self, path: &Path) -> io::Result<Option<Standing>> {
        self.files.look(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.files.exists(path)
    }

    fn folder(&self, path: &Path) -> Option<PathBuf> {
        self.files.folder(path)
    }

    fn read(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let bytes = self.files.read(path, offset, len)?;
        self.bar().inc(bytes.len() as u64);
        Ok(bytes)
    }

    fn is_locked(&self, path: &Path) -> Option<bool> {
        self.files.is_locked(path)
    }

    fn database(&self, path: &Path) -> io::Result<Option<Database>> {
        self.files.database(path)
    }
}

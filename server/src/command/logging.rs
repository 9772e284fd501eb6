//! Logs: to stderr, and to `log/entraclaw.log` when the configuration asks for it.
//! They must never hold what a person wrote, nor a token; and stdout is not theirs.

use std::io::{self, Write};
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::config::Log;
use crate::storage::{AppendFile, Storage};

const FOLDER: &str = "log";
const FILE: &str = "log/entraclaw.log";
/// The file before the current one.
const OLDER_FILE: &str = "log/entraclaw.old.log";
/// A file that has grown to this size becomes the older one.
const FILE_BYTES_MAX: u64 = 5 * 1024 * 1024;

/// Starts logging. A file that can't be written costs the file, not the server.
pub(super) fn start(log: &Log, storage: &Arc<dyn Storage>) {
    let level = LevelFilter::from_str(&log.level).unwrap_or(LevelFilter::INFO);
    let others = level.min(LevelFilter::WARN);
    let targets = || Targets::new().with_default(others).with_target("entraclaw", level);
    let file = log.file.then(|| LogFile::open(storage.clone()));
    let problem = file.as_ref().and_then(|opened| opened.as_ref().err().map(ToString::to_string));
    let file = file
        .and_then(Result::ok)
        .map(|file| fmt::layer().with_ansi(false).with_writer(Mutex::new(file)).with_filter(targets()));
    let stderr = fmt::layer().with_ansi(false).with_writer(io::stderr).with_filter(targets());
    // Only a second start in one process fails, which tests may do.
    let _ = tracing_subscriber::registry().with(stderr).with(file).try_init();
    if let Some(problem) = problem {
        tracing::warn!(problem, file = FILE, "the log file can't be written; stderr still has the log");
    }
}

/// The log file, in the home folder and with its rights.
struct LogFile {
    storage: Arc<dyn Storage>,
    file: Arc<Mutex<Box<dyn AppendFile>>>,
}

impl LogFile {
    fn open(storage: Arc<dyn Storage>) -> io::Result<Self> {
        storage.create_dir(FOLDER)?;
        let file = storage.append(FILE, true)?;
        Ok(Self { storage, file: Arc::new(Mutex::new(file)) })
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.len().is_ok_and(|length| length >= FILE_BYTES_MAX) {
            self.storage.rename(FILE, OLDER_FILE)?;
            *file = self.storage.append(FILE, true)?;
        }
        file.append(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

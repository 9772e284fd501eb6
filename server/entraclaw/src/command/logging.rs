//! Logs: for people on stderr, and as JSON lines in `log/entraclaw.log` if the configuration asks for it.
//! They must never contain a message's text or a token, and must never go to stdout.

use std::io;
use std::str::FromStr as _;
use std::sync::{Arc, Mutex};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::log_file::{FILE, LogFile, LogLimits};
use entraclaw_seams::clock::SystemClock;
use entraclaw_seams::storage::Storage;
use entraclaw_session::config::Log;

/// Starts logging. If the file can't be written, the server goes on without it.
pub(super) fn start(log: &Log, storage: &Arc<dyn Storage>) {
    let level = LevelFilter::from_str(&log.level).unwrap_or(LevelFilter::INFO);
    let others = level.min(LevelFilter::WARN);
    let targets = || Targets::new().with_default(others).with_target("entraclaw", level);
    let limits = LogLimits {
        file_bytes_max: u64::from(log.file_mb) * 1_000_000,
        files_max: usize::try_from(log.files).unwrap_or(usize::MAX),
    };
    let file = log.file.then(|| LogFile::open(storage.clone(), Arc::new(SystemClock), limits));
    let problem = file.as_ref().and_then(|opened| opened.as_ref().err().map(ToString::to_string));
    let file = file
        .and_then(Result::ok)
        .map(|file| fmt::layer().json().with_writer(Mutex::new(file)).with_filter(targets()));
    let stderr = fmt::layer().with_ansi(false).with_writer(io::stderr).with_filter(targets());
    // This fails only at a second start in one process, as in tests.
    let _ = tracing_subscriber::registry().with(stderr).with(file).try_init();
    if let Some(problem) = problem {
        tracing::warn!(problem, file = FILE, "the log file can't be written; stderr still has the log");
    }
}

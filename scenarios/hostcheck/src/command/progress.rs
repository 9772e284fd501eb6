//! The progress of `run --server`: a line that is rewritten on a terminal, a line every 30 s elsewhere. It
//! must never write to standard output, nor tell anything about the server but how far the run is.

use std::cell::Cell;
use std::convert::Infallible;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use crate::conformance::News;
use crate::print::warn;

/// How often the line on a terminal is rewritten.
const TICK: Duration = Duration::from_secs(1);
/// Seconds for which a wait is not shown.
const QUIET_S: u64 = 2;
/// Seconds after which a slow opening is reported where stderr is no terminal.
const OPENING_S: u64 = 10;
/// Seconds between two lines where stderr is no terminal.
const LINE_EVERY_S: u64 = 30;

pub(super) struct Progress {
    is_terminal: bool,
    news: Cell<Option<News>>,
    /// Seconds since the start, and since the last news.
    seconds: Cell<(u64, u64)>,
}

impl Default for Progress {
    fn default() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), news: Cell::default(), seconds: Cell::default() }
    }
}

impl Progress {
    pub(super) fn tell(&self, news: News) {
        let (all, since) = self.seconds.get();
        let goes_on = self.asks() && matches!(news, News::Asked { .. });
        self.seconds.set((all, if goes_on { since } else { 0 }));
        self.news.set(Some(news));
        self.show();
    }

    /// Shows the progress while time passes.
    pub(super) async fn watch(&self) -> Infallible {
        loop {
            tokio::time::sleep(TICK).await;
            let (all, since) = self.seconds.get();
            let since = since + TICK.as_secs();
            self.seconds.set((all + TICK.as_secs(), since));
            // After its time limit an opening is not shown: the next news tells how it ended.
            let opens = matches!(self.news.get(), Some(News::Opening(_, limit)) if limit.as_secs() > since);
            if self.is_terminal {
                self.show();
            } else if (opens && since == OPENING_S)
                || (since.is_multiple_of(LINE_EVERY_S) && (opens || self.asks()))
            {
                warn(&self.text());
            }
        }
    }

    /// Tells that the run was stopped, and how far it was.
    pub(super) fn stopped(&self, signal: &str) {
        self.end();
        let at = self.text();
        let at = if at.is_empty() { String::new() } else { format!(" ({at})") };
        warn(&format!("{signal}: the run is stopped, and what it has found follows{at}"));
    }

    /// Clears the line on a terminal.
    pub(super) fn end(&self) {
        if self.is_terminal {
            Self::write("\r\u{1b}[K");
        }
    }

    fn asks(&self) -> bool {
        matches!(self.news.get(), Some(News::Asked { .. }))
    }

    fn show(&self) {
        let (_, since) = self.seconds.get();
        if self.is_terminal && (self.asks() || since >= QUIET_S) {
            Self::write(&format!("\r\u{1b}[K{}", self.text()));
        }
    }

    fn text(&self) -> String {
        let (all, since) = self.seconds.get();
        match self.news.get() {
            None => String::new(),
            Some(News::Opening(version, limit)) => format!(
                "waiting for the server's first answer in {version}: {since} s of at most {}",
                limit.as_secs()
            ),
            Some(News::Asked { done, total }) => format!("{done} of {total} conversations, {all} s"),
        }
    }

    fn write(text: &str) {
        let mut stderr = anstream::stderr();
        // A closed stderr shows nothing, as its owner wanted.
        let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
    }
}

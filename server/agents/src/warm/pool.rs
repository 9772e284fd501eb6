//! The server's side: which processes stand by for this session, and which one gets a question.
//! It must never have more of them than the operator permits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use entraclaw_work::{Standing, Works};
use tokio::time::Instant;

use crate::task::{KIND, WarmLine};

/// The pause between an answer and the start of a process that stands by for the next question, so that the two are not in
/// each other's way.
const PREPARE_AFTER: Duration = Duration::from_millis(200);

/// How long a process takes to end that is dismissed.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

/// The processes that stand by for this session. Clones are cheap and share them.
#[derive(Clone)]
pub(crate) struct Pool {
    works: Works,
    /// Most processes.
    size: u32,
    /// From the least to the most lately used.
    standing: Arc<Mutex<Vec<(WarmLine, Standing)>>>,
    /// What is to stand by next, and from when on.
    due: Arc<Mutex<Option<(Instant, WarmLine)>>>,
}

impl Pool {
    pub(crate) fn new(works: Works, size: u32) -> Self {
        Self { works, size, standing: Arc::default(), due: Arc::default() }
    }

    /// Whether processes may stand by at all.
    pub(crate) fn is_used(&self) -> bool {
        self.size > 0
    }

    /// The process for such a question, if one was started.
    pub(crate) fn of(&self, line: &WarmLine) -> Option<Standing> {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        let at = standing.iter().position(|(known, _)| known == line)?;
        let found = standing.remove(at);
        let process = found.1.clone();
        standing.push(found);
        Some(process)
    }

    /// Starts a process for such questions soon, if none stands by: the next question is most likely like the last one.
    pub(crate) fn prepare_soon(&self, line: WarmLine) {
        *self.due() = Some((Instant::now() + PREPARE_AFTER, line));
    }

    /// When [`Pool::prepare_due`] has something to do.
    pub(crate) fn due_at(&self) -> Option<Instant> {
        self.due().as_ref().map(|(at, _)| *at)
    }

    /// Starts what is to stand by and due.
    pub(crate) fn prepare_due(&self) {
        let line = self.due().take_if(|(at, _)| *at <= Instant::now());
        if let Some((_, line)) = line {
            self.prepare(line);
        }
    }

    fn due(&self) -> MutexGuard<'_, Option<(Instant, WarmLine)>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn prepare(&self, line: WarmLine) {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        standing.retain(|(_, process)| process.is_alive());
        if self.size == 0 || standing.iter().any(|(known, _)| *known == line) {
            return;
        }
        if standing.len() >= self.size as usize {
            let oldest = standing.iter().position(|(_, process)| process.dismiss().unwrap_or(false));
            if let Some(oldest) = oldest {
                standing.remove(oldest);
                // Its place is free when it has ended.
                *self.due() = Some((Instant::now() + ENDS_WITHIN, line));
            }
            return;
        }
        let Ok(what) = serde_json::to_value(&line) else { return };
        match self.works.stand_by(KIND, what, self.size) {
            Ok(process) => standing.push((line, process)),
            Err(error) => tracing::warn!(%error, "no agent stands by for the next question"),
        }
    }
}

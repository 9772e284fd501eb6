//! What a wake-up must know of the host of a connection: which host it is, whether its agent listens, and
//! whether it asks its user. It must never hold the text of a message.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::journal::ConsumerName;
use crate::watched::Watched;

/// How long an unanswered permission request counts as open; the host's own dialog may stay longer.
const ASKING: Duration = Duration::from_secs(30 * 60);
/// Open permission requests that are remembered.
const ASKING_MAX: usize = 16;
/// How soon an agent that listens calls again after a waiting call has ended.
const LISTENS_AGAIN: Duration = Duration::from_secs(10);
/// Longest thread id.
const THREAD_CHARS_MAX: usize = 64;

/// A host that has initialized its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Met {
    /// Its family.
    pub family: &'static str,
    /// Its version, as three numbers; zeros where it gives none.
    pub version: [u64; 3],
    /// The consumer that it reads as.
    pub consumer: ConsumerName,
}

/// The last known activity of a host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostActivity {
    /// The host, once it has initialized the connection.
    pub host: Option<Met>,
    /// When the host last called a tool.
    pub called_at: Option<Instant>,
    /// Whether a waiting call is open, which brings the next message by itself.
    pub is_waiting: bool,
    /// When the last waiting call ended.
    pub waited_at: Option<Instant>,
    /// The thread that made the last call, if the host names it.
    pub thread: Option<String>,
    /// Whether a hook is known that can wake the host.
    pub has_waking_hook: bool,
    /// Unanswered permission requests, and the time until which each counts as open.
    asking: BTreeMap<String, Instant>,
}

impl HostActivity {
    /// The time until which no wake-up may be used, because the host asks its user something or is about to
    /// wait again.
    pub fn busy_until(&self, now: Instant) -> Option<Instant> {
        let listens_again = self.waited_at.map(|at| at + LISTENS_AGAIN);
        self.asking.values().copied().chain(listens_again).filter(|until| *until > now).max()
    }
}

/// A handle to the activity, which can be watched.
pub type ActivityWatch = Watched<HostActivity>;

impl ActivityWatch {
    /// The host, once it has initialized the connection.
    pub fn host(&self) -> Option<Met> {
        self.get().host
    }

    /// Notes that a host has initialized the connection.
    pub fn met(&self, host: Met) {
        self.update(|state| state.host = Some(host));
    }

    /// Notes that a tool was called.
    pub fn called(&self) {
        self.update(|state| state.called_at = Some(Instant::now()));
    }

    /// Notes whether a waiting call is open.
    pub fn waits(&self, is_waiting: bool) {
        self.update(|state| {
            if state.is_waiting && !is_waiting {
                state.waited_at = Some(Instant::now());
            }
            state.is_waiting = is_waiting;
        });
    }

    /// Notes the thread that made a call. A text that does not look like an id is ignored, because it would
    /// get into a command line.
    pub fn called_by(&self, thread: &str) {
        let is_id = thread.len() <= THREAD_CHARS_MAX
            && thread.starts_with(|c: char| c.is_ascii_alphanumeric())
            && thread.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if is_id {
            self.update(|state| state.thread = Some(thread.to_owned()));
        }
    }

    /// Notes that a hook can wake the host; the hooks of later turns follow it.
    pub fn has_waking_hook(&self) {
        self.update(|state| state.has_waking_hook = true);
    }

    /// Whether a hook is known that can wake the host.
    pub fn can_be_woken_by_hook(&self) -> bool {
        self.get().has_waking_hook
    }

    /// Notes that the host asks its user for a permission.
    pub fn asks(&self, code: &str) {
        self.update(|state| {
            let now = Instant::now();
            state.asking.retain(|_, until| *until > now);
            if state.asking.len() == ASKING_MAX {
                state.asking.pop_first();
            }
            state.asking.insert(code.to_owned(), now + ASKING);
        });
    }

    /// Notes that a permission request was answered.
    pub fn answered(&self, code: &str) {
        self.update(|state| {
            state.asking.remove(code);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn only_what_looks_like_an_id_becomes_one() {
        let activity = ActivityWatch::default();
        for bad in ["", "-x", "--help", "a b", "a;b", "../x", "ü", &"a".repeat(65)] {
            activity.called_by(bad);
            assert_eq!(activity.get().thread, None, "{bad}");
        }
        activity.called_by("0199b1c2-aaaa-7000-8000-000000000001");
        activity.called_by("$(id)");
        assert_eq!(activity.get().thread.as_deref(), Some("0199b1c2-aaaa-7000-8000-000000000001"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_counts_until_it_is_answered_or_old() {
        let activity = ActivityWatch::default();
        let busy = |activity: &ActivityWatch| activity.get().busy_until(Instant::now()).is_some();
        activity.asks("abcde");
        activity.asks("fghij");
        activity.answered("abcde");
        assert!(busy(&activity));
        activity.answered("fghij");
        assert!(!busy(&activity));
        for code in 0..100 {
            activity.asks(&code.to_string());
        }
        assert_eq!(activity.get().asking.len(), ASKING_MAX);
        tokio::time::sleep(ASKING).await;
        assert!(!busy(&activity));
    }
}

//! The wish to end a run early, as with Ctrl-C. What runs then is given up with its servers, and counts as not asked; what was
//! found before stays.

use tokio::sync::watch;

/// Why something was not asked once the run was stopped.
pub(crate) const STOPPED: &str = "the run was stopped";

/// Whether the run is to end early. It never begins anew.
#[derive(Debug, Clone, Default)]
pub struct Stop(watch::Sender<bool>);

impl Stop {
    /// Ends the run: [`judge`](super::judge) then gives what it has.
    pub fn wish(&self) {
        self.0.send_replace(true);
    }

    pub(crate) fn is_wished(&self) -> bool {
        *self.0.borrow()
    }

    /// What a future gives, or `None` if the run is stopped before that; the future and its servers are then dropped.
    pub(crate) fn unless<'a, T: 'a>(
        &'a self,
        future: impl Future<Output = T> + 'a,
    ) -> impl Future<Output = Option<T>> + 'a {
        // A question is many times as large as this one.
        let future = Box::pin(future);
        let mut wish = self.0.subscribe();
        async move {
            tokio::select! {
                biased;
                _ = wish.wait_for(|is_wished| *is_wished) => None,
                done = future => Some(done),
            }
        }
    }
}

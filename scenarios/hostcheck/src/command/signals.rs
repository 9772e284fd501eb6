//! The signals with which a command is told to end.

use std::cell::RefCell;
use std::rc::Rc;

#[cfg(unix)]
use anyhow::Context as _;

/// Signals that ask for an end.
#[cfg(unix)]
pub(super) struct Signals(Rc<RefCell<Vec<(&'static str, tokio::signal::unix::Signal)>>>);

#[cfg(unix)]
impl Signals {
    pub(super) fn new() -> anyhow::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        let kinds = [
            ("SIGINT", SignalKind::interrupt()),
            ("SIGTERM", SignalKind::terminate()),
            ("SIGHUP", SignalKind::hangup()),
        ];
        let mut all = Vec::new();
        for (name, kind) in kinds {
            all.push((name, signal(kind).with_context(|| format!("cannot wait for {name}"))?));
        }
        Ok(Self(Rc::new(RefCell::new(all))))
    }

    /// The name of the next one.
    pub(super) fn next(&self) -> impl Future<Output = String> + use<> {
        let all = Rc::clone(&self.0);
        std::future::poll_fn(move |context| {
            for (name, stream) in all.borrow_mut().iter_mut() {
                if stream.poll_recv(context).is_ready() {
                    return std::task::Poll::Ready((*name).to_owned());
                }
            }
            std::task::Poll::Pending
        })
    }
}

/// On other systems there are none.
#[cfg(not(unix))]
pub(super) struct Signals(Rc<RefCell<()>>);

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "on Unix it may fail")]
    pub(super) fn new() -> anyhow::Result<Self> {
        Ok(Self(Rc::default()))
    }

    /// The name of the next one.
    pub(super) fn next(&self) -> impl Future<Output = String> + use<> {
        std::future::pending()
    }
}

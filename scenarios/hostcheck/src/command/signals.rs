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
    /// Those of a person and of a time limit. A terminal that closes is none of them: what `nohup` starts goes on then.
    pub(super) fn to_stop() -> anyhow::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        let mut all = Vec::new();
        for (name, kind) in [("SIGINT", SignalKind::interrupt()), ("SIGTERM", SignalKind::terminate())] {
            all.push((name, signal(kind).with_context(|| format!("cannot wait for {name}"))?));
        }
        Ok(Self(Rc::new(RefCell::new(all))))
    }

    /// Those with which a host may end its server.
    pub(super) fn of_a_host() -> anyhow::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};

        let all = Self::to_stop()?;
        let hangup = signal(SignalKind::hangup()).context("cannot wait for SIGHUP")?;
        all.0.borrow_mut().push(("SIGHUP", hangup));
        Ok(all)
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
    pub(super) fn to_stop() -> anyhow::Result<Self> {
        Ok(Self(Rc::default()))
    }

    /// None either.
    pub(super) fn of_a_host() -> anyhow::Result<Self> {
        Self::to_stop()
    }

    /// The name of the next one.
    pub(super) fn next(&self) -> impl Future<Output = String> + use<> {
        std::future::pending()
    }
}

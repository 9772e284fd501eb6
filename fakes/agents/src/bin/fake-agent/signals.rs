//! Signals of the process, as the fake knows them.

use fake_agents::Signal;

/// Waits for SIGINT and SIGTERM, once it catches them.
#[derive(Default)]
pub(crate) struct Signals {
    #[cfg(unix)]
    caught: Option<[tokio::signal::unix::Signal; 2]>,
}

impl Signals {
    /// From here on the signals do nothing by themselves. Before, they end the process.
    #[cfg(unix)]
    pub(crate) fn catch(&mut self) -> Result<(), String> {
        use tokio::signal::unix::{SignalKind, signal};

        if self.caught.is_none() {
            let catch = |kind| signal(kind).map_err(|error| format!("a signal can't be caught: {error}"));
            self.caught = Some([catch(SignalKind::terminate())?, catch(SignalKind::interrupt())?]);
        }
        Ok(())
    }

    /// There are no such signals.
    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "it fails elsewhere")]
    pub(crate) fn catch(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// The next signal.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) -> Signal {
        let Some([terminate, interrupt]) = &mut self.caught else {
            return std::future::pending().await;
        };
        tokio::select! {
            biased;
            _ = terminate.recv() => Signal::Terminate,
            _ = interrupt.recv() => Signal::Interrupt,
        }
    }

    /// The next signal: never.
    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) -> Signal {
        std::future::pending().await
    }
}

/// Its name.
pub(crate) fn name(signal: Signal) -> &'static str {
    match signal {
        Signal::Interrupt => "SIGINT",
        Signal::Terminate => "SIGTERM",
        Signal::Kill => "SIGKILL",
        Signal::Segfault => "SIGSEGV",
    }
}

/// Ends this process by a signal; where that can't be, gives the exit code that a shell would show.
pub(crate) fn die(signal: Signal) -> u8 {
    #[cfg(unix)]
    {
        use nix::sys::signal::{Signal as UnixSignal, raise};

        let number = match signal {
            Signal::Kill => Some(UnixSignal::SIGKILL),
            Signal::Segfault => Some(UnixSignal::SIGSEGV),
            Signal::Interrupt | Signal::Terminate => None,
        };
        // Rust's own handler takes the first SIGSEGV and puts the system's back.
        for number in [number, number].into_iter().flatten() {
            // It does not come back.
            let _ = raise(number);
        }
    }
    match signal {
        Signal::Interrupt => 130,
        Signal::Kill => 137,
        Signal::Segfault => 139,
        Signal::Terminate => 143,
    }
}

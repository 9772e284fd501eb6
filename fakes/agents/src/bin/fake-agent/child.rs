//! Processes that the program starts: those that hang, and the program behind a launcher. A process that hangs ends by
//! itself after a while, so that no test leaves one for ever.

use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use fake_agents::Signal;

use crate::place::Place;
use crate::signals::Signals;

/// How long a process hangs at most.
const HANGS_AT_MOST_MS: u64 = 600_000;
const LEAVES_GROUP: &str = "leaves-group";
const IGNORES_TERM: &str = "ignores-term";
#[cfg(unix)]
const DIES_OF_INT: &str = "dies-of-int";
#[cfg(unix)]
const DIES_OF_TERM: &str = "dies-of-term";

/// Starts a process that hangs and holds stdout and stderr open.
pub(crate) fn start(place: &Place, leaves_group: bool, ignores_term: bool) -> Result<Child, String> {
    let mut command = Command::new(place.program());
    command.arg(crate::CHILD).stdin(Stdio::null());
    if leaves_group {
        command.arg(LEAVES_GROUP);
    }
    if ignores_term {
        command.arg(IGNORES_TERM);
    }
    command.spawn().map_err(|error| format!("{}: {error}", place.program().display()))
}

/// Becomes a process without handlers that dies of SIGINT or SIGTERM; where that can't be, gives the exit code that a
/// shell would show.
pub(crate) fn dies(place: &Place, signal: Signal) -> u8 {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;

        let name = if signal == Signal::Interrupt { DIES_OF_INT } else { DIES_OF_TERM };
        // It comes back only if it failed.
        let _ = Command::new(place.program()).args([crate::CHILD, name]).exec();
    }
    #[cfg(not(unix))]
    let _ = place;
    if signal == Signal::Interrupt { 130 } else { 143 }
}

/// What such a process does.
pub(crate) fn hang(words: &[String]) -> ExitCode {
    let told = |word: &str| words.iter().any(|one| one == word);
    #[cfg(unix)]
    for (name, signal) in
        [(DIES_OF_INT, nix::sys::signal::Signal::SIGINT), (DIES_OF_TERM, nix::sys::signal::Signal::SIGTERM)]
    {
        if told(name) {
            let _ = nix::sys::signal::raise(signal);
            return ExitCode::from(crate::BROKEN);
        }
    }
    #[cfg(unix)]
    if told(LEAVES_GROUP) {
        // It fails only if the process leads its group already.
        let _ = nix::unistd::setsid();
    }
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return ExitCode::from(crate::BROKEN);
    };
    runtime.block_on(async {
        #[cfg(unix)]
        let ignoring = told(IGNORES_TERM)
            .then(|| tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()));
        #[cfg(not(unix))]
        let ignoring = told(IGNORES_TERM) || told(LEAVES_GROUP);
        tokio::time::sleep(Duration::from_millis(HANGS_AT_MOST_MS)).await;
        drop(ignoring);
    });
    ExitCode::SUCCESS
}

/// Starts the program behind a launcher and ends as it ended. A signal to the launcher alone ends only the launcher, or
/// nothing at all where it keeps signals to itself.
pub(crate) fn launch(place: &Place, argv: &[String], keeps_signals: bool) -> Result<ExitCode, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", place.program().display());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let _inside = runtime.enter();
    let mut signals = Signals::default();
    if keeps_signals {
        signals.catch()?;
    }
    let mut command = Command::new(place.program());
    let status = command.args(argv).env(crate::BEHIND_LAUNCHER, "1").status().map_err(failed)?;
    // npm's launchers end with 1 where the program was killed.
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}

//! A host that has the terminal while the sandbox serves it. Both stand in the terminal's foreground, so Ctrl-C and Ctrl-Z are
//! the host's to answer.
//!
//! It must never leave the host behind, nor end it before its time because of a key.

use std::ffi::OsStr;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::Context as _;
use tokio::process::{Child, Command};

use super::Overlay;

/// Longest time that a host may take to end after it was asked to.
const END_WITHIN: Duration = Duration::from_secs(5);
/// Variables of the person's own server, which would leak into the sandbox's.
const OWN_VARIABLES: [&str; 2] = ["ENTRACLAW_", "ENTRABOT_"];

/// A running host.
pub(crate) struct Foreground {
    child: Child,
}

impl Foreground {
    /// Starts a program with its part of the sandbox; `variables` are the names of those that it would get anyway.
    pub(crate) fn start<'v>(
        program: &Path,
        overlay: &Overlay,
        more: &[impl AsRef<OsStr>],
        variables: impl Iterator<Item = &'v String>,
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(&overlay.arguments).args(more).kill_on_drop(true);
        for name in variables.filter(|name| OWN_VARIABLES.iter().any(|own| name.starts_with(own))) {
            command.env_remove(name);
        }
        let child = command
            .envs(&overlay.environment)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        Ok(Self { child })
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self) -> std::io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Asks it to end, and ends it if it does not.
    pub(crate) async fn end(&mut self) -> std::io::Result<ExitStatus> {
        self.ask_to_end();
        if let Ok(ended) = tokio::time::timeout(END_WITHIN, self.child.wait()).await {
            return ended;
        }
        self.child.start_kill()?;
        self.child.wait().await
    }

    #[cfg(unix)]
    fn ask_to_end(&self) {
        use nix::sys::signal::{self, Signal};
        use nix::unistd::Pid;
        if let Some(id) = self.child.id().and_then(|id| i32::try_from(id).ok()) {
            // It may have ended meanwhile, which is what this wants.
            let _ = signal::kill(Pid::from_raw(id), Signal::SIGTERM);
        }
    }

    #[cfg(not(unix))]
    fn ask_to_end(&mut self) {
        // There is no gentler way.
        let _ = self.child.start_kill();
    }
}

//! A server that is a real process with piped stdio. It starts, signals and waits for its own child only, and
//! never leaves one running.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::drive::Server;
use super::effect::Signal;

/// The last bytes of a server's stderr that are kept.
const STDERR_BYTES_MAX: usize = 256 * 1024;
/// Most bytes of stderr that are read at once.
const CHUNK_BYTES: usize = 8 * 1024;

/// The command of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerCommand {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its working directory; `None` for that of this process.
    pub working_directory: Option<PathBuf>,
    /// The variables that are set for it.
    pub environment: BTreeMap<String, String>,
    /// Whether it gets only those variables.
    pub bare_environment: bool,
}

/// A server process; each spawn runs its command again.
#[derive(Debug)]
pub struct ProcessServer {
    command: ServerCommand,
    child: Option<Child>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    /// The server's stderr is held open and not read.
    unread: bool,
    /// Each process leads a group of its own, and the whole group ends with it.
    grouped: bool,
}

impl ProcessServer {
    /// A server that is not running.
    pub fn new(command: ServerCommand) -> Self {
        Self { command, child: None, stderr: Arc::default(), unread: false, grouped: false }
    }

    /// Holds the server's stderr open without reading it, as some hosts do.
    #[must_use]
    pub fn leaving_stderr_unread(mut self) -> Self {
        self.unread = true;
        self
    }

    /// Starts the command in a process group of its own, so that the children of a launcher end with it.
    #[must_use]
    pub fn in_own_group(mut self) -> Self {
        self.grouped = true;
        self
    }

    #[cfg(unix)]
    fn end_group(&self) {
        use nix::sys::signal::{self, Signal as UnixSignal};
        use nix::unistd::Pid;

        let id = self.child.as_ref().and_then(Child::id).and_then(|id| i32::try_from(id).ok());
        if let Some(id) = id.filter(|_| self.grouped) {
            // The group may have ended meanwhile, as intended.
            let _ = signal::killpg(Pid::from_raw(id), UnixSignal::SIGKILL);
        }
    }

    #[cfg(not(unix))]
    fn end_group(&self) {}

    /// The end of what all its processes wrote to stderr, as text.
    pub fn stderr(&self) -> String {
        let kept = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The id of the running process.
    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().and_then(Child::id)
    }
}

impl Server for ProcessServer {
    type Out = ChildStdout;
    type In = ChildStdin;

    fn spawn(&mut self) -> io::Result<(ChildStdout, ChildStdin)> {
        let mut command = Command::new(&self.command.program);
        command
            .args(&self.command.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if self.command.bare_environment {
            command.env_clear();
        }
        command.envs(&self.command.environment);
        if let Some(directory) = &self.command.working_directory {
            command.current_dir(directory);
        }
        #[cfg(unix)]
        if self.grouped {
            command.process_group(0);
        }
        self.end_group();
        #[cfg(target_os = "linux")]
        defaults::restore()?;
        let mut child = command.spawn()?;
        let missing = || io::Error::other("a pipe of the new process is missing");
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stdin = child.stdin.take().ok_or_else(missing)?;
        if !self.unread
            && let Some(stderr) = child.stderr.take()
        {
            tokio::spawn(keep_tail(stderr, Arc::clone(&self.stderr)));
        }
        self.child = Some(child);
        Ok((stdout, stdin))
    }

    fn signal(&mut self, signal: Signal) {
        if let Some(child) = &mut self.child {
            send(child, signal);
        }
    }

    async fn exited(&mut self) -> Option<i32> {
        let Some(child) = &mut self.child else {
            return std::future::pending().await;
        };
        let status = child.wait().await;
        self.child = None;
        status.ok().and_then(|status| status.code())
    }
}

impl Drop for ProcessServer {
    fn drop(&mut self) {
        self.end_group();
    }
}

#[cfg(unix)]
fn send(child: &mut Child, signal: Signal) {
    use nix::sys::signal::{self, Signal as UnixSignal};
    use nix::unistd::Pid;

    let number = match signal {
        Signal::Int => UnixSignal::SIGINT,
        Signal::Term => UnixSignal::SIGTERM,
        Signal::Kill => UnixSignal::SIGKILL,
        Signal::Stop => UnixSignal::SIGSTOP,
        Signal::Continue => UnixSignal::SIGCONT,
    };
    if let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()) {
        // It may have ended meanwhile, as the signal demanded.
        let _ = signal::kill(Pid::from_raw(id), number);
    }
}

/// On other systems there is only a kill; weaker signals do nothing.
#[cfg(not(unix))]
fn send(child: &mut Child, signal: Signal) {
    if matches!(signal, Signal::Term | Signal::Kill) {
        let _ = child.start_kill();
    }
}

/// Restores the default signals for servers, because hosts give them these. A child inherits which signals
/// are ignored; every program that a shell without job control runs in the background ignores SIGINT, for
/// example. Signals with a handler have their default in a child.
#[cfg(target_os = "linux")]
mod defaults {
    use std::{fs, io};

    use nix::sys::signal::Signal as UnixSignal;
    use tokio::signal::unix::{SignalKind, signal};

    const ENDING: [UnixSignal; 4] =
        [UnixSignal::SIGHUP, UnixSignal::SIGINT, UnixSignal::SIGQUIT, UnixSignal::SIGTERM];

    /// Installs a handler that does nothing for each ignored signal. The others stay unchanged, so that a
    /// user can still end this program.
    #[expect(clippy::disallowed_methods, reason = "what the system says of this process stands in a file")]
    pub(super) fn restore() -> io::Result<()> {
        let ignored = ignored(&fs::read_to_string("/proc/self/status")?);
        for one in ENDING {
            let number = one as i32;
            if ignored & (1 << (number - 1)) != 0 {
                // The handler stays after its stream is dropped.
                drop(signal(SignalKind::from_raw(number))?);
            }
        }
        Ok(())
    }

    /// The mask of ignored signals; empty if the text does not have it.
    fn ignored(status: &str) -> u64 {
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
    }
}

async fn keep_tail(mut stderr: impl AsyncRead + Unpin, kept: Arc<Mutex<VecDeque<u8>>>) {
    let mut chunk = vec![0_u8; CHUNK_BYTES];
    while let Ok(size) = stderr.read(&mut chunk).await {
        if size == 0 {
            return;
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&chunk[..size]);
        let excess = kept.len().saturating_sub(STDERR_BYTES_MAX);
        kept.drain(..excess);
    }
}

//! A server that is a real process with piped stdio.
//! It starts, signals and waits for its own child only, and never leaves one behind.

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
/// Bytes of stderr read at once.
const CHUNK_BYTES: usize = 8 * 1024;

/// How a server is started.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerCommand {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Where it runs; none means here.
    pub working_directory: Option<PathBuf>,
    /// Variables that are set for it.
    pub environment: BTreeMap<String, String>,
    /// Whether it gets nothing but those variables.
    pub bare_environment: bool,
}

/// A server process, started by its command as often as the host asks.
#[derive(Debug)]
pub struct ProcessServer {
    command: ServerCommand,
    child: Option<Child>,
    stderr: Arc<Mutex<VecDeque<u8>>>,
    /// Nobody reads the server's stderr; the pipe is only held open.
    unread: bool,
    /// Each process leads a group of its own, and all of the group ends with it.
    grouped: bool,
}

impl ProcessServer {
    /// Nothing runs yet.
    pub fn new(command: ServerCommand) -> Self {
        Self { command, child: None, stderr: Arc::default(), unread: false, grouped: false }
    }

    /// A host that holds the server's stderr open and never reads it.
    #[must_use]
    pub fn leaving_stderr_unread(mut self) -> Self {
        self.unread = true;
        self
    }

    /// Starts the command in a process group of its own, so that what a launcher has started ends with it.
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
            // The group may have ended meanwhile, which is what this wants.
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
        // It may have ended meanwhile, which is what the signal wanted.
        let _ = signal::kill(Pid::from_raw(id), number);
    }
}

/// Without signals there is only the end; a process that is asked politely is left alone.
#[cfg(not(unix))]
fn send(child: &mut Child, signal: Signal) {
    if matches!(signal, Signal::Term | Signal::Kill) {
        let _ = child.start_kill();
    }
}

/// Hosts give a server the default signals. What this process ignores, as every program that a shell without job control
/// leaves in the background ignores SIGINT, a child would ignore too; what it handles is the default again in a child.
#[cfg(target_os = "linux")]
mod defaults {
    use std::{fs, io};

    use nix::sys::signal::Signal as UnixSignal;
    use tokio::signal::unix::{SignalKind, signal};

    const ENDING: [UnixSignal; 4] =
        [UnixSignal::SIGHUP, UnixSignal::SIGINT, UnixSignal::SIGQUIT, UnixSignal::SIGTERM];

    /// Handles, by doing nothing, each of those signals that is ignored. The others stay as they are, so that a person
    /// can still end this program.
    #[expect(clippy::disallowed_methods, reason = "what the system says of this process stands in a file")]
    pub(super) fn restore() -> io::Result<()> {
        let ignored = ignored(&fs::read_to_string("/proc/self/status")?);
        for one in ENDING {
            let number = one as i32;
            if ignored & (1 << (number - 1)) != 0 {
                // The handler outlives what it returns.
                drop(signal(SignalKind::from_raw(number))?);
            }
        }
        Ok(())
    }

    /// The mask of ignored signals; nothing is ignored where it is not told.
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

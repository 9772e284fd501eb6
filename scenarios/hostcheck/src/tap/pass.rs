//! Passes bytes, ends and signals between a host and the server that it started. Each direction is one
//! blocking thread; the log is told and never waited for.

use std::fs::File;
use std::io::{self, Read, Write};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::entry::{Dir, What};
use super::keep::{Feed, Keeper, Queue};

/// Most bytes that are read at once.
pub const CHUNK_BYTES: usize = 64 * 1024;
/// Interval of the checks whether the host still exists after its end of stdin is closed, in milliseconds.
const LOOK_MS: u64 = 100;
/// Time for which a server may go on without its host, in milliseconds; then it gets SIGTERM.
const LEFT_MS_MAX: u64 = 5_000;
/// Time until SIGKILL after that, in milliseconds.
const TERM_MS_MAX: u64 = 2_000;
/// Longest wait for output after the server's end, if a child of the server holds the pipe, in milliseconds.
const OUTPUT_MS_MAX: u64 = 500;

/// How the server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code, if it had one.
    pub code: Option<i32>,
    /// The signal that ended it, if there was one.
    pub signal: Option<i32>,
}

/// Starts the server and passes everything through until the server has ended and its output is written.
///
/// # Errors
/// If the server can't be started or a pipe can't be made.
pub async fn run(mut command: Command, keeper: Keeper) -> anyhow::Result<Ended> {
    let (server_in, to_server) = io::pipe().context("cannot make a pipe")?;
    let (from_server, server_out) = io::pipe().context("cannot make a pipe")?;
    let (from_stderr, server_err) = io::pipe().context("cannot make a pipe")?;
    command.stdin(Stdio::from(server_in)).stdout(Stdio::from(server_out)).stderr(Stdio::from(server_err));
    command.kill_on_drop(true);
    let name = command.as_std().get_program().to_string_lossy().into_owned();
    let mut signals = Signals::new()?;
    let mut child = command.spawn().with_context(|| format!("cannot start {name}"))?;
    // The command holds the server's ends of the pipes open.
    drop(command);

    let queue = keeper.queue();
    let host_in = ours::stdin().context("cannot read standard input")?;
    let host_out = ours::stdout().context("cannot write standard output")?;
    let host_err = ours::stderr().context("cannot write standard error")?;
    let watched = host_out.try_clone().ok();
    let mut input_ended = pump(host_in, to_server, queue.feed(Dir::HostToServer), INPUT);
    let output = pump(from_server, host_out, queue.feed(Dir::ServerToHost), OUTPUT);
    let errors = pump(from_stderr, host_err, queue.feed(Dir::Stderr), ERRORS);

    let mut gone = Gone::Here;
    let mut looks = tokio::time::interval(Duration::from_millis(LOOK_MS));
    let mut input_open = true;
    let status = loop {
        tokio::select! {
            biased;
            status = child.wait() => break status.context("cannot wait for the server")?,
            signal = signals.next() => {
                queue.event(What::Signal, Some(signal.name.to_owned()));
                send(&child, signal.number);
            }
            _ = &mut input_ended, if input_open => input_open = false,
            _ = looks.tick(), if !input_open => gone = gone.look(watched.as_ref(), &mut child, &queue),
        }
    };
    let wait = async {
        // A pump that panicked brings nothing more.
        let _ = tokio::join!(output, errors);
    };
    let _ = tokio::time::timeout(Duration::from_millis(OUTPUT_MS_MAX), wait).await;
    let ended = Ended { code: status.code(), signal: signal_of(status) };
    queue.event(What::Exit, Some(ended.says()));
    keeper.end(ended.code, ended.signal);
    Ok(ended)
}

impl Ended {
    fn says(self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("code {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "neither code nor signal".to_owned(),
        }
    }
}

/// What a pump tells the log: when its reader ended, and when its writer was closed.
#[derive(Clone, Copy)]
struct Says {
    ended: Option<What>,
    refused: Option<What>,
}

const INPUT: Says = Says { ended: Some(What::HostClosedStdin), refused: Some(What::ServerClosedStdin) };
const OUTPUT: Says = Says { ended: Some(What::ServerClosedStdout), refused: Some(What::HostClosedStdout) };
const ERRORS: Says = Says { ended: None, refused: None };

/// Moves everything from one pipe to another on a thread; resolves at the end.
fn pump(
    mut from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    mut feed: Feed,
    says: Says,
) -> oneshot::Receiver<()> {
    let (done, ended) = oneshot::channel();
    #[expect(
        clippy::disallowed_methods,
        reason = "a blocking thread a direction adds the least time; nothing here is simulated"
    )]
    std::thread::spawn(move || {
        let event = copy(&mut from, &mut to, &mut feed, says);
        feed.closed(event);
        // Both ends close with the thread, which passes the end on.
        drop((from, to));
        // The waiting side may have given up.
        let _ = done.send(());
    });
    ended
}

/// Copies until either end is closed, and gives the event for that.
fn copy(from: &mut impl Read, to: &mut impl Write, feed: &mut Feed, says: Says) -> Option<What> {
    let mut chunk = vec![0_u8; CHUNK_BYTES];
    loop {
        let size = match from.read(&mut chunk) {
            Ok(0) => return says.ended,
            Ok(size) => size,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                pause();
                continue;
            }
            Err(_) => return says.ended,
        };
        // The log is told before the write, so that an answer never comes before its question.
        feed.chunk(&chunk[..size]);
        if write_all(to, &chunk[..size]).is_err() {
            return says.refused;
        }
    }
}

fn write_all(to: &mut impl Write, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match to.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(size) => bytes = &bytes[size..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => pause(),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Some hosts hand over non-blocking pipes. They are rare, so a short sleep is enough.
#[expect(clippy::disallowed_methods, reason = "this thread is the pipe's own; nothing here is simulated")]
fn pause() {
    std::thread::sleep(Duration::from_micros(200));
}

/// What is known about a host that has closed its end of stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gone {
    /// It still reads, or it can't be told.
    Here,
    /// Since this time it has not been reading.
    Since(Instant),
    /// At this time the server got SIGTERM.
    Told(Instant),
    /// The server got SIGKILL.
    Killed,
}

impl Gone {
    /// Ends a server that outlives its host for too long.
    fn look(self, output: Option<&File>, child: &mut Child, queue: &Queue) -> Self {
        let over = |since: Instant, limit_ms| since.elapsed() >= Duration::from_millis(limit_ms);
        match self {
            Self::Here if output.is_some_and(ours::reader_is_gone) => Self::Since(Instant::now()),
            Self::Since(since) if over(since, LEFT_MS_MAX) => {
                queue.event(What::HostGone, Some("SIGTERM to the server".to_owned()));
                send(child, TERM);
                Self::Told(Instant::now())
            }
            Self::Told(since) if over(since, TERM_MS_MAX) => {
                queue.event(What::HostGone, Some("SIGKILL to the server".to_owned()));
                // It may have ended meanwhile.
                let _ = child.start_kill();
                Self::Killed
            }
            other => other,
        }
    }
}

/// A signal to pass on.
#[derive(Debug, Clone, Copy)]
struct Passed {
    name: &'static str,
    number: i32,
}

#[cfg(unix)]
const TERM: i32 = nix::libc::SIGTERM;
#[cfg(not(unix))]
const TERM: i32 = 15;

/// The signals that a host sends to the programs that it started.
#[cfg(unix)]
struct Signals(Vec<(Passed, tokio::signal::unix::Signal)>);

#[cfg(unix)]
impl Signals {
    fn new() -> anyhow::Result<Self> {
        use nix::libc;
        use tokio::signal::unix::{SignalKind, signal};

        let passed = [
            ("SIGINT", libc::SIGINT),
            ("SIGTERM", libc::SIGTERM),
            ("SIGHUP", libc::SIGHUP),
            ("SIGQUIT", libc::SIGQUIT),
            ("SIGUSR1", libc::SIGUSR1),
            ("SIGUSR2", libc::SIGUSR2),
        ];
        let mut all = Vec::new();
        for (name, number) in passed {
            let stream =
                signal(SignalKind::from_raw(number)).with_context(|| format!("cannot wait for {name}"))?;
            all.push((Passed { name, number }, stream));
        }
        Ok(Self(all))
    }

    async fn next(&mut self) -> Passed {
        std::future::poll_fn(|context| {
            for (passed, stream) in &mut self.0 {
                if stream.poll_recv(context).is_ready() {
                    return std::task::Poll::Ready(*passed);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }
}

/// Other systems have no signals to pass on.
#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    #[expect(clippy::unnecessary_wraps, reason = "on Unix it may fail")]
    fn new() -> anyhow::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) -> Passed {
        std::future::pending().await
    }
}

#[cfg(unix)]
fn send(child: &Child, number: i32) {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let id = child.id().and_then(|id| i32::try_from(id).ok());
    if let (Some(id), Ok(signal)) = (id, Signal::try_from(number)) {
        // It may have ended meanwhile, as the signal demanded.
        let _ = kill(Pid::from_raw(id), signal);
    }
}

#[cfg(not(unix))]
fn send(_child: &Child, _number: i32) {}

#[cfg(unix)]
fn signal_of(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt as _;
    status.signal()
}

#[cfg(not(unix))]
fn signal_of(_status: ExitStatus) -> Option<i32> {
    None
}

/// The pipes of this process, unbuffered.
mod ours {
    use super::{File, io};

    #[cfg(unix)]
    macro_rules! own {
        ($stream:expr) => {{
            use std::os::fd::AsFd as _;
            Ok(File::from($stream.as_fd().try_clone_to_owned()?))
        }};
    }
    #[cfg(windows)]
    macro_rules! own {
        ($stream:expr) => {{
            use std::os::windows::io::AsHandle as _;
            Ok(File::from($stream.as_handle().try_clone_to_owned()?))
        }};
    }

    pub(super) fn stdin() -> io::Result<File> {
        own!(io::stdin())
    }

    pub(super) fn stdout() -> io::Result<File> {
        own!(io::stdout())
    }

    pub(super) fn stderr() -> io::Result<File> {
        own!(io::stderr())
    }

    /// Whether the reader of this output has closed it. A file or a terminal always has a reader.
    #[cfg(unix)]
    pub(super) fn reader_is_gone(output: &File) -> bool {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
        use std::os::fd::AsFd as _;

        let mut asked = [PollFd::new(output.as_fd(), PollFlags::empty())];
        if poll(&mut asked, PollTimeout::ZERO).is_err() {
            return false;
        }
        let [answer] = asked;
        answer.revents().is_some_and(|found| found.intersects(PollFlags::POLLERR | PollFlags::POLLHUP))
    }

    #[cfg(not(unix))]
    pub(super) fn reader_is_gone(_output: &File) -> bool {
        false
    }
}

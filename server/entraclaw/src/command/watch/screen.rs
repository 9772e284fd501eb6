//! Writes messages to stdout and notes about them to stderr.
//! It must never leave an incomplete line, and never delay a signal because a reader does not read.

use std::io::{self, IsTerminal as _, Write as _};
use std::pin::Pin;
use std::time::Duration;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

/// How long a line that is being written may take after the end was asked for.
const LAST_LINE: Duration = Duration::from_millis(100);

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Yellow.on_default();
const DIM: Style = Style::new().dimmed();

/// Why watching ended.
#[derive(Debug)]
pub(super) enum End {
    /// A signal asked for it.
    Asked,
    /// The reader closed the pipe.
    Closed,
    /// The lines can't be written.
    Failed(String),
}

/// The tone of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    /// All is well.
    Good,
    /// Something is wrong.
    Bad,
    /// A hint.
    Aside,
}

/// Both streams, and the signal that ends the command.
pub(super) struct Screen {
    stop: Pin<Box<dyn Future<Output = ()>>>,
    /// Whether only messages are wanted.
    quiet: bool,
    colours: bool,
}

impl Screen {
    /// Uses the process's own streams. `stop` ends everything.
    pub(super) fn new(quiet: bool, stop: impl Future<Output = ()> + 'static) -> Self {
        let colours = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        Self { stop: Box::pin(stop), quiet, colours }
    }

    /// The columns of the terminal on stdout; `None` if there is none.
    pub(super) fn columns() -> Option<usize> {
        let (columns, _) = terminal_size::terminal_size_of(io::stdout())?;
        Some(usize::from(columns.0)).filter(|columns| *columns > 0)
    }

    /// Writes one line whole.
    pub(super) async fn line(&mut self, line: String) -> Result<(), End> {
        let line = if self.colours { line } else { anstream::adapter::strip_str(&line).to_string() };
        let written = self.write(move || {
            let mut stdout = anstream::stdout().lock();
            stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush())
        });
        match written.await? {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(End::Closed),
            Err(error) => Err(End::Failed(format!("the messages can't be written to stdout: {error}"))),
        }
    }

    /// Writes a note about the messages. A failure does not matter.
    pub(super) async fn note(&mut self, tone: Tone, text: &str) -> Result<(), End> {
        if self.quiet {
            return Ok(());
        }
        let style = match tone {
            Tone::Good => GOOD,
            Tone::Bad => BAD,
            Tone::Aside => DIM,
        };
        let line = format!("{style}-- {text}{style:#}\n");
        let _ = self.write(move || anstream::stderr().write_all(line.as_bytes())).await?;
        Ok(())
    }

    /// Waits; ends early if the end is asked for or the reader is gone.
    pub(super) async fn rest(&mut self, time: Duration) -> Result<(), End> {
        tokio::select! {
            biased;
            () = &mut self.stop => return Err(End::Asked),
            () = tokio::time::sleep(time) => {}
        }
        if is_closed() { Err(End::Closed) } else { Ok(()) }
    }

    /// Ends the line, so that the shell's prompt begins on a new one.
    pub(super) fn end(&self) {
        if !self.quiet && io::stderr().is_terminal() {
            let _ = io::stderr().write_all(b"\n");
        }
    }

    /// Writes on another thread, because a stopped reader blocks the write.
    async fn write(
        &mut self,
        write: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> Result<io::Result<()>, End> {
        let mut task = tokio::task::spawn_blocking(write);
        tokio::select! {
            biased;
            done = &mut task => Ok(done.unwrap_or_else(|error| Err(io::Error::other(error)))),
            () = &mut self.stop => {
                let _ = tokio::time::timeout(LAST_LINE, task).await;
                Err(End::Asked)
            }
        }
    }
}

/// Waits until the reader of a pipe is gone, which would otherwise show only at the next message.
#[cfg(unix)]
fn is_closed() -> bool {
    use std::os::fd::AsFd as _;

    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    let stdout = io::stdout();
    let mut asked = [PollFd::new(stdout.as_fd(), PollFlags::empty())];
    let gone = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
    poll(&mut asked, PollTimeout::ZERO).is_ok()
        && asked[0].revents().is_some_and(|told| told.intersects(gone))
}

#[cfg(not(unix))]
fn is_closed() -> bool {
    false
}

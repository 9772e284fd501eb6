//! Passes lines between a host and the engine, and changes to another end when an engine comes or goes.
//!
//! Without an engine the host is served by a stand-in, which says how to start one. It must never let a request wait for an
//! engine that is gone.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use super::letter::{Letter, gone};
use super::lines::next_line;
use super::opening::Opening;

/// How often an engine is looked for while there is none.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long an engine may take to open the session anew.
const OPENED_WITHIN: Duration = Duration::from_secs(5);
/// How long answers that are on their way may take after the host closed our input.
const DRAINED_WITHIN: Duration = Duration::from_millis(50);
/// Lines that wait between a reader and the loop.
const LINES_MAX: usize = 16;

/// What is said of a request whose engine went away.
const WENT_AWAY: &str = "the engine went away before it answered; what it had taken is kept and goes on when it runs again, so \
                         look with `status` or `get_history` before you ask again";

/// One end of a connection.
pub struct End {
    /// What it says.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// What it hears.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
}

/// Where engines come from.
pub trait Engines {
    /// Connects to the engine, if one listens. `is_wanted`: a request waits for it, so it may be started.
    fn connect(&mut self, is_wanted: bool) -> BoxFuture<'_, Option<End>>;

    /// A stand-in that serves the host while there is no engine.
    fn stand_in(&mut self) -> End;
}

/// The end that the host is connected to now.
struct Current {
    lines: mpsc::Receiver<Vec<u8>>,
    reader: JoinHandle<()>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    is_engine: bool,
}

impl Current {
    fn new(end: End, is_engine: bool) -> Self {
        let (lines, reader) = read(end.reader);
        Self { lines, reader, writer: end.writer, is_engine }
    }

    async fn tell(&mut self, line: &[u8]) -> io::Result<()> {
        self.writer.write_all(line).await?;
        self.writer.flush().await
    }

    /// Opens the host's session here. Whatever is said before it is open is of no use to the host.
    async fn open(&mut self, opening: &Opening) -> io::Result<()> {
        let Some(request) = opening.again() else { return Ok(()) };
        self.tell(&request).await?;
        let opened = async {
            while let Some(line) = self.lines.recv().await {
                if Letter::of(&line).answer().is_some_and(Opening::is_again) {
                    return true;
                }
            }
            false
        };
        if !timeout(OPENED_WITHIN, opened).await.unwrap_or(false) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        match opening.follows() {
            Some(line) => {
                let line = line.to_owned();
                self.tell(&line).await
            }
            None => Ok(()),
        }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// Relays until the host closes its output or its input.
///
/// # Errors
/// Fails if the host can't be written to.
pub async fn relay(
    host_reader: impl AsyncRead + Send + Unpin + 'static,
    host_writer: impl AsyncWrite + Unpin,
    engines: impl Engines,
) -> io::Result<()> {
    let (mut lines, reader) = read(host_reader);
    let mut relay = Relay {
        engines,
        host: host_writer,
        current: None,
        opening: Opening::default(),
        open: BTreeMap::new(),
    };
    let outcome = relay.run(&mut lines).await;
    reader.abort();
    outcome
}

struct Relay<W, E> {
    engines: E,
    host: W,
    current: Option<Current>,
    opening: Opening,
    /// The requests without an answer, by their ids, with whether they call a tool.
    open: BTreeMap<String, (Value, bool)>,
}

enum Next {
    Host(Option<Vec<u8>>),
    Engine(Option<Vec<u8>>),
    Look,
}

impl<W: AsyncWrite + Unpin, E: Engines> Relay<W, E> {
    async fn run(&mut self, lines: &mut mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
        self.change(false).await?;
        loop {
            let Some(current) = &mut self.current else { return Ok(()) };
            let is_engine = current.is_engine;
            let next = tokio::select! {
                biased;
                line = current.lines.recv() => Next::Engine(line),
                line = lines.recv() => Next::Host(line),
                () = sleep(LOOK_EVERY), if !is_engine => Next::Look,
            };
            match next {
                Next::Host(None) => return self.finish().await,
                Next::Host(Some(line)) => self.host_says(&line).await?,
                Next::Engine(Some(line)) => self.engine_says(&line).await?,
                Next::Engine(None) => self.engine_is_gone().await?,
                Next::Look => self.look(false).await?,
            }
        }
    }

    /// Passes on what the host says. A line that the engine can't take is answered for it when it is seen to be gone.
    async fn host_says(&mut self, line: &[u8]) -> io::Result<()> {
        let letter = Letter::of(line);
        self.opening.keep(letter.method.as_deref(), line);
        let is_call = letter.method.as_deref() == Some("tools/call");
        if let Some(id) = letter.request() {
            if is_call && self.current.as_ref().is_some_and(|current| !current.is_engine) {
                self.look(true).await?;
            }
            self.open.insert(id.to_string(), (id.clone(), is_call));
        }
        if let Some(current) = &mut self.current
            && current.tell(line).await.is_err()
        {
            return self.engine_is_gone().await;
        }
        Ok(())
    }

    async fn engine_says(&mut self, line: &[u8]) -> io::Result<()> {
        let letter = Letter::of(line);
        if let Some(id) = letter.answer() {
            self.open.remove(&id.to_string());
        }
        self.say(line).await
    }

    /// Looks for an engine while a stand-in serves.
    async fn look(&mut self, is_wanted: bool) -> io::Result<()> {
        let Some(end) = self.engines.connect(is_wanted).await else { return Ok(()) };
        let mut found = Current::new(end, true);
        if found.open(&self.opening).await.is_ok() {
            self.answer_open().await?;
            self.current = Some(found);
        }
        Ok(())
    }

    async fn engine_is_gone(&mut self) -> io::Result<()> {
        self.current = None;
        self.answer_open().await?;
        self.change(false).await
    }

    /// Answers what the end that goes can't answer any more.
    async fn answer_open(&mut self) -> io::Result<()> {
        for (id, is_call) in std::mem::take(&mut self.open).into_values() {
            self.say(&gone(&id, is_call, self.opening.is_there(), WENT_AWAY)).await?;
        }
        Ok(())
    }

    /// Connects to an engine, or else to a stand-in.
    async fn change(&mut self, is_wanted: bool) -> io::Result<()> {
        if let Some(end) = self.engines.connect(is_wanted).await {
            let mut found = Current::new(end, true);
            if found.open(&self.opening).await.is_ok() {
                self.current = Some(found);
                return Ok(());
            }
        }
        let mut stand_in = Current::new(self.engines.stand_in(), false);
        stand_in.open(&self.opening).await?;
        self.current = Some(stand_in);
        Ok(())
    }

    /// The host is done: what is on its way to it still goes.
    async fn finish(&mut self) -> io::Result<()> {
        if let Some(mut current) = self.current.take() {
            let _ = current.writer.shutdown().await;
            let rest = async {
                while let Some(line) = current.lines.recv().await {
                    self.say(&line).await?;
                }
                Ok(())
            };
            return timeout(DRAINED_WITHIN, rest).await.unwrap_or(Ok(()));
        }
        Ok(())
    }

    async fn say(&mut self, line: &[u8]) -> io::Result<()> {
        self.host.write_all(line).await?;
        self.host.flush().await
    }
}

/// Reads lines on a task of its own, so that none is cut in half when something else comes first.
fn read(from: impl AsyncRead + Send + Unpin + 'static) -> (mpsc::Receiver<Vec<u8>>, JoinHandle<()>) {
    let (sender, lines) = mpsc::channel(LINES_MAX);
    let reader = tokio::spawn(async move {
        let mut from = BufReader::new(from);
        while let Ok(Some(line)) = next_line(&mut from).await {
            if sender.send(line).await.is_err() {
                return;
            }
        }
    });
    (lines, reader)
}

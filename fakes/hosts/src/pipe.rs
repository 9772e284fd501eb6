//! The host's ends of a server's pipes: a queue of bytes for its input, and a conversation line by line without a
//! profile. Nothing here interprets a line.

use std::io;

use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader,
};

/// The output and the input of a server.
pub struct Pipe<O, I> {
    output: Option<BufReader<O>>,
    input: Option<I>,
}

impl<O: AsyncRead + Unpin, I: AsyncWrite + Unpin> Pipe<O, I> {
    /// Wraps the ends that [`Server::spawn`](crate::drive::Server::spawn) gives.
    pub fn new((output, input): (O, I)) -> Self {
        Self { output: Some(BufReader::new(output)), input: Some(input) }
    }

    /// Writes a message as a line.
    ///
    /// # Errors
    /// If the input is closed on either side.
    pub async fn send(&mut self, message: &Value) -> io::Result<()> {
        let input = self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(format!("{message}\n").as_bytes()).await
    }

    /// Reads the next line of the server.
    ///
    /// # Errors
    /// If the server closed its output.
    pub async fn line(&mut self) -> io::Result<String> {
        let ended = || io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed its output");
        let mut line = String::new();
        let size = self.output.as_mut().ok_or_else(ended)?.read_line(&mut line).await?;
        if size > 0 { Ok(line) } else { Err(ended()) }
    }

    /// Takes the rest of the server's output, for another reader.
    pub fn take_output(&mut self) -> Option<BufReader<O>> {
        self.output.take()
    }

    /// Closes the server's input.
    pub fn close(&mut self) {
        self.input = None;
    }
}

/// The bytes on their way into a server.
#[derive(Debug)]
pub struct Outbox<I> {
    input: Option<I>,
    queued: Vec<u8>,
    /// Bytes of the queue that are written.
    written: usize,
    close_when_written: bool,
}

impl<I> Default for Outbox<I> {
    fn default() -> Self {
        Self { input: None, queued: Vec::new(), written: 0, close_when_written: false }
    }
}

impl<I: AsyncWrite + Unpin> Outbox<I> {
    /// An empty queue into this input.
    pub fn new(input: I) -> Self {
        Self { input: Some(input), ..Self::default() }
    }

    /// Queues bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.queued.extend_from_slice(bytes);
    }

    /// Closes the input after everything is written.
    pub fn close(&mut self) {
        self.close_when_written = true;
        if self.is_empty() {
            self.input = None;
        }
    }

    /// Whether it takes more bytes: neither side has closed the input.
    pub fn is_open(&self) -> bool {
        self.input.is_some() && !self.close_when_written
    }

    /// Whether everything is written.
    pub fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Whether [`Self::write`] has something to do.
    pub fn can_write(&self) -> bool {
        self.input.is_some() && !self.is_empty()
    }

    /// Writes some of the queue; gives `false` if the server has closed its input, and drops the rest then.
    /// Pending while there is nothing to do. May be dropped and called again.
    pub async fn write(&mut self) -> bool {
        let Some(input) = self.input.as_mut().filter(|_| !self.queued.is_empty()) else {
            return std::future::pending().await;
        };
        // Not flushed: if the future were dropped between write and flush, the bytes would be written twice.
        // A server's input must not buffer.
        let size = input.write(&self.queued[self.written..]).await.unwrap_or(0);
        self.written += size;
        if size == 0 || self.written == self.queued.len() {
            (self.written, self.queued) = (0, Vec::new());
            if size == 0 || self.close_when_written {
                self.input = None;
            }
        }
        size > 0
    }
}

/// Reads some bytes; pending if there is no output.
pub async fn read_some(output: Option<&mut (impl AsyncRead + Unpin)>, chunk: &mut [u8]) -> io::Result<usize> {
    match output {
        Some(output) => output.read(chunk).await,
        None => std::future::pending().await,
    }
}

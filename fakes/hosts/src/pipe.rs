//! The host's ends of a server's pipes, for a conversation line by line without a profile.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

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

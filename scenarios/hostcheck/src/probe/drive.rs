//! Runs the tracer over any pipes on tokio's clock, and passes everything on them to a log. It moves bytes,
//! time and signals; it never interprets them.

use std::future::Future;
use std::io;

use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _,
    BufReader,
};
use tokio::time::{Duration, Instant};

use super::tracer::{Out, Tracer};
use crate::tap::{Dir, What};

/// Longest line of a host that is accepted, in bytes. Of a longer one the log has only the beginning.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// An entry for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told<'a> {
    /// A line with its newline, as it was on the pipe.
    Line(Dir, &'a [u8]),
    /// An event.
    Event(What, Option<String>),
}

/// Runs until the tracer ends, and returns its exit code. `signals` resolves with the name of each signal
/// from the host.
///
/// # Errors
/// If the pipes can't be read or written for another reason than that the host has closed them.
pub async fn drive<S: Future<Output = String>>(
    mut tracer: Tracer,
    input: impl AsyncRead + Unpin,
    mut output: impl AsyncWrite + Unpin,
    mut signals: impl FnMut() -> S,
    mut tell: impl FnMut(Told<'_>),
) -> io::Result<i32> {
    let began = Instant::now();
    let now_ms = || u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    let (mut reads, mut writes, mut skipping) = (true, true, false);
    let mut signal = Box::pin(signals());
    loop {
        for out in tracer.take_out() {
            match out {
                Out::Exit(code) => return Ok(code),
                Out::Alive => tell(Told::Event(What::Alive, None)),
                Out::Send(message) => {
                    let mut bytes = message.to_string().into_bytes();
                    bytes.push(b'\n');
                    tell(Told::Line(Dir::ServerToHost, &bytes));
                    let written = async {
                        output.write_all(&bytes).await?;
                        output.flush().await
                    };
                    if writes && written.await.is_err() {
                        writes = false;
                        tell(Told::Event(What::HostClosedStdout, None));
                    }
                }
            }
        }
        let due = tracer.next_timer_ms();
        let timer = due.and_then(|due_ms| began.checked_add(Duration::from_millis(due_ms)));
        tokio::select! {
            biased;
            name = &mut signal => {
                tell(Told::Event(What::Signal, Some(name)));
                tracer.on_end(now_ms());
                signal = Box::pin(signals());
            }
            read = next_line(&mut input, &mut line), if reads => {
                if !matches!(read, Ok(size) if size > 0) {
                    reads = false;
                    tell(Told::Event(What::HostClosedStdin, None));
                    tracer.on_end(now_ms());
                    continue;
                }
                tell(Told::Line(Dir::HostToServer, &line));
                let ended = line.ends_with(b"\n");
                if ended && !skipping {
                    tracer.on_line(now_ms(), line.strip_suffix(b"\n").unwrap_or(&line));
                }
                skipping = !ended;
                line.clear();
            }
            () = tokio::time::sleep_until(timer.unwrap_or_else(Instant::now)), if timer.is_some() => {
                tracer.on_timer(now_ms());
            }
        }
    }
}

/// Reads the next line, or its beginning up to the limit. The future may be dropped and called again with the
/// same buffer.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>) -> io::Result<usize> {
    let room = LINE_BYTES_MAX.saturating_sub(line.len()).max(1) as u64;
    input.take(room).read_until(b'\n', line).await
}

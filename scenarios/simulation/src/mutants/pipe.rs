//! A pipe that can change each line. It must never delay a line unless its change says so.

use std::collections::VecDeque;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, duplex};
use tokio::time::{Instant, sleep_until};

use super::speech::{Change, Piece, State};

/// Size of the pipe, in bytes.
const PIPE_BYTES: usize = 64 * 1024;

/// An end to write to; what is changed comes out of `output`.
pub(super) fn writer(output: DuplexStream, change: Change) -> DuplexStream {
    let (ours, theirs) = duplex(PIPE_BYTES);
    tokio::task::spawn_local(carry(theirs, output, change));
    ours
}

/// An end to read from; what comes out of `input` is changed before.
pub(super) fn reader(input: DuplexStream, change: Change) -> DuplexStream {
    let (ours, theirs) = duplex(PIPE_BYTES);
    tokio::task::spawn_local(carry(input, theirs, change));
    ours
}

async fn carry(from: DuplexStream, mut to: DuplexStream, change: Change) {
    let mut state = State::default();
    let mut lines = BufReader::new(from);
    let mut line = Vec::new();
    // Lines that are held up, each until its time.
    let mut late: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    loop {
        let held_until = late.front().map(|(until, _)| *until);
        let read = async {
            let read = lines.read_until(b'\n', &mut line).await;
            matches!(read, Ok(bytes) if bytes > 0)
        };
        tokio::select! {
            biased;
            () = async { sleep_until(held_until.unwrap_or_else(Instant::now)).await }, if held_until.is_some() => {
                let Some((_, bytes)) = late.pop_front() else { continue };
                if to.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            more = read => {
                if !more {
                    return;
                }
                for piece in pieces(&mut state, &line, change) {
                    let written = match piece {
                        Piece::Bytes(bytes) => to.write_all(&bytes).await,
                        Piece::Late(after, bytes) => {
                            late.push_back((Instant::now() + after, bytes));
                            Ok(())
                        }
                        Piece::End => return,
                        Piece::Spin => loop {
                            tokio::task::yield_now().await;
                        },
                    };
                    if written.is_err() {
                        return;
                    }
                }
                line.clear();
            }
        }
    }
}

fn pieces(state: &mut State, line: &[u8], change: Change) -> Vec<Piece> {
    state.lines += 1;
    match serde_json::from_slice::<Value>(line) {
        Ok(message) => change.pieces(state, message),
        Err(_) => vec![Piece::Bytes(line.to_vec())],
    }
}

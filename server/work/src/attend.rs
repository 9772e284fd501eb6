//! Looks after a child program of a job: reads its output, stops it when the job must stop, and ends its whole group.
//! It must never leave a process of the group behind, nor wait for a pipe that a left-over process holds open.

use std::io;
use std::time::Duration;

use entraclaw_seams::processes::{Ending, ProcessId};
use entraclaw_seams::programs::{Child, Exit, Input};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{sleep, timeout};

use crate::run::Running;

/// Bytes of the end of stderr that are kept.
const STDERR_TAIL_BYTES: usize = 4 * 1024;
/// How long the program may clean up after it was asked to end.
const ASK_GRACE: Duration = Duration::from_millis(150);
/// How long its pipes may stay open after it has ended, because a program that it left in the background holds them.
const DRAIN: Duration = Duration::from_millis(200);
const CHUNK_BYTES: usize = 64 * 1024;

/// How an attended program ended.
#[derive(Debug)]
pub struct Attended {
    /// How it ended by itself; `None` if the job had to stop first.
    pub exit: Option<io::Result<Exit>>,
    /// The end of what it wrote to stderr.
    pub complaint: String,
}

/// Gives the program its input, hands every piece of its output to `take`, and waits for its end or the job's stop. Then
/// every process of its group is ended.
///
/// # Errors
/// Fails if the group can't be recorded in the job's folder; then the program is ended at once.
pub async fn attend(
    mut child: Child,
    input: Option<Vec<u8>>,
    running: &Running,
    mut take: impl FnMut(&[u8]),
) -> io::Result<Attended> {
    if let Some(leader) = &child.leader
        && let Err(error) = running.note_group(leader)
    {
        end(&mut child, running).await;
        return Err(error);
    }
    running.event("program", json!({"pid": child.leader.as_ref().map(|leader| leader.pid)}));
    let mut tail = Vec::new();
    let exit = {
        let (output, errors, writes) = (&mut child.output, &mut child.errors, child.input.take());
        let said = read(output, &mut take);
        let complained = read(errors, |bytes| keep_tail(&mut tail, bytes));
        let mut pipes = Box::pin(async { tokio::join!(said, complained, write(writes, input)) });
        let ended = &mut child.ended;
        let mut ended = Box::pin(async {
            tokio::select! {
                biased;
                exit = ended => Some(exit),
                _ = running.stopped() => None,
            }
        });
        let mut is_read = false;
        let exit = loop {
            tokio::select! {
                biased;
                exit = &mut ended => break exit,
                _ = &mut pipes, if !is_read => is_read = true,
            }
        };
        if !is_read && exit.is_some() {
            let _ = timeout(DRAIN, pipes).await;
        }
        exit
    };
    match &exit {
        // Even a program that succeeded may have left others in its group.
        Some(_) => end_group(child.leader.as_ref(), running).await,
        None => end(&mut child, running).await,
    }
    Ok(Attended { exit, complaint: String::from_utf8_lossy(&tail).trim().to_owned() })
}

/// Adds to the end of what a program complains of, of which only the last 4 kB are kept.
pub fn keep_tail(tail: &mut Vec<u8>, bytes: &[u8]) {
    tail.extend_from_slice(bytes);
    let beyond = tail.len().saturating_sub(STDERR_TAIL_BYTES);
    tail.drain(..beyond);
}

async fn read(pipe: &mut (impl AsyncRead + Unpin), mut take: impl FnMut(&[u8])) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
        take(&chunk[..read]);
    }
}

/// Writes the input and closes the pipe. A program that does not read it decides about that itself.
async fn write(pipe: Option<Input>, input: Option<Vec<u8>>) {
    if let (Some(mut pipe), Some(input)) = (pipe, input) {
        let _ = pipe.write_all(&input).await;
        let _ = pipe.shutdown().await;
    }
}

/// Asks a program that still runs, and its group, to end, and then ends them.
async fn end(child: &mut Child, running: &Running) {
    let is_asked = child.leader.as_ref().is_some_and(|leader| ask(leader, running));
    let has_ended = is_asked && timeout(ASK_GRACE, &mut child.ended).await.is_ok();
    if !is_asked || has_ended {
        return end_group(child.leader.as_ref(), running).await;
    }
    // Its group has had that time too.
    kill(child.leader.as_ref(), running);
    let _ = timeout(ASK_GRACE, &mut child.ended).await;
}

async fn end_group(leader: Option<&ProcessId>, running: &Running) {
    let Some(leader) = leader else { return };
    let _ = timeout(ASK_GRACE, async {
        while ask(leader, running) {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    kill(Some(leader), running);
}

fn kill(leader: Option<&ProcessId>, running: &Running) {
    if let Some(leader) = leader {
        let _ = running.processes.end_group(leader, Ending::Kill);
    }
}

fn ask(leader: &ProcessId, running: &Running) -> bool {
    running.processes.end_group(leader, Ending::Ask).unwrap_or(false)
}

//! The only way to stdout: lines in the order in which they were made, written piece by piece beside reading.
//!
//! It must never reorder or interleave lines, nor grow past its bound: its users ask `has_room` before they make a line.

use std::collections::VecDeque;
use std::io;

use serde_json::Value;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::message::Id;

/// Queued bytes above which nothing new is read, answered or pushed until the host has read some.
pub const OUT_BYTES_MAX: usize = 1024 * 1024;

/// A queued line. Its `receipts` come back when the host's pipe has it.
struct Line<R> {
    bytes: Vec<u8>,
    /// The request that it answers or reports on.
    belongs_to: Option<Id>,
    is_answer: bool,
    receipts: Vec<R>,
}

/// A queue of lines, and how far the first of them is written.
pub(crate) struct Outgoing<R> {
    lines: VecDeque<Line<R>>,
    written_of_first: usize,
    queued_bytes: usize,
    unflushed: Vec<R>,
    needs_flush: bool,
    bytes_max: usize,
    written_bytes_total: u64,
}

impl<R> Outgoing<R> {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self {
            lines: VecDeque::new(),
            written_of_first: 0,
            queued_bytes: 0,
            unflushed: Vec::new(),
            needs_flush: false,
            bytes_max,
            written_bytes_total: 0,
        }
    }

    /// Whether another line may be made. One line past the bound is allowed, or an answer could be lost.
    pub(crate) fn has_room(&self) -> bool {
        self.queued_bytes < self.bytes_max
    }

    /// Whether everything is written and flushed.
    pub(crate) fn is_idle(&self) -> bool {
        self.lines.is_empty() && !self.needs_flush
    }

    /// Bytes written so far, which shows whether the host reads.
    pub(crate) fn written_bytes_total(&self) -> u64 {
        self.written_bytes_total
    }

    /// Queues a message as one line.
    pub(crate) fn push(&mut self, message: &Value, answers: Option<Id>, receipts: Vec<R>) {
        let is_answer = answers.is_some();
        self.queue(message, answers, is_answer, receipts);
    }

    /// Queues a notification that belongs to the open request `id`.
    pub(crate) fn push_about(&mut self, message: &Value, id: &Id) {
        self.queue(message, Some(id.clone()), false, Vec::new());
    }

    fn queue(&mut self, message: &Value, belongs_to: Option<Id>, is_answer: bool, receipts: Vec<R>) {
        let mut bytes = message.to_string().into_bytes();
        bytes.push(b'\n');
        self.queued_bytes += bytes.len();
        self.lines.push_back(Line { bytes, belongs_to, is_answer, receipts });
    }

    /// Removes the lines that belong to request `id`, except a line that is partly written. Returns the receipts of the
    /// answer if it was removed.
    pub(crate) fn retract(&mut self, id: &Id) -> Option<Vec<R>> {
        let mut receipts = None;
        let mut at = usize::from(self.written_of_first > 0);
        while let Some(line) = self.lines.get(at) {
            if line.belongs_to.as_ref() != Some(id) {
                at += 1;
            } else if let Some(line) = self.lines.remove(at) {
                self.queued_bytes -= line.bytes.len();
                if line.is_answer {
                    receipts = Some(line.receipts);
                }
            }
        }
        receipts
    }

    /// Writes as much as the pipe takes, and returns the receipts of lines that were sent. Safe to drop at any await.
    pub(crate) async fn advance(&mut self, writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<Vec<R>> {
        while let Some(line) = self.lines.front() {
            let count = writer.write(&line.bytes[self.written_of_first..]).await?;
            if count == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.needs_flush = true;
            self.written_of_first += count;
            self.written_bytes_total += count as u64;
            self.queued_bytes -= count;
            if self.written_of_first == line.bytes.len() {
                self.written_of_first = 0;
                if let Some(line) = self.lines.pop_front() {
                    self.unflushed.extend(line.receipts);
                }
            }
        }
        writer.flush().await?;
        self.needs_flush = false;
        Ok(std::mem::take(&mut self.unflushed))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn lines_leave_whole_and_in_order_through_a_narrow_pipe() {
        let (mut ours, mut theirs) = tokio::io::duplex(3);
        let mut out = Outgoing::new(10);
        out.push(&json!({"a": 1}), Some(Id::Number(1)), vec![1]);
        out.push(&json!({"b": 2}), Some(Id::Number(2)), vec![2]);
        out.push(&json!({"c": 3}), Some(Id::Number(3)), vec![3]);
        assert!(!out.has_room());
        let mut read = Vec::new();
        let mut receipts = Vec::new();
        // Dropping the future at every await must lose nothing.
        while !out.is_idle() {
            tokio::select! { biased;
                done = out.advance(&mut ours) => receipts.extend(done.unwrap()),
                byte = theirs.read_u8() => {
                    read.push(byte.unwrap());
                    // The first line is partly written and stays; the second is unwritten and is removed.
                    assert_eq!(out.retract(&Id::Number(1)), None);
                    if read.len() == 1 {
                        assert_eq!(out.retract(&Id::Number(2)), Some(vec![2]));
                    }
                }
            }
        }
        drop(ours);
        theirs.read_to_end(&mut read).await.unwrap();
        assert_eq!(String::from_utf8(read).unwrap(), "{\"a\":1}\n{\"c\":3}\n");
        assert_eq!(receipts, [1, 3]);
    }

    #[test]
    fn lines_of_a_request_are_retracted_with_and_without_its_answer() {
        let mut out = Outgoing::new(10);
        let (one, two) = (Id::Number(1), Id::Number(2));
        out.push_about(&json!({"about": 1}), &one);
        out.push_about(&json!({"about": 2}), &two);
        out.push(&json!({"answers": 1}), Some(one.clone()), vec![7]);
        assert_eq!(out.retract(&two), None);
        assert_eq!(out.retract(&one), Some(vec![7]));
        assert!(out.is_idle() && out.has_room());
    }
}

//! An answer on its way: what was said before, what has come since, and when something has to be done about it.
//!
//! It must never forget a piece that has come.

use entraclaw_models::{Answer, ModelError, Piece};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::task::{Resumption, TaskId};

/// An answer on its way.
pub(super) struct Asking {
    pub(super) task: TaskId,
    pub(super) step: u32,
    pub(super) heard: i64,
    pub(super) answer: BoxFuture<'static, Result<Answer, ModelError>>,
    pub(super) pieces: mpsc::Receiver<Piece>,
    /// What was said before it was interrupted.
    pub(super) said_before: String,
    /// What was said since.
    pub(super) said: String,
    /// Bytes of `said` that are written.
    pub(super) written: usize,
    pub(super) write_at: Instant,
    pub(super) stalls_at: Instant,
    pub(super) ends_at: Instant,
    pub(super) resumed: Option<Resumption>,
    pub(super) first_piece_at: Option<Instant>,
    pub(super) pieces_count: u32,
    pub(super) notes: Vec<String>,
    pub(super) tools_offered: bool,
}

impl Asking {
    pub(super) fn due(&self) -> Instant {
        let write_at = (self.written < self.said.len()).then_some(self.write_at);
        write_at.into_iter().chain([self.stalls_at, self.ends_at]).min().unwrap_or(self.stalls_at)
    }

    /// Everything that was said in this step, with what has come and was not read yet.
    pub(super) fn cut(mut self) -> String {
        while let Ok(piece) = self.pieces.try_recv() {
            if let Piece::Text(text) = piece {
                self.said.push_str(&text);
            }
        }
        self.partial()
    }

    /// Everything that was read of this step.
    pub(super) fn partial(&self) -> String {
        format!("{}{}", self.said_before, self.said)
    }

    /// Pieces a second since the first one.
    pub(super) fn pieces_per_second(&self) -> Option<f64> {
        let elapsed = self.first_piece_at?.elapsed().as_secs_f64();
        (elapsed > 0.1).then(|| f64::from(self.pieces_count) / elapsed)
    }

    pub(super) fn has_said(&self) -> bool {
        !self.said.is_empty() || !self.said_before.is_empty()
    }
}

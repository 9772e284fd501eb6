//! How fast an answer comes, by its pieces of the last two seconds; most servers send a token a piece.

use std::collections::VecDeque;

/// How far it looks back.
const WINDOW_MS: u64 = 2_000;
/// Most pieces that are remembered.
const PIECES_MAX: usize = 4_096;

/// The speed of an answer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Speed {
    pieces: VecDeque<u64>,
    before: Option<f64>,
}

impl Speed {
    /// A piece has come.
    pub(crate) fn came(&mut self, now_ms: u64) {
        self.pieces.push_back(now_ms);
        while self.pieces.len() > PIECES_MAX
            || self.pieces.front().is_some_and(|first| first + WINDOW_MS < now_ms)
        {
            self.pieces.pop_front();
        }
    }

    /// Begins anew, with the speed that the engine knows.
    pub(crate) fn begin(&mut self, known: Option<f64>) {
        self.pieces.clear();
        self.before = known;
    }

    /// Tokens a second.
    pub(crate) fn per_second(&self) -> Option<f64> {
        let (first, last) = (self.pieces.front()?, self.pieces.back()?);
        let elapsed_ms = last - first;
        if elapsed_ms < WINDOW_MS / 4 {
            return self.before;
        }
        let pieces = u32::try_from(self.pieces.len() - 1).unwrap_or(u32::MAX);
        let elapsed_ms = u32::try_from(elapsed_ms).unwrap_or(u32::MAX);
        Some(f64::from(pieces) * 1_000.0 / f64::from(elapsed_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hundred_pieces_a_second_are_two_hundred() {
        let mut speed = Speed::default();
        speed.begin(Some(40.0));
        speed.came(0);
        assert_eq!(speed.per_second(), Some(40.0));
        (0..1_000).for_each(|piece| speed.came(piece * 5));
        assert!((speed.per_second().unwrap() - 200.0).abs() < 1.0);
        assert!(speed.pieces.len() <= 402);
    }
}

//! Writes down acts in their order, and knows the time and the ids that they show. It has no clock and no randomness of
//! its own.

use crate::act::{Act, Phase, Signal};
use crate::invocation::Invocation;

/// Most bytes of one act of output.
const PIECE_BYTES_MAX: usize = 64 * 1024;

/// The acts so far.
#[derive(Debug)]
pub(crate) struct Pen {
    acts: Vec<Act>,
    started_unix_ms: i64,
    elapsed_ms: u64,
    seed: u64,
    drawn: u64,
}

impl Pen {
    /// A pen for one start of the program.
    pub(crate) fn new(invocation: &Invocation) -> Self {
        Self {
            acts: Vec::new(),
            started_unix_ms: invocation.started_unix_ms,
            elapsed_ms: 0,
            seed: invocation.seed,
            drawn: 0,
        }
    }

    /// A pen that goes on after these acts.
    pub(crate) fn after(invocation: &Invocation, done: &[Act]) -> Self {
        let waited = done.iter().map(|act| if let Act::Wait { ms } = act { *ms } else { 0 }).sum();
        // Far from the ids that the acts before it used.
        Self { elapsed_ms: waited, drawn: 1 << 32, ..Self::new(invocation) }
    }

    /// The time, where it does not follow from the pauses.
    pub(crate) fn set_elapsed(&mut self, elapsed_ms: u64) {
        self.elapsed_ms = elapsed_ms;
    }

    /// What was written down since the last time.
    pub(crate) fn take(&mut self) -> Vec<Act> {
        std::mem::take(&mut self.acts)
    }

    /// What was written down.
    pub(crate) fn done(self) -> Vec<Act> {
        self.acts
    }

    /// Bytes on stdout.
    pub(crate) fn out(&mut self, bytes: impl AsRef<[u8]>) {
        self.acts.extend(bytes.as_ref().chunks(PIECE_BYTES_MAX).map(|piece| Act::Out(piece.to_owned())));
    }

    /// Bytes on stderr.
    pub(crate) fn err(&mut self, bytes: impl AsRef<[u8]>) {
        self.acts.extend(bytes.as_ref().chunks(PIECE_BYTES_MAX).map(|piece| Act::Err(piece.to_owned())));
    }

    /// A pause.
    pub(crate) fn wait(&mut self, ms: u64) {
        if ms > 0 {
            self.elapsed_ms = self.elapsed_ms.saturating_add(ms);
            self.acts.push(Act::Wait { ms });
        }
    }

    /// A change of what it is busy with.
    pub(crate) fn enter(&mut self, phase: Phase) {
        self.acts.push(Act::Enter(phase));
    }

    /// The end.
    pub(crate) fn exit(&mut self, code: u8) {
        self.acts.push(Act::Exit(code));
    }

    /// The end by a signal.
    pub(crate) fn die(&mut self, signal: Signal) {
        self.acts.push(Act::Die(signal));
    }

    /// Any other act.
    pub(crate) fn push(&mut self, act: Act) {
        self.acts.push(act);
    }

    /// A line for a file of the store.
    pub(crate) fn store(&mut self, path: &str, text: String) {
        self.acts.push(Act::Store { path: path.to_owned(), text });
    }

    /// The milliseconds since the start.
    pub(crate) fn elapsed_ms(&self) -> u64 {
        self.elapsed_ms
    }

    /// The time now, in milliseconds since 1970.
    pub(crate) fn unix_ms(&self) -> i64 {
        self.started_unix_ms.saturating_add(i64::try_from(self.elapsed_ms).unwrap_or(i64::MAX))
    }

    /// The time now, as events show it.
    pub(crate) fn now(&self) -> String {
        let now = jiff::Timestamp::from_millisecond(self.unix_ms()).unwrap_or(jiff::Timestamp::MAX);
        format!("{now:.3}")
    }

    /// A new number.
    fn number(&mut self) -> u64 {
        self.drawn += 1;
        // SplitMix64, which needs no state beyond a counter.
        let mut mixed = self.seed.wrapping_add(self.drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A new UUID of version 4.
    pub(crate) fn uuid(&mut self) -> String {
        let (high, low) = (self.number(), self.number());
        // The version and the variant stand where the standard has them.
        let high = high & !0xf000 | 0x4000;
        let low = low & !(0b11 << 62) | (0b10 << 62);
        let digits = format!("{high:016x}{low:016x}");
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
        parts.join("-")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_uuids_of_version_4_and_repeat_with_their_seed() {
        let draw = |seed| {
            let mut pen = Pen::new(&Invocation { seed, ..Invocation::default() });
            [pen.uuid(), pen.uuid()]
        };
        let [first, second] = draw(1);
        assert_ne!(first, second);
        assert_eq!([first.clone(), second], draw(1));
        assert_ne!(first, draw(2)[0]);
        assert_eq!(first.len(), 36);
        assert_eq!(first.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&first.as_bytes()[19]));
    }

    #[test]
    fn the_time_moves_with_the_pauses() {
        let mut pen = Pen::new(&Invocation { started_unix_ms: 1_795_639_455_000, ..Invocation::default() });
        assert_eq!(pen.now(), "2026-11-25T20:44:15.000Z");
        pen.wait(703);
        assert_eq!(pen.now(), "2026-11-25T20:44:15.703Z");
    }
}

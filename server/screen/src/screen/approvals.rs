//! A person lets a tool run, or refuses it: by `y` or `n`, with an empty line, after a moment in which no key was pressed.
//!
//! The moment keeps a word that a person was about to write from being an answer. It must never decide by Enter or a paste.

use super::{Effect, Screen};
use crate::keys::Key;
use crate::news::Approval;

/// How long no key may have been pressed since the question came.
const QUIET_MS: u64 = 600;
/// Most questions that are kept; the engine asks one at a time.
const APPROVALS_MAX: usize = 64;

impl Screen {
    pub(super) fn ask(&mut self, approval: Approval) {
        if self.approvals.iter().any(|known| known.number == approval.number) {
            return;
        }
        let who = self.label(&approval.who);
        self.talk
            .note(&format!("{who} wants to run: {}\nwhy you are asked: {}", approval.runs, approval.why));
        if self.approvals.len() < APPROVALS_MAX {
            self.approvals.push_back(approval);
        }
    }

    /// The person sees this question. One that does not fit on the screen can't be answered.
    pub(crate) fn showed_approval(&mut self, number: Option<i64>) {
        if self.shown_approval.map(|(shown, _)| shown) != number {
            self.shown_approval = number.map(|number| (number, self.now_ms));
        }
    }

    pub(super) fn decide_by(&mut self, key: &Key) -> Option<Effect> {
        let number = self.approvals.front()?.number;
        let (shown, quiet_since_ms) = self.shown_approval?;
        let was_quiet = self.now_ms.saturating_sub(quiet_since_ms) >= QUIET_MS;
        self.shown_approval = Some((shown, self.now_ms));
        if !was_quiet || shown != number || !self.input.is_empty() {
            return None;
        }
        let may_run = match key {
            Key::Char('y' | 'Y') => true,
            Key::Char('n' | 'N') => false,
            _ => return None,
        };
        self.approvals.pop_front();
        Some(Effect::Decide { number, may_run })
    }

    pub(super) fn decided(&mut self, number: i64, may_run: bool) {
        self.approvals.retain(|approval| approval.number != number);
        self.talk.note(if may_run { "it may run" } else { "it may not run" });
    }
}

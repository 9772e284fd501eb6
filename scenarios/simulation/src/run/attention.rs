//! When a model could have been told something: while it rested, and at the boundaries of its turns.
//! It knows times only, and judges no message.

/// The stretches in which a model rested, and the moments of its turns at which it read something.
#[derive(Debug, Default)]
pub(crate) struct Attention {
    /// From when to when it rested; the last one may go on.
    rests: Vec<(u64, Option<u64>)>,
    /// When it read the result of a call of the server's.
    calls: Vec<u64>,
    /// When a tool of the host's own was done.
    works: Vec<u64>,
    in_turn: bool,
}

impl Attention {
    /// The host has the server's tools; its model rests until a turn begins.
    pub(crate) fn ready(&mut self, at_ms: u64) {
        if !self.in_turn {
            self.rest(at_ms);
        }
    }

    /// A turn began, went on or is over.
    pub(crate) fn turn(&mut self, at_ms: u64, running: bool) {
        self.in_turn = running;
        if running {
            self.stir(at_ms);
        } else {
            self.rest(at_ms);
        }
    }

    /// The host has ended, so no model is there to be told anything.
    pub(crate) fn gone(&mut self, at_ms: u64) {
        self.in_turn = false;
        self.stir(at_ms);
    }

    /// The model read the result of a call of the server's.
    pub(crate) fn called(&mut self, at_ms: u64) {
        self.calls.push(at_ms);
    }

    /// The model read the result of a tool of the host's own.
    pub(crate) fn worked(&mut self, at_ms: u64) {
        self.works.push(at_ms);
    }

    fn rest(&mut self, at_ms: u64) {
        if self.rests.last().is_none_or(|(_, until)| until.is_some()) {
            self.rests.push((at_ms, None));
        }
    }

    fn stir(&mut self, at_ms: u64) {
        if let Some((_, until @ None)) = self.rests.last_mut() {
            *until = Some(at_ms);
        }
    }

    /// The last moment at which a message may be shown that has been there since `visible_ms`: when the model has rested
    /// for `within_ms` with it unread, or at the first boundary at which the server has had as long for it. Nothing while
    /// neither has come. Results of the host's own tools are boundaries where a carrier brings texts there.
    pub(crate) fn due_ms(&self, visible_ms: u64, within_ms: u64, at_every_tool: bool) -> Option<u64> {
        let ready_ms = visible_ms.saturating_add(within_ms);
        let rested = self.rests.iter().find_map(|(from_ms, until_ms)| {
            let due_ms = visible_ms.max(*from_ms).saturating_add(within_ms);
            until_ms.is_none_or(|until_ms| due_ms < until_ms).then_some(due_ms)
        });
        let first_of = |moments: &[u64]| moments.iter().copied().find(|at_ms| *at_ms >= ready_ms);
        let worked = at_every_tool.then(|| first_of(&self.works)).flatten();
        [rested, first_of(&self.calls), worked].into_iter().flatten().min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rests from 0 to 20 and from 50 on; works at 30, calls at 45.
    fn attention() -> Attention {
        let mut attention = Attention::default();
        attention.ready(0);
        attention.turn(20, true);
        attention.worked(30);
        attention.called(45);
        attention.turn(50, false);
        attention
    }

    #[test]
    fn a_model_that_rests_is_told_within_the_time() {
        assert_eq!(attention().due_ms(3, 10, false), Some(13));
        assert_eq!(attention().due_ms(60, 10, false), Some(70));
        assert_eq!(attention().due_ms(48, 10, false), Some(60), "it counts from the rest on");
    }

    #[test]
    fn a_model_that_works_is_told_at_the_first_boundary_for_which_there_was_time() {
        assert_eq!(attention().due_ms(15, 10, false), Some(45), "the rest ended too early");
        assert_eq!(attention().due_ms(15, 10, true), Some(30));
        assert_eq!(attention().due_ms(25, 10, true), Some(45), "at 30 there had been only five");
        assert_eq!(attention().due_ms(40, 10, true), Some(60), "after that boundary it rests");
    }

    #[test]
    fn nothing_is_due_while_no_model_is_there_or_its_turn_goes_on() {
        let mut attention = attention();
        attention.turn(65, true);
        assert_eq!(attention.due_ms(60, 10, true), None);
        attention.turn(70, false);
        attention.gone(75);
        assert_eq!(attention.due_ms(60, 10, true), None);
        attention.ready(100);
        assert_eq!(attention.due_ms(60, 10, true), Some(110));
    }
}

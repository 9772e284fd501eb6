//! The way from outside into a running session: what comes through it is a prompt that nobody typed.
//! It never checks who wakes the host; what stands before the wake-up does.

use super::HostMachine;
use super::turn::Notice;
use crate::effect::Carrier;
use crate::profile::WakeUpKind;
use crate::wire::fill;

impl HostMachine {
    pub(super) fn by_wake_up(&mut self, text: &str) {
        let facts = self.profile.wake_up.clone();
        if *facts.kind == WakeUpKind::None || !self.options.wake_up || self.over {
            return self.note("somebody woken, and there is no open wake-up");
        }
        let notice = Notice::new(Carrier::WakeUp, fill(&facts.text, &[("text", text)]));
        let prompt = facts.prompt.as_ref().map(|prompt| fill(prompt, &[("text", text)]));
        self.arrives(notice, self.mode(&facts.wakes), *facts.busy, prompt);
    }
}

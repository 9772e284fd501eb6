//! The wake-up of a running session: a text that arrives by it becomes a prompt. It never checks who wakes
//! the host; the simulated wake-up in front of it does.

use std::sync::Arc;

use host_profiles::WakeUpKind;

use super::HostMachine;
use super::turn::Notice;
use crate::effect::Carrier;
use crate::wire::fill;

impl HostMachine {
    pub(super) fn by_wake_up(&mut self, text: &str) {
        let profile = Arc::clone(&self.profile);
        let facts = &profile.wake_up;
        if *facts.kind == WakeUpKind::None || !self.options.wake_up || self.over {
            return self.note("dropped a text: the wake-up is not open");
        }
        let notice = Notice::new(Carrier::WakeUp, fill(&facts.text, &[("text", text)]));
        let prompt = facts.prompt.as_ref().map(|prompt| fill(prompt, &[("text", text)]));
        self.arrives(notice, self.mode(&facts.wakes), *facts.busy, prompt);
    }
}

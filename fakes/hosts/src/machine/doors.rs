//! The way from outside into a running session: what comes through it is a prompt that nobody typed.
//! It never checks who knocks; what stands before the door does.

use super::HostMachine;
use super::turn::Notice;
use crate::effect::Carrier;
use crate::profile::DoorKind;
use crate::wire::fill;

impl HostMachine {
    pub(super) fn through_the_door(&mut self, text: &str) {
        let facts = self.profile.door.clone();
        if *facts.kind == DoorKind::None || !self.options.door || self.over {
            return self.note("somebody knocked, and there is no open door");
        }
        let notice = Notice::new(Carrier::Door, fill(&facts.text, &[("text", text)]));
        let prompt = facts.prompt.as_ref().map(|prompt| fill(prompt, &[("text", text)]));
        self.arrives(notice, self.mode(&facts.wakes), *facts.busy, prompt);
    }
}

//! Hooks that run beside the session and wake it by their end. Each end of a turn starts one more; only the
//! end of the host or their own time limit ends them.

use std::collections::BTreeSet;
use std::sync::Arc;

use host_profiles::WhileBusy;

use super::turn::Notice;
use super::{HostMachine, Timer};
use crate::effect::{Carrier, Effect, ShellEnd};
use crate::wire::fill;

/// Most of them that run at once.
const WAKING_MAX: usize = 64;
/// The exit code by which a hook has a text for the model.
const TELLS: i32 = 2;

/// The running ones.
#[derive(Debug, Default)]
pub(super) struct Waking {
    begun: u64,
    running: BTreeSet<u64>,
    /// The hook for which the end of the turn waits.
    holds_turn: Option<u64>,
    /// The host has nothing more to do than to wait for them.
    holds_exit: bool,
}

impl Waking {
    /// Whether the end of the turn waits for one.
    pub(super) fn holds_turn(&self) -> bool {
        self.holds_turn.is_some()
    }
}

impl HostMachine {
    /// A turn ends: one more hook starts beside the session.
    pub(super) fn start_waking_hook(&mut self) {
        if *self.profile.waking.beside {
            self.run_waking_hook();
        }
    }

    /// Whether the end of the turn waits for the hook, as in versions that run none beside the session.
    pub(super) fn hold_turn_for_waking_hook(&mut self) -> bool {
        if *self.profile.waking.beside || self.waking.holds_turn() {
            return false;
        }
        self.waking.holds_turn = self.run_waking_hook();
        self.waking.holds_turn()
    }

    fn run_waking_hook(&mut self) -> Option<u64> {
        let event = self.profile.hooks.turn_end.as_ref().map(|hook| hook.event.clone());
        let event = event.filter(|_| self.options.waking_hook && self.mode(&self.profile.hooks.run))?;
        if self.waking.running.len() >= WAKING_MAX {
            self.note(format!("no more hooks run beside the session: {WAKING_MAX} run already"));
            return None;
        }
        self.waking.begun += 1;
        let id = self.waking.begun;
        self.waking.running.insert(id);
        let input = self.turn_end_input(&event).to_string();
        let environment = self.mode(&self.profile.waking.environment);
        let limit_ms = self.options.waking_timeout_ms.unwrap_or(*self.profile.waking.timeout_ms);
        self.set_timer(Timer::Waking(id), limit_ms);
        self.effects.push(Effect::Waking { id, event, input, environment });
        Some(id)
    }

    pub(super) fn waking_too_slow(&mut self, id: u64) {
        self.note("a hook beside the session took too long and is ended");
        self.effects.push(Effect::EndWaking(id));
        self.waking_end(id, &ShellEnd { output: String::new(), code: -1 });
    }

    pub(super) fn waking_end(&mut self, id: u64, end: &ShellEnd) {
        self.timers.remove(&Timer::Waking(id));
        if !self.waking.running.remove(&id) {
            return self.note("dropped the end of an unknown hook");
        }
        let profile = Arc::clone(&self.profile);
        let facts = &profile.waking;
        let tells = end.code == TELLS && !end.output.is_empty();
        let text = |template: &str| fill(template, &[("text", end.output.as_str())]);
        if self.waking.holds_turn == Some(id) {
            self.waking.holds_turn = None;
            if tells {
                self.turn_goes_on(text(&facts.text));
            } else {
                self.turn_over();
            }
        } else if tells {
            let wakes = self.mode(&facts.wakes);
            let template = if self.turn.running { &facts.busy_text } else { &facts.text };
            let notice = Notice::new(Carrier::WakingHook, text(template));
            let busy = if wakes || self.turn.running { *facts.busy } else { WhileBusy::Lost };
            // It was not tried whether the hook of prompts runs while a turn is running.
            let prompt = facts.prompt.as_ref().filter(|_| !self.turn.running);
            let prompt = prompt.map(|prompt| text(prompt));
            self.arrives(notice, wakes, busy, prompt);
        }
        if self.waking.running.is_empty() && std::mem::take(&mut self.waking.holds_exit) {
            self.exit();
        }
    }

    /// Whether the host, which has nothing more to do, waits for hooks before it exits.
    pub(super) fn waits_before_exit(&mut self) -> bool {
        let waits = !self.waking.running.is_empty() && self.mode(&self.profile.waking.holds_exit);
        if waits && !self.waking.holds_exit {
            self.note("the host waits for a hook before it ends");
            self.waking.holds_exit = true;
        }
        waits
    }

    /// The user interrupted, so the end of the turn waits for nothing.
    pub(super) fn forget_held_turn(&mut self) {
        self.waking.holds_turn = None;
    }

    /// The host exits, or is killed. Hooks that are not ended go on.
    pub(super) fn leave_waking_hooks(&mut self, ends_them: bool) {
        for id in std::mem::take(&mut self.waking.running) {
            self.timers.remove(&Timer::Waking(id));
            if ends_them {
                self.effects.push(Effect::EndWaking(id));
            }
        }
        self.waking = Waking::default();
    }
}

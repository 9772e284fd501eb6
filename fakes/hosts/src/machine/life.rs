//! The end of a server process: by the host, by itself, by a restart, by a kill of the host. It only asks for
//! signals; the driver reports whether a process has ended.

use host_profiles::{OnProbeExit, OnStdoutClosed, Stop};
use serde_json::Value;

use super::{Ending, HostMachine, Link, Phase, Timer};
use crate::effect::{Effect, HostEventKind, Signal};

impl HostMachine {
    /// The host exits in its normal way.
    pub(super) fn exit(&mut self) {
        let cancels = *self.profile.calls.cancel_at_exit;
        let reason = self.profile.calls.interrupt_reason.value.clone();
        let running = matches!(self.link.phase, Phase::Open);
        self.cancel_calls(reason.as_deref().filter(|_| cancels && running), None);
        self.forget_calls();
        if running
            && *self.profile.modern.cancel_listen_at_exit
            && let Some(stream) = self.link.stream.take()
        {
            self.cancel(&stream.id, None);
        }
        self.turn = super::Turn::default();
        self.forget_wakers();
        self.leave_waking_hooks(*self.profile.waking.ended_with_host);
        let stopping = self.ending == Ending::Reconnect || self.ending == Ending::GaveUp;
        self.ending = Ending::Exit;
        if !self.alive {
            self.timers.clear();
            self.over = true;
        } else if stopping && self.stop_steps_left() {
            self.link.phase = Phase::Closing;
        } else {
            self.link.phase = Phase::Closing;
            self.shutdown();
        }
    }

    /// The host is killed: the pipes close, and nothing else happens.
    pub(super) fn kill(&mut self) {
        self.forget_calls();
        self.timers.clear();
        self.turn = super::Turn::default();
        self.forget_wakers();
        self.leave_waking_hooks(false);
        if self.alive {
            self.effects.push(Effect::CloseStdin);
        }
        self.link.phase = Phase::Closing;
        self.link.pending.clear();
        self.ending = Ending::Killed;
        self.over = true;
    }

    /// The user has the server restarted.
    pub(super) fn reconnect(&mut self) {
        self.fail_open_calls();
        match self.link.phase {
            Phase::Gone | Phase::Failed if !self.alive => self.respawn(true, false),
            Phase::Down | Phase::Closing => self.note("the server is already being started"),
            _ if self.ending == Ending::GaveUp && self.stop_steps_left() => {
                self.ending = Ending::Reconnect;
                self.link.phase = Phase::Closing;
            }
            _ => {
                self.link.phase = Phase::Closing;
                self.ending = Ending::Reconnect;
                self.shutdown();
            }
        }
    }

    /// Asks for a new process.
    pub(super) fn respawn(&mut self, probing_allowed: bool, quick: bool) {
        self.forget_link(probing_allowed, quick);
        self.ending = Ending::No;
        self.effects.push(Effect::Respawn);
    }

    /// Begins the steps by which a process is ended.
    pub(super) fn shutdown(&mut self) {
        self.forget_timers();
        self.link.pending.clear();
        let steps = self.profile.life.shutdown.value.clone();
        for (place, step) in steps.iter().enumerate() {
            if step.after_ms == 0 {
                self.stop(step.how);
            } else {
                self.set_timer(Timer::Stop(place), step.after_ms);
            }
        }
        self.leave_if_nothing_is_left();
    }

    pub(super) fn stop_step(&mut self, place: usize) {
        if let Some(step) = self.profile.life.shutdown.get(place).copied() {
            self.stop(step.how);
        }
        self.leave_if_nothing_is_left();
    }

    fn stop(&mut self, how: Stop) {
        self.effects.push(match how {
            Stop::CloseStdin => Effect::CloseStdin,
            Stop::Int => Effect::Signal(Signal::Int),
            Stop::Term => Effect::Signal(Signal::Term),
            Stop::Kill => Effect::Signal(Signal::Kill),
        });
    }

    /// After the last step the host does not wait for its server.
    fn leave_if_nothing_is_left(&mut self) {
        if !self.stop_steps_left() && self.ending == Ending::Exit {
            self.over = true;
        }
    }

    fn stop_steps_left(&self) -> bool {
        self.timers.keys().any(|timer| matches!(timer, Timer::Stop(_)))
    }

    pub(super) fn stdout_closed(&mut self) {
        if self.link.stdout_closed {
            return;
        }
        self.link.stdout_closed = true;
        let gone = *self.profile.life.stdout_closed == OnStdoutClosed::Gone;
        if gone && self.link.phase == Phase::Open {
            self.note("the server closed its stdout; it counts as gone");
            self.lose_server();
        }
    }

    /// The process has ended.
    pub(super) fn server_exit(&mut self, code: Option<i32>) {
        let code = code.map_or_else(|| "no code".to_owned(), |code| format!("code {code}"));
        let phase = self.link.phase;
        if !std::mem::take(&mut self.alive) {
            return;
        }
        self.note(format!("the server's process ended, {code}"));
        match self.ending {
            Ending::Exit | Ending::Killed => {
                self.timers.clear();
                self.link = Link::new(true, false);
                self.link.phase = Phase::Gone;
                self.over = true;
                return;
            }
            Ending::Reconnect => return self.respawn(true, false),
            Ending::GaveUp => {
                self.forget_timers();
                self.link.phase = Phase::Failed;
                return;
            }
            Ending::No => {}
        }
        match phase {
            Phase::Probing => match *self.profile.opening.probe_exit {
                OnProbeExit::RespawnWithoutProbe => self.respawn(false, false),
                OnProbeExit::Fail => self.fail("the server ended during the probe"),
            },
            Phase::Initializing => self.fail("the server ended during the handshake"),
            _ => self.lose_server(),
        }
    }

    fn fail(&mut self, reason: &str) {
        self.forget_timers();
        self.link.pending.clear();
        self.link.phase = Phase::Failed;
        self.catalog.clear();
        self.ending = Ending::GaveUp;
        self.tell(HostEventKind::Failed(reason.to_owned()));
    }

    /// An open connection is lost.
    fn lose_server(&mut self) {
        self.fail_open_calls();
        self.fail_tasks();
        let ready_told = self.link.ready_told;
        let asked: Vec<String> = self
            .link
            .pending
            .values()
            .filter_map(|pending| match pending {
                super::Pending::Resource { label, .. } | super::Pending::Prompt { label } => {
                    Some(label.clone())
                }
                _ => None,
            })
            .collect();
        for label in asked {
            let lost = serde_json::json!({"message": "the connection is closed"});
            self.on_prompt_answer(label, Err::<Value, Value>(lost));
        }
        self.forget_link(true, false);
        self.link.phase = Phase::Gone;
        if !ready_told {
            self.tell(HostEventKind::Ready);
        }
        if self.mode(&self.profile.life.tools_go.clone()) {
            self.catalog.clear();
        }
    }
}

//! One agent's program as it runs: its acts, in virtual time, on pipes of the simulated machine.
//! It must never choose an act: they come from the script.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use entraclaw_seams::processes::ProcessId;
use entraclaw_seams::programs::Exit;
use fake_agents::{Acp, Act, Invocation, Script, Signal, interrupted, plan};
use futures_util::future::pending;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::{Inner, locked};

/// The code with which a program ends whose reader is gone.
const BROKEN_PIPE: i32 = 1;

/// One running program.
pub(super) struct Player {
    pub(super) script: Script,
    pub(super) invocation: Invocation,
    pub(super) done: Vec<Act>,
    pub(super) left: VecDeque<Act>,
    pub(super) inner: Arc<Inner>,
    pub(super) leader: ProcessId,
    pub(super) signalled: mpsc::UnboundedReceiver<Signal>,
    pub(super) out: DuplexStream,
    pub(super) err: DuplexStream,
    pub(super) input: Option<DuplexStream>,
}

/// How a program has ended, and the ends of its pipes, which processes that it started may hold open.
pub(super) struct End {
    pub(super) exit: Exit,
    pub(super) pipes: [DuplexStream; 2],
}

impl Player {
    /// Plays it to its end.
    pub(super) async fn play(mut self) -> End {
        let exit = self.acts().await;
        End { exit, pipes: [self.out, self.err] }
    }

    async fn acts(&mut self) -> Exit {
        while let Some(act) = self.left.pop_front() {
            match &act {
                Act::Wait { ms } => {
                    if self.waits(Some(Instant::now() + Duration::from_millis(*ms))).await {
                        continue;
                    }
                }
                // It ends by a signal alone.
                Act::Hang => {
                    self.waits(None).await;
                    continue;
                }
                Act::SpeakAcp => return self.speaks().await,
                Act::ReadInput { .. } => {
                    self.reads().await;
                    continue;
                }
                act => {
                    if let Some(exit) = self.does(act).await {
                        return exit;
                    }
                }
            }
            self.done.push(act);
        }
        Exit::Code(0)
    }

    /// Does what takes no time. Returns how the program ends, if it does.
    async fn does(&mut self, act: &Act) -> Option<Exit> {
        match act {
            Act::Out(bytes) => {
                if self.out.write_all(bytes).await.is_err() {
                    return Some(Exit::Code(BROKEN_PIPE));
                }
            }
            Act::Err(bytes) => {
                if self.err.write_all(bytes).await.is_err() {
                    return Some(Exit::Code(BROKEN_PIPE));
                }
            }
            Act::Store { path, text } => {
                locked(&self.inner.stored).entry(path.clone()).or_default().push_str(text);
            }
            Act::Exit(code) => return Some(Exit::Code(i32::from(*code))),
            Act::Die(Signal::Kill) => return Some(Exit::Signal(9)),
            Act::Die(Signal::Segfault) => return Some(Exit::Signal(11)),
            Act::Die(Signal::Terminate) => return Some(Exit::Signal(15)),
            Act::Die(Signal::Interrupt) => return Some(Exit::Signal(2)),
            Act::Child { leaves_group: false, ignores_term } => {
                if let Some(group) = locked(&self.inner.groups).get_mut(&self.leader) {
                    group.add_child(*ignores_term);
                }
            }
            // A simulated machine has no files of the user, nor does it list processes of other sessions.
            Act::Write { .. } | Act::Child { .. } | Act::Enter(_)
            // These take time, so that they are not done here.
            | Act::Wait { .. } | Act::Hang | Act::SpeakAcp | Act::ReadInput { .. } => {}
        }
        None
    }

    /// Speaks the Agent Client Protocol until its input or the program ends.
    async fn speaks(&mut self) -> Exit {
        let mut acp = Acp::new(&self.script, &self.invocation);
        let began = Instant::now();
        let Some(input) = self.input.take() else { return Exit::Code(0) };
        let mut lines = BufReader::new(input).lines();
        let mut has_ended = false;
        loop {
            let due = acp.due_ms().map(|ms| began + Duration::from_millis(ms));
            let time = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => pending().await,
                }
            };
            let inner = self.inner.clone();
            let now_ms = || u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let acts = tokio::select! {
                biased;
                signal = self.signalled.recv() => match signal {
                    Some(_) if acp.ends_on_sigterm() => return Exit::Code(0),
                    Some(_) => continue,
                    None => return Exit::Signal(9),
                },
                line = lines.next_line(), if !has_ended => {
                    if let Ok(Some(line)) = line {
                        acp.on_line(now_ms(), &line, &*inner)
                    } else {
                        has_ended = true;
                        acp.on_end(now_ms())
                    }
                },
                () = time => acp.on_time(now_ms()),
            };
            for act in &acts {
                if let Some(exit) = self.does(act).await {
                    return exit;
                }
            }
        }
    }

    /// Waits until then, or for ever. Returns whether a signal has changed what is left.
    async fn waits(&mut self, until: Option<Instant>) -> bool {
        loop {
            let time = async {
                match until {
                    Some(until) => sleep_until(until).await,
                    None => sleep(Duration::MAX).await,
                }
            };
            tokio::select! {
                biased;
                signal = self.signalled.recv() => {
                    let Some(signal) = signal else { return false };
                    let acts = interrupted(&self.script, &self.invocation, &self.done, signal);
                    if let Some(acts) = acts {
                        self.left = acts.into();
                        return true;
                    }
                }
                () = time => return false,
            }
        }
    }

    /// Plans again with what came on stdin, and skips what was done already.
    async fn reads(&mut self) {
        let mut read = Vec::new();
        if let Some(input) = &mut self.input {
            let _ = input.read_to_end(&mut read).await;
        }
        self.invocation.stdin = Some(read);
        self.left = plan(&self.script, &self.invocation, &*self.inner).into();
        for done in &self.done {
            if self.left.front() == Some(done) {
                self.left.pop_front();
            }
        }
    }
}

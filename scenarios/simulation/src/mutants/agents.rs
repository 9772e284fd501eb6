//! Careless ways to run another agent's program. It must never change what the program does.

use std::io;
use std::sync::Arc;

use entraclaw_seams::processes::{Ending, ProcessId, Processes, Program};
use entraclaw_seams::programs::{Child, Exit, Programs, Start};
use futures_util::FutureExt as _;

/// The fault of the caller of programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Reads what a program says on stderr, and forgets it.
    DropsStderr,
    /// Takes every exit code for 0.
    TakesEveryEnd,
    /// Ends a group only while its leader runs.
    LeavesGrandchildren,
}

/// Programs that are run with a fault.
pub(super) struct FaultyPrograms {
    pub(super) inner: Arc<dyn Programs>,
    pub(super) fault: Fault,
}

impl Programs for FaultyPrograms {
    fn start(&self, start: &Start) -> io::Result<Child> {
        let mut child = self.inner.start(start)?;
        match self.fault {
            Fault::DropsStderr => {
                let mut errors = std::mem::replace(&mut child.errors, Box::new(tokio::io::empty()));
                // A program whose reader is gone would end by that.
                tokio::task::spawn_local(async move {
                    let _ = tokio::io::copy(&mut errors, &mut tokio::io::sink()).await;
                });
            }
            Fault::TakesEveryEnd => {
                let well = |exit: Exit| if let Exit::Code(_) = exit { Exit::Code(0) } else { exit };
                child.ended = child.ended.map(move |ended| ended.map(well)).boxed();
            }
            Fault::LeavesGrandchildren => {}
        }
        Ok(child)
    }
}

/// Processes that are ended with a fault.
pub(super) struct FaultyProcesses(pub(super) Arc<dyn Processes>);

impl Processes for FaultyProcesses {
    fn start_detached(&self, program: &Program) -> io::Result<()> {
        self.0.start_detached(program)
    }

    fn identify(&self, pid: u32) -> Option<ProcessId> {
        self.0.identify(pid)
    }

    fn end_group(&self, leader: &ProcessId, ending: Ending) -> io::Result<bool> {
        if self.0.is_alive(leader) { self.0.end_group(leader, ending) } else { Ok(false) }
    }

    fn end_descendants(&self, _: Ending, _: &[ProcessId]) -> usize {
        0
    }

    fn below(&self, _: &ProcessId) -> Vec<ProcessId> {
        Vec::new()
    }

    fn memory_bytes(&self, process: &ProcessId) -> Option<u64> {
        self.0.memory_bytes(process)
    }

    fn boot_id(&self) -> Option<String> {
        self.0.boot_id()
    }
}

//! Processes of a simulated machine. Started programs wait in a queue for the simulation, which plays the machine.
//! It must never be kinder than a real system: an ended process does not come back, and a restart of the machine ends all.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Ending, ProcessId, Processes, Program};

/// The processes of a simulated machine. Clones are cheap and share them.
#[derive(Debug, Clone, Default)]
pub struct SimulatedProcesses(Arc<Mutex<Machine>>);

#[derive(Debug, Default)]
struct Machine {
    boots: u64,
    began: u64,
    alive: BTreeMap<u32, u64>,
    started: VecDeque<(ProcessId, Program)>,
    refuses: bool,
}

impl SimulatedProcesses {
    /// Takes the next started program that has not been played yet, with its process.
    pub fn next_started(&self) -> Option<(ProcessId, Program)> {
        self.machine().started.pop_front()
    }

    /// Ends a process as if by itself.
    pub fn end(&self, process: &ProcessId) {
        self.machine().alive.remove(&process.pid);
    }

    /// Restarts the machine: no earlier process runs.
    pub fn restart(&self) {
        let mut machine = self.machine();
        machine.boots += 1;
        machine.alive.clear();
        machine.started.clear();
    }

    /// Sets whether starting a program fails from now on.
    pub fn refuse(&self, refuses: bool) {
        self.machine().refuses = refuses;
    }

    fn machine(&self) -> MutexGuard<'_, Machine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Processes for SimulatedProcesses {
    fn start_detached(&self, program: &Program) -> io::Result<()> {
        let mut machine = self.machine();
        if machine.refuses {
            return Err(io::Error::new(io::ErrorKind::WouldBlock, "no more processes can be started"));
        }
        machine.began += 1;
        let began = machine.began;
        let pid = (2..=u32::MAX).find(|pid| !machine.alive.contains_key(pid)).unwrap_or(u32::MAX);
        machine.alive.insert(pid, began);
        let id = ProcessId { pid, began: Some(began.to_string()) };
        machine.started.push_back((id, program.clone()));
        Ok(())
    }

    fn identify(&self, pid: u32) -> Option<ProcessId> {
        let began = self.machine().alive.get(&pid)?.to_string();
        Some(ProcessId { pid, began: Some(began) })
    }

    fn end_group(&self, leader: &ProcessId, ending: Ending) -> io::Result<bool> {
        let is_alive = self.is_alive(leader);
        if is_alive && ending == Ending::Kill {
            self.machine().alive.remove(&leader.pid);
        }
        Ok(is_alive)
    }

    fn end_descendants(&self, _ending: Ending, _spared: &[ProcessId]) -> usize {
        0
    }

    fn below(&self, _process: &ProcessId) -> Vec<ProcessId> {
        Vec::new()
    }

    fn memory_bytes(&self, _process: &ProcessId) -> Option<u64> {
        None
    }

    fn boot_id(&self) -> Option<String> {
        Some(self.machine().boots.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_number_is_another_process() {
        let machine = SimulatedProcesses::default();
        let program = Program { file: "entraclaw".into(), arguments: vec!["work".to_owned()] };
        machine.start_detached(&program).unwrap();
        let (first, started) = machine.next_started().unwrap();
        assert_eq!(started, program);
        machine.end(&first);
        machine.start_detached(&program).unwrap();
        let (second, _) = machine.next_started().unwrap();
        assert_eq!((first.pid, machine.is_alive(&first)), (second.pid, false));
        assert!(!machine.end_group(&first, Ending::Kill).unwrap());
        assert!(machine.is_alive(&second));
        let boot = machine.boot_id();
        machine.restart();
        assert!(!machine.is_alive(&second) && machine.boot_id() != boot);
    }
}

//! The processes seam: to start a program that outlives this one, to know whether a process still runs, and to end a
//! whole group of them.
//!
//! It must never take a process for another one that has got its number, where the system tells when a process began.

mod simulated;
mod system;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::str::FromStr;

pub use simulated::SimulatedProcesses;
pub use system::SystemProcesses;
#[cfg(target_os = "linux")]
pub use system::{Seen, look};

/// A process that no other one is mistaken for: its number and, where the system tells, when it began.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessId {
    /// Its number. The leader of a group gives the group its number.
    pub pid: u32,
    /// When it began, in the system's own form.
    pub began: Option<String>,
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.began {
            Some(began) => write!(f, "{}-{began}", self.pid),
            None => write!(f, "{}", self.pid),
        }
    }
}

impl FromStr for ProcessId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (pid, began) = text.split_once('-').map_or((text, None), |(pid, began)| (pid, Some(began)));
        Ok(Self { pid: pid.parse()?, began: began.map(str::to_owned) })
    }
}

/// A program to start, without a shell. It gets no input, and its output goes nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The program's file.
    pub file: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

/// How a group of processes is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Each process may tidy up first.
    Ask,
    /// The system ends them.
    Kill,
}

/// What the system does with processes.
pub trait Processes: Send + Sync {
    /// Starts a program that goes on when this process ends. It leads a group of its own and is no child of this process,
    /// so that whatever ends this process with its children leaves it alone.
    fn start_detached(&self, program: &Program) -> io::Result<()>;
    /// The identity of a process that runs.
    fn identify(&self, pid: u32) -> Option<ProcessId>;
    /// Whether a process runs. One that can't be looked for counts as running.
    fn is_alive(&self, process: &ProcessId) -> bool;
    /// Ends the group that `leader` leads or led, and all that is left in it; and where `leader` began a session and the
    /// system tells, everything else in that session. Nothing happens where the number belongs to
    /// another process now. Returns whether there was a group.
    fn end_group(&self, leader: &ProcessId, ending: Ending) -> io::Result<bool>;
    /// Ends every process below this one; a group's own end misses those that left the group. Returns how many there were.
    fn end_descendants(&self, ending: Ending) -> usize;
    /// What changes whenever the machine is started, where the system tells.
    fn boot_id(&self) -> Option<String>;
}

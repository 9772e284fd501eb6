//! The processes seam: it starts a program that outlives this one, tells whether a process still runs, and ends a whole
//! group of processes.
//!
//! It must never confuse a process with another that got the same number, where the system tells when a process began.

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

/// The identity of a process: its number and, where the system tells, when it began.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessId {
    /// The number. The leader of a group gives the group its number.
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

/// A program to start without a shell. It gets no input, and its output is discarded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The path of the program.
    pub file: PathBuf,
    /// The arguments after the program's name.
    pub arguments: Vec<String>,
}

/// How a group of processes is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Each process may clean up first.
    Ask,
    /// The system ends them at once.
    Kill,
}

/// The operations of the system on processes.
pub trait Processes: Send + Sync {
    /// Starts a program that goes on when this process ends. It leads a group of its own and is no child of this process,
    /// so that ending this process and its children leaves it alone.
    fn start_detached(&self, program: &Program) -> io::Result<()>;
    /// The identity of a running process, or `None` if there is no such process.
    fn identify(&self, pid: u32) -> Option<ProcessId>;
    /// Whether a process runs. It counts as running if the system can't tell.
    fn is_alive(&self, process: &ProcessId) -> bool {
        self.identify(process.pid).is_some_and(|now| process.began.is_none() || now == *process)
    }
    /// Ends every process of the group that `leader` leads or led. If `leader` began a session and the system lists
    /// sessions, everything else in that session is ended too. Does nothing if the number belongs to another process now.
    /// Returns whether there was a group.
    fn end_group(&self, leader: &ProcessId, ending: Ending) -> io::Result<bool>;
    /// Ends every process below this one, including those that left its group, but not a spared one nor what is below it.
    /// Returns how many there were.
    fn end_descendants(&self, ending: Ending, spared: &[ProcessId]) -> usize;
    /// The processes below another one; none where the system does not tell which process started which.
    fn below(&self, process: &ProcessId) -> Vec<ProcessId>;
    /// The memory of a process and of those below it, in bytes, in which shared pages count for each; `None` where the
    /// system does not tell.
    fn memory_bytes(&self, process: &ProcessId) -> Option<u64>;
    /// A value that changes with every start of the machine, where the system has one.
    fn boot_id(&self) -> Option<String>;
}

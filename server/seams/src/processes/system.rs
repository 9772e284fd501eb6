//! The processes of this machine.
//! It must never signal a process that is neither below this one nor of a named group.

use std::io;
use std::process::{Command, Stdio};

use super::{Ending, ProcessId, Processes, Program};

/// The adapter to the real processes of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemProcesses;

impl Processes for SystemProcesses {
    /// Waits for the program, which itself starts a second one that goes on, and ends at once. So the second one is no child
    /// of this process, and no zombie is left.
    fn start_detached(&self, program: &Program) -> io::Result<()> {
        let mut command = Command::new(&program.file);
        command.args(&program.arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        platform::detach(&mut command);
        let status = command.status()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("it ended with {status}"))) }
    }

    fn identify(&self, pid: u32) -> Option<ProcessId> {
        platform::identify(pid)
    }

    fn end_group(&self, leader: &ProcessId, ending: Ending) -> io::Result<bool> {
        platform::end_group(leader, ending)
    }

    fn end_descendants(&self, ending: Ending, spared: &[ProcessId]) -> usize {
        platform::end_descendants(ending, spared)
    }

    fn below(&self, process: &ProcessId) -> Vec<ProcessId> {
        platform::below(process)
    }

    fn memory_bytes(&self, process: &ProcessId) -> Option<u64> {
        platform::memory_bytes(process)
    }

    fn boot_id(&self) -> Option<String> {
        platform::boot_id()
    }
}

#[cfg(target_os = "linux")]
pub use linux::{Seen, look};

#[cfg(target_os = "linux")]
mod linux {
    use super::ProcessId;

    /// A process as the system describes it.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Seen {
        /// The name of its program, which the system shortens.
        pub name: String,
        /// The number of the process that started it or adopted it.
        pub parent: u32,
        /// The session that it belongs to: the number of the process that began the session.
        pub session: u32,
        /// When it began, in the system's own form.
        pub began: String,
    }

    /// Looks at a process; `None` if no process of this number runs.
    #[expect(clippy::disallowed_methods, reason = "the system describes a process in a file")]
    pub fn look(pid: u32) -> Option<Seen> {
        read(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Reads `PID (NAME) STATE PARENT …`. The name may hold any character; the start time is the 22nd field.
    fn read(text: &str) -> Option<Seen> {
        let (head, rest) = text.rsplit_once(')')?;
        let name = head.split_once('(')?.1.to_owned();
        let mut fields = rest.split_ascii_whitespace();
        // A zombie has ended and only waits for its parent.
        let _alive = fields.next().filter(|state| !matches!(*state, "Z" | "X"))?;
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        let began = fields.nth(15)?.to_owned();
        Some(Seen { name, parent, session, began })
    }

    /// Every running process.
    pub(super) fn all() -> Vec<(u32, Seen)> {
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        numbers.filter_map(|pid| Some((pid, look(pid)?))).collect()
    }

    /// The processes below another one, but not a spared one nor what is below it.
    pub(super) fn below(top: u32, spared: &[ProcessId]) -> Vec<ProcessId> {
        let id = |pid: u32, seen: &Seen| ProcessId { pid, began: Some(seen.began.clone()) };
        let mut all = all();
        all.retain(|(pid, seen)| {
            !spared.iter().any(|spared| spared.pid == *pid && *spared == id(*pid, seen))
        });
        let mut found: Vec<ProcessId> = Vec::new();
        let mut parents = vec![top];
        while let Some(parent) = parents.pop() {
            for (pid, seen) in all.iter().filter(|(_, seen)| seen.parent == parent) {
                found.push(id(*pid, seen));
                parents.push(*pid);
            }
        }
        found
    }

    /// The resident memory of a process, in bytes.
    #[expect(clippy::disallowed_methods, reason = "the system describes a process in a file")]
    pub(super) fn resident_bytes(pid: u32) -> Option<u64> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let kilobytes = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        kilobytes.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_process_with_any_name_is_read() {
            let fields: Vec<String> = (5..=52).map(|n| n.to_string()).collect();
            let seen = read(&format!("42 (a) b (c)) S 7 {}\n", fields.join(" "))).unwrap();
            assert_eq!((seen.name.as_str(), seen.parent, seen.began.as_str()), ("a) b (c)", 7, "22"));
            assert!(read(&format!("42 (gone) Z 7 {}", fields.join(" "))).is_none());
            assert_eq!(seen.session, 6);
            for broken in ["", "42", "42 (x)", "42 (x) S", "42 (x) S y 1 2"] {
                assert!(read(broken).is_none(), "{broken}");
            }
        }
    }
}

#[cfg(unix)]
mod platform {
    use super::{Command, Ending, ProcessId, io};
    use nix::errno::Errno;
    use nix::sys::signal::{Signal, kill, killpg};
    use nix::unistd::Pid;
    use std::os::unix::process::CommandExt as _;

    /// Signals of the host and of the terminal don't reach a separate group.
    pub(super) fn detach(command: &mut Command) {
        command.process_group(0);
    }

    fn raw(pid: u32) -> Option<Pid> {
        // To `kill`, 0 and 1 name every process of a group or of the machine.
        i32::try_from(pid).ok().filter(|pid| *pid > 1).map(Pid::from_raw)
    }

    fn signal_of(ending: Ending) -> Signal {
        match ending {
            Ending::Ask => Signal::SIGTERM,
            Ending::Kill => Signal::SIGKILL,
        }
    }

    #[cfg(target_os = "linux")]
    pub(super) fn identify(pid: u32) -> Option<ProcessId> {
        super::look(pid).map(|seen| ProcessId { pid, began: Some(seen.began) })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn identify(pid: u32) -> Option<ProcessId> {
        exists(pid).then_some(ProcessId { pid, began: None })
    }

    #[cfg(not(target_os = "linux"))]
    fn exists(pid: u32) -> bool {
        raw(pid).is_some_and(|pid| kill(pid, None) != Err(Errno::ESRCH))
    }

    pub(super) fn end_group(leader: &ProcessId, ending: Ending) -> io::Result<bool> {
        let Some(group) = raw(leader.pid) else { return Ok(false) };
        // A group keeps its number until its last process ends, so only a new leader with this number means another group.
        if identify(leader.pid).is_some_and(|now| leader.began.is_some() && now != *leader) {
            return Ok(false);
        }
        let others = end_session(leader.pid, ending);
        match killpg(group, signal_of(ending)) {
            Ok(()) => Ok(true),
            Err(Errno::ESRCH) => Ok(others > 0),
            Err(error) => Err(error.into()),
        }
    }

    /// Ends programs that lead groups of their own, as they stay in the session of the process that began it.
    #[cfg(target_os = "linux")]
    fn end_session(leader: u32, ending: Ending) -> usize {
        let all = super::linux::all();
        let below = all.iter().filter(|(pid, seen)| seen.session == leader && *pid != leader);
        below.filter_map(|(pid, _)| raw(*pid)).filter(|pid| kill(*pid, signal_of(ending)).is_ok()).count()
    }

    #[cfg(not(target_os = "linux"))]
    fn end_session(_leader: u32, _ending: Ending) -> usize {
        0
    }

    #[cfg(target_os = "linux")]
    pub(super) fn end_descendants(ending: Ending, spared: &[ProcessId]) -> usize {
        let below = super::linux::below(std::process::id(), spared);
        let ended = below.iter().filter_map(|process| raw(process.pid));
        ended.filter(|pid| kill(*pid, signal_of(ending)).is_ok()).count()
    }

    /// These systems don't tell which process started which.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn end_descendants(_ending: Ending, _spared: &[ProcessId]) -> usize {
        0
    }

    #[cfg(target_os = "linux")]
    pub(super) fn below(process: &ProcessId) -> Vec<ProcessId> {
        if identify(process.pid).as_ref() == Some(process) {
            super::linux::below(process.pid, &[])
        } else {
            Vec::new()
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn below(_process: &ProcessId) -> Vec<ProcessId> {
        Vec::new()
    }

    #[cfg(target_os = "linux")]
    pub(super) fn memory_bytes(process: &ProcessId) -> Option<u64> {
        let own = super::linux::resident_bytes(process.pid)?;
        let below = below(process);
        Some(own + below.iter().filter_map(|one| super::linux::resident_bytes(one.pid)).sum::<u64>())
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn memory_bytes(_process: &ProcessId) -> Option<u64> {
        None
    }

    #[cfg(target_os = "linux")]
    #[expect(clippy::disallowed_methods, reason = "the system describes itself in a file")]
    pub(super) fn boot_id() -> Option<String> {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(text.trim().to_owned()).filter(|id| !id.is_empty())
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn boot_id() -> Option<String> {
        None
    }
}

#[cfg(not(unix))]
mod platform {
    use super::{Command, Ending, ProcessId, Stdio, io};
    use std::os::windows::process::CommandExt as _;

    /// DETACHED_PROCESS and CREATE_NEW_PROCESS_GROUP.
    const DETACHED: u32 = 0x0000_0008 | 0x0000_0200;

    pub(super) fn detach(command: &mut Command) {
        command.creation_flags(DETACHED);
    }

    pub(super) fn identify(pid: u32) -> Option<ProcessId> {
        Some(ProcessId { pid, began: None })
    }

    pub(super) fn end_group(leader: &ProcessId, _ending: Ending) -> io::Result<bool> {
        let mut command = Command::new("taskkill");
        command.args(["/T", "/F", "/PID", &leader.pid.to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command.status()?.success())
    }

    pub(super) fn end_descendants(_ending: Ending, _spared: &[ProcessId]) -> usize {
        0
    }

    pub(super) fn below(_process: &ProcessId) -> Vec<ProcessId> {
        Vec::new()
    }

    pub(super) fn memory_bytes(_process: &ProcessId) -> Option<u64> {
        None
    }

    pub(super) fn boot_id() -> Option<String> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_process_runs_and_one_with_another_start_time_does_not() {
        let id = SystemProcesses.identify(std::process::id()).unwrap();
        assert!(SystemProcesses.is_alive(&id));
        assert_eq!(id.to_string().parse::<ProcessId>().unwrap(), id);
        let other = ProcessId { began: Some("1".to_owned()), ..id };
        assert!(!SystemProcesses.is_alive(&other));
        assert!(!SystemProcesses.end_group(&other, Ending::Kill).unwrap(), "it is not signalled");
        assert!(SystemProcesses.boot_id().is_some());
    }

    #[test]
    fn a_child_is_below_this_process_until_it_ends() {
        let own = SystemProcesses.identify(std::process::id()).unwrap();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let id = SystemProcesses.identify(child.id()).unwrap();
        assert!(SystemProcesses.below(&own).contains(&id));
        assert!(SystemProcesses.memory_bytes(&own) > SystemProcesses.memory_bytes(&id));
        assert!(!linux::below(own.pid, std::slice::from_ref(&id)).contains(&id), "it is spared");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!SystemProcesses.below(&own).contains(&id));
        assert!(SystemProcesses.below(&id).is_empty() && SystemProcesses.memory_bytes(&id).is_none());
    }

    #[test]
    fn special_numbers_are_never_signalled() {
        for pid in [0, 1, u32::MAX] {
            let id = ProcessId { pid, began: None };
            assert!(!SystemProcesses.end_group(&id, Ending::Kill).unwrap(), "{pid}");
        }
    }
}

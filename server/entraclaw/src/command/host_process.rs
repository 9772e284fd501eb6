//! Finds the process of the host that started this one, and tells whether it still runs. A session is recognised by it,
//! because a session's id changes and its process does not.
//! It must never signal a process, and never confuse another process that got the same number with the host.

/// The id of the host's process: its number and, where the system tells, when it began. `None` if it can't be found. The
/// environment is not used: a host that was started in another one's shell may have inherited it.
pub(super) fn find() -> Option<String> {
    system::id_of(system::starter()?)
}

/// Whether the host with that id has ended. It counts as running if the system can't tell.
pub(super) fn has_ended(id: &str) -> bool {
    let (pid, began) = id.split_once('-').map_or((id, None), |(pid, began)| (pid, Some(began)));
    pid.parse().is_ok_and(|pid| system::has_ended(pid, began))
}

#[cfg(target_os = "linux")]
mod system {
    use entraclaw_seams::processes::look;

    /// The shells with which a host starts its hooks; they may end later than the host.
    const SHELLS: [&str; 7] = ["sh", "dash", "bash", "zsh", "ash", "ksh", "fish"];
    /// Most ancestors that are looked at.
    const ANCESTORS_MAX: usize = 8;

    /// The nearest ancestor of this process that is no shell.
    pub(super) fn starter() -> Option<u32> {
        let mut pid = std::os::unix::process::parent_id();
        for _ in 0..ANCESTORS_MAX {
            let process = look(pid)?;
            if !SHELLS.contains(&process.name.as_str()) {
                return Some(pid);
            }
            pid = process.parent;
        }
        None
    }

    pub(super) fn id_of(pid: u32) -> Option<String> {
        look(pid).filter(|_| pid > 1).map(|process| format!("{pid}-{}", process.began))
    }

    pub(super) fn has_ended(pid: u32, began: Option<&str>) -> bool {
        look(pid).is_none_or(|process| began.is_some_and(|began| began != process.began))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn this_process_runs_and_one_with_another_start_time_does_not() {
            let id = id_of(std::process::id()).unwrap();
            assert!(!super::super::has_ended(&id));
            assert!(super::super::has_ended(&format!("{}-1", std::process::id())));
            assert!(!super::super::has_ended("no number"));
            // Where the host has ended, the system's first process is the parent, and that is no host.
            assert_eq!((id_of(0), id_of(1)), (None, None));
        }
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
mod system {
    use nix::errno::Errno;
    use nix::sys::signal::kill;
    use nix::unistd::Pid;

    /// The parent: the command that setup writes replaces the shell, so the parent is the host.
    pub(super) fn starter() -> Option<u32> {
        Some(std::os::unix::process::parent_id()).filter(|pid| *pid > 1)
    }

    pub(super) fn id_of(pid: u32) -> Option<String> {
        Some(pid.to_string())
    }

    /// Whether no process of this number can be signalled; no signal is sent.
    pub(super) fn has_ended(pid: u32, _began: Option<&str>) -> bool {
        i32::try_from(pid).is_ok_and(|pid| kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH))
    }
}

#[cfg(not(unix))]
mod system {
    /// These systems don't tell which process started which.
    pub(super) fn starter() -> Option<u32> {
        None
    }

    pub(super) fn id_of(_pid: u32) -> Option<String> {
        None
    }

    pub(super) fn has_ended(_pid: u32, _began: Option<&str>) -> bool {
        false
    }
}

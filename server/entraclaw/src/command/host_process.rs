//! Which process the host is that started this one, and whether it still runs. A session is recognised by it: its id
//! changes, and its process does not.
//! It must never signal a process, and never take another one for the host because it has got the same number.

/// The id of the host's process: its number, and where the system tells it when it began. None where that can't be told.
/// A variable of the environment is not asked: a host that was started in another one's shell may have inherited it.
pub(super) fn find() -> Option<String> {
    system::id_of(system::starter()?)
}

/// Whether the host of that id has ended. One that can't be looked for counts as alive.
pub(super) fn has_ended(id: &str) -> bool {
    let (pid, began) = id.split_once('-').map_or((id, None), |(pid, began)| (pid, Some(began)));
    pid.parse().is_ok_and(|pid| system::has_ended(pid, began))
}

#[cfg(target_os = "linux")]
mod system {
    use entraclaw_seams::processes::look;

    /// Shells that a host starts its hooks with; they end later than the host may.
    const SHELLS: [&str; 7] = ["sh", "dash", "bash", "zsh", "ash", "ksh", "fish"];
    /// Longest way up.
    const ANCESTORS_MAX: usize = 8;

    /// The first above this one that is no shell.
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
        fn this_process_lives_and_one_that_began_at_another_time_does_not() {
            let id = id_of(std::process::id()).unwrap();
            assert!(!super::super::has_ended(&id));
            assert!(super::super::has_ended(&format!("{}-1", std::process::id())));
            assert!(!super::super::has_ended("no number"));
        }
    }
}

#[cfg(all(unix, not(target_os = "linux")))]
mod system {
    use nix::errno::Errno;
    use nix::sys::signal::kill;
    use nix::unistd::Pid;

    /// The command that setup writes takes the place of the shell, so that this is the host.
    pub(super) fn starter() -> Option<u32> {
        Some(std::os::unix::process::parent_id()).filter(|pid| *pid > 1)
    }

    pub(super) fn id_of(pid: u32) -> Option<String> {
        Some(pid.to_string())
    }

    /// Asks whether it could be signalled, and signals nothing.
    pub(super) fn has_ended(pid: u32, _began: Option<&str>) -> bool {
        i32::try_from(pid).is_ok_and(|pid| kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH))
    }
}

#[cfg(not(unix))]
mod system {
    /// Nothing here tells who started whom.
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

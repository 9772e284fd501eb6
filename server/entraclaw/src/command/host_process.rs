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
    /// Shells that a host starts its hooks with; they end later than the host may.
    const SHELLS: [&str; 7] = ["sh", "dash", "bash", "zsh", "ash", "ksh", "fish"];
    /// Longest way up.
    const ANCESTORS_MAX: usize = 8;

    struct Process {
        name: String,
        parent: u32,
        began: String,
    }

    #[expect(clippy::disallowed_methods, reason = "what the system says of a process stands in a file")]
    fn look(pid: u32) -> Option<Process> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        read(&text)
    }

    /// `PID (NAME) STATE PARENT …`, where the name may hold anything; when it began is the 22nd.
    fn read(text: &str) -> Option<Process> {
        let (head, rest) = text.rsplit_once(')')?;
        let name = head.split_once('(')?.1.to_owned();
        let mut fields = rest.split_ascii_whitespace();
        // What has ended and waits for its parent to ask is gone.
        let _alive = fields.next().filter(|state| !matches!(*state, "Z" | "X"))?;
        let parent = fields.next()?.parse().ok()?;
        let began = fields.nth(17)?.to_owned();
        Some(Process { name, parent, began })
    }

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
        fn a_process_is_read_whatever_its_name() {
            let fields: Vec<String> = (5..=52).map(|n| n.to_string()).collect();
            let process = read(&format!("42 (a) b (c)) S 7 {}\n", fields.join(" "))).unwrap();
            assert_eq!(
                (process.name.as_str(), process.parent, process.began.as_str()),
                ("a) b (c)", 7, "22")
            );
            assert!(read(&format!("42 (gone) Z 7 {}", fields.join(" "))).is_none());
            for broken in ["", "42", "42 (x)", "42 (x) S", "42 (x) S y 1 2"] {
                assert!(read(broken).is_none(), "{broken}");
            }
        }

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

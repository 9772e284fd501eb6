//! What this system can enforce.

use std::path::Path;

/// What is enforced and what is missing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Enforcement {
    /// What is enforced, one thing an item.
    pub enforced: Vec<String>,
    /// What can't be enforced, one thing an item; empty if the whole policy is.
    pub missing: Vec<String>,
    /// Whether namespaces can be entered.
    pub(crate) namespaces: bool,
}

impl Enforcement {
    /// Whether a whole policy is enforced.
    pub fn is_whole(&self) -> bool {
        self.missing.is_empty()
    }
}

/// Asks the system what it can enforce, by trying it in a process of its own.
///
/// `program` is a program that calls [`crate::become_command`].
#[cfg(target_os = "linux")]
pub async fn probe(program: &Path) -> Enforcement {
    use std::process::Stdio;
    use std::time::Duration;

    /// The longest time that a try takes.
    const TRY: Duration = Duration::from_secs(5);

    let mut found = Enforcement::default();
    for (what, stage) in [
        ("files, TCP, signals and abstract sockets by Landlock (Linux 6.12 or newer)", "try-landlock"),
        ("system calls by seccomp", "try-seccomp"),
        ("a view of processes and mounts of its own (unprivileged user namespaces)", "try-namespaces"),
    ] {
        let mut command = tokio::process::Command::new(program);
        command.args([crate::HIDDEN_COMMAND, stage]).env_clear().kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let ended = tokio::time::timeout(TRY, command.status()).await;
        let holds = ended.is_ok_and(|status| status.is_ok_and(|status| status.success()));
        found.namespaces |= holds && stage == "try-namespaces";
        if holds { &mut found.enforced } else { &mut found.missing }.push(what.to_owned());
    }
    found
}

/// Nothing is enforced on this system.
#[cfg(not(target_os = "linux"))]
pub async fn probe(_program: &Path) -> Enforcement {
    let missing = vec!["a sandbox for this operating system".to_owned()];
    Enforcement { missing, ..Enforcement::default() }
}

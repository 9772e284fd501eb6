//! Commands on systems without a sandbox of ours: only what the person has approved gets here.

use std::collections::BTreeMap;
use std::process::Stdio;

use tokio::process::{Child, Command};

use crate::order::CommandLine;

/// Starts a command as it is, without the person's environment.
pub(crate) fn start(command: &CommandLine, environment: &BTreeMap<String, String>) -> std::io::Result<Child> {
    let Some((program, arguments)) = command.words.split_first() else {
        return Err(std::io::Error::other("the command is empty"));
    };
    let mut child = Command::new(program);
    child
        .args(arguments)
        .current_dir(&command.folder)
        .env_clear()
        .envs(environment)
        .envs(&command.environment);
    #[cfg(unix)]
    child.process_group(0);
    child.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true).spawn()
}

/// Ends a command; on Unix with its process group.
pub(crate) fn end(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = child.id().and_then(|id| i32::try_from(id).ok()) {
        let _ =
            nix::sys::signal::killpg(nix::unistd::Pid::from_raw(group), nix::sys::signal::Signal::SIGKILL);
    }
    let _ = child.start_kill();
}

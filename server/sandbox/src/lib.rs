//! Runs a command that may touch only what its policy names: files by Landlock and a view of mounts, sockets and system calls by
//! seccomp, processes, memory and time by limits.
//!
//! The workspace forbids unsafe code, so nothing runs between fork and exec. The parent starts the same binary again with a
//! hidden command ([`become_command`]), in two stages: the *warden* is outside the sandbox, keeps the limits and kills what is
//! left; the *init* puts itself into the sandbox, starts the command and reaps. From the ground up: `policy` and `surroundings`
//! say what is allowed, `protected` what a task may never write, `pin` holds a path to its inode, `order` is what the parent
//! tells the stages, `sandbox` runs a command, `guard` takes back what appeared under a protected name, `worktree` gives a task
//! a tree of its own.
//!
//! It must never run a command with less than its whole policy: what the kernel can't enforce is an error, unless the person
//! has approved the very command.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod ended;
mod error;
mod guard;
#[cfg(target_os = "linux")]
mod linux;
mod order;
mod output;
mod pin;
mod policy;
mod probe;
mod protected;
mod refused;
mod sandbox;
mod surroundings;
mod worktree;

use std::ffi::OsString;
use std::process::ExitCode;

pub use ended::{Cause, Ended};
pub use error::SandboxError;
pub use guard::Guard;
pub use order::CommandLine;
pub use output::Kept;
pub use policy::Policy;
pub use probe::{Enforcement, probe};
pub use protected::{PROTECTED, PROTECTED_IN_GIT, Protected, protected};
pub use refused::Refused;
pub use sandbox::{Approval, Sandbox};
pub use surroundings::{SECRET_FOLDERS, Surroundings};
pub use worktree::{Worktree, WorktreeReport};

/// The first word of the hidden command.
pub const HIDDEN_COMMAND: &str = "sandboxed-command";

/// The exit code of the hidden command when the policy could not be enforced; nothing was run then.
pub const UNENFORCED_EXIT_CODE: u8 = 120;

/// Becomes a stage of the sandbox, if the arguments are the hidden command's; otherwise nothing happens.
///
/// A program calls it first thing in `main`, before it has threads: a process with threads can't enter namespaces.
pub fn become_command(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter();
    if arguments.next()? != HIDDEN_COMMAND {
        return None;
    }
    let stage = arguments.next().unwrap_or_default();
    #[cfg(target_os = "linux")]
    return Some(linux::stage(&stage.to_string_lossy()));
    #[cfg(not(target_os = "linux"))]
    {
        drop(stage);
        Some(ExitCode::from(UNENFORCED_EXIT_CODE))
    }
}

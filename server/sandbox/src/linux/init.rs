//! The stage inside: it takes the policy upon itself, starts the command, and reaps what the command leaves.

use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, getpid, getuid};

use super::mounts::{self, View};
use super::{Failed, calls, failed, files, limits, say_unenforced, tree};
use crate::ended::{Cause, Told};
use crate::order::Order;
use crate::pin::Access;

/// Files of `/proc` that say something of the machine, for when `/proc` is not the command's own.
const MACHINE: &[&str] =
    &["/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems"];

/// Runs the stage.
pub(super) fn run() -> ExitCode {
    let mut line = String::new();
    let read = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)
        .map_err(failed("the end with the warden"))
        .and_then(|()| std::io::stdin().read_to_string(&mut line).map_err(failed("the order")))
        .and_then(|_| serde_json::from_str::<Order>(&line).map_err(failed("the order")));
    let order = match read {
        Ok(order) => order,
        Err(why) => return say_unenforced(&why),
    };
    let mut result = match std::fs::File::create(order.run.join("init.json")) {
        Ok(file) => file,
        Err(error) => return say_unenforced(&error.to_string()),
    };
    close_fds::set_fds_cloexec(3, &[]);
    let told = match enter(&order) {
        Ok(view) => command(&order, view),
        Err(why) => Told { unenforced: Some(why), ..Told::nothing() },
    };
    let written =
        serde_json::to_vec(&told).map_err(std::io::Error::other).and_then(|line| result.write_all(&line));
    match (&told.unenforced, written) {
        (Some(why), _) => say_unenforced(why),
        (None, Err(error)) => say_unenforced(&error.to_string()),
        (None, Ok(())) => ExitCode::SUCCESS,
    }
}

/// Takes the policy upon this process.
fn enter(order: &Order) -> Result<View, Failed> {
    let user = getuid().as_raw();
    let tasks = if order.namespaces { 2 } else { tree::tasks_of(user) };
    let view = if order.namespaces {
        let writes =
            order.grants.iter().filter(|pin| pin.access == Access::Write).map(|pin| pin.path.as_path());
        mounts::make(writes, &order.kept)?
    } else {
        View::default()
    };
    limits::apply(&order.policy, tasks)?;
    let grants: Vec<(OwnedFd, Access)> = order
        .grants
        .iter()
        .map(|pin| Ok((files::open_pinned(pin)?, pin.access)))
        .collect::<Result<_, Failed>>()?;
    for pin in &order.kept {
        files::open_pinned(pin)?;
    }
    let mut fresh: Vec<(&str, Access)> = Vec::new();
    if view.proc {
        fresh.push(("/proc", Access::Read));
    } else if !order.namespaces {
        fresh
            .extend(MACHINE.iter().filter(|path| Path::new(path).exists()).map(|path| (*path, Access::Read)));
    }
    if view.shared_memory {
        fresh.push(("/dev/shm", Access::Write));
    }
    std::env::set_current_dir(&order.command.folder)
        .map_err(|error| format!("{}: {error}", order.command.folder.display()))?;
    limits::drop_capabilities()?;
    nix::sys::prctl::set_no_new_privs().map_err(failed("no new privileges"))?;
    // While a command starts, this process still has the pipe by which it learns that; nothing of it is open to the command.
    nix::sys::prctl::set_dumpable(false).map_err(failed("closed descriptors"))?;
    files::restrict(&grants, &fresh, order.policy.network, order.whole)?;
    calls::restrict(order.policy.network)?;
    Ok(view)
}

/// Starts the command and waits for its end.
fn command(order: &Order, view: View) -> Told {
    let Some((program, arguments)) = order.command.words.split_first() else {
        return Told { cause: Some(Cause::NotStarted("the command is empty".to_owned())), ..Told::nothing() };
    };
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(&order.command.environment)
        .stdin(Stdio::null())
        .process_group(0);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let why = format!("{program}: {error}");
            return Told { cause: Some(Cause::NotStarted(why)), exit_code: Some(127), ..Told::nothing() };
        }
    };
    drop(command);
    let main = Pid::from_raw(i32::try_from(child.id()).unwrap_or_default());
    let status = loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid == main => break ExitStatus::from_raw(code << 8),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == main => {
                break ExitStatus::from_raw(signal as i32);
            }
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(_) => return Told { cause: Some(Cause::Lost), ..Told::nothing() },
        }
    };
    // Only in a view of its own are all processes the command's.
    let left_behind = if view.proc { tree::others(getpid().as_raw()) } else { 0 };
    Told {
        cause: Some(Cause::Exited),
        exit_code: status.code(),
        signal: status.signal(),
        unenforced: None,
        left_behind,
    }
}

//! The stage outside: it lives as long as the parent holds its standard input, keeps the limits that the kernel does not, and
//! leaves no process behind.

use std::io::{BufRead as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;
#[expect(
    clippy::disallowed_types,
    reason = "this process has no runtime, and no clock but the real one"
)]
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::sys::statvfs::statvfs;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getgid, getpid, getppid, getuid, setsid};

use super::{Failed, failed, say_unenforced, tree};
use crate::HIDDEN_COMMAND;
use crate::ended::{Cause, Told};
use crate::order::Order;

/// How often the end of the command is looked for.
const LOOK_MS: u16 = 5;

/// How often processes, memory and disk are counted.
const COUNT: Duration = Duration::from_millis(100);

/// How much this process comes before all others, where it may: the kernel does not hold root to a number of processes, so
/// the count must be quicker than what forks.
const PRIORITY: i32 = -20;

/// How long the killing of what is left may take.
const KILLING: Duration = Duration::from_secs(30);

/// Runs the stage.
pub(super) fn run() -> ExitCode {
    let parent = getppid();
    let started = begin();
    let (order, init) = match started {
        Ok(started) => started,
        Err((order, why)) => {
            if let Some(order) = order {
                tell(&order.run, &Told { unenforced: Some(why.clone()), ..Told::nothing() });
            }
            return say_unenforced(&why);
        }
    };
    let End { cause, is_reaped, parent_let_go } = watch(&order, &init);
    if !is_reaped {
        // In a namespace of processes the kernel kills all with the first one, before another can be started.
        let _ = kill(pid_of(&init), Signal::SIGKILL);
    }
    kill_all();
    let mut told = read(&order.run).unwrap_or_else(Told::nothing);
    told.cause = cause.or(told.cause).or(Some(Cause::Lost));
    tell(&order.run, &told);
    if parent_let_go {
        // The end of the standard input comes a moment before the parent is gone.
        let _ = poll(&mut [], PollTimeout::from(50_u16));
        if getppid() != parent {
            let _ = std::fs::remove_dir_all(&order.private);
        }
    }
    ExitCode::SUCCESS
}

type Begun = Result<(Box<Order>, Child), (Option<Box<Order>>, Failed)>;

fn begin() -> Begun {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).map_err(|error| (None, error.to_string()))?;
    let order: Box<Order> =
        serde_json::from_str(&line).map_err(|error| (None, format!("the order: {error}")))?;
    match prepare(&order, &line) {
        Ok(child) => Ok((order, child)),
        Err(why) => Err((Some(order), why)),
    }
}

fn prepare(order: &Order, line: &str) -> Result<Child, Failed> {
    // A terminal that this process had is not the command's.
    let _ = setsid();
    let _ = rustix::process::setpriority_process(None, PRIORITY);
    close_fds::set_fds_cloexec(3, &[]);
    nix::sys::prctl::set_child_subreaper(true).map_err(failed("the reaping of what is left"))?;
    if order.namespaces {
        enter_namespaces(order.policy.network)?;
    }
    let mut command = Command::new("/proc/self/exe");
    command.args([HIDDEN_COMMAND, "init"]).env_clear().stdin(Stdio::piped());
    let mut init = command.spawn().map_err(failed("the stage inside"))?;
    let written = init.stdin.take().map(|mut stdin| stdin.write_all(line.as_bytes()));
    match written {
        Some(Ok(())) => Ok(init),
        _ => Err("the stage inside did not read its order".to_owned()),
    }
}

/// Enters a user namespace, and lets the next child be the first process of a namespace of processes.
///
/// The user keeps its number, so that files are whose they were. The right to mount is handed to the stage inside.
///
/// Without the network there is not even one to see.
pub(super) fn enter_namespaces(network: bool) -> Result<(), Failed> {
    let (user, group) = (getuid(), getgid());
    let what = "user namespaces";
    let own = if network { CloneFlags::empty() } else { CloneFlags::CLONE_NEWNET };
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWPID | own).map_err(failed(what))?;
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ] {
        write(Path::new(file), text.as_bytes()).map_err(|error| format!("{what}: {file}: {error}"))?;
    }
    for set in [caps::CapSet::Inheritable, caps::CapSet::Ambient] {
        caps::raise(None, set, caps::Capability::CAP_SYS_ADMIN).map_err(failed(what))?;
    }
    Ok(())
}

#[expect(
    clippy::disallowed_methods,
    reason = "these are the stages' own files, in a process without a storage"
)]
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    std::fs::write(path, bytes)
}

#[expect(
    clippy::disallowed_methods,
    reason = "these are the stages' own files, in a process without a storage"
)]
fn read(run: &Path) -> Option<Told> {
    serde_json::from_slice(&std::fs::read(run.join("init.json")).ok()?).ok()
}

fn tell(run: &Path, told: &Told) {
    if let Ok(line) = serde_json::to_vec(told) {
        let _ = write(&run.join("ended.json"), &line);
    }
}

/// How the watch ended.
struct End {
    /// Why the command was ended, if not by itself.
    cause: Option<Cause>,
    /// Whether the stage inside has been reaped, so that its number may be another's.
    is_reaped: bool,
    /// Whether the parent closed the standard input.
    parent_let_go: bool,
}

fn pid_of(init: &Child) -> Pid {
    Pid::from_raw(i32::try_from(init.id()).unwrap_or(i32::MAX))
}

/// Waits for the end.
#[expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this process has no clock but the real one"
)]
fn watch(order: &Order, init: &Child) -> End {
    let ended = |cause, parent_let_go| End { cause: Some(cause), is_reaped: false, parent_let_go };
    let begin = Instant::now();
    let disk = || order.policy.writes.first().and_then(|folder| free_bytes(folder));
    let disk_before = disk();
    let longest = Duration::from_millis(order.policy.time_ms_max);
    let mut counted = begin;
    let stdin = std::io::stdin();
    loop {
        let mut held = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        let event = poll(&mut held, PollTimeout::from(LOOK_MS));
        if event.is_ok_and(|events| events > 0) {
            return ended(Cause::Stopped, true);
        }
        if reap(Some(init)) {
            return End { cause: None, is_reaped: true, parent_let_go: false };
        }
        if begin.elapsed() >= longest {
            return ended(Cause::TimeLimit, false);
        }
        if counted.elapsed() >= COUNT {
            counted = Instant::now();
            if let Some(cause) = over(order, disk_before, disk()) {
                return ended(cause, false);
            }
        }
    }
}

fn over(order: &Order, before: Option<u64>, now: Option<u64>) -> Option<Cause> {
    let policy = &order.policy;
    let below = tree::below(getpid().as_raw());
    // The stage inside is below too.
    if below.len() as u64 > policy.processes_max.saturating_add(1) {
        return Some(Cause::ProcessLimit);
    }
    let memory: u64 = below.iter().map(|process| tree::memory_bytes(process.pid)).sum();
    if memory > policy.memory_all_bytes_max {
        return Some(Cause::MemoryLimit);
    }
    let lost = before?.saturating_sub(now?);
    (lost > policy.disk_bytes_max).then_some(Cause::DiskLimit)
}

fn free_bytes(folder: &Path) -> Option<u64> {
    let found = statvfs(folder).ok()?;
    Some(found.blocks_free() * found.fragment_size())
}

/// Reaps everything that has ended; true if the stage inside, or the last child, was among it.
fn reap(init: Option<&Child>) -> bool {
    loop {
        match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) => return false,
            Ok(status) => {
                if init.is_some_and(|init| status.pid() == Some(pid_of(init))) {
                    return true;
                }
            }
            Err(Errno::EINTR) => {}
            Err(_) => return true,
        }
    }
}

/// Kills everything below this process, until nothing is left. What is orphaned comes to this process.
#[expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "this process has no clock but the real one"
)]
fn kill_all() {
    let begin = Instant::now();
    while begin.elapsed() < KILLING {
        let below = tree::below(getpid().as_raw());
        for process in below.iter().filter(|process| !process.is_zombie) {
            let _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
        }
        if reap(None) {
            return;
        }
        let _ = poll(&mut [], PollTimeout::from(1_u16));
    }
}

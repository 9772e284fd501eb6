//! Limits of one process, by the kernel; the warden keeps those of all together.

use nix::sys::resource::{Resource, setrlimit};

use super::{Failed, failed};
use crate::policy::Policy;

/// How much a command stands back.
const PRIORITY: i32 = 10;

/// Limits this process and all that it starts. `tasks` is how many tasks count already against the limit of processes.
pub(super) fn apply(policy: &Policy, tasks: u64) -> Result<(), Failed> {
    // The person and the warden come first, also when the command takes all it can get.
    rustix::process::setpriority_process(None, PRIORITY).map_err(failed("priority"))?;
    let seconds = policy.time_ms_max.div_ceil(1000).saturating_mul(policy.processes_max.max(1));
    for (what, resource, most) in [
        ("processes", Resource::RLIMIT_NPROC, policy.processes_max.saturating_add(tasks)),
        ("memory", Resource::RLIMIT_DATA, policy.memory_bytes_max),
        ("file size", Resource::RLIMIT_FSIZE, policy.file_bytes_max),
        ("core dumps", Resource::RLIMIT_CORE, 0),
        ("locked memory", Resource::RLIMIT_MEMLOCK, 64 * 1024 * 1024),
        ("processor time", Resource::RLIMIT_CPU, seconds),
    ] {
        let (_, hard) = nix::sys::resource::getrlimit(resource).map_err(failed(what))?;
        setrlimit(resource, most.min(hard), most.min(hard)).map_err(failed(what))?;
    }
    Ok(())
}

/// Drops every capability, so that root is a plain user.
pub(super) fn drop_capabilities() -> Result<(), Failed> {
    for set in
        [caps::CapSet::Ambient, caps::CapSet::Effective, caps::CapSet::Inheritable, caps::CapSet::Permitted]
    {
        caps::clear(None, set).map_err(failed("capabilities"))?;
    }
    Ok(())
}

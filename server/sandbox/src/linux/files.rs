//! Files, TCP, signals and abstract sockets, by Landlock.

use std::os::fd::OwnedFd;
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use nix::fcntl::{AT_FDCWD, OFlag, OpenHow, ResolveFlag, openat2};
use nix::sys::stat::{SFlag, fstat};

use super::{Failed, failed};
use crate::pin::{Access, Pin};

/// What must be enforced: the first kernel whose Landlock knows truncation, devices, TCP and signals.
const NEEDED: ABI = ABI::V6;

/// Opens a pinned path without following any link, and compares it with what the parent saw.
pub(super) fn open_pinned(pin: &Pin) -> Result<OwnedFd, Failed> {
    let opened = open(&pin.path)?;
    let found = fstat(&opened).map_err(failed("a granted path"))?;
    if (found.st_dev, found.st_ino) != (pin.device, pin.inode) {
        return Err(format!("{} is not what it was when it was granted", pin.path.display()));
    }
    Ok(opened)
}

fn open(path: &Path) -> Result<OwnedFd, Failed> {
    let how = OpenHow::new().flags(OFlag::O_PATH | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC);
    let how = how.resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    openat2(AT_FDCWD, path, how).map_err(|error| format!("{}: {error}", path.display()))
}

fn rights(access: Access) -> BitFlags<AccessFs> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::Execute;
    match access {
        Access::Read => read,
        Access::Device => AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate,
        Access::Write => {
            read | AccessFs::WriteFile
                | AccessFs::Truncate
                | AccessFs::RemoveFile
                | AccessFs::RemoveDir
                | AccessFs::MakeDir
                | AccessFs::MakeReg
                | AccessFs::MakeSym
                | AccessFs::Refer
        }
    }
}

/// Restricts this process and all that it starts to the grants. `fresh` are paths of mounts that the stage has made itself.
pub(super) fn restrict(
    grants: &[(OwnedFd, Access)],
    fresh: &[(&str, Access)],
    network: bool,
    whole: bool,
) -> Result<(), Failed> {
    let level = if whole { CompatLevel::HardRequirement } else { CompatLevel::BestEffort };
    let what = "Landlock";
    let mut rules = Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(NEEDED))
        .and_then(|rules| rules.scope(Scope::from_all(NEEDED)))
        .map_err(failed(what))?;
    if !network {
        rules = rules.handle_access(AccessNet::from_all(NEEDED)).map_err(failed(what))?;
    }
    // Newer kernels can refuse sockets by their path too; seccomp refuses them on all.
    rules = rules
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::ResolveUnix)
        .map_err(failed(what))?;
    let mut created = rules.set_compatibility(level).create().map_err(failed(what))?;
    let opened = fresh
        .iter()
        .map(|(path, access)| Ok((open(Path::new(path))?, *access)))
        .collect::<Result<Vec<_>, Failed>>()?;
    for (file, access) in grants.iter().chain(&opened) {
        let found = fstat(file).map_err(failed("a granted path"))?;
        let is_folder = SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR;
        let allowed = if is_folder { rights(*access) } else { rights(*access) & AccessFs::from_file(NEEDED) };
        created = created.add_rule(PathBeneath::new(file, allowed)).map_err(failed(what))?;
    }
    let status = created.restrict_self().map_err(failed(what))?;
    if whole && (status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs) {
        return Err("Landlock: this kernel does not enforce it".to_owned());
    }
    Ok(())
}

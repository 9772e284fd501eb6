//! System calls that are refused, by seccomp.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter, sock_filter,
};

use super::{Failed, failed};

/// The newest system call that this list was made for, `file_setattr` of Linux 6.17; newer ones do not exist for a command.
const NEWEST: u32 = 469;

/// Refused always, with `EPERM`: what looks into or changes other processes, the kernel, mounts, namespaces, keys, or shares
/// memory by names that Landlock does not see.
const REFUSED: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_send_signal,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_lookup_dcookie,
    // `open_tree_attr` of Linux 6.15, which libc does not name yet.
    467,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// Refused with `ENOSYS`, for which programs have another way: `clone3` and
/// `openat2` hide their flags from a filter, memory without a name
/// is outside the limits.
const MISSING: &[c_long] =
    &[libc::SYS_clone3, libc::SYS_openat2, libc::SYS_memfd_create, libc::SYS_memfd_secret];

/// Sockets that wait or connect: refused without the network. A pair of sockets that is connected from the start is allowed.
const SOCKETS: &[c_long] =
    &[libc::SYS_connect, libc::SYS_bind, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4];

/// The bits of a mode by which others run a file as its owner or group.
const BITS: [u64; 2] = [0o4000, 0o2000];

/// Calls that set a mode, and which of their arguments it is.
const MODES: &[(c_long, u8)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    // `fchmodat2` of Linux 6.6.
    (452, 2),
];

/// Calls that make a file, with the arguments of their flags and of its mode.
const OPENS: &[(c_long, u8, u8)] = &[
    (libc::SYS_openat, 2, 3),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
];

/// `clone` with any of these makes a namespace.
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Requests to a terminal that put text into its input, or make it something else.
const TERMINAL: &[u64] = &[libc::TIOCSTI, 0x541c, 0x5423];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refuses the calls for this process and all that it starts.
pub(super) fn restrict(network: bool) -> Result<(), Failed> {
    nix::sys::prctl::set_no_new_privs().map_err(failed("no new privileges"))?;
    let missing = compile(MISSING.iter().map(|call| (*call, Vec::new())).collect(), libc::ENOSYS)?;
    for program in [with_end(missing), compile(rules(network)?, libc::EPERM)?] {
        apply_filter(&program).map_err(failed("seccomp"))?;
    }
    Ok(())
}

fn compile(rules: Rules, error: i32) -> Result<BpfProgram, Failed> {
    let architecture: TargetArch = std::env::consts::ARCH.try_into().map_err(failed("seccomp"))?;
    let refuse = SeccompAction::Errno(error.unsigned_abs());
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, refuse, architecture).map_err(failed("seccomp"))?;
    filter.try_into().map_err(failed("seccomp"))
}

/// Calls above the newest known one do not exist; those of the x32 form of x86-64 are among them.
fn with_end(program: BpfProgram) -> BpfProgram {
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let error = 0x0005_0000 | libc::ENOSYS.unsigned_abs();
    // Load the number of the call; above the newest one return the error, otherwise go on.
    let mut whole = vec![step(0x20, 0, 0, 0), step(0x25, 0, 1, NEWEST), step(0x06, 0, 0, error)];
    whole.extend(program);
    whole
}

fn rules(network: bool) -> Result<Rules, Failed> {
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    if network {
        let families =
            [libc::AF_INET, libc::AF_INET6].map(|family| (0, Length::Dword, Is::Ne, number(family)));
        rules.insert(libc::SYS_socket, vec![all(families)?]);
    } else {
        rules.insert(libc::SYS_socket, Vec::new());
        rules.extend(SOCKETS.iter().map(|call| (*call, Vec::new())));
    }
    // A pair of datagram sockets could be connected again, to any socket of the system.
    let kinds = [0, libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_RDM];
    let mut pairs = vec![all([(0, Length::Dword, Is::Ne, number(libc::AF_UNIX))])?];
    for kind in kinds {
        pairs.push(all([(1, Length::Dword, Is::MaskedEq(0xf), number(kind))])?);
    }
    rules.insert(libc::SYS_socketpair, pairs);
    let clones = NAMESPACES.iter().map(|flag| {
        let flag = number(*flag);
        all([(0, Length::Qword, Is::MaskedEq(flag), flag)])
    });
    rules.insert(libc::SYS_clone, clones.collect::<Result<_, _>>()?);
    let requests = TERMINAL.iter().map(|request| all([(1, Length::Dword, Is::Eq, *request)]));
    rules.insert(libc::SYS_ioctl, requests.collect::<Result<_, _>>()?);
    refuse_bits(&mut rules)?;
    // Limits, priorities and processors of other processes of the same user.
    for call in
        [libc::SYS_prlimit64, libc::SYS_sched_setscheduler, libc::SYS_sched_setparam, libc::SYS_sched_setattr]
    {
        rules.insert(call, vec![all([(0, Length::Dword, Is::Ne, 0)])?]);
    }
    for call in [libc::SYS_setpriority, libc::SYS_ioprio_set] {
        rules.insert(call, vec![all([(1, Length::Dword, Is::Ne, 0)])?]);
    }
    rules.entry(libc::SYS_setpriority).or_default().push(all([(0, Length::Dword, Is::Eq, 2)])?);
    // The form of addresses may be asked for, not changed.
    rules.insert(
        libc::SYS_personality,
        vec![all([(0, Length::Dword, Is::Ne, 0), (0, Length::Dword, Is::Ne, 0xffff_ffff)])?],
    );
    Ok(rules)
}

/// Refuses files that others run as the person.
fn refuse_bits(rules: &mut Rules) -> Result<(), Failed> {
    for bit in BITS {
        for (call, mode) in MODES {
            rules.entry(*call).or_default().push(all([(*mode, Length::Dword, Is::MaskedEq(bit), bit)])?);
        }
        for (call, flags, mode) in OPENS {
            // Without one of these flags the argument of the mode means nothing.
            for flag in [libc::O_CREAT, libc::O_TMPFILE].map(number) {
                let made = (*flags, Length::Dword, Is::MaskedEq(flag), flag);
                rules
                    .entry(*call)
                    .or_default()
                    .push(all([made, (*mode, Length::Dword, Is::MaskedEq(bit), bit)])?);
            }
        }
    }
    Ok(())
}

fn number(value: i32) -> u64 {
    u64::from(value.unsigned_abs())
}

fn all(conditions: impl IntoIterator<Item = (u8, Length, Is, u64)>) -> Result<SeccompRule, Failed> {
    let conditions = conditions
        .into_iter()
        .map(|(argument, length, is, value)| SeccompCondition::new(argument, length, is, value))
        .collect::<Result<_, _>>()
        .map_err(failed("seccomp"))?;
    SeccompRule::new(conditions).map_err(failed("seccomp"))
}

//! The processes below one, as `/proc` shows them.

use std::collections::BTreeMap;

/// A process below the warden.
#[derive(Debug, Clone, Copy)]
pub(super) struct Below {
    pub(super) pid: i32,
    /// Ended, and waiting to be reaped.
    pub(super) is_zombie: bool,
}

/// Everything below a process, its children first.
pub(super) fn below(ancestor: i32) -> Vec<Below> {
    let mut children: BTreeMap<i32, Vec<Below>> = BTreeMap::new();
    for (parent, process) in all() {
        children.entry(parent).or_default().push(process);
    }
    let mut found: Vec<Below> = children.remove(&ancestor).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        found.extend(children.remove(&process.pid).unwrap_or_default());
        next += 1;
    }
    found
}

/// How many processes there are beside this one, ended ones left out.
pub(super) fn others(me: i32) -> u32 {
    let alive = all().filter(|(_, process)| process.pid != me && !process.is_zombie).count();
    u32::try_from(alive).unwrap_or(u32::MAX)
}

/// How many tasks a user has.
#[expect(clippy::disallowed_methods, reason = "/proc is not a file of the server")]
pub(super) fn tasks_of(user: u32) -> u64 {
    let is_of = |pid: &i32| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let owner =
            text.lines().find_map(|line| line.strip_prefix("Uid:")?.split_whitespace().next()?.parse().ok());
        (owner == Some(user)).then(|| field(&text, "Threads:"))
    };
    pids().filter_map(|pid| is_of(&pid)).sum()
}

/// The memory that a process shares with no other one, in bytes.
#[expect(clippy::disallowed_methods, reason = "/proc is not a file of the server")]
pub(super) fn memory_bytes(pid: i32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    (field(&text, "RssAnon:") + field(&text, "RssShmem:")) * 1024
}

fn field(status: &str, name: &str) -> u64 {
    let value =
        status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().next()?.parse().ok());
    value.unwrap_or(0)
}

fn pids() -> impl Iterator<Item = i32> {
    let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[expect(clippy::disallowed_methods, reason = "/proc is not a file of the server")]
fn all() -> impl Iterator<Item = (i32, Below)> {
    pids().filter_map(|pid| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may hold spaces and brackets; what follows its last bracket is numbers.
        let mut rest = text.rsplit_once(')')?.1.split_whitespace();
        let is_zombie = matches!(rest.next()?, "Z" | "X");
        Some((rest.next()?.parse().ok()?, Below { pid, is_zombie }))
    })
}

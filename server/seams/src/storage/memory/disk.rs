//! The disk behind [`super::MemoryStorage`]: names, files, locks, faults, and what is left of them after a crash.
//!
//! It must never be kinder than a real disk: unsynced bytes and names may be lost, and a failed sync has already lost
//! the bytes that it should have kept.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Weak};

use super::{Crash, Fault};
use crate::random::{Random, SplitMix};
use crate::storage::{Changes, Signal};

pub(super) type Inode = u64;

/// The bytes of one file, without its name.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// The bytes that programs read.
    pub(super) seen: Vec<u8>,
    /// The bytes that surely survive a power cut.
    durable: Vec<u8>,
    /// A failed sync lost the bytes from here on, and no later sync brings them back.
    lost_from: Option<usize>,
    /// It was cut below the durable bytes since the last sync, so the two images may differ before their ends.
    was_cut: bool,
    /// The checksum of the first of the bytes that programs read, and their number: a log grows at its end, and is stamped
    /// at every record.
    summed: Cell<(u32, usize)>,
}

impl Node {
    /// The checksum of all bytes that programs read.
    pub(super) fn checksum(&self) -> u32 {
        let (sum, summed) = self.summed.get();
        let sum = crc32c::crc32c_append(sum, &self.seen[summed..]);
        self.summed.set((sum, self.seen.len()));
        sum
    }

    /// Makes the first `kept` bytes durable. It copies only new bytes, as a log is synced at every record.
    fn keep(&mut self, kept: usize) {
        if std::mem::take(&mut self.was_cut) {
            self.durable.clear();
        }
        self.durable.truncate(kept);
        self.durable.extend_from_slice(&self.seen[self.durable.len()..kept]);
    }
}

#[derive(Debug, Default)]
pub(super) struct Disk {
    pub(super) names: BTreeMap<String, Inode>,
    durable_names: BTreeMap<String, Inode>,
    nodes: BTreeMap<Inode, Node>,
    folders: BTreeSet<String>,
    /// The number of the lock and its process, by path.
    locks: BTreeMap<String, (u64, u64)>,
    alive: BTreeSet<u64>,
    next_number: u64,
    pub(super) calls: u64,
    pub fault: Option<(u64, Fault)>,
    pub(super) space_left: Option<u64>,
    pub(super) syncs_fail: bool,
    /// The listeners for changes, in the order of their registration.
    listeners: Vec<Weak<Signal>>,
}

impl Disk {
    /// Notifies the listeners that a file may have changed.
    pub(super) fn note_change(&self) {
        for listener in self.listeners.iter().filter_map(Weak::upgrade) {
            listener.notify();
        }
    }

    pub(super) fn listen(&mut self) -> Changes {
        self.listeners.retain(|listener| listener.strong_count() > 0);
        let signal = Arc::new(Signal::default());
        self.listeners.push(Arc::downgrade(&signal));
        Changes::complete(signal)
    }

    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    pub(super) fn start_process(&mut self) -> u64 {
        let process = self.number();
        self.alive.insert(process);
        process
    }

    pub(super) fn is_alive(&self, process: u64) -> bool {
        self.alive.contains(&process)
    }

    pub(super) fn kill(&mut self, process: u64) {
        self.alive.remove(&process);
        self.locks.retain(|_, (_, owner)| *owner != process);
    }

    pub(super) fn node(&self, inode: Inode) -> &Node {
        &self.nodes[&inode]
    }

    fn node_mut(&mut self, inode: Inode) -> &mut Node {
        self.nodes.entry(inode).or_default()
    }

    /// Counts a call and applies its fault. Every operation begins here.
    pub(super) fn enter(&mut self, process: u64) -> io::Result<()> {
        match self.due_fault(process)? {
            None => Ok(()),
            Some(fault) => Err(self.strike(process, fault)),
        }
    }

    fn due_fault(&mut self, process: u64) -> io::Result<Option<Fault>> {
        if !self.alive.contains(&process) {
            return Err(io::Error::other("this process has ended"));
        }
        let call = self.calls;
        self.calls += 1;
        Ok(self.fault.take_if(|(at, _)| *at == call).map(|(_, fault)| fault))
    }

    fn strike(&mut self, process: u64, fault: Fault) -> io::Error {
        match fault {
            Fault::Error(kind) => return io::Error::new(kind, "a fault was ordered here"),
            Fault::Kill => self.kill(process),
            Fault::PowerCut(seed) => self.crash(Crash::Power, seed),
        }
        io::Error::other("this process ended in the call")
    }

    pub(super) fn create_dir(&mut self, dir: &str) {
        let ends = dir.match_indices('/').map(|(end, _)| end).chain([dir.len()]);
        self.folders.extend(ends.map(|end| dir[..end].to_owned()));
    }

    pub(super) fn remove_dir(&mut self, dir: &str) -> io::Result<()> {
        if !self.list(dir).is_empty() {
            return Err(io::Error::new(io::ErrorKind::DirectoryNotEmpty, format!("{dir}: not empty")));
        }
        self.folders.remove(dir);
        Ok(())
    }

    pub(super) fn list(&self, dir: &str) -> Vec<String> {
        let below = format!("{dir}/");
        // A disk has thousands of files in other folders, so only the names below are looked at.
        let names = self.names.range(below.clone()..).map(|(path, _)| path);
        let folders = self.folders.range(below.clone()..);
        let names = names.map_while(|path| path.strip_prefix(&below));
        let names = names.chain(folders.map_while(|path| path.strip_prefix(&below)));
        let mut names: Vec<String> = names.filter(|rest| !rest.contains('/')).map(str::to_owned).collect();
        names.sort_unstable();
        names
    }

    pub(super) fn find(&self, path: &str) -> io::Result<Inode> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("{path}: no such file"));
        self.names.get(path).copied().ok_or_else(missing)
    }

    pub(super) fn find_or_create(&mut self, path: &str) -> io::Result<Inode> {
        if let Ok(inode) = self.find(path) {
            return Ok(inode);
        }
        let folder_is_there = path.rsplit_once('/').is_none_or(|(folder, _)| self.folders.contains(folder));
        if !folder_is_there {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("{path}: no such folder")));
        }
        self.note_change();
        let inode = self.number();
        self.nodes.insert(inode, Node::default());
        self.names.insert(path.to_owned(), inode);
        Ok(inode)
    }

    pub(super) fn append(&mut self, process: u64, inode: Inode, bytes: &[u8]) -> io::Result<()> {
        self.note_change();
        if let Some(fault) = self.due_fault(process)? {
            self.node_mut(inode).seen.extend_from_slice(&bytes[..bytes.len() / 2]);
            return Err(self.strike(process, fault));
        }
        let fits = self.take_space(bytes.len());
        self.node_mut(inode).seen.extend_from_slice(&bytes[..fits]);
        if fits < bytes.len() { Err(full()) } else { Ok(()) }
    }

    /// Uses up space, and returns how many of `wanted` bytes the disk takes.
    fn take_space(&mut self, wanted: usize) -> usize {
        let Some(left) = &mut self.space_left else { return wanted };
        let fits = usize::try_from(*left).unwrap_or(usize::MAX).min(wanted);
        *left -= fits as u64;
        fits
    }

    pub(super) fn sync(&mut self, process: u64, inode: Inode, path: &str) -> io::Result<()> {
        let fault = self.due_fault(process)?;
        let fault = fault.or(self.syncs_fail.then_some(Fault::Error(io::ErrorKind::Other)));
        if let Some(fault) = fault {
            if matches!(fault, Fault::Error(_)) {
                let node = self.node_mut(inode);
                let synced = common_prefix(&node.durable, &node.seen);
                // Nothing is lost if there was nothing to keep.
                if node.durable.len().max(node.seen.len()) > synced {
                    node.lost_from.get_or_insert(synced);
                }
            }
            return Err(self.strike(process, fault));
        }
        let node = self.node_mut(inode);
        let kept = node.lost_from.unwrap_or(node.seen.len());
        node.keep(kept);
        if self.names.get(path) == Some(&inode) {
            self.durable_names.insert(path.to_owned(), inode);
        }
        Ok(())
    }

    pub(super) fn truncate(&mut self, inode: Inode, len: u64) {
        self.note_change();
        let node = self.node_mut(inode);
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        node.was_cut |= len < node.durable.len();
        node.seen.resize(len, 0);
        node.summed.take();
        node.lost_from = node.lost_from.filter(|from| *from < len);
    }

    pub(super) fn replace(
        &mut self,
        process: u64,
        path: &str,
        bytes: &[u8],
        durable: bool,
    ) -> io::Result<()> {
        // As on a real disk, the sibling is written and then renamed; each step can fail.
        self.note_change();
        let sibling = format!("{path}.tmp");
        self.enter(process)?;
        self.names.remove(&sibling);
        let inode = self.find_or_create(&sibling)?;
        self.append(process, inode, bytes)?;
        if durable {
            self.sync(process, inode, &sibling)?;
        }
        self.enter(process)?;
        self.names.remove(&sibling);
        self.names.insert(path.to_owned(), inode);
        if durable {
            self.durable_names.remove(&sibling);
            self.durable_names.insert(path.to_owned(), inode);
        }
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.note_change();
        let inode = self.find(from)?;
        for names in [&mut self.names, &mut self.durable_names] {
            names.remove(from);
            names.insert(to.to_owned(), inode);
        }
        Ok(())
    }

    pub(super) fn plant(&mut self, path: &str, bytes: &[u8]) {
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.create_dir(folder);
        }
        self.note_change();
        let inode = self.number();
        let bytes = bytes.to_vec();
        self.nodes.insert(inode, Node { seen: bytes.clone(), durable: bytes, ..Node::default() });
        self.names.insert(path.to_owned(), inode);
        self.durable_names.insert(path.to_owned(), inode);
    }

    pub(super) fn take_lock(&mut self, path: &str, process: u64) -> Option<u64> {
        if self.locks.contains_key(path) {
            return None;
        }
        let id = self.number();
        self.locks.insert(path.to_owned(), (id, process));
        Some(id)
    }

    pub(super) fn release_lock(&mut self, path: &str, id: u64) {
        if self.locks.get(path).is_some_and(|(held, _)| *held == id) {
            self.locks.remove(path);
        }
    }

    pub(super) fn crash(&mut self, crash: Crash, seed: u64) {
        self.note_change();
        self.alive.clear();
        self.locks.clear();
        if crash == Crash::Process {
            return;
        }
        let dice = SplitMix::seeded(seed);
        let mut names = self.durable_names.clone();
        for (path, inode) in &self.names {
            if self.durable_names.get(path) != Some(inode) && dice.next_u64().is_multiple_of(2) {
                names.insert(path.clone(), *inode);
            }
        }
        for node in self.nodes.values_mut() {
            node.seen = after_power_cut(node, &dice);
            node.summed.take();
            node.durable.clone_from(&node.seen);
            node.lost_from = None;
            node.was_cut = false;
        }
        self.names.clone_from(&names);
        self.durable_names = names;
        self.nodes.retain(|inode, _| self.names.values().any(|named| named == inode));
    }
}

/// The bytes of a file after a power cut.
fn after_power_cut(node: &Node, dice: &SplitMix) -> Vec<u8> {
    let synced = common_prefix(&node.durable, &node.seen);
    if synced < node.durable.len() {
        // It was cut, and perhaps written again, without a sync: either the old bytes or the new ones survive.
        return if dice.next_u64().is_multiple_of(2) { node.durable.clone() } else { node.seen.clone() };
    }
    let tail = &node.seen[synced..];
    let cut = if tail.is_empty() { 0 } else { below(dice, tail.len() + 1) };
    let mut left = node.durable.clone();
    match dice.next_u64() % 4 {
        0 => {}
        1 => left.extend_from_slice(tail),
        2 => left.extend_from_slice(&tail[..cut]),
        // The length was written, but some of the blocks were not.
        _ => {
            left.extend_from_slice(&tail[..cut]);
            left.resize(synced + tail.len(), 0);
        }
    }
    left
}

fn below(dice: &SplitMix, bound: usize) -> usize {
    usize::try_from(dice.next_u64() % bound as u64).unwrap_or(0)
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

fn full() -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, "no space left on the simulated disk")
}

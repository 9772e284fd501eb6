//! The production server as a process of a simulated machine.

use entraclaw_seams::storage::memory::MemoryStorage;

/// When the future is dropped, its process has ended for the disk: locks are free, late writes fail.
pub(super) struct Process(MemoryStorage);

impl Process {
    /// A process on that machine's disk.
    pub(super) fn new(disk: &MemoryStorage) -> Self {
        Self(disk.new_process())
    }

    /// The disk as this process has it.
    pub(super) fn storage(&self) -> MemoryStorage {
        self.0.clone()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill();
    }
}

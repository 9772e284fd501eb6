//! What a command may touch.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What a command may touch. Everything else is refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Folders that it may read and write, but for the names in [`crate::PROTECTED`].
    pub writes: Vec<PathBuf>,
    /// Files and folders that it may read and run.
    pub reads: Vec<PathBuf>,
    /// Whether it may use the network. It is all or nothing: the kernel can name ports, but no hosts.
    pub network: bool,
    /// The most processes beside it.
    pub processes_max: u64,
    /// The most memory of one process, in bytes.
    pub memory_bytes_max: u64,
    /// The most memory of all its processes together, in bytes.
    pub memory_all_bytes_max: u64,
    /// The largest file that it may write, in bytes.
    pub file_bytes_max: u64,
    /// How much the free space of the project's disk may fall while it runs, in bytes.
    pub disk_bytes_max: u64,
    /// The most output, in bytes; a command that says more is ended.
    pub output_bytes_max: u64,
    /// The longest time, in milliseconds.
    pub time_ms_max: u64,
}

const MIB: u64 = 1024 * 1024;

impl Policy {
    /// A policy without a single path and with the usual limits.
    pub fn with_usual_limits() -> Self {
        Self {
            writes: Vec::new(),
            reads: Vec::new(),
            network: false,
            processes_max: 256,
            memory_bytes_max: 4096 * MIB,
            memory_all_bytes_max: 8192 * MIB,
            file_bytes_max: 2048 * MIB,
            disk_bytes_max: 8192 * MIB,
            output_bytes_max: 64 * MIB,
            time_ms_max: 120_000,
        }
    }
}

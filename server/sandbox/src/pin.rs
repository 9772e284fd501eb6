//! Paths held to what they were when the policy was made.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::SandboxError;

/// What a grant allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Access {
    /// To read and to run.
    Read,
    /// To read, run, write, make and remove; without devices, pipes and sockets.
    Write,
    /// To read and write the one device.
    Device,
}

/// A path that is granted, with the device and inode that it had when the parent looked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pin {
    pub(crate) path: PathBuf,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) access: Access,
}

impl Pin {
    /// Resolves a path once and records what is there.
    pub(crate) fn new(path: &Path, access: Access) -> Result<Self, SandboxError> {
        let path = std::fs::canonicalize(path).map_err(|source| SandboxError::io(path, source))?;
        let (device, inode) = identity(&path).map_err(|source| SandboxError::io(&path, source))?;
        Ok(Self { path, device, inode, access })
    }
}

#[cfg(unix)]
fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;

    let found = std::fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn identity(path: &Path) -> std::io::Result<(u64, u64)> {
    std::fs::symlink_metadata(path).map(|_| (0, 0))
}

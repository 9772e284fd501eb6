//! The seam to what agents have stored of their sessions. It is only ever read.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// What agents have stored.
pub trait Stored: Send + Sync {
    /// The length of a file in bytes; 0 if there is none.
    fn len(&self, path: &Path) -> u64;
    /// Reads at most `most` bytes from `offset`; fewer at the end of the file.
    ///
    /// # Errors
    /// Fails with the error of the disk.
    fn read(&self, path: &Path, offset: u64, most: u64) -> io::Result<Vec<u8>>;
}

/// What is on this machine's disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemStored;

impl Stored for SystemStored {
    fn len(&self, path: &Path) -> u64 {
        std::fs::metadata(path).map_or(0, |data| data.len())
    }

    fn read(&self, path: &Path, offset: u64, most: u64) -> io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        let mut read = Vec::new();
        file.take(most).read_to_end(&mut read)?;
        Ok(read)
    }
}

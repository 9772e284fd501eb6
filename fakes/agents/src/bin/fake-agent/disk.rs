//! What the fake sees of the machine's disk.
#![expect(clippy::disallowed_methods, reason = "this is the adapter to the real disk")]

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use fake_agents::{Outside, PathKind};

/// The real disk, with the store in one folder.
pub(crate) struct Disk {
    /// The folder of the store.
    pub store: PathBuf,
}

impl Disk {
    /// Adds a text to a file of the store.
    pub(crate) fn add(&self, path: &str, text: &str) -> io::Result<()> {
        let file = self.store.join(path);
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(file)?;
        file.write_all(text.as_bytes())
    }
}

impl Outside for Disk {
    fn kind(&self, path: &Path) -> PathKind {
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => PathKind::Folder,
            Ok(_) => PathKind::File,
            Err(_) => PathKind::Missing,
        }
    }

    fn stored(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.store.join(path)).ok()
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.store.join(folder)).into_iter().flatten().flatten();
        let mut found: Vec<_> = entries
            .map(|entry| {
                let changed = newest(&entry.path());
                (changed, entry.file_name().to_string_lossy().into_owned())
            })
            .collect();
        found.sort();
        found.into_iter().map(|(_, name)| name).collect()
    }
}

/// When something in a folder, or the file itself, changed last, in milliseconds.
fn newest(path: &Path) -> u128 {
    let inside = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let times = inside.chain([path.to_owned()]).filter_map(|path| {
        let changed = std::fs::metadata(path).ok()?.modified().ok()?;
        Some(changed.duration_since(std::time::UNIX_EPOCH).ok()?.as_nanos())
    });
    times.max().unwrap_or_default()
}

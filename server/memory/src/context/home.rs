//! What belongs to one context file in the home folder: its lock, a write that has begun, and sections that were moved
//! out of it.
//!
//! It must never put anything into the workspace.

use std::io;
use std::path::Path;
use std::sync::Arc;

use entraclaw_seams::hex;
use entraclaw_seams::storage::{Lock, Storage, read_whole};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The folder of all context files, below the home folder.
const CONTEXTS: &str = "context";
const WORKSPACE: &str = "workspace.json";
const PENDING: &str = "pending.json";
const LOCK: &str = "lock";
const ARCHIVE: &str = "archive-";
/// Longest file in a folder of a context file.
const BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Most files of moved sections. The oldest one goes when there are more.
pub(super) const ARCHIVES_MAX: usize = 256;
/// Bytes of the hash that names the folder of a context file.
const KEY_BYTES: usize = 12;

/// The folder of one context file.
#[derive(Clone)]
pub(super) struct Home {
    storage: Arc<dyn Storage>,
    key: String,
}

#[derive(Serialize, Deserialize)]
struct Workspace {
    path: String,
}

impl Home {
    pub(super) fn new(storage: Arc<dyn Storage>, context_file: &Path) -> Self {
        let hash = Sha256::digest(context_file.as_os_str().as_encoded_bytes());
        Self { storage, key: hex::of(&hash[..KEY_BYTES]) }
    }

    fn path(&self, name: &str) -> String {
        format!("{CONTEXTS}/{}/{name}", self.key)
    }

    /// Whether this program has ever written the context file.
    pub(super) fn exists(&self) -> bool {
        matches!(self.storage.len(&self.path(WORKSPACE)), Ok(Some(_)))
    }

    /// Creates the folder, and notes whose it is.
    pub(super) fn create(&self, context_file: &Path) -> io::Result<()> {
        if self.exists() {
            return Ok(());
        }
        self.storage.create_dir(&format!("{CONTEXTS}/{}", self.key))?;
        let workspace = Workspace { path: context_file.display().to_string() };
        self.storage
            .replace(&self.path(WORKSPACE), &serde_json::to_vec(&workspace).map_err(io::Error::other)?)
    }

    /// The lock of all that write the context file, of every process.
    pub(super) fn lock(&self, wait_ms: u64) -> io::Result<Option<Box<dyn Lock>>> {
        self.storage.lock(&self.path(LOCK), wait_ms)
    }

    /// What is noted of a write that has begun.
    pub(super) fn pending(&self) -> io::Result<Option<Vec<u8>>> {
        read_whole(&*self.storage, &self.path(PENDING), BYTES_MAX)
    }

    pub(super) fn set_pending(&self, note: &[u8]) -> io::Result<()> {
        self.storage.replace(&self.path(PENDING), note)
    }

    pub(super) fn clear_pending(&self) -> io::Result<()> {
        self.storage.remove(&self.path(PENDING))
    }

    /// The files of moved sections, oldest first.
    pub(super) fn archives(&self) -> io::Result<Vec<String>> {
        let mut names = self.storage.list(&format!("{CONTEXTS}/{}", self.key))?;
        names.retain(|name| number(name).is_some());
        Ok(names)
    }

    /// The name of the next file of moved sections.
    pub(super) fn next_archive(&self) -> io::Result<String> {
        let last = self.archives()?.last().and_then(|name| number(name)).unwrap_or(0);
        Ok(format!("{ARCHIVE}{:08}.md", last.saturating_add(1)))
    }

    pub(super) fn archive(&self, name: &str) -> io::Result<String> {
        let bytes = read_whole(&*self.storage, &self.path(name), BYTES_MAX)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(super) fn write_archive(&self, name: &str, text: &str) -> io::Result<()> {
        self.storage.replace(&self.path(name), text.as_bytes())
    }

    pub(super) fn remove_archive(&self, name: &str) -> io::Result<()> {
        self.storage.remove(&self.path(name))
    }

    /// Removes the oldest files of moved sections if there are too many.
    pub(super) fn bound_archives(&self) -> io::Result<()> {
        let names = self.archives()?;
        let surplus = names.len().saturating_sub(ARCHIVES_MAX);
        names[..surplus].iter().try_for_each(|name| self.remove_archive(name))
    }
}

/// The number of a file of moved sections. Eight digits keep the names in order.
fn number(name: &str) -> Option<u32> {
    name.strip_prefix(ARCHIVE)?.strip_suffix(".md")?.parse().ok()
}

/// The paths of all context files that this program has written.
pub(super) fn known(storage: &dyn Storage) -> io::Result<Vec<String>> {
    let mut paths = Vec::new();
    for key in storage.list(CONTEXTS)? {
        let Ok(Some(bytes)) = read_whole(storage, &format!("{CONTEXTS}/{key}/{WORKSPACE}"), BYTES_MAX) else {
            continue;
        };
        if let Ok(workspace) = serde_json::from_slice::<Workspace>(&bytes) {
            paths.push(workspace.path);
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::storage::MemoryStorage;
    use rstest::rstest;

    use super::*;

    fn home(storage: &MemoryStorage, path: &str) -> Home {
        Home::new(Arc::new(storage.clone()), Path::new(path))
    }

    #[rstest]
    #[case("archive-00000007.md", Some(7))]
    #[case("archive-12345678.md", Some(12_345_678))]
    #[case("archive-.md", None)]
    #[case("archive-7", None)]
    #[case("7.md", None)]
    #[case("archive-x.md", None)]
    fn an_archive_is_told_by_its_number(#[case] name: &str, #[case] expected: Option<u32>) {
        assert_eq!(number(name), expected);
    }

    #[test]
    fn archives_are_numbered_in_order_and_the_oldest_go_where_there_are_too_many() {
        let storage = MemoryStorage::new();
        let home = home(&storage, "/p/context.md");
        home.create(Path::new("/p/context.md")).unwrap();
        for n in 1..=ARCHIVES_MAX {
            let name = home.next_archive().unwrap();
            assert_eq!(name, format!("archive-{n:08}.md"));
            home.write_archive(&name, &format!("text {n}")).unwrap();
        }
        home.bound_archives().unwrap();
        assert_eq!(home.archives().unwrap().len(), ARCHIVES_MAX);
        for _ in 0..2 {
            home.write_archive(&home.next_archive().unwrap(), "more").unwrap();
        }
        home.bound_archives().unwrap();
        let names = home.archives().unwrap();
        assert_eq!((names.len(), names[0].as_str()), (ARCHIVES_MAX, "archive-00000003.md"));
        assert_eq!(home.archive(&names[0]).unwrap(), "text 3");
        home.remove_archive(&names[0]).unwrap();
        assert_eq!(home.archive(&names[0]).unwrap(), "");
    }

    #[test]
    fn the_context_files_that_were_written_are_known_by_their_paths() {
        let storage = MemoryStorage::new();
        for path in ["/q/context.md", "/p/context.md"] {
            let home = home(&storage, path);
            assert!(!home.exists());
            home.create(Path::new(path)).unwrap();
            home.create(Path::new("/other")).unwrap();
            assert!(home.exists(), "it is created once");
        }
        storage.set_bytes("context/broken/workspace.json", b"{");
        storage.set_bytes("context/empty/lock", b"");
        assert_eq!(known(&storage).unwrap(), ["/p/context.md", "/q/context.md"]);
        let one = home(&storage, "/p/context.md");
        assert_eq!(one.pending().unwrap(), None);
        one.set_pending(b"note").unwrap();
        assert_eq!(one.pending().unwrap().unwrap(), b"note");
        assert_eq!(home(&storage, "/q/context.md").pending().unwrap(), None);
        one.clear_pending().unwrap();
        assert_eq!(one.pending().unwrap(), None);
    }
}

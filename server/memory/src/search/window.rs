//! A part of a file that is read once, for messages that stand near each other.
//!
//! It must never hold more than its bound.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::files::{Database, Files, Moment, Standing};
use crate::stores::Place;

/// Bytes that are read at once.
const BYTES_MAX: u64 = 256 * 1024;
/// Bytes behind the last place: its line may be long.
const TAIL_BYTES: u64 = 16 * 1024;

/// Files, of one of which a part is in memory.
pub(super) struct Window<'f> {
    inner: &'f dyn Files,
    path: PathBuf,
    begin: u64,
    bytes: Vec<u8>,
}

impl<'f> Window<'f> {
    /// A window over these places of a file; an empty one if they are far from each other.
    pub(super) fn over(inner: &'f dyn Files, path: &Path, places: &[Place]) -> Self {
        let lines = || places.iter().map(|place| place.line);
        let (begin, end) = (lines().min().unwrap_or(0), lines().max().unwrap_or(0));
        let length = end - begin + TAIL_BYTES;
        let is_near = places.len() > 1 && length <= BYTES_MAX;
        let length = usize::try_from(length).unwrap_or(0);
        let bytes = if is_near { inner.read(path, begin, length).unwrap_or_default() } else { Vec::new() };
        Self { inner, path: path.to_owned(), begin, bytes }
    }
}

impl Window<'_> {
    /// What is in memory; nothing if the places are far from each other.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Files for Window<'_> {
    fn list(&self, folder: &Path) -> io::Result<Arc<[String]>> {
        self.inner.list(folder)
    }

    fn look(&self, path: &Path) -> io::Result<Option<Standing>> {
        self.inner.look(path)
    }

    fn exists(&self, path: &Path) -> bool {
        self.inner.exists(path)
    }

    fn folder(&self, path: &Path) -> Option<PathBuf> {
        self.inner.folder(path)
    }

    fn database(&self, path: &Path, moment: Moment) -> io::Result<Option<Database>> {
        self.inner.database(path, moment)
    }

    fn pause(&self, pause: Duration) {
        self.inner.pause(pause);
    }

    fn read(&self, path: &Path, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        let begin = offset.checked_sub(self.begin).and_then(|begin| usize::try_from(begin).ok());
        match begin.and_then(|begin| self.bytes.get(begin..)) {
            // A part of what is asked for is enough: the reader asks again for the rest.
            Some(rest) if path == self.path && !rest.is_empty() => Ok(rest[..rest.len().min(len)].to_vec()),
            _ => self.inner.read(path, offset, len),
        }
    }
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::{MemoryStorage, Storage as _};
    use rstest::rstest;

    use super::*;
    use crate::files::SimulatedFiles;

    #[rstest]
    #[case::alone(&[4], "")]
    #[case::near(&[8, 4], "two\nthree\n")]
    #[case::the_same_line(&[8, 8], "three\n")]
    #[case::as_far_as_may_be(&[4, BYTES_MAX - TAIL_BYTES + 4], "two\nthree\n")]
    #[case::too_far(&[4, BYTES_MAX - TAIL_BYTES + 5], "")]
    #[case::far(&[4, BYTES_MAX], "")]
    #[case::none(&[], "")]
    fn places_that_stand_near_each_other_are_read_at_once(#[case] lines: &[u64], #[case] read: &str) {
        let storage = MemoryStorage::new();
        storage.replace("log", b"one\ntwo\nthree\n").unwrap();
        let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
        let places: Vec<Place> = lines.iter().map(|line| Place { line: *line, nth: 0 }).collect();
        let window = Window::over(&files, Path::new("/log"), &places);
        assert_eq!(String::from_utf8_lossy(window.bytes()), read);
    }
    #[test]
    fn what_is_in_memory_is_read_from_there_and_the_rest_from_the_file() {
        let storage = MemoryStorage::new();
        storage.create_dir("a").unwrap();
        storage.replace("a/log", b"one\ntwo\nthree\n").unwrap();
        storage.replace("a/other", b"another file").unwrap();
        let files = SimulatedFiles::new(storage.clone(), Arc::new(SystemClock));
        let places = [4, 8].map(|line| Place { line, nth: 0 });
        let window = Window::over(&files, Path::new("/a/log"), &places);
        storage.replace("a/log", b"ONE\nTWO\nTHREE\nFOUR\n").unwrap();
        for (path, offset, len, expected) in [
            ("/a/log", 4, 3, "two"),
            ("/a/log", 4, 99, "two\nthree\n"),
            ("/a/log", 13, 9, "\n"),
            ("/a/log", 14, 4, "FOUR"),
            ("/a/log", 3, 4, "\nTWO"),
            ("/a/log", 99, 4, ""),
            ("/a/other", 4, 3, "her"),
        ] {
            let read = window.read(Path::new(path), offset, len).unwrap();
            assert_eq!(String::from_utf8_lossy(&read), expected, "{path} from {offset}");
        }
        assert_eq!(window.look(Path::new("/a/other")).unwrap(), files.look(Path::new("/a/other")).unwrap());
        assert!(window.exists(Path::new("/a/other")) && !window.exists(Path::new("/a/third")));
        assert_eq!(*window.list(Path::new("/a")).unwrap(), *files.list(Path::new("/a")).unwrap());
        assert_eq!(window.folder(Path::new("/a/other")), None);
        assert_eq!(window.folder(Path::new("/a")), Some("/a".into()));
    }
}

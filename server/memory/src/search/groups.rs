//! Which files belong to one session, and what the sessions are about.
//!
//! It must never read a file, so that a query over thousands of sessions only looks up numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use super::catalog::{Catalog, key};
use super::schema::stems;
use crate::stores::Session;

#[expect(clippy::disallowed_types, reason = "numbers are looked up in it, and it is never gone through")]
type Numbers = std::collections::HashMap<OsString, u64>;

/// No session.
pub(super) const NONE: u32 = u32::MAX;

/// The sessions by number.
#[derive(Debug, Default)]
pub(super) struct Groups {
    by_key: BTreeMap<String, u32>,
    /// The session of a file, by the number of the file.
    of_file: Vec<u32>,
    /// By the bytes of the path, as a query looks each file up.
    by_path: Numbers,
    titles: BTreeMap<u64, String>,
    by_stem: BTreeMap<String, BTreeSet<u64>>,
}

impl Groups {
    pub(super) fn of(catalog: &Catalog) -> Self {
        let mut groups = Self::default();
        for (number, entry) in &catalog.files {
            groups.set(*number, &entry.mark.session);
        }
        groups
    }

    /// How many sessions there may be.
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// The session of a file.
    pub(super) fn group(&self, file: u64) -> u32 {
        usize::try_from(file).ok().and_then(|file| self.of_file.get(file)).copied().unwrap_or(NONE)
    }

    /// The number of a file.
    pub(super) fn number(&self, path: &Path) -> Option<u64> {
        self.by_path.get(path.as_os_str()).copied()
    }

    pub(super) fn set(&mut self, file: u64, session: &Session) {
        let Ok(at) = usize::try_from(file) else { return };
        let path = session.file.as_os_str();
        if self.by_path.get(path) != Some(&file) {
            self.by_path.insert(path.to_owned(), file);
        }
        if self.of_file.len() <= at {
            self.of_file.resize(at + 1, NONE);
        }
        let next = u32::try_from(self.by_key.len()).unwrap_or(NONE);
        self.of_file[at] = *self.by_key.entry(key(session)).or_insert(next);
        if self.titles.get(&file) != session.title.as_ref() {
            self.remove_title(file);
            if let Some(title) = &session.title {
                for stem in stems(title) {
                    self.by_stem.entry(stem).or_default().insert(file);
                }
                self.titles.insert(file, title.clone());
            }
        }
    }

    pub(super) fn remove(&mut self, file: u64, path: &Path) {
        self.remove_title(file);
        self.by_path.remove(path.as_os_str());
        if let Some(group) = usize::try_from(file).ok().and_then(|file| self.of_file.get_mut(file)) {
            *group = NONE;
        }
    }

    fn remove_title(&mut self, file: u64) {
        let Some(title) = self.titles.remove(&file) else { return };
        for stem in stems(&title) {
            if let Some(files) = self.by_stem.get_mut(&stem) {
                files.remove(&file);
            }
        }
    }

    /// The files whose titles have these stems, with the bits of their places.
    pub(super) fn titled<'a>(&self, stems: impl Iterator<Item = &'a str>) -> BTreeMap<u64, u32> {
        let mut found: BTreeMap<u64, u32> = BTreeMap::new();
        for (bit, stem) in stems.enumerate() {
            for file in self.by_stem.get(stem).into_iter().flatten() {
                *found.entry(*file).or_default() |= 1 << bit;
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::machine::session;
    use super::*;

    #[test]
    fn a_title_has_the_bit_of_each_stem_that_stands_in_it() {
        let mut groups = Groups::default();
        groups.set(3, &session("one", Some("Drop the caches"), "/a"));
        groups.set(5, &session("two", Some("The port of the cache"), "/b"));
        groups.set(6, &session("three", None, "/c"));
        let titled = |groups: &Groups| {
            let found = groups.titled(["cach", "port", "absent", "drop"].into_iter());
            found.into_iter().collect::<Vec<_>>()
        };
        assert_eq!(titled(&groups), [(3, 0b1001), (5, 0b0011)]);
        groups.set(3, &session("one", Some("Ports"), "/a"));
        assert_eq!(titled(&groups), [(3, 0b0010), (5, 0b0011)]);
        groups.set(5, &session("two", None, "/b"));
        assert_eq!(titled(&groups), [(3, 0b0010)]);
        groups.remove(3, Path::new("/a"));
        assert_eq!(titled(&groups), []);
    }

    #[test]
    fn files_of_one_id_are_one_session_until_they_are_removed() {
        let mut groups = Groups::default();
        for (file, id, path) in [(4, "one", "/a"), (2, "two", "/b"), (9, "one", "/c")] {
            groups.set(file, &session(id, None, path));
        }
        assert_eq!([4, 2, 9, 3, 99].map(|file| groups.group(file)), [0, 1, 0, NONE, NONE]);
        assert_eq!(groups.len(), 2);
        assert_eq!(["/a", "/c", "/d"].map(|path| groups.number(Path::new(path))), [Some(4), Some(9), None]);
        groups.remove(4, Path::new("/a"));
        assert_eq!((groups.group(4), groups.group(9)), (NONE, 0));
        assert_eq!(groups.number(Path::new("/a")), None);
        // Another file of the same name.
        groups.set(11, &session("one", None, "/c"));
        assert_eq!((groups.number(Path::new("/c")), groups.group(11)), (Some(11), 0));
    }
}

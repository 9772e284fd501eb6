//! A write to a context file that a crash may cut: it is noted before, and judged by what the file holds after.
//!
//! What has begun is completed, and what has not begun is forgotten. It must never change a file that holds anything but
//! what this write leaves behind, since a person may have edited it since.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::home::Home;
use crate::files::{ContextFiles, Files, read_whole};

/// Longest context file.
pub(super) const FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// A write, as it is noted in the home folder before the file changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) write: Write,
    /// What stands in the file from its beginning, or from its old end.
    pub(super) text: String,
}

/// What the text does to the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Write {
    /// It is the whole new file.
    Create,
    /// It comes after what was there.
    Append {
        /// The old length.
        bytes: usize,
        /// The checksum of what was there.
        checksum: u32,
    },
    /// It replaces what was there, after a part of that was put into an archive.
    Replace {
        /// The old length.
        bytes: usize,
        /// The checksum of what was there.
        checksum: u32,
        /// The archive.
        archive: String,
        /// What the archive holds.
        moved: String,
    },
}

/// How far a write has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    NotBegun,
    Begun,
    Done,
    /// A person or another program has written the file since.
    Overtaken,
}

impl Pending {
    /// The write that has begun. One that can't be understood counts as none: it is of another version.
    pub(super) fn of(home: &Home) -> io::Result<Option<Self>> {
        Ok(home.pending()?.and_then(|note| serde_json::from_slice(&note).ok()))
    }

    pub(super) fn append(before: &[u8], text: String) -> Self {
        Self { write: Write::Append { bytes: before.len(), checksum: crc32c::crc32c(before) }, text }
    }

    pub(super) fn replace(before: &[u8], text: String, archive: String, moved: String) -> Self {
        let (bytes, checksum) = (before.len(), crc32c::crc32c(before));
        Self { write: Write::Replace { bytes, checksum, archive, moved }, text }
    }

    /// The length of what stays in front of the text.
    fn base(&self) -> usize {
        match self.write {
            Write::Append { bytes, .. } => bytes,
            Write::Create | Write::Replace { .. } => 0,
        }
    }

    /// How far this write has come, by the bytes of the file.
    pub(super) fn progress(&self, now: Option<&[u8]>) -> Progress {
        let Some(now) = now else { return Progress::NotBegun };
        match &self.write {
            Write::Append { bytes, checksum } => {
                if now.len() < *bytes || crc32c::crc32c(&now[..*bytes]) != *checksum {
                    return Progress::Overtaken;
                }
                if now.len() == *bytes {
                    return Progress::NotBegun;
                }
            }
            Write::Replace { bytes, checksum, .. } => {
                if now.len() == *bytes && crc32c::crc32c(now) == *checksum {
                    return Progress::NotBegun;
                }
            }
            Write::Create => {}
        }
        let (tail, text) = (&now[self.base()..], self.text.as_bytes());
        if tail.starts_with(text) {
            return Progress::Done;
        }
        // After a power cut a file may have its new length and zeros where bytes are missing.
        let is_torn = tail.len() <= text.len()
            && tail.iter().zip(text).all(|(found, sent)| found == sent || *found == 0);
        if is_torn { Progress::Begun } else { Progress::Overtaken }
    }

    /// The bytes of the file, with this write completed if it has begun.
    pub(super) fn settled(&self, now: Vec<u8>) -> Vec<u8> {
        if self.progress(Some(&now)) != Progress::Begun {
            return now;
        }
        let mut whole = now;
        whole.truncate(self.base());
        whole.extend_from_slice(self.text.as_bytes());
        whole
    }

    /// Writes it. The caller holds the lock.
    pub(super) fn perform(&self, home: &Home, files: &dyn ContextFiles, path: &Path) -> io::Result<()> {
        home.set_pending(&serde_json::to_vec(self).map_err(io::Error::other)?)?;
        match self.apply(home, files, path).and_then(|()| self.check(files, path)) {
            Ok(()) => home.clear_pending(),
            Err(error) => {
                // What its caller is told has failed must not appear later. If this fails too, the next one completes it.
                if self.undo(files, path).is_ok() {
                    let _ = home.clear_pending();
                }
                Err(error)
            }
        }
    }

    fn apply(&self, home: &Home, files: &dyn ContextFiles, path: &Path) -> io::Result<()> {
        let mut file = match &self.write {
            Write::Create => files.create(path)?,
            Write::Append { bytes, .. } => {
                let file = files.open(path)?;
                unchanged(file.len()?, *bytes)?;
                file
            }
            Write::Replace { bytes, archive, moved, .. } => {
                home.write_archive(archive, moved)?;
                let mut file = files.open(path)?;
                unchanged(file.len()?, *bytes)?;
                file.truncate(0)?;
                // Two syncs: a crash leaves the old text, nothing, or a part of the new one, and never a mixture.
                file.sync()?;
                file
            }
        };
        file.append(self.text.as_bytes())?;
        file.sync()
    }

    /// Checks that the file still has its name. An editor saves by putting another file in its place.
    fn check(&self, files: &dyn ContextFiles, path: &Path) -> io::Result<()> {
        let tail = files.read(path, self.base() as u64, self.text.len())?;
        if tail == self.text.as_bytes() { Ok(()) } else { Err(overtaken()) }
    }

    fn undo(&self, files: &dyn ContextFiles, path: &Path) -> io::Result<()> {
        let Write::Append { bytes, .. } = self.write else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let now = read(files, path)?;
        if self.progress(now.as_deref()) == Progress::Overtaken {
            return Ok(());
        }
        let mut file = files.open(path)?;
        file.truncate(bytes as u64)?;
        file.sync()
    }
}

fn unchanged(now: u64, before: usize) -> io::Result<()> {
    if now == before as u64 { Ok(()) } else { Err(overtaken()) }
}

fn overtaken() -> io::Error {
    io::Error::other("another program wrote it in the same moment; read it, and write again")
}

/// The bytes of a context file.
pub(super) fn read(files: &(impl Files + ?Sized), path: &Path) -> io::Result<Option<Vec<u8>>> {
    Ok(read_whole(files, path, FILE_BYTES_MAX)?.map(|(bytes, _)| bytes))
}

/// Completes or forgets what a crash has left. The caller holds the lock.
pub(super) fn recover(home: &Home, files: &dyn ContextFiles, path: &Path) -> io::Result<()> {
    let Some(pending) = Pending::of(home)? else { return Ok(()) };
    let now = read(files, path)?;
    match pending.progress(now.as_deref()) {
        Progress::Begun => {
            let mut file = files.open(path)?;
            file.truncate(pending.base() as u64)?;
            file.sync()?;
            file.append(pending.text.as_bytes())?;
            file.sync()?;
        }
        Progress::NotBegun => {
            if let Write::Replace { archive, .. } = &pending.write {
                home.remove_archive(archive)?;
            }
        }
        Progress::Done | Progress::Overtaken => {}
    }
    home.clear_pending()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;
    use rstest::rstest;

    use super::*;
    use crate::files::SimulatedFiles;

    #[rstest]
    #[case(b"old\n", Progress::NotBegun)]
    #[case(b"old\nne", Progress::Begun)]
    #[case(b"old\nn\0\0", Progress::Begun)]
    #[case(b"old\nnew", Progress::Done)]
    #[case(b"old\nnew and more", Progress::Done)]
    #[case(b"old\nother", Progress::Overtaken)]
    #[case(b"0ld\nne", Progress::Overtaken)]
    #[case(b"", Progress::Overtaken)]
    fn an_append_is_judged_by_what_is_there(#[case] now: &[u8], #[case] progress: Progress) {
        let pending = Pending::append(b"old\n", "new".to_owned());
        assert_eq!(pending.progress(Some(now)), progress);
        let settled = pending.settled(now.to_vec());
        assert_eq!(settled == b"old\nnew", matches!(progress, Progress::Begun) || now == b"old\nnew");
    }

    #[rstest]
    #[case(b"old", Progress::NotBegun)]
    #[case(b"", Progress::Begun)]
    #[case(b"ne", Progress::Begun)]
    #[case(b"new", Progress::Done)]
    #[case(b"edited", Progress::Overtaken)]
    fn a_replacement_is_judged_by_what_is_there(#[case] now: &[u8], #[case] progress: Progress) {
        let pending = Pending::replace(b"old", "new".to_owned(), "a".to_owned(), String::new());
        assert_eq!(pending.progress(Some(now)), progress);
        assert_eq!(pending.progress(None), Progress::NotBegun);
    }
    fn machine(text: &[u8]) -> (MemoryStorage, Home, SimulatedFiles) {
        let storage = MemoryStorage::new();
        storage.set_bytes("p/context.md", text);
        let home = Home::new(Arc::new(storage.clone()), Path::new("/p/context.md"));
        home.create(Path::new("/p/context.md")).unwrap();
        (storage.clone(), home, SimulatedFiles::new(storage, Arc::new(SystemClock)))
    }

    fn writes() -> [Pending; 2] {
        let replace = Pending::replace(
            b"old\n",
            "new".to_owned(),
            "archive-00000001.md".to_owned(),
            "moved".to_owned(),
        );
        [Pending::append(b"old\n", "new".to_owned()), replace]
    }

    #[test]
    fn a_file_that_another_program_made_longer_or_shorter_meanwhile_is_left_as_it_is() {
        for now in [&b"old\nmore"[..], b"old", b""] {
            for pending in writes() {
                let (storage, home, files) = machine(now);
                let error = pending.perform(&home, &files, Path::new("/p/context.md")).unwrap_err();
                assert!(error.to_string().starts_with("another program wrote it"), "{error}");
                assert_eq!(storage.bytes("p/context.md").unwrap(), now);
            }
        }
    }

    #[test]
    fn a_write_counts_only_if_the_file_of_this_name_has_it() {
        let [append, replace] = writes();
        for (pending, now, is_there) in [
            (&append, &b"old\nnew"[..], true),
            (&append, b"old\nnow", false),
            (&append, b"old\nne", false),
            (&append, b"old\n", false),
            (&replace, b"new", true),
            (&replace, b"old\nnew", false),
            (&replace, b"ne", false),
        ] {
            let (_, _, files) = machine(now);
            assert_eq!(pending.check(&files, Path::new("/p/context.md")).is_ok(), is_there, "{now:?}");
        }
    }

    #[test]
    fn a_write_that_is_done_leaves_no_note() {
        for (pending, text) in writes().into_iter().zip([&b"old\nnew"[..], b"new"]) {
            let (storage, home, files) = machine(b"old\n");
            pending.perform(&home, &files, Path::new("/p/context.md")).unwrap();
            assert_eq!(storage.bytes("p/context.md").unwrap(), text);
            assert_eq!(Pending::of(&home).unwrap(), None);
        }
        let (storage, home, files) = machine(b"old\n");
        let create = Pending { write: Write::Create, text: "new".to_owned() };
        assert!(create.perform(&home, &files, Path::new("/p/context.md")).is_err(), "there is one");
        create.perform(&home, &files, Path::new("/p/other.md")).unwrap();
        assert_eq!(storage.bytes("p/other.md").unwrap(), b"new");
    }

    #[rstest]
    #[case::not_begun(b"old\n", b"old\n", b"old\n", false)]
    #[case::begun(b"old\nn", b"old\nnew", b"old\nn", true)]
    #[case::torn(b"n\0", b"n\0", b"new", true)]
    #[case::edited(b"mine", b"mine", b"mine", true)]
    fn what_a_crash_has_left_is_completed_or_forgotten(
        #[case] now: &[u8],
        #[case] appended: &[u8],
        #[case] replaced: &[u8],
        #[case] has_archive: bool,
    ) {
        for (pending, settled) in writes().into_iter().zip([appended, replaced]) {
            let (storage, home, files) = machine(now);
            home.set_pending(&serde_json::to_vec(&pending).unwrap()).unwrap();
            home.write_archive("archive-00000001.md", "moved").unwrap();
            recover(&home, &files, Path::new("/p/context.md")).unwrap();
            assert_eq!(storage.bytes("p/context.md").unwrap(), settled, "{pending:?}");
            assert_eq!(Pending::of(&home).unwrap(), None);
            let is_append = matches!(pending.write, Write::Append { .. });
            assert_eq!(home.archives().unwrap().len(), usize::from(has_archive || is_append));
            recover(&home, &files, Path::new("/p/context.md")).unwrap();
            assert_eq!(storage.bytes("p/context.md").unwrap(), settled, "once is enough");
        }
    }
}

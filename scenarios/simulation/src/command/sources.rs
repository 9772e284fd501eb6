//! Whether programs are newer than everything that they are built from.
//! It must never call a program up to date of which it can't see every source.

use std::path::{Path, PathBuf};

/// Whether all of these programs are there, and nothing in these files and folders has changed since the first of them was
/// built. Cargo would find the same, but for other features it would build everything anew.
pub(super) fn are_older_than(programs: &[PathBuf], sources: &[PathBuf]) -> bool {
    programs.iter().all(|program| {
        changed(program).is_some_and(|built| {
            sources
                .iter()
                .all(|source| nothing_below(source, &|file| changed(file).is_none_or(|at| at > built)))
        })
    })
}

/// Whether something is there, and no file in it is like this.
fn nothing_below(path: &Path, is_like_this: &dyn Fn(&Path) -> bool) -> bool {
    if !path.is_dir() {
        return !is_like_this(path);
    }
    let entries = std::fs::read_dir(path);
    entries.is_ok_and(|mut all| {
        all.all(|entry| entry.is_ok_and(|entry| nothing_below(&entry.path(), is_like_this)))
    })
}

/// When a file was last changed.
fn changed(file: &Path) -> Option<impl PartialOrd + use<>> {
    std::fs::metadata(file).ok()?.modified().ok()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "they write real files")]
mod tests {
    use std::fs::{File, create_dir, remove_file, write};
    use std::time::Duration;

    use super::*;

    #[test]
    fn programs_are_older_than_any_source_that_changed_after_one_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        create_dir(at("src")).unwrap();
        create_dir(at("src/below")).unwrap();
        let files = ["one", "two", "src/a.rs", "src/below/b.rs", "Cargo.lock"].map(at);
        for file in &files {
            write(file, "").unwrap();
        }
        let built = std::fs::metadata(&files[0]).unwrap().modified().unwrap();
        let touch = |file: &PathBuf, time| {
            File::options().write(true).open(file).unwrap().set_modified(time).unwrap();
        };
        for file in &files {
            touch(file, built);
        }
        let are_new = || are_older_than(&files[..2], &[at("src"), at("Cargo.lock")]);
        assert!(are_new());
        for file in &files[2..] {
            touch(file, built + Duration::from_secs(1));
            assert!(!are_new(), "{}", file.display());
            touch(file, built);
        }
        touch(&files[1], built - Duration::from_secs(1));
        assert!(!are_new(), "the second program was built before");
        touch(&files[1], built);
        for file in [&files[4], &files[1]] {
            remove_file(file).unwrap();
            assert!(!are_new(), "{} is gone", file.display());
            write(file, "").unwrap();
            touch(file, built);
        }
        assert!(are_new());
    }
}

//! The files of a home folder, by path.

use std::collections::BTreeMap;
use std::path::Path;

use fake_hosts::settings::HostFiles;

/// Our own folder in a home folder.
pub(super) const OWN_FOLDER: &str = ".entraclaw";
/// Files of a home folder that are looked at, and the largest of them in bytes.
const FILES_MAX: usize = 1_000;
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// Every file below a home folder but our own program's.
pub(super) fn bytes_of(home: &Path) -> std::io::Result<BTreeMap<String, Vec<u8>>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let kind = path.symlink_metadata()?;
            let name = path.strip_prefix(home).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            if name == OWN_FOLDER {
                continue;
            }
            if kind.is_dir() {
                folders.push(path);
            } else if kind.len() <= FILE_BYTES_MAX && found.len() < FILES_MAX {
                #[expect(clippy::disallowed_methods, reason = "the host looks at real files")]
                let bytes = std::fs::read(&path)?;
                found.insert(name, bytes);
            } else {
                return Err(std::io::Error::other(format!("{name}: more than a test's home folder holds")));
            }
        }
    }
    Ok(found)
}

/// The first file that is not as it was.
pub(super) fn difference(
    before: &BTreeMap<String, Vec<u8>>,
    now: &BTreeMap<String, Vec<u8>>,
) -> Option<String> {
    let gone_or_changed = before.iter().find_map(|(path, bytes)| match now.get(path) {
        None => Some(format!("{path} is gone")),
        Some(other) if other != bytes => Some(format!("{path} is another file than before")),
        Some(_) => None,
    });
    let new = || now.keys().find(|path| !before.contains_key(*path));
    gone_or_changed.or_else(|| new().map(|path| format!("{path} was not there before")))
}

/// The files that are texts.
pub(super) fn texts(files: &BTreeMap<String, Vec<u8>>) -> HostFiles {
    let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).ok();
    files.iter().filter_map(|(path, bytes)| Some((path.clone(), text(bytes)?))).collect()
}

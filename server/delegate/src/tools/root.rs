//! The project's folder as a handle: no path leads out of it, whatever its links say and whichever process swaps them.

use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File};

use entraclaw_sandbox::protected;

use super::whole;

/// The project's folder.
#[derive(Debug)]
pub(super) struct Root {
    folder: PathBuf,
    /// The project that it stands for, which may be the same.
    project: PathBuf,
    dir: Dir,
}

impl Root {
    pub(super) fn new(folder: &Path, project: &Path) -> std::io::Result<Self> {
        let (folder, project) = (std::fs::canonicalize(folder)?, std::fs::canonicalize(project)?);
        Ok(Self { dir: Dir::open_ambient_dir(&folder, ambient_authority())?, folder, project })
    }

    /// The folder's own path.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// A path of a model, relative to the project. An absolute one within the project is taken too.
    pub(super) fn relative(&self, path: &str) -> Result<PathBuf, String> {
        let path = Path::new(path.trim());
        let relative = if path.is_absolute() {
            let within = path.strip_prefix(&self.folder).or_else(|_| path.strip_prefix(&self.project));
            within.map_err(|_| outside(path))?
        } else {
            path
        };
        let relative: PathBuf = relative.components().filter(|part| *part != Component::CurDir).collect();
        if relative.components().any(|part| !matches!(part, Component::Normal(_) | Component::ParentDir)) {
            return Err(outside(path));
        }
        Ok(if relative.as_os_str().is_empty() { ".".into() } else { relative })
    }

    /// Opens a file for reading; nothing but a file is opened, so that nothing waits.
    pub(super) fn open(&self, path: &Path) -> Result<File, String> {
        let found = self.dir.metadata(path).map_err(|error| told(path, &error))?;
        if !found.is_file() {
            return Err(format!("{} is not a file; list a folder with glob", path.display()));
        }
        self.dir.open(path).map_err(|error| told(path, &error))
    }

    /// Whether there is something, without following a link at its end.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.dir.symlink_metadata(path).is_ok()
    }

    /// Where a file that is to be written really lies: its folder, which is made if it is missing, and its name.
    ///
    /// A protected name anywhere on the real way is refused.
    fn place(&self, path: &Path) -> Result<(Dir, PathBuf, String), String> {
        let real = match self.dir.canonicalize(path) {
            Ok(real) => real,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => self.real_of_new(path)?,
            Err(error) => return Err(told(path, &error)),
        };
        if let Some(row) = protected(&real).or_else(|| protected(path)) {
            let (name, acts) = (row.name, row.acts);
            return Err(format!(
                "{} is protected: {name} is acted on by {acts}; ask the person to change it",
                path.display()
            ));
        }
        let name = real.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.ok_or_else(|| format!("{} has no file name", path.display()))?;
        let folder = real.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.dir.create_dir_all(folder).map_err(|error| told(folder, &error))?;
        let dir = self.dir.open_dir(folder).map_err(|error| told(folder, &error))?;
        Ok((dir, real, name))
    }

    /// The real path of a file that is not there: that of the nearest folder that is, and the rest.
    fn real_of_new(&self, path: &Path) -> Result<PathBuf, String> {
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(format!("{}: give the path of a new file without ..", path.display()));
        }
        if self.has(path) {
            return Err(format!("{} is a link that leads nowhere; remove it first", path.display()));
        }
        let above = path.ancestors().skip(1).find(|above| !above.as_os_str().is_empty() && self.has(above));
        let Some(above) = above else { return Ok(path.to_owned()) };
        let real = self.dir.canonicalize(above).map_err(|error| told(above, &error))?;
        Ok(path.strip_prefix(above).map_or_else(|_| path.to_owned(), |rest| real.join(rest)))
    }

    /// Writes a file so that it is there whole or as it was before; keeps its mode. True if it is new.
    pub(super) fn write(&self, path: &Path, text: &str) -> Result<bool, String> {
        let (dir, real, name) = self.place(path)?;
        let before = dir.metadata(&name).ok();
        if before.as_ref().is_some_and(|found| !found.is_file()) {
            return Err(format!("{} is not a file", real.display()));
        }
        let permissions = before.as_ref().map(cap_std::fs::Metadata::permissions);
        whole::put(&dir, &name, text, permissions).map_err(|error| told(path, &error))?;
        Ok(before.is_none())
    }

    /// Takes away what a killed process has left beside this file.
    pub(super) fn sweep(&self, path: &Path) {
        let real = self.dir.canonicalize(path).or_else(|_| self.real_of_new(path));
        let folder = real.ok().and_then(|real| real.parent().map(Path::to_owned));
        let folder = folder.map(|folder| if folder.as_os_str().is_empty() { ".".into() } else { folder });
        if let Some(dir) = folder.and_then(|folder| self.dir.open_dir(folder).ok()) {
            whole::sweep(&dir);
        }
    }
}

fn outside(path: &Path) -> String {
    format!("{} is outside the project; give a path relative to it", path.display())
}

fn told(path: &Path, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("{} is not there; look with glob", path.display()),
        std::io::ErrorKind::PermissionDenied => {
            format!("{} leads out of the project or may not be touched: {error}", path.display())
        }
        _ => format!("{}: {error}", path.display()),
    }
}

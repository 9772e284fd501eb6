//! Finds the programs of agents on this machine, with their versions and whether they are signed in, and starts none.
//! It must never read a file's content but a `package.json`, nor believe a name that is no file.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::agent::{Agent, SignedInBy};

/// How many folders above a program may hold its `package.json`.
const FOLDERS_ABOVE_MAX: usize = 5;
/// Most bytes of a `package.json`.
const PACKAGE_BYTES_MAX: u64 = 256 * 1024;

/// A program that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// The version of its package, if that can be seen.
    pub version: Option<String>,
    /// Whether it is seen to be signed in, without starting it; `None` if that is unknown.
    pub signed_in: Option<bool>,
    /// The size and the time of change of its file, if they can be seen.
    pub stamp: Option<String>,
}

impl Found {
    /// The three numbers of its version.
    pub fn numbers(&self) -> Option<[u64; 3]> {
        self.version.as_deref().map(entraclaw_mcp::hosts::numbers)
    }

    /// What tells it from each program that was installed before it; `None` if that can't be seen.
    pub fn identity(&self) -> Option<String> {
        let version = self.version.as_deref().unwrap_or("?");
        self.stamp.as_ref().map(|stamp| format!("{} {version} {stamp}", self.path.display()))
    }
}

/// Why a program was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// No folder of the search path has it.
    NotInstalled,
    /// The path that the operator gave is no program.
    NoProgram(PathBuf),
}

/// A place on the disk that a caller names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A folder.
    Folder,
    /// Something else.
    Other,
    /// Nothing, or it can't be looked at.
    Nothing,
}

/// The seam to the programs and folders of a machine.
pub trait Finder: Send + Sync {
    /// The program of an agent.
    ///
    /// # Errors
    /// Says why there is none.
    fn find(&self, agent: &Agent) -> Result<Found, Missing>;
    /// What is at this path.
    fn place(&self, path: &Path) -> Place;
    /// The folder in which the host started this server.
    fn folder(&self) -> PathBuf;
}

/// The programs of this machine.
#[derive(Debug, Clone, Default)]
pub struct SystemFinder {
    /// The folders in which programs are searched, in order.
    pub search_path: Vec<PathBuf>,
    /// The paths that the operator gave, by the agent's name.
    pub given: BTreeMap<String, PathBuf>,
    /// The environment, of which only the names and the paths of folders are used.
    pub variables: BTreeMap<String, OsString>,
    /// The user's home folder.
    pub user_home: Option<PathBuf>,
    /// The folder in which this process works.
    pub folder: PathBuf,
}

impl Finder for SystemFinder {
    fn find(&self, agent: &Agent) -> Result<Found, Missing> {
        let path = match self.given.get(agent.name) {
            Some(path) if is_program(path) => path.clone(),
            // A bare name is searched for, as a shell does.
            Some(path) if path.components().count() == 1 => {
                self.search(&path.to_string_lossy()).ok_or_else(|| Missing::NoProgram(path.clone()))?
            }
            Some(path) => return Err(Missing::NoProgram(path.clone())),
            None => self.search(agent.program).ok_or(Missing::NotInstalled)?,
        };
        let version = version(&path, agent.packages);
        let stamp = stamp(&path);
        Ok(Found { path, version, signed_in: self.signed_in(&agent.signed_in_by), stamp })
    }

    fn place(&self, path: &Path) -> Place {
        match std::fs::metadata(path) {
            Ok(data) if data.is_dir() => Place::Folder,
            Ok(_) => Place::Other,
            Err(_) => Place::Nothing,
        }
    }

    fn folder(&self) -> PathBuf {
        self.folder.clone()
    }
}

impl SystemFinder {
    fn search(&self, name: &str) -> Option<PathBuf> {
        let names: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };
        let candidates = self
            .search_path
            .iter()
            .flat_map(|folder| names.iter().map(move |ending| folder.join(format!("{name}{ending}"))));
        candidates.into_iter().find(|path| is_program(path))
    }

    fn signed_in(&self, by: &SignedInBy) -> Option<bool> {
        let is_set = |name: &&str| self.variables.get(*name).is_some_and(|value| !value.is_empty());
        if by.variables.iter().any(is_set) {
            return Some(true);
        }
        let (variable, below) = by.folder;
        let given = self.variables.get(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from);
        let folder = given.or_else(|| self.user_home.as_ref().map(|home| home.join(below)))?;
        if by.files.iter().any(|file| std::fs::metadata(folder.join(file)).is_ok()) {
            return Some(true);
        }
        // Some programs keep their sign-in in the system's key store, where it can't be seen.
        None
    }
}

fn is_program(path: &Path) -> bool {
    let Ok(data) = std::fs::metadata(path) else { return false };
    #[cfg(unix)]
    let may_run = std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    let may_run = true;
    data.is_file() && may_run
}

/// The size and the time of change of the file behind a link.
fn stamp(program: &Path) -> Option<String> {
    let data = std::fs::metadata(program).ok()?;
    let changed = data.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(format!("{}-{}", data.len(), changed.as_nanos()))
}

#[derive(Deserialize)]
struct Package {
    name: Option<String>,
    version: Option<String>,
}

/// The version that the package of a program states: links are followed, and the folders above are looked at.
#[expect(clippy::disallowed_methods, reason = "the adapter that looks at programs of others")]
fn version(program: &Path, packages: &[&str]) -> Option<String> {
    let real = std::fs::canonicalize(program).ok()?;
    real.ancestors().skip(1).take(FOLDERS_ABOVE_MAX).find_map(|folder| {
        let path = folder.join("package.json");
        let is_small = std::fs::metadata(&path).is_ok_and(|data| data.len() <= PACKAGE_BYTES_MAX);
        let package: Package = serde_json::from_slice(&is_small.then(|| std::fs::read(&path).ok())??).ok()?;
        let name = package.name?;
        let is_its = packages.iter().any(|known| name == *known || name.starts_with(&format!("{known}-")));
        package.version.filter(|_| is_its)
    })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "tests make files")]

    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    use crate::agent::AGENTS;

    fn program(path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn a_program_is_found_by_path_or_by_the_operators_word() {
        let folder = tempfile::tempdir().unwrap();
        let copilot = &AGENTS[0];
        let mut finder = SystemFinder {
            search_path: vec![folder.path().join("empty"), folder.path().join("bin")],
            ..SystemFinder::default()
        };
        assert_eq!(finder.find(copilot), Err(Missing::NotInstalled));
        std::fs::create_dir_all(folder.path().join("bin")).unwrap();
        std::fs::write(folder.path().join("bin/copilot"), "no program").unwrap();
        assert_eq!(finder.find(copilot), Err(Missing::NotInstalled));
        program(&folder.path().join("bin/copilot"));
        assert_eq!(finder.find(copilot).unwrap().path, folder.path().join("bin/copilot"));

        let other = folder.path().join("other/my-copilot");
        finder.given.insert("copilot".to_owned(), other.clone());
        assert_eq!(finder.find(copilot), Err(Missing::NoProgram(other.clone())));
        program(&other);
        let found = finder.find(copilot).unwrap();
        assert_eq!(found.path, other);
        assert_eq!(finder.find(copilot).unwrap().identity(), found.identity());
        std::fs::write(&other, "#!/bin/sh\n# newer\n").unwrap();
        assert_ne!(finder.find(copilot).unwrap().identity(), found.identity());
        finder.given.insert("copilot".to_owned(), folder.path().to_owned());
        assert_eq!(finder.find(copilot), Err(Missing::NoProgram(folder.path().to_owned())));
    }

    #[test]
    fn a_bare_name_that_the_operator_gave_is_searched_for_and_a_path_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        program(&bin.join("my-copilot"));
        let mut finder = SystemFinder { search_path: vec![bin.clone()], ..SystemFinder::default() };
        let mut find = |given: &str| {
            finder.given.insert("copilot".to_owned(), PathBuf::from(given));
            finder.find(&AGENTS[0]).map(|found| found.path)
        };
        assert_eq!(find("my-copilot"), Ok(bin.join("my-copilot")));
        for given in ["./my-copilot", "no-copilot"] {
            assert_eq!(find(given), Err(Missing::NoProgram(PathBuf::from(given))));
        }
    }

    #[test]
    fn a_sign_in_is_known_by_a_variable_or_by_a_file_and_its_absence_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let by = AGENTS.iter().map(|agent| &agent.signed_in_by);
        for by in by.filter(|by| !by.variables.is_empty() && !by.files.is_empty()) {
            let home = folder.path().join(by.variables[0]);
            let mut finder = SystemFinder { user_home: Some(home.clone()), ..SystemFinder::default() };
            assert_eq!(finder.signed_in(by), None);
            finder.variables.insert(by.variables[0].to_owned(), OsString::new());
            assert_eq!(finder.signed_in(by), None, "an empty variable is none");
            let file = home.join(by.folder.1).join(by.files[0]);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, "{}").unwrap();
            assert_eq!(finder.signed_in(by), Some(true));
            // The agent's own variable names another folder, and nothing is there.
            finder.variables.insert(by.folder.0.to_owned(), home.join("other").into());
            assert_eq!(finder.signed_in(by), None);
            finder.variables.insert(by.variables[0].to_owned(), "secret".into());
            assert_eq!(finder.signed_in(by), Some(true));
        }
    }

    #[test]
    fn the_version_is_that_of_the_package_behind_the_link() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("lib/node_modules/@github/copilot");
        program(&package.join("npm-loader.js"));
        std::fs::write(package.join("package.json"), r#"{"name": "@github/copilot", "version": "1.0.102"}"#)
            .unwrap();
        std::fs::create_dir_all(folder.path().join("bin")).unwrap();
        std::os::unix::fs::symlink(package.join("npm-loader.js"), folder.path().join("bin/copilot")).unwrap();
        let finder = SystemFinder { search_path: vec![folder.path().join("bin")], ..SystemFinder::default() };
        let found = finder.find(&AGENTS[0]).unwrap();
        assert_eq!((found.version.as_deref(), found.numbers()), (Some("1.0.102"), Some([1, 0, 102])));
        // A program in a foreign project does not have that project's version.
        program(&folder.path().join("project/bin/copilot"));
        std::fs::write(folder.path().join("project/package.json"), r#"{"name": "mine", "version": "9.9.9"}"#)
            .unwrap();
        let finder =
            SystemFinder { search_path: vec![folder.path().join("project/bin")], ..SystemFinder::default() };
        assert_eq!(finder.find(&AGENTS[0]).unwrap().version, None);
    }
}

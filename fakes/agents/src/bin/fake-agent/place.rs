//! Where the program stands, and the files beside it.
#![expect(clippy::disallowed_methods, reason = "this is the adapter to the real disk")]

use std::path::{Path, PathBuf};

use fake_agents::Script;

/// The program's own path, from which all its files are named.
pub(crate) struct Place {
    program: PathBuf,
}

impl Place {
    /// By the path under which the program was started. A symbolic link counts as it is named, not where it leads.
    pub(crate) fn of_this_program() -> Result<Self, String> {
        let given = std::env::args_os().next().map(PathBuf::from).unwrap_or_default();
        let named = if given.components().count() > 1 { Some(given) } else { in_path(&given) };
        let program = match named {
            Some(program) => std::path::absolute(program),
            None => std::env::current_exe(),
        };
        program.map(|program| Self { program }).map_err(|error| format!("the own path is not known: {error}"))
    }

    /// The program.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Its script.
    pub(crate) fn script(&self) -> Result<Script, String> {
        let file = self.beside("yaml");
        let text = std::fs::read_to_string(&file)
            .map_err(|error| format!("{}: {error}; put a script there", file.display()))?;
        Script::parse(&file.display().to_string(), &text).map_err(|error| error.to_string())
    }

    /// The file beside the program with this ending.
    pub(crate) fn beside(&self, ending: &str) -> PathBuf {
        let program = if cfg!(windows) { self.program.with_extension("") } else { self.program.clone() };
        let mut name = program.file_name().unwrap_or_default().to_owned();
        name.push(".");
        name.push(ending);
        program.with_file_name(name)
    }

    /// The folder of its store: where its variable says, if that is beside the program, else one of its own there.
    pub(crate) fn store(&self, asked: Option<&str>) -> PathBuf {
        let own = self.program.parent().unwrap_or(Path::new("/"));
        let asked = asked.map(PathBuf::from).filter(|path| is_below(path, own));
        asked.unwrap_or_else(|| self.beside("sessions"))
    }
}

/// Whether a path is in a folder, without a step upwards.
fn is_below(path: &Path, folder: &Path) -> bool {
    path.starts_with(folder) && !path.components().any(|part| part == std::path::Component::ParentDir)
}

fn in_path(name: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

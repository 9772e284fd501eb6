//! Reads scenario files and refuses what could not mean what it says. Never runs anything.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use hostcheck::hint::nearest;

use super::check::check;
use super::{Scenario, ScenarioError};

include!(concat!(env!("OUT_DIR"), "/suites.rs"));

/// A scenario with the file it came from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The scenario.
    pub scenario: Scenario,
    /// File as it is named in messages.
    pub file: String,
    /// Its text.
    pub source: Arc<str>,
    /// Whether it came with the program.
    pub builtin: bool,
}

impl Loaded {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.scenario.id.value
    }

    /// What names it on a command line: its id, or its file when it did not come with the program.
    pub fn name(&self) -> &str {
        if self.builtin { self.id() } else { &self.file }
    }

    /// The suite: the folder of its file.
    pub fn suite(&self) -> &str {
        self.file.rsplit('/').nth(1).unwrap_or("")
    }
}

/// Every embedded scenario, by id. They are many, and are read once in a process.
///
/// # Errors
/// Fails if one of them could not mean what it says, or if two have one id.
pub fn load_builtin() -> Result<&'static [Arc<Loaded>], &'static ScenarioError> {
    static ALL: LazyLock<Result<Vec<Arc<Loaded>>, ScenarioError>> = LazyLock::new(|| {
        let read = |(file, source): &(&str, &str)| {
            Ok(Loaded { builtin: true, ..parse(&format!("scenarios/{file}"), source)? })
        };
        let all = SUITES.iter().map(read).collect::<Result<_, _>>()?;
        Ok(unique(all)?.into_iter().map(Arc::new).collect())
    });
    ALL.as_deref()
}

/// A scenario file, or every `.yaml` below a folder.
pub fn load_path(path: &Path) -> Result<Vec<Loaded>, ScenarioError> {
    let mut files = Vec::new();
    collect(path, &mut files).map_err(|error| ScenarioError {
        rendered: format!("error: cannot read {}: {error}; name a scenario file, a folder or a suite (see `simulation list`)", path.display()),
    })?;
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let name = file.to_string_lossy().replace('\\', "/");
        #[expect(clippy::disallowed_methods, reason = "scenario files are read here and nowhere else")]
        let source = std::fs::read_to_string(&file)
            .map_err(|error| ScenarioError { rendered: format!("error: cannot read {name}: {error}") })?;
        all.push(parse(&name, &source)?);
    }
    unique(all)
}

fn collect(path: &Path, files: &mut Vec<std::path::PathBuf>) -> std::io::Result<()> {
    if path.is_dir() {
        for entry in std::fs::read_dir(path)? {
            let entry = entry?.path();
            if entry.is_dir() || entry.extension().is_some_and(|ending| ending == "yaml") {
                collect(&entry, files)?;
            }
        }
    } else {
        std::fs::metadata(path)?;
        files.push(path.to_owned());
    }
    Ok(())
}

fn unique(mut all: Vec<Loaded>) -> Result<Vec<Loaded>, ScenarioError> {
    all.sort_by(|a, b| a.id().cmp(b.id()));
    for pair in all.windows(2) {
        if pair[0].id() == pair[1].id() {
            return Err(ScenarioError {
                rendered: format!(
                    "error: two scenarios are named `{}`: {} and {}; rename one",
                    pair[0].id(),
                    pair[0].file,
                    pair[1].file
                ),
            });
        }
    }
    Ok(all)
}

/// Parses one file's text; `file` is the name used in messages.
pub fn parse(file: &str, source: &str) -> Result<Loaded, ScenarioError> {
    let mut scenario: Scenario = yaml::read(source).map_err(|mistake| match mistake.place {
        Some(place) => {
            let help = did_you_mean(&mistake.message);
            ScenarioError::at(file, source, place, &mistake.message, help.as_deref())
        }
        None => ScenarioError { rendered: mistake.framed(file, source) },
    })?;
    scenario.add_crowd();
    check(file, source, &scenario)?;
    Ok(Loaded { scenario, file: file.to_owned(), source: source.into(), builtin: false })
}

/// `unknown field `txt`, expected one of chat, text` → `did you mean `text`?`.
fn did_you_mean(message: &str) -> Option<String> {
    let word = message.split('`').nth(1)?;
    let known = message.split("expected one of ").nth(1).or_else(|| message.split("expected ").nth(1))?;
    let known = known.split([',', ' ', '`']).filter(|w| !w.is_empty() && *w != "or");
    nearest(word, known).map(|best| format!("did you mean `{best}`?"))
}

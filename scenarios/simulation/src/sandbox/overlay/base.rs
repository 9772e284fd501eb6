//! The common part of every host's overlay: a folder, arguments, variables, and setup's entries.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use entraclaw::setup::{self, Content, Edit, FileRecipe, Os, Places, Request, Scope};
use serde_json::Value;

use super::PlayHost;
use crate::sandbox::home;
use crate::sandbox::setup::Setup;

/// The program that can only wait, beside the server.
const WAIT_PROGRAM: &str = "entraclaw-wait";

/// A host's part in the sandbox; its folder is deleted when this is dropped.
pub(crate) struct Overlay {
    /// Arguments of the host, before the person's own.
    pub(crate) arguments: Vec<String>,
    /// Variables of the host, beside those that it gets anyway.
    pub(crate) environment: BTreeMap<&'static str, String>,
    /// Notes for the person before the host starts.
    pub(crate) notes: Vec<String>,
    pub(super) folder: tempfile::TempDir,
}

/// The input of an overlay.
pub(crate) struct Wanted<'a> {
    /// For whom.
    pub(crate) host: PlayHost,
    /// The sandbox.
    pub(crate) setup: &'a Setup,
    /// Its home folder.
    pub(crate) home: &'a Path,
    /// The first prompt of the model; empty for none.
    pub(crate) prompt: &'a str,
    /// The variables that the host would get anyway.
    pub(crate) variables: &'a BTreeMap<String, String>,
}

/// The files that `entraclaw setup` would write for a host, the server's with the sandbox's variables in it.
pub(super) fn files(wanted: &Wanted<'_>, carriers: Vec<setup::Carrier>) -> anyhow::Result<Vec<FileRecipe>> {
    let request = request(wanted, carriers)?;
    let mut files = setup::recipe(&request).files;
    for file in &mut files {
        match &mut file.content {
            Content::Json(edits) => {
                for edit in edits {
                    if let Edit::Member { value, .. } = edit {
                        add_variables(value, wanted.setup);
                    }
                }
            }
            Content::Table { entry, .. } => add_variables(entry, wanted.setup),
            Content::Section(_) | Content::Whole(_) => {}
        }
    }
    Ok(files)
}

fn add_variables(entry: &mut Value, setup: &Setup) {
    let name = if entry["environment"].is_object() { "environment" } else { "env" };
    for (variable, value) in setup.environment() {
        entry[name][variable] = Value::from(value.as_str());
    }
}

fn request(wanted: &Wanted<'_>, carriers: Vec<setup::Carrier>) -> anyhow::Result<Request> {
    let program = Path::new(wanted.setup.program());
    let waiter = program.with_file_name(format!("{WAIT_PROGRAM}{}", std::env::consts::EXE_SUFFIX));
    let nowhere = PathBuf::new();
    Ok(Request {
        host: wanted.host.of_setup(),
        scope: Scope::User,
        carriers,
        left_out: Vec::new(),
        host_version: None,
        consumer: None,
        // The entry of the sandbox says each variable itself.
        given: Vec::new(),
        added: std::collections::BTreeSet::new(),
        sets: None,
        for_agents: Vec::new(),
        codex: None,
        // A person is at the terminal, and sees each dialog as it will be.
        allow_answers: false,
        binary: plain_path(program)?,
        waiter: waiter.is_file().then(|| plain_path(&waiter)).transpose()?,
        home: plain_path(wanted.home)?,
        home_is_default: false,
        // The contents name none of these folders, and the files go elsewhere.
        places: Places {
            os: if cfg!(windows) {
                Os::Windows
            } else if cfg!(target_os = "macos") {
                Os::Mac
            } else {
                Os::Linux
            },
            user: nowhere.clone(),
            project: nowhere,
            claude: None,
            copilot: None,
            codex: None,
            config: None,
        },
    })
}

/// The text of a section for models.
pub(super) fn rules(files: &[FileRecipe]) -> String {
    let section = files.iter().find_map(|file| match &file.content {
        Content::Section(text) => Some(text.clone()),
        _ => None,
    });
    section.unwrap_or_default()
}

/// The texts of the files of JSON, as new files, in the recipe's order.
pub(super) fn documents(files: &[FileRecipe]) -> impl Iterator<Item = String> {
    files
        .iter()
        .filter(|file| matches!(file.content, Content::Json(_)))
        .map(|file| setup::fresh(&file.content))
}

/// A path that can stand in a text.
pub(super) fn plain_path(path: &Path) -> anyhow::Result<String> {
    match path.to_str() {
        Some(text) if !text.contains(char::is_control) => Ok(text.to_owned()),
        _ => anyhow::bail!("{}: a path with such characters can't be given to a host", path.display()),
    }
}

impl Overlay {
    /// Deletes the files.
    pub(crate) fn close(self) -> std::io::Result<()> {
        self.folder.close()
    }

    /// Writes one file that no other user can read, and says where it is.
    pub(super) fn write(&self, name: &str, text: &str) -> anyhow::Result<String> {
        let path = self.folder.path().join(name);
        home::write(&path, text)
            .map_err(|error| anyhow::anyhow!("cannot write {}: {error}", path.display()))?;
        plain_path(&path)
    }

    /// Makes a folder in the folder, and says where it is.
    pub(super) fn folder(&self, name: &str) -> anyhow::Result<String> {
        let path = self.folder.path().join(name);
        home::create(&path).map_err(|error| anyhow::anyhow!("cannot create {}: {error}", path.display()))?;
        plain_path(&path)
    }

    pub(super) fn argue<const N: usize>(&mut self, words: [&str; N]) {
        self.arguments.extend(words.map(str::to_owned));
    }

    /// The first prompt behind the flag that takes it and leaves the session open; without a flag it is a word of its own.
    pub(super) fn ask(&mut self, flag: Option<&str>, prompt: &str) {
        if !prompt.is_empty() {
            self.arguments.extend(flag.into_iter().chain([prompt]).map(str::to_owned));
        }
    }
}

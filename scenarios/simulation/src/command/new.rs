//! `simulation new`: a first scenario to change. Never touches a file that is there.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

use hostcheck::exit::{EXIT_PASSED, Outcome};
use hostcheck::print::out;

const TEMPLATE: &str = include_str!("../../../templates/scenario.yaml");
/// Where this repository keeps the schema of scenarios.
const SCHEMA_PATH: &str = "schemas/own/scenario.schema.json";
/// The name of the schema beside a scenario that is elsewhere.
const SCHEMA_NAME: &str = "scenario.schema.json";
/// Folders above a scenario in which the schema is looked for.
const FOLDERS_MAX: usize = 16;
/// Bytes of an id.
const ID_BYTES_MAX: usize = 100;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Write a scenario with a comment on each key, ready to run; an existing file is left alone.
    Scenario {
        /// Its id: a suite, a dot and a name, like delivery.first-message.
        id: String,
        /// The file; NAME.yaml in this folder when left out.
        #[arg(long)]
        file: Option<PathBuf>,
    },
}

pub(super) fn main(args: &Args) -> Outcome {
    let Command::Scenario { id, file } = &args.command;
    let (area, name) = parts(id)?;
    let file = file.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.yaml")));
    let schema = schema_for(&file)?;
    let text = TEMPLATE
        .replace("{schema}", &schema)
        .replace("{id}", id)
        .replace("{area}", area)
        .replace("{file}", &reports::text::visible_line(&file.display().to_string()));
    create(&file, &text)?;
    out(&format!("{}: play it with `simulation run {}`", file.display(), file.display()));
    Ok(EXIT_PASSED)
}

fn parts(id: &str) -> anyhow::Result<(&str, &str)> {
    let plain = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    match id.split_once('.') {
        Some((area, name)) if plain(area) && plain(name) && id.len() <= ID_BYTES_MAX => Ok((area, name)),
        _ => bail!(
            "`{}` is no id; write a suite, a dot and a name in small letters, digits and dashes, like delivery.first-message",
            reports::text::short_line(id, ID_BYTES_MAX)
        ),
    }
}

/// The schema as the file names it: the repository's where the file is in one, else one that is put beside it.
fn schema_for(file: &Path) -> anyhow::Result<String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let absolute =
        folder.canonicalize().with_context(|| format!("there is no folder {}", folder.display()))?;
    let mut up = String::new();
    for ancestor in absolute.ancestors().take(FOLDERS_MAX) {
        if ancestor.join(SCHEMA_PATH).is_file() {
            return Ok(format!("{up}{SCHEMA_PATH}"));
        }
        up.push_str("../");
    }
    let beside = folder.join(SCHEMA_NAME);
    if !beside.exists() {
        let text = schemas::own::text("scenario").context("this build has no schema of scenarios")?;
        create(&beside, text)?;
    }
    Ok(SCHEMA_NAME.to_owned())
}

fn create(path: &Path, text: &str) -> anyhow::Result<()> {
    ensure!(!path.exists(), "{} exists already; choose another with --file", path.display());
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

//! `entraclaw context`: shows, begins and adds to the context file of a workspace, for a person.
//! It must never write anything but that file in a workspace.

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::environment::Environment;
use super::output::{self, Done, usage};
use super::place::{Entry as Way, Home, Place};
use entraclaw_memory::context::{
    Author, ContextError, Contexts, ContextsParts, Entry, Format, Project, Range, WorkspaceHints,
    find_workspace,
};
use entraclaw_memory::text;
use entraclaw_seams::clock::SystemClock;
use entraclaw_session::app::ContextSeams;

const EXAMPLE: &str = "\
Examples:
  entraclaw context init --name Quarry                 begin context.md in the repository that you are in
  entraclaw context append \"We keep one file.\"         add a note
  git log -1 --format=%B | entraclaw context append    the same, from a pipe
  entraclaw context show --range last-5-sessions       the newest notes
The workspace is that of --workspace, or else of the variable WORKSPACE, or else the nearest folder with .git, or else the folder that you are in.
Exit codes: 0 done, 1 not done, and why, 2 wrong usage.";

/// Longest note from a pipe, in bytes.
const NOTE_BYTES_MAX: u64 = 1024 * 1024;

/// Flags of `context`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Flags {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, Subcommand)]
enum Act {
    /// Show the notes
    Show(ShowFlags),
    /// Add a note
    Append(AppendFlags),
    /// Begin a context file
    Init(InitFlags),
}

#[derive(Debug, Args)]
struct Where {
    #[command(flatten)]
    home: Home,
    /// The workspace
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct ShowFlags {
    #[command(flatten)]
    place: Where,
    /// Which part: all, or such as last-5-sessions, those that were moved out of the file included
    #[arg(long, default_value = "all")]
    range: Range,
    /// Without the marks of Markdown
    #[arg(long)]
    plain: bool,
    /// Print one JSON document, as the tool `read_context` returns it
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct AppendFlags {
    /// The note; without it, what comes from a pipe
    note: Option<String>,
    #[command(flatten)]
    place: Where,
    /// Its title; without one, its time
    #[arg(long)]
    title: Option<String>,
}

#[derive(Debug, Args)]
struct InitFlags {
    #[command(flatten)]
    place: Where,
    /// The name of the project
    #[arg(long, default_value = "")]
    name: String,
    /// What the project is
    #[arg(long)]
    description: Option<String>,
}

pub(super) fn run(flags: Flags) -> ExitCode {
    output::end(match flags.act {
        Act::Show(flags) => show(flags),
        Act::Append(flags) => append(flags),
        Act::Init(flags) => init(flags),
    })
}

/// The context files of this home folder, and the workspace that is meant.
fn open(place: Where, way: Way) -> Result<(Contexts, PathBuf), String> {
    let environment = Environment::read();
    let found = Place::find(way, place.home, Vec::new(), &environment).usable()?;
    if let Some(problem) = found.config_trouble.first() {
        return Err(problem.clone());
    }
    let ContextSeams { files, zone, workspace, cwd, .. } = environment.context("");
    let named = place.workspace.map(|folder| folder.display().to_string());
    let hints = WorkspaceHints {
        parameter: named.as_deref(),
        environment: workspace.as_deref(),
        root: None,
        cwd: &cwd,
    };
    let workspace = find_workspace(&*files, &hints);
    let contexts = Contexts::new(ContextsParts {
        storage: found.storage(),
        files,
        clock: std::sync::Arc::new(SystemClock),
        zone,
        file_name: found.config.context.file_name.clone(),
        bytes_max: Contexts::BYTES_MAX,
    });
    Ok((contexts, workspace))
}

/// The problem for a person, who has commands and no tools.
fn problem(error: &ContextError) -> String {
    match error {
        ContextError::FileNotFound(path) => {
            format!("{} does not exist; begin it by `entraclaw context init`", path.display())
        }
        ContextError::FileExists(path) => {
            format!("{} exists already; show it by `entraclaw context show`", path.display())
        }
        other => other.to_string(),
    }
}

fn show(flags: ShowFlags) -> Done {
    let (contexts, workspace) = open(flags.place, Way::Look)?;
    let format = if flags.plain { Format::Plain } else { Format::Markdown };
    let mut found = contexts.read(&workspace, format, flags.range).map_err(|error| problem(&error))?;
    // A terminal would obey what another program has written there.
    found.content = text::safe(&found.content);
    if flags.json {
        return Ok(output::json(&found, ExitCode::SUCCESS));
    }
    Ok(output::text(&found.content, ExitCode::SUCCESS))
}

fn append(flags: AppendFlags) -> Done {
    let note = match flags.note {
        Some(note) => note,
        None => piped()?
            .ok_or_else(|| usage("there is no note; write it behind the command, or send it by a pipe"))?,
    };
    let (contexts, workspace) = open(flags.place, Way::Take)?;
    let entry = Entry { content: &note, title: flags.title.as_deref(), author: Author::Person };
    let added = contexts.append(&workspace, &entry).map_err(|error| problem(&error))?;
    Ok(output::text(&format!("added to {} at {}\n", added.path, added.timestamp), ExitCode::SUCCESS))
}

fn piped() -> Result<Option<String>, String> {
    let input = std::io::stdin();
    if input.is_terminal() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let read = input.lock().take(NOTE_BYTES_MAX).read_to_end(&mut bytes);
    read.map_err(|error| format!("the pipe can't be read: {error}"))?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()).filter(|text| !text.trim().is_empty()))
}

fn init(flags: InitFlags) -> Done {
    let (contexts, workspace) = open(flags.place, Way::Take)?;
    let project = Project { name: &flags.name, description: flags.description.as_deref() };
    let begun = contexts.init(&workspace, &project).map_err(|error| problem(&error))?;
    Ok(output::text(&format!("began {}\n", begun.path), ExitCode::SUCCESS))
}

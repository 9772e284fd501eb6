//! `entraclaw import`: reads the files of the other server, prints the plan, and writes our files.
//! It must never overwrite a setting or a position, and never write a secret.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::environment::Environment;
use super::output::{self, Done};
use super::place::{CONFIG_FILE, Entry, Home, Place};
use crate::import::{Found, Plan, merged, plan};
use entraclaw_sanitize::clean_line;
use entraclaw_seams::storage::{DiskStorage, Storage as _};

/// Largest file that is read.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Most files in `chat_cursors` that are read.
const CURSORS_MAX: usize = 2_000;
/// The folder of positions.
const SOURCES: &str = "sources";

const EXAMPLE: &str = "\
Example: entraclaw import ~/.entrabot --dry-run
It reads .env, watched_chats, watched_chats.json, email_cursor.txt and chat_cursors/ there, and in its folder data.
Nothing that is set already is changed, and no secret is taken.
Exit codes: 0 done, 1 not done, 2 wrong usage.";

/// Flags of `import`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLE)]
pub(super) struct Flags {
    /// Folder of the other server's files
    dir: PathBuf,
    #[command(flatten)]
    home: Home,
    /// Only print what would be written
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(flags: Flags) -> ExitCode {
    output::end(import(flags))
}

fn import(flags: Flags) -> Done {
    let dir = flags.dir.display();
    let found = find(&flags.dir).map_err(|error| format!("{dir}: {error}"))?;
    if found.is_empty() {
        return Err(format!(
            "{dir} holds none of .env, watched_chats, watched_chats.json, email_cursor.txt, chat_cursors/; give the folder that does, \
             such as ~/.entrabot"
        )
        .into());
    }
    let entry = if flags.dry_run { Entry::Look } else { Entry::Take };
    let place = Place::find(entry, flags.home, Vec::new(), &Environment::read()).usable()?;
    let disk = place.disk.as_ref();
    let has_file = |path: &str| disk.is_some_and(|disk| !matches!(disk.len(path), Ok(None)));
    let plan = plan(&found, has_file);
    let before = place.config_text.clone().unwrap_or_default();
    if has_file(CONFIG_FILE) && place.config_text.is_none() {
        return Err(place.config_trouble.join("\n").into());
    }
    let (after, lines) = merged(&before, &plan)?;
    let mut told = tell(&plan, &lines);
    if flags.dry_run {
        told.push_str("\nNothing was written (--dry-run).\n");
        return Ok(output::text(&told, ExitCode::SUCCESS));
    }
    let written = disk.map_or(Ok(()), |disk| write(disk, &plan, &before, &after));
    match written {
        Ok(()) => {
            told.push_str("\nDone. See `entraclaw doctor` for what is still missing.\n");
            Ok(output::text(&told, ExitCode::SUCCESS))
        }
        Err(error) => {
            output::text(&told, ExitCode::FAILURE);
            Err(format!("not everything was written: {error}").into())
        }
    }
}

/// Writes the positions first: with settings but without positions, everything so far would count as read.
fn write(disk: &DiskStorage, plan: &Plan, before: &str, after: &str) -> io::Result<()> {
    if !plan.files.is_empty() {
        disk.create_dir(SOURCES)?;
    }
    for (path, bytes, _) in &plan.files {
        disk.replace(path, bytes)?;
    }
    if before == after {
        return Ok(());
    }
    if fs::symlink_metadata(disk.root().join(CONFIG_FILE)).is_ok_and(|found| found.is_symlink()) {
        let why =
            "config.toml is a symlink, which is left as it is; add the lines above to the file it leads to";
        return Err(io::Error::other(why));
    }
    disk.replace(CONFIG_FILE, after.as_bytes())
}

fn tell(plan: &Plan, lines: &[String]) -> String {
    let mut out = String::from("config.toml\n");
    let mut section = |title: &str, lines: &mut dyn Iterator<Item = String>| {
        out.push_str(title);
        for line in lines {
            out.push_str("  ");
            out.push_str(&clean_line(&line));
            out.push('\n');
        }
    };
    section("", &mut lines.iter().cloned());
    section("files\n", &mut plan.files.iter().map(|(path, _, what)| format!("+ {path}: {what}")));
    section("left out\n", &mut plan.left_out.iter().map(|(name, why)| format!("- {name}: {why}")));
    section("notes\n", &mut plan.notes.iter().cloned());
    out
}

fn find(dir: &Path) -> io::Result<Found> {
    if !fs::metadata(dir)?.is_dir() {
        return Err(io::Error::other("it is not a folder; give the folder of the other server's files"));
    }
    let environment = read(&dir.join(".env"))?;
    let data = data_folder(dir, environment.as_deref());
    let mut chat_cursors = Vec::new();
    if let Ok(entries) = fs::read_dir(data.join("chat_cursors")) {
        for entry in entries.take(CURSORS_MAX) {
            let path = entry?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if path.extension().is_some_and(|ext| ext == "json")
                && let Some(text) = read(&path)?
            {
                chat_cursors.push((name, text));
            }
        }
        chat_cursors.sort_unstable();
    }
    Ok(Found {
        environment,
        watched_chats: read(&data.join("watched_chats"))?,
        watched_chats_json: read(&data.join("watched_chats.json"))?,
        email_cursor: read(&data.join("email_cursor.txt"))?,
        chat_cursors,
    })
}

/// The folder of the data: `dir` itself, its `data`, or the folder that the environment file names.
fn data_folder(dir: &Path, environment: Option<&str>) -> PathBuf {
    let named = environment.and_then(|text| {
        let line = text.lines().find(|line| {
            ["ENTRABOT_DATA_DIR=", "ENTRACLAW_DATA_DIR="].iter().any(|name| line.trim().starts_with(name))
        })?;
        Some(PathBuf::from(line.split_once('=')?.1.trim().trim_matches('"')))
    });
    let holds = |folder: &PathBuf| {
        ["watched_chats", "watched_chats.json", "email_cursor.txt", "chat_cursors"]
            .iter()
            .any(|name| folder.join(name).exists())
    };
    let own = [dir.to_owned(), dir.join("data")].into_iter();
    own.chain(named.filter(|folder| folder.is_absolute())).find(holds).unwrap_or_else(|| dir.to_owned())
}

fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
    };
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("{} is larger than {FILE_BYTES_MAX} bytes", path.display())));
    }
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

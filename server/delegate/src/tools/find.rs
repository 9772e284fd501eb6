//! Looks for names and texts in a project.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};
use regex::RegexBuilder;
use serde::Deserialize;
use tokio::sync::watch;

use super::files::is_binary;
use super::outcome::{found, slashes, stopped};
use super::root::Root;
use crate::tool::ToolOutcome;

/// The most files that are looked at.
const ENTRIES_MAX: usize = 200_000;
/// The most names that are told.
const NAMES_MAX: usize = 500;
/// The most lines that are told.
const MATCHES_MAX: usize = 200;
/// The longest line that is told, in characters.
const LINE_MAX: usize = 300;
/// The largest file that is searched, in bytes.
const FILE_MAX: u64 = 2 * 1024 * 1024;
/// The largest compiled pattern, in bytes.
const PATTERN_MAX: usize = 4 * 1024 * 1024;

#[derive(Debug, Deserialize)]
pub(super) struct Glob {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Grep {
    pattern: String,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
}

/// Lists files whose names match.
pub(super) fn glob(root: &Root, asked: &Glob, stop: &watch::Receiver<bool>) -> Result<ToolOutcome, String> {
    let folder = root.relative(asked.path.as_deref().unwrap_or("."))?;
    let matcher = matcher(&root.folder().join(&folder), &asked.pattern)?;
    let mut names = Vec::new();
    for path in files(root, &folder)? {
        if *stop.borrow() {
            return Ok(stopped());
        }
        if matcher.matched(root.folder().join(&path), false).is_whitelist() && root.has(&path) {
            names.push(slashes(&path));
        }
        if names.len() > NAMES_MAX {
            break;
        }
    }
    Ok(told(names, NAMES_MAX, &format!("no file matches {}", asked.pattern)))
}

/// Lists lines that match.
pub(super) fn grep(root: &Root, asked: &Grep, stop: &watch::Receiver<bool>) -> Result<ToolOutcome, String> {
    let folder = root.relative(asked.path.as_deref().unwrap_or("."))?;
    let mut builder = RegexBuilder::new(&asked.pattern);
    builder.case_insensitive(asked.ignore_case).size_limit(PATTERN_MAX);
    let pattern = builder.build().map_err(|error| format!("the pattern is wrong: {error}"))?;
    let only = asked.glob.as_deref().map(|glob| matcher(root.folder(), glob)).transpose()?;
    let mut lines = Vec::new();
    for path in files(root, &folder)? {
        if *stop.borrow() {
            return Ok(stopped());
        }
        let matches = |only: &Override| only.matched(root.folder().join(&path), false).is_whitelist();
        if !only.as_ref().is_none_or(matches) {
            continue;
        }
        let Some(text) = text(root, &path) else { continue };
        for (index, line) in text.lines().enumerate().filter(|(_, line)| pattern.is_match(line)) {
            let line: String = line.chars().take(LINE_MAX).collect();
            lines.push(format!("{}:{}: {line}", slashes(&path), index + 1));
            if lines.len() > MATCHES_MAX {
                break;
            }
        }
        if lines.len() > MATCHES_MAX {
            break;
        }
    }
    Ok(told(lines, MATCHES_MAX, &format!("no line matches {}", asked.pattern)))
}

fn told(mut lines: Vec<String>, most: usize, none: &str) -> ToolOutcome {
    let is_cut = lines.len() > most;
    lines.truncate(most);
    let count = lines.len();
    if is_cut {
        lines.push(format!("[there are more than {most}; narrow the pattern]"));
    }
    let text = if count == 0 { none.to_owned() } else { lines.join("\n") };
    found(&text, count)
}

fn matcher(folder: &Path, pattern: &str) -> Result<Override, String> {
    let mut builder = OverrideBuilder::new(folder);
    builder
        .add(pattern.trim_start_matches("./"))
        .map_err(|error| format!("the pattern is wrong: {error}"))?;
    builder.build().map_err(|error| format!("the pattern is wrong: {error}"))
}

/// The files of a folder, relative to the project and in order, without what .gitignore names and without links.
fn files(root: &Root, folder: &Path) -> Result<impl Iterator<Item = PathBuf>, String> {
    if !root.has(folder) {
        return Err(format!("{} is not there; look with glob", folder.display()));
    }
    let base = root.folder().to_owned();
    let mut walk = WalkBuilder::new(base.join(folder));
    walk.hidden(false).parents(false).git_global(false).require_git(false).follow_links(false);
    walk.filter_entry(|entry: &DirEntry| entry.file_name() != ".git").sort_by_file_path(Path::cmp);
    let entries = walk.build().flatten().take(ENTRIES_MAX);
    let files = entries.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    Ok(files.filter_map(move |entry| entry.path().strip_prefix(&base).ok().map(Path::to_owned)))
}

/// The text of a file, if it is one.
fn text(root: &Root, path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    root.open(path).ok()?.take(FILE_MAX + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > FILE_MAX || is_binary(&bytes) {
        return None;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

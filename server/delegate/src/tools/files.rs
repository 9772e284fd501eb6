//! Reads and writes whole files.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;

use super::outcome::{TEXT_MAX, done};
use super::root::Root;
use crate::tool::ToolOutcome;

/// The largest file that is read, in bytes.
const READ_MAX: u64 = 8 * 1024 * 1024;
/// The largest file that is written, in bytes.
const WRITE_MAX: usize = 4 * 1024 * 1024;
/// The most lines that one reading shows.
const LINES_MAX: usize = 2000;
/// The longest line that is shown, in characters.
const LINE_MAX: usize = 2000;
/// How many bytes are looked at to see whether a file is text.
const BINARY: usize = 8 * 1024;

#[derive(Debug, Deserialize)]
pub(super) struct Read {
    path: String,
    #[serde(default)]
    offset: Option<usize>,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Write {
    path: String,
    content: String,
}

/// The text of a file; what is too large or no text is an error.
pub(super) fn text(root: &Root, path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let file = root.open(path)?;
    file.take(READ_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("{}: {error}", path.display()))?;
    if bytes.len() as u64 > READ_MAX {
        return Err(format!(
            "{} is larger than {READ_MAX} bytes; look at a part of it with bash",
            path.display()
        ));
    }
    if is_binary(&bytes) {
        return Err(format!("{} is not text ({} bytes)", path.display(), bytes.len()));
    }
    String::from_utf8(bytes).map_err(|_| format!("{} is not text in UTF-8", path.display()))
}

pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(BINARY)].contains(&0)
}

/// Shows lines of a file.
pub(super) fn read(root: &Root, asked: &Read) -> Result<ToolOutcome, String> {
    let path = root.relative(&asked.path)?;
    let text = text(root, &path)?;
    let all = text.lines().count();
    let first = asked.offset.unwrap_or(1).max(1);
    let most = asked.limit.unwrap_or(LINES_MAX).min(LINES_MAX);
    if first > all && all > 0 {
        return Err(format!("{} has {all} lines; offset {first} is behind its end", path.display()));
    }
    let (mut shown, mut lines) = (String::new(), 0);
    for line in text.lines().skip(first - 1).take(most) {
        let end = line.char_indices().nth(LINE_MAX).map_or(line.len(), |(end, _)| end);
        // Room is left for the last line, which says what is missing.
        if shown.len() + end > TEXT_MAX - 256 {
            break;
        }
        shown.push_str(&line[..end]);
        if end < line.len() {
            shown.push_str(" [line cut]");
        }
        shown.push('\n');
        lines += 1;
    }
    let last = first - 1 + lines;
    if last < all || first > 1 {
        let next = if last < all { format!("; go on with offset {}", last + 1) } else { String::new() };
        let _ = write!(shown, "[lines {first} to {last} of {all}{next}]");
    }
    let shown = if all == 0 { "[the file is empty]" } else { &shown };
    Ok(done(shown, &path, lines))
}

/// Writes a whole file.
pub(super) fn write(root: &Root, asked: &Write) -> Result<ToolOutcome, String> {
    let path = root.relative(&asked.path)?;
    if asked.content.len() > WRITE_MAX {
        return Err(format!("the content is larger than {WRITE_MAX} bytes; write less"));
    }
    let is_new = root.write(&path, &asked.content)?;
    let lines = asked.content.lines().count();
    let what = if is_new { "wrote the new file" } else { "replaced" };
    Ok(done(&format!("{what} {}: {lines} lines", path.display()), &path, lines))
}

//! Changes one place of a file.

use std::fmt::Write as _;

use serde::Deserialize;
use similar::{ChangeTag, TextDiff};

use super::files::text;
use super::outcome::done;
use super::root::Root;
use crate::tool::ToolOutcome;

/// The most lines of a difference that are shown.
const DIFFERENCE_MAX: usize = 60;

#[derive(Debug, Deserialize)]
pub(super) struct Edit {
    path: String,
    old_string: String,
    new_string: String,
}

/// Replaces the only place where a text occurs, and shows the difference.
pub(super) fn edit(root: &Root, asked: &Edit) -> Result<ToolOutcome, String> {
    let path = root.relative(&asked.path)?;
    if asked.old_string.is_empty() {
        return Err("old_string is empty; use write_file for a new file".to_owned());
    }
    if asked.old_string == asked.new_string {
        return Err("old_string and new_string are the same; nothing was changed".to_owned());
    }
    let before = text(root, &path)?;
    let (mut old, mut new) = (asked.old_string.clone(), asked.new_string.clone());
    if before.contains("\r\n") && !before.contains(&old) && !old.contains('\r') {
        (old, new) = (old.replace('\n', "\r\n"), new.replace('\n', "\r\n"));
    }
    let places: Vec<usize> =
        before.match_indices(&old).map(|(place, _)| before[..place].lines().count().max(1)).collect();
    match places.as_slice() {
        [] => Err(format!(
            "{}: old_string does not occur; read the file and copy the text with its spaces",
            path.display()
        )),
        [_] => {
            let after = before.replacen(&old, &new, 1);
            root.write(&path, &after)?;
            let (difference, lines) = difference(&before, &after);
            Ok(done(&format!("changed {}\n{difference}", path.display()), &path, lines))
        }
        many => Err(format!(
            "{}: old_string occurs {} times, near the lines {}; give more of the text around it",
            path.display(),
            many.len(),
            many.iter().take(10).map(ToString::to_string).collect::<Vec<_>>().join(", ")
        )),
    }
}

/// The changed lines, and how many they are.
fn difference(before: &str, after: &str) -> (String, usize) {
    let diff = TextDiff::from_lines(before, after);
    let changed: Vec<_> = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal).collect();
    let mut shown = String::new();
    for change in changed.iter().take(DIFFERENCE_MAX) {
        let sign = if change.tag() == ChangeTag::Delete { '-' } else { '+' };
        let line = change.old_index().or(change.new_index()).unwrap_or_default() + 1;
        let _ = writeln!(shown, "{line} {sign}{}", change.value().trim_end_matches(['\r', '\n']));
    }
    if changed.len() > DIFFERENCE_MAX {
        let _ = writeln!(shown, "[{} more lines]", changed.len() - DIFFERENCE_MAX);
    }
    (shown, changed.len())
}

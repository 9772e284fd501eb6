//! The receipt of a setup for one file, kept in the home folder, and the file with and without our content.
//!
//! Every change starts from the file without our content: the backup if no other program has changed the file, or else the
//! file with our parts removed. So a second setup changes nothing, and a removal restores the file.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::content::{Content, Op, Problem};
use super::{block, json, table};
use entraclaw_seams::hex;

/// The version of the receipt's format.
const VERSION: u32 = 1;
const BOM: char = '\u{feff}';

/// The receipt of one changed file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    version: u32,
    /// The path of the file.
    pub path: String,
    /// Whether the file existed before.
    pub was_there: bool,
    /// SHA-256 of the text that was written, in hex.
    pub written: String,
    /// The owners with their content.
    pub owners: BTreeMap<String, Content>,
    ops: Vec<Op>,
    /// The path of the backup without our content; `None` if the file did not exist.
    pub backup: Option<String>,
}

/// A file in its current state.
#[derive(Debug, Clone, Copy, Default)]
pub struct Found<'a> {
    /// The text, if the file exists.
    pub text: Option<&'a str>,
    /// The receipt of an earlier setup.
    pub receipt: Option<&'a Receipt>,
    /// The text of the receipt's backup, if that still exists.
    pub backup: Option<&'a str>,
}

/// The outcome for a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The new text; `None` if the file is removed.
    pub text: Option<String>,
    /// The text without our content, which is kept as a backup.
    pub without: Option<String>,
    /// The receipt to keep; `None` if no owner is left. The caller fills in the backup.
    pub receipt: Option<Receipt>,
}

/// The file with the content of one owner.
pub fn with(path: &str, found: Found<'_>, owner: &str, content: &Content) -> Result<Outcome, Problem> {
    if let (Some(text), Some(receipt)) = (found.text, found.receipt)
        && receipt.owners.get(owner) == Some(content)
        && receipt.owners.values().all(|content| is_there(text, content))
    {
        // Other programs may have changed the rest of the file since.
        return Ok(Outcome { text: Some(text.to_owned()), without: None, receipt: Some(receipt.clone()) });
    }
    let mut owners = found.receipt.map(|receipt| receipt.owners.clone()).unwrap_or_default();
    owners.insert(owner.to_owned(), content.clone());
    let without = match found.receipt {
        Some(receipt) => without_us(found, receipt)?,
        None => found.text.map(str::to_owned),
    };
    outcome(path, found, without, owners, owner)
}

/// The file without the content of one owner. `content` is what a setup would write today, for a file without a receipt.
pub fn without(path: &str, found: Found<'_>, owner: &str, content: &Content) -> Result<Outcome, Problem> {
    let Some(receipt) = found.receipt else {
        let text = found.text.map(|text| guessed(text, content)).transpose()?.flatten();
        return Ok(Outcome { without: text.clone(), text, receipt: None });
    };
    let mut owners = receipt.owners.clone();
    if owners.remove(owner).is_none() {
        return Ok(Outcome {
            text: found.text.map(str::to_owned),
            without: None,
            receipt: Some(receipt.clone()),
        });
    }
    let without = without_us(found, receipt)?;
    outcome(path, found, without, owners, owner)
}

fn outcome(
    path: &str,
    found: Found<'_>,
    without: Option<String>,
    owners: BTreeMap<String, Content>,
    last: &str,
) -> Result<Outcome, Problem> {
    if owners.is_empty() {
        return Ok(Outcome { text: without.clone(), without, receipt: None });
    }
    let mut text = without.clone();
    let mut ops = Vec::new();
    // If two owners conflict, the one who asks now wins.
    let others = owners.iter().filter(|(owner, _)| *owner != last);
    for (_, content) in others.chain(owners.get_key_value(last)) {
        let (changed, done) = apply(text.as_deref(), content)?;
        text = Some(changed);
        ops.extend(done);
    }
    let written = text.as_deref().map(digest).unwrap_or_default();
    let receipt = Receipt {
        version: VERSION,
        path: path.to_owned(),
        was_there: without.is_some(),
        written,
        owners,
        ops,
        backup: found.receipt.and_then(|receipt| receipt.backup.clone()),
    };
    Ok(Outcome { text, without, receipt: Some(receipt) })
}

/// The file without the content of all owners.
fn without_us(found: Found<'_>, receipt: &Receipt) -> Result<Option<String>, Problem> {
    let Some(text) = found.text else { return Ok(None) };
    let is_untouched = digest(text) == receipt.written;
    if is_untouched && !receipt.was_there {
        return Ok(None);
    }
    if is_untouched && let Some(backup) = found.backup {
        return Ok(Some(backup.to_owned()));
    }
    let Some(content) = receipt.owners.values().next() else { return Ok(Some(text.to_owned())) };
    let (bom, bare) = split_bom(text);
    let rest = match content {
        Content::Json(_) => json::undo(bare, &receipt.ops)?,
        Content::Table { path, .. } => table::undo(bare, path, &receipt.ops)?,
        Content::Section(_) => {
            let unchanged = receipt.ops.iter().rev().find_map(|op| match op {
                Op::Block { before, text } => block::cut(bare, before, text),
                _ => None,
            });
            unchanged.map_or_else(|| block::without_section(bare), Ok)?
        }
        Content::Whole(_) => {
            let what = "it was changed since setup wrote it; move it away, then run setup again";
            return Err(Problem::new(what));
        }
    };
    let is_left = receipt.was_there || !is_blank(&rest, content);
    Ok(is_left.then(|| format!("{bom}{rest}")))
}

/// The text without everything that looks like ours.
fn guessed(text: &str, content: &Content) -> Result<Option<String>, Problem> {
    let (bom, bare) = split_bom(text);
    let rest = match content {
        Content::Json(edits) => json::undo(bare, &json::guess(bare, edits)?)?,
        Content::Table { path, .. } => table::without_table(bare, path)?,
        Content::Section(_) => block::without_section(bare)?,
        Content::Whole(own) if own == text => return Ok(None),
        Content::Whole(_) => return Ok(Some(text.to_owned())),
    };
    if rest == bare {
        return Ok(Some(text.to_owned()));
    }
    Ok((!is_blank(&rest, content)).then(|| format!("{bom}{rest}")))
}

/// Whether the text has the content already.
fn is_there(text: &str, content: &Content) -> bool {
    let (_, bare) = split_bom(text);
    match content {
        Content::Section(section) => block::holds_section(bare, section),
        _ => apply(Some(text), content).is_ok_and(|(same, _)| same == text),
    }
}

fn is_blank(rest: &str, content: &Content) -> bool {
    match content {
        Content::Json(_) => json::is_empty(rest),
        _ => rest.trim().is_empty(),
    }
}

/// The text with the content; the file may be missing.
fn apply(text: Option<&str>, content: &Content) -> Result<(String, Vec<Op>), Problem> {
    let (bom, bare) = split_bom(text.unwrap_or(""));
    let (changed, ops) = match content {
        Content::Json(edits) => json::apply(if text.is_none() { "{}\n" } else { bare }, edits)?,
        Content::Table { path, entry } => table::apply(bare, path, entry)?,
        Content::Section(section) => block::apply_section(bare, section)?,
        Content::Whole(own) => match text {
            Some(text) if text != own => {
                let what = "a file that setup didn't write is in the way; move it away, then run setup again";
                return Err(Problem::new(what));
            }
            _ => (own.clone(), Vec::new()),
        },
    };
    Ok((format!("{bom}{changed}"), ops))
}

/// The text of a new file with the content.
pub fn fresh(content: &Content) -> String {
    // A new file can't be refused.
    apply(None, content).map(|(text, _)| text).unwrap_or_default()
}

fn split_bom(text: &str) -> (&str, &str) {
    match text.strip_prefix(BOM) {
        Some(rest) => text.split_at(text.len() - rest.len()),
        None => ("", text),
    }
}

/// SHA-256 in hex.
pub fn digest(text: &str) -> String {
    hex::of(&Sha256::digest(text.as_bytes()))
}
